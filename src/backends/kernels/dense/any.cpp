// SPDX-License-Identifier: Apache-2.0
#define DYCL_LANES 4
#define DYCL_ROWS 4
#define DYCL_SET "any"
#define DYCL_TABLE kernels_any
#include "backends/kernels/dense/body.h"
