// SPDX-License-Identifier: Apache-2.0
// Linear algebra (backends/kernels/linear_algebra.h) inside ONNX Runtime's models: the domain "linalg", an op for each
// `Op` there, with its name, its operands and results in that order (all dims before those of one matrix alike), and
// its options as integer attributes. Elements are f32 or f64.
//
// The kernels and the library beneath them are in the plug-in alone. Whoever optimises or evaluates a model with such
// ops registers the plug-in with the session (ort/plugin_ops.h).
#pragma once

#include <onnxruntime_c_api.h>

#include <memory>
#include <vector>

#include "backends/ort/library.h"
#include "support/result.h"

namespace dycl::backends::ort {

// The ops of one engine; sessions that use them must not outlive it.
class LinearAlgebraOps {
 public:
  static Result<std::unique_ptr<LinearAlgebraOps>> create(const OrtApi& api, int threads);
  ~LinearAlgebraOps();

  Result<void> add_to(OrtSessionOptions* options) const;

 private:
  struct Op;
  explicit LinearAlgebraOps(const OrtApi& api);

  const OrtApi& api_;
  std::vector<std::unique_ptr<Op>> ops_;
  Handle<OrtCustomOpDomain> domain_;
};

}  // namespace dycl::backends::ort
