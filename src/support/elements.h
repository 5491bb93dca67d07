// SPDX-License-Identifier: Apache-2.0
// Single elements of tensors as scalars and back: `item`, `to_tensor`, `.tolist()`.
#pragma once

#include "support/dtype.h"
#include "support/scalar_ops.h"

namespace dycl {

// The element at `data` (any alignment) as bool, int or float, by its dtype. A u64 above
// 2^63-1 is Fault::IntOverflow; complex dtypes have no scalar: DYCL_CHECK fails.
// 8-bit floats are read, for those who print or compare, and never stored.
scalar::Fault load_element(DType dtype, const void* data, scalar::Scalar* out);

// Stores a scalar as torch.tensor(x, dtype=...) does: ints and bools to any dtype, floats
// rounded to the nearest of floating dtypes; a float to an integer dtype truncates; to
// bool is `!= 0`. An int the dtype cannot hold, or a float beyond it, is Fault::IntOutOfDtype
// (integer dtypes only; floating dtypes round, large values become infinity).
scalar::Fault store_element(DType dtype, const scalar::Scalar& value, void* data);

}  // namespace dycl
