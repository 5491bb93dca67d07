// SPDX-License-Identifier: Apache-2.0
#define DYCL_LANES 16
#define DYCL_ROWS 12
#define DYCL_SET "avx512"
#define DYCL_TABLE kernels_avx512
#include "backends/kernels/dense/body.h"
