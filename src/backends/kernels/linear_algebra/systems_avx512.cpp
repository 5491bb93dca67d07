// SPDX-License-Identifier: Apache-2.0
#define DYCL_BYTES 64
#define DYCL_ROWS 12
#define DYCL_SET "avx512"
#define DYCL_SINGLE systems_avx512_single
#define DYCL_DOUBLE systems_avx512_double
#include "backends/kernels/linear_algebra/systems_body.h"
