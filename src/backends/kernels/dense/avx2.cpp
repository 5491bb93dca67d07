// SPDX-License-Identifier: Apache-2.0
#define DYCL_LANES 8
#define DYCL_ROWS 6
#define DYCL_SET "avx2"
#define DYCL_TABLE kernels_avx2
#include "backends/kernels/dense/body.h"
