// SPDX-License-Identifier: Apache-2.0
#define DYCL_BYTES 32
#define DYCL_ROWS 6
#define DYCL_SET "avx2"
#define DYCL_SINGLE systems_avx2_single
#define DYCL_DOUBLE systems_avx2_double
#include "backends/kernels/linear_algebra/systems_body.h"
