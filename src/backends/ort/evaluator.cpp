// SPDX-License-Identifier: Apache-2.0
#include "backends/ort/evaluator.h"

#include <unordered_map>

#include "backends/ort/library.h"
#include "backends/ort/plugin_ops.h"
#include "backends/ort/pooling_ops.h"
#include "backends/ort/selection_ops.h"
#include "onnx/export.h"

namespace dycl::backends::ort {
namespace {

// A model of the one op, with dims left open so that one session serves all shapes.
Result<std::string> model_of(const ir::Op& op, std::span<const ir::Tensor* const> operands,
                             std::span<const ir::Type> types) {
  ir::Program program;
  program.functions.emplace_back();
  ir::Function& function = program.main();
  function.name = op.name;
  function.kind = ir::FunctionKind::SubDnn;
  function.blocks.emplace_back();
  ir::Op copy = op;
  copy.operands.clear();
  copy.results.clear();
  for (const ir::Tensor* tensor : operands) {
    if (!tensor) {
      copy.operands.emplace_back();
      continue;
    }
    std::vector<ir::Dim> open(tensor->shape.size(), ir::Dim::opaque());
    // Engines ask how many extents or axes an op is given before they ask which (Resize).
    if (tensor->dtype == DType::I64 && tensor->shape.size() == 1) open[0] = ir::Dim::of(tensor->shape[0]);
    copy.operands.push_back(function.add_value(ir::Type::tensor(tensor->dtype, std::move(open))));
    function.params.push_back({copy.operands.back(), {}});
  }
  ir::Return exit;
  for (const ir::Type& type : types) {
    copy.results.push_back(function.add_value(ir::Type::tensor_of_unknown_rank(type.dtype)));
    exit.values.push_back(copy.results.back());
    function.results.push_back({ir::Type::tensor_of_unknown_rank(type.dtype), {}, {}});
  }
  function.blocks[0].body.push_back(std::move(copy));
  function.blocks[0].exit = std::move(exit);
  DYCL_ASSIGN(const onnx::ExportedModel exported, onnx::export_sub_dnn(program, function, ""));
  return onnx::write_model(exported.model);
}

class OrtEvaluator final : public ir::TensorEvaluator {
 public:
  OrtEvaluator(const Library& library, Handle<OrtEnv> environment, Handle<OrtMemoryInfo> memory,
               std::unique_ptr<CustomOps> torch_ops, std::unique_ptr<CustomOps> pooling)
      : api_(*library.api),
        environment_(std::move(environment)),
        memory_(std::move(memory)),
        torch_ops_(std::move(torch_ops)),
        pooling_(std::move(pooling)) {}

  Result<std::vector<ir::Tensor>> evaluate(const ir::Op& op, std::span<const ir::Tensor* const> operands,
                                           std::span<const ir::Type> types) override;

 private:
  Result<OrtSession*> session_of(const std::string& model, const std::string& op);
  Result<Handle<OrtValue>> wrap(const ir::Tensor& tensor) const;
  Result<ir::Tensor> read(OrtValue* value, DType dtype) const;

  const OrtApi& api_;
  Handle<OrtEnv> environment_;
  Handle<OrtMemoryInfo> memory_;
  std::unique_ptr<CustomOps> torch_ops_;
  std::unique_ptr<CustomOps> pooling_;
  std::unordered_map<std::string, Handle<OrtSession>> sessions_;  // by the model's bytes
};

Result<OrtSession*> OrtEvaluator::session_of(const std::string& model, const std::string& op) {
  if (const auto it = sessions_.find(model); it != sessions_.end()) return it->second.get();
  OrtSessionOptions* raw = nullptr;
  DYCL_TRY(check(api_, api_.CreateSessionOptions(&raw), "session options"));
  const auto options = own(raw, api_.ReleaseSessionOptions);
  DYCL_TRY(check(api_, api_.SetSessionGraphOptimizationLevel(raw, ORT_DISABLE_ALL), "session options"));
  DYCL_TRY(check(api_, api_.SetSessionLogSeverityLevel(raw, ORT_LOGGING_LEVEL_FATAL), "session options"));
  DYCL_TRY(check(api_, api_.SetIntraOpNumThreads(raw, 1), "session options"));
  if (op.starts_with("torch.")) DYCL_TRY(torch_ops_->add_to(raw));
  if (is_linear_algebra(op)) DYCL_TRY(add_plugin_ops(api_, raw));
  const auto replaced = with_pooling_ops(model.data(), model.size(), 0);
  if (replaced) DYCL_TRY(pooling_->add_to(raw));
  const std::string& loaded = replaced ? *replaced : model;
  OrtSession* session = nullptr;
  DYCL_TRY(
      check(api_, api_.CreateSessionFromArray(environment_.get(), loaded.data(), loaded.size(), raw, &session), "load"));
  return sessions_.emplace(model, own(session, api_.ReleaseSession)).first->second.get();
}

Result<Handle<OrtValue>> OrtEvaluator::wrap(const ir::Tensor& tensor) const {
  static std::uint8_t nothing[64];
  void* data = tensor.bytes.empty() ? nothing : const_cast<std::uint8_t*>(tensor.bytes.data());
  OrtValue* value = nullptr;
  DYCL_TRY(check(api_,
                 api_.CreateTensorWithDataAsOrtValue(memory_.get(), data, tensor.bytes.size(), tensor.shape.data(),
                                                     tensor.shape.size(),
                                                     static_cast<ONNXTensorElementDataType>(tensor.dtype), &value),
                 "operand"));
  return own(value, api_.ReleaseValue);
}

Result<ir::Tensor> OrtEvaluator::read(OrtValue* value, DType dtype) const {
  OrtTensorTypeAndShapeInfo* raw = nullptr;
  DYCL_TRY(check(api_, api_.GetTensorTypeAndShape(value, &raw), "result"));
  const auto info = own(raw, api_.ReleaseTensorTypeAndShapeInfo);
  std::size_t rank = 0;
  DYCL_TRY(check(api_, api_.GetDimensionsCount(raw, &rank), "result"));
  std::vector<std::int64_t> shape(rank);
  DYCL_TRY(check(api_, api_.GetDimensions(raw, shape.data(), rank), "result"));
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  DYCL_TRY(check(api_, api_.GetTensorElementType(raw, &element), "result"));
  if (static_cast<int>(element) != static_cast<int>(dtype))
    return Error{ErrorKind::RuntimeFailure, "a result has another element type than declared", {}, {}, {}};
  void* data = nullptr;
  DYCL_TRY(check(api_, api_.GetTensorMutableData(value, &data), "result"));
  ir::Tensor tensor{dtype, std::move(shape), {}};
  const auto* bytes = static_cast<const std::uint8_t*>(data);
  const auto size = static_cast<std::size_t>(tensor.count()) * size_of(dtype);
  if (size > 0) tensor.bytes.assign(bytes, bytes + size);
  return tensor;
}

Result<std::vector<ir::Tensor>> OrtEvaluator::evaluate(const ir::Op& op, std::span<const ir::Tensor* const> operands,
                                                       std::span<const ir::Type> types) {
  auto located = [&](const Error& error, ErrorKind kind) {
    return Error{kind, op.name + ": " + error.message, error.help, op.span, {}};
  };
  auto model = model_of(op, operands, types);
  if (!model) return located(model.error(), ErrorKind::Unsupported);
  const auto session = session_of(*model, op.name);
  if (!session) return located(session.error(), ErrorKind::Unsupported);

  std::vector<Handle<OrtValue>> held;
  std::vector<const OrtValue*> inputs;
  std::vector<std::string> names;
  for (const ir::Tensor* tensor : operands) {
    if (!tensor) continue;
    DYCL_ASSIGN(Handle<OrtValue> value, wrap(*tensor));
    names.push_back("in" + std::to_string(inputs.size()));
    inputs.push_back(value.get());
    held.push_back(std::move(value));
  }
  for (std::size_t i = 0; i < types.size(); ++i) names.push_back("out" + std::to_string(i));
  std::vector<const char*> pointers;
  pointers.reserve(names.size());
  for (const std::string& name : names) pointers.push_back(name.c_str());
  std::vector<OrtValue*> outputs(types.size(), nullptr);
  const auto ran = check(api_,
                         api_.Run(*session, nullptr, pointers.data(), inputs.data(), inputs.size(),
                                  pointers.data() + inputs.size(), outputs.size(), outputs.data()),
                         "run");
  std::vector<Handle<OrtValue>> results;
  results.reserve(outputs.size());
  for (OrtValue* value : outputs) results.push_back(own(value, api_.ReleaseValue));
  if (!ran) return located(ran.error(), ErrorKind::RuntimeFailure);
  std::vector<ir::Tensor> tensors;
  for (std::size_t i = 0; i < results.size(); ++i) {
    auto tensor = read(results[i].get(), types[i].dtype);
    if (!tensor) return located(std::move(tensor).error(), ErrorKind::RuntimeFailure);
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

}  // namespace

Result<std::unique_ptr<ir::TensorEvaluator>> make_evaluator() {
  DYCL_ASSIGN(const Library* engine, library());
  DYCL_ASSIGN(Handle<OrtEnv> environment, quiet_environment(*engine));
  OrtMemoryInfo* memory = nullptr;
  DYCL_TRY(
      check(*engine->api, engine->api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory), "memory"));
  auto owned = own(memory, engine->api->ReleaseMemoryInfo);
  DYCL_ASSIGN(auto torch_ops, make_selection_ops(*engine->api, 1));
  DYCL_ASSIGN(auto pooling, make_pooling_ops(*engine->api, 1, 0));
  return std::unique_ptr<ir::TensorEvaluator>(
      new OrtEvaluator(*engine, std::move(environment), std::move(owned), std::move(torch_ops), std::move(pooling)));
}

}  // namespace dycl::backends::ort
