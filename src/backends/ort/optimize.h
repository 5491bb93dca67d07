// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's graph optimiser as a function from model to model.
#pragma once

#include <functional>
#include <vector>

#include "backends/ort/library.h"
#include "backends/ort/recurrent_ops.h"
#include "backends/ort/selection_ops.h"
#include "onnx/format/proto.h"

namespace dycl::backends::ort {

enum class Level { Extended, All };  // All is for this CPU only

// One environment for any number of optimisations, on one thread.
class Optimizer {
 public:
  static Result<Optimizer> create();

  // `model`'s external initializers w0, w1, ... name the files "w0", "w1", ...:
  // `weights` are those files. The result holds all its tensors' bytes.
  Result<onnx::Model> optimize(const onnx::Model& model, const std::vector<ir::Bytes>& weights, Level level) const;

  const Library& engine() const { return *library_; }
  double seconds_in_engine() const { return seconds_; }  // of all optimisations so far

 private:
  Optimizer() = default;

  const Library* library_ = nullptr;
  Handle<OrtEnv> environment_;
  std::unique_ptr<CustomOps> torch_ops_;
  std::unique_ptr<CustomOps> recurrent_ops_;
  mutable double seconds_ = 0;
};

}  // namespace dycl::backends::ort
