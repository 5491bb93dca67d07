// SPDX-License-Identifier: Apache-2.0
// Ordering and choosing as torch does it (backends/kernels/selection.h) inside ONNX Runtime's models: the domain
// "torch".
//
//   values, indices = torch.TopK(x, k)      {axis, largest, sorted}
//   values, indices = torch.Sort(x)         {axis, descending, stable}
//   values, indices = torch.KthValue(x, k)  {axis, stable}    extent 1 along the axis
//   values, indices = torch.Mode(x)         {axis}            the same
//
// `k` is an i64 tensor of one element. All take `elements`, the code of x's dtype, which they do not read: it is for
// whoever writes the op by other ones (src/emit/onnx/selection.h). Models with such ops need the domain where they are
// optimised, evaluated and run; other back ends do not take them.
#pragma once

#include <memory>

#include "backends/kernels/selection.h"
#include "backends/ort/custom_ops.h"

namespace dycl::backends::ort {

inline constexpr const char* kTorchDomain = "torch";

Result<std::unique_ptr<CustomOps>> make_selection_ops(const OrtApi& api, int threads);

}  // namespace dycl::backends::ort
