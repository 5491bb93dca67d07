// SPDX-License-Identifier: Apache-2.0
// A straight-line sub-DNN in plain OpenVINO, as bench/race/engine.h has it in ONNX Runtime. What OpenVINO
// cannot read is an Error; a build without it has no such engine.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "ir/program.h"
#include "ir/tensor.h"
#include "support/result.h"

namespace dycl::bench {

class OpenVinoSession {
 public:
  static bool is_built();
  static Result<std::unique_ptr<OpenVinoSession>> load(const ir::Program& path, std::vector<ir::Tensor> inputs,
                                                       const std::vector<ir::Tensor>& shapes, int threads);
  virtual ~OpenVinoSession() = default;
  virtual Result<void> run() = 0;
  virtual const std::vector<ir::Tensor>& outputs() const = 0;
};

}  // namespace dycl::bench
