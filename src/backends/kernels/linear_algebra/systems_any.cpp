// SPDX-License-Identifier: Apache-2.0
#define DYCL_BYTES 16
#define DYCL_ROWS 4
#define DYCL_SET "any"
#define DYCL_SINGLE systems_any_single
#define DYCL_DOUBLE systems_any_double
#include "backends/kernels/linear_algebra/systems_body.h"
