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

#include <onnxruntime_c_api.h>

#include <array>
#include <memory>

#include "backends/kernels/selection.h"
#include "backends/ort/library.h"
#include "support/result.h"

namespace dycl::backends::ort {

inline constexpr const char* kTorchDomain = "torch";

// The ops of one engine; sessions that use them must not outlive it.
class SelectionOps {
 public:
  static Result<std::unique_ptr<SelectionOps>> create(const OrtApi& api, int threads);
  ~SelectionOps();

  Result<void> add_to(OrtSessionOptions* options) const;

 private:
  struct Op;
  explicit SelectionOps(const OrtApi& api);

  const OrtApi& api_;
  std::array<std::unique_ptr<Op>, selection::kKinds> ops_;
  Handle<OrtCustomOpDomain> domain_;
};

}  // namespace dycl::backends::ort
