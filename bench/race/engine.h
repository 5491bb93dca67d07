// SPDX-License-Identifier: Apache-2.0
// A straight-line sub-DNN in plain ONNX Runtime, as its users run it: every optimisation on, inputs and
// outputs bound once. Not our plug-in: what the oracle pays is the engine's own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/ort/library.h"
#include "backends/ort/selection_ops.h"
#include "ir/program.h"
#include "ir/tensor.h"
#include "support/result.h"

namespace dycl::bench {

class Engine {
 public:
  // `threads` > 1 shares the pool of the process's environment, which must exist with as many.
  static Result<Engine> create(int threads);

  class Session {
   public:
    Result<void> run();
    const std::vector<ir::Tensor>& outputs() const { return outputs_; }

   private:
    friend class Engine;
    const OrtApi* api_ = nullptr;
    backends::ort::Handle<OrtSession> session_;
    std::vector<ir::Tensor> inputs_, outputs_;
    std::vector<backends::ort::Handle<OrtValue>> held_;
    std::vector<const OrtValue*> input_values_;
    std::vector<OrtValue*> output_values_;
    std::vector<std::string> names_;
    std::vector<const char*> name_pointers_;
  };

  // `path` is the program's only function; `shapes` are those of its results.
  Result<Session> load(const ir::Program& path, std::vector<ir::Tensor> inputs,
                       const std::vector<ir::Tensor>& shapes) const;

 private:
  const backends::ort::Library* library_ = nullptr;
  backends::ort::Handle<OrtEnv> environment_;
  backends::ort::Handle<OrtMemoryInfo> memory_;
  std::unique_ptr<backends::ort::CustomOps> torch_ops_;  // which sessions must not outlive
  int threads_ = 1;
};

// Loads a model that write_onnx wrote in plain ONNX Runtime and runs it once: what a user of the engine waits for.
Result<void> run_cold(const std::string& file, const std::vector<ir::Tensor>& inputs, int threads);

// The same sub-DNN as an ONNX model with its weights inside.
Result<std::string> onnx_bytes(const ir::Program& path);
Result<void> write_onnx(const ir::Program& path, const std::string& file);

}  // namespace dycl::bench
