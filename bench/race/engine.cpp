// SPDX-License-Identifier: Apache-2.0
#include "engine.h"

#include <fstream>

#include "onnx/export.h"

namespace dycl::bench {
namespace {

using backends::ort::check;
using backends::ort::own;

}  // namespace

// Weights inside, like a file from an exporter: nothing is shared with anybody.
Result<std::string> onnx_bytes(const ir::Program& path) {
  DYCL_ASSIGN(onnx::ExportedModel exported, onnx::export_sub_dnn(path, path.main(), "weights"));
  std::size_t next = 0;
  for (onnx::Tensor& tensor : exported.model.graph.initializers) {
    if (!tensor.external) continue;
    tensor.external.reset();
    tensor.bytes = path.weights.at(exported.weights.at(next++)).bytes;
  }
  return onnx::write_model(exported.model);
}

Result<Engine> Engine::create(int threads) {
  Engine engine;
  engine.threads_ = threads;
  DYCL_ASSIGN(engine.library_, backends::ort::library());
  DYCL_ASSIGN(engine.environment_, backends::ort::quiet_environment(*engine.library_));
  const OrtApi& api = *engine.library_->api;
  OrtMemoryInfo* memory = nullptr;
  DYCL_TRY(check(api, api.CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory), "memory"));
  engine.memory_ = own(memory, api.ReleaseMemoryInfo);
  DYCL_ASSIGN(engine.torch_ops_, backends::ort::make_selection_ops(api, threads));
  return engine;
}

Result<void> run_cold(const std::string& file, const std::vector<ir::Tensor>& inputs, int threads) {
  DYCL_ASSIGN(const backends::ort::Library* library, backends::ort::library());
  DYCL_ASSIGN(const auto environment, backends::ort::quiet_environment(*library));
  const OrtApi& api = *library->api;
  OrtSessionOptions* options = nullptr;
  DYCL_TRY(check(api, api.CreateSessionOptions(&options), "options"));
  const auto held = own(options, api.ReleaseSessionOptions);
  DYCL_TRY(check(api, api.SetIntraOpNumThreads(options, threads), "options"));
  DYCL_ASSIGN(const auto torch_ops, backends::ort::make_selection_ops(api, threads));
  DYCL_TRY(torch_ops->add_to(options));
  OrtSession* raw = nullptr;
  DYCL_TRY(check(api, api.CreateSession(environment.get(), file.c_str(), options, &raw), "load"));
  const auto session = own(raw, api.ReleaseSession);
  OrtMemoryInfo* memory = nullptr;
  DYCL_TRY(check(api, api.CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory), "memory"));
  const auto held_memory = own(memory, api.ReleaseMemoryInfo);
  std::size_t wanted = 0, given = 0;
  DYCL_TRY(check(api, api.SessionGetInputCount(session.get(), &given), "inputs"));
  DYCL_TRY(check(api, api.SessionGetOutputCount(session.get(), &wanted), "outputs"));
  if (given != inputs.size())
    return Error{ErrorKind::InvalidInput, file + " wants " + std::to_string(given) + " inputs", {}, {}, {}};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < given; ++i) names.push_back("in" + std::to_string(i));
  for (std::size_t i = 0; i < wanted; ++i) names.push_back("out" + std::to_string(i));
  std::vector<const char*> pointers;
  for (const std::string& name : names) pointers.push_back(name.c_str());
  std::vector<OrtValue*> values(given + wanted);
  for (std::size_t i = 0; i < given; ++i)
    DYCL_TRY(
        check(api,
              api.CreateTensorWithDataAsOrtValue(memory, const_cast<std::uint8_t*>(inputs[i].bytes.data()),
                                                 inputs[i].bytes.size(), inputs[i].shape.data(), inputs[i].shape.size(),
                                                 static_cast<ONNXTensorElementDataType>(inputs[i].dtype), &values[i]),
              "tensor"));
  const auto ran = check(api,
                         api.Run(session.get(), nullptr, pointers.data(), values.data(), given, pointers.data() + given,
                                 wanted, values.data() + given),
                         "run");
  for (OrtValue* value : values)
    if (value) api.ReleaseValue(value);
  return ran;
}

Result<Engine::Session> Engine::load(const ir::Program& path, std::vector<ir::Tensor> inputs,
                                     const std::vector<ir::Tensor>& shapes) const {
  const OrtApi& api = *library_->api;
  OrtSessionOptions* options = nullptr;
  DYCL_TRY(check(api, api.CreateSessionOptions(&options), "options"));
  const auto held = own(options, api.ReleaseSessionOptions);
  DYCL_TRY(check(api, api.SetSessionGraphOptimizationLevel(options, ORT_ENABLE_ALL), "options"));
  DYCL_TRY(check(api, api.SetSessionLogSeverityLevel(options, ORT_LOGGING_LEVEL_FATAL), "options"));
  if (threads_ > 1) {
    DYCL_TRY(check(api, api.DisablePerSessionThreads(options), "options"));
  } else {
    DYCL_TRY(check(api, api.SetIntraOpNumThreads(options, 1), "options"));
    DYCL_TRY(check(api, api.SetInterOpNumThreads(options, 1), "options"));
  }
  DYCL_TRY(torch_ops_->add_to(options));
  DYCL_ASSIGN(const std::string bytes, onnx_bytes(path));
  OrtSession* session = nullptr;
  DYCL_TRY(check(api, api.CreateSessionFromArray(environment_.get(), bytes.data(), bytes.size(), options, &session),
                 "load"));
  Session loaded;
  loaded.api_ = &api;
  loaded.session_ = own(session, api.ReleaseSession);
  loaded.inputs_ = std::move(inputs);
  loaded.outputs_ = shapes;
  const auto bind = [&](ir::Tensor& tensor, std::string name) -> Result<OrtValue*> {
    OrtValue* value = nullptr;
    static std::uint8_t nothing[64];
    DYCL_TRY(
        check(api,
              api.CreateTensorWithDataAsOrtValue(memory_.get(), tensor.bytes.empty() ? nothing : tensor.bytes.data(),
                                                 tensor.bytes.size(), tensor.shape.data(), tensor.shape.size(),
                                                 static_cast<ONNXTensorElementDataType>(tensor.dtype), &value),
              "tensor"));
    loaded.held_.push_back(own(value, api.ReleaseValue));
    loaded.names_.push_back(std::move(name));
    return value;
  };
  for (std::size_t i = 0; i < loaded.inputs_.size(); ++i) {
    DYCL_ASSIGN(OrtValue * value, bind(loaded.inputs_[i], "in" + std::to_string(i)));
    loaded.input_values_.push_back(value);
  }
  for (std::size_t i = 0; i < loaded.outputs_.size(); ++i) {
    DYCL_ASSIGN(OrtValue * value, bind(loaded.outputs_[i], "out" + std::to_string(i)));
    loaded.output_values_.push_back(value);
  }
  for (const std::string& name : loaded.names_) loaded.name_pointers_.push_back(name.c_str());
  return loaded;
}

Result<void> Engine::Session::run() {
  const std::size_t inputs = input_values_.size();
  return check(*api_,
               api_->Run(session_.get(), nullptr, name_pointers_.data(), input_values_.data(), inputs,
                         name_pointers_.data() + inputs, output_values_.size(), output_values_.data()),
               "run");
}

Result<void> write_onnx(const ir::Program& path, const std::string& file) {
  DYCL_ASSIGN(const std::string bytes, onnx_bytes(path));
  std::ofstream out(file, std::ios::binary);
  if (!out.write(bytes.data(), static_cast<std::streamsize>(bytes.size())))
    return Error{ErrorKind::Missing, "cannot write " + file, {}, {}, {}};
  return {};
}

}  // namespace dycl::bench
