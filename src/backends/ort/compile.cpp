// SPDX-License-Identifier: Apache-2.0
#include "backends/ort/compile.h"

#include <set>

#include "backends/onnx/export.h"
#include "backends/ort/optimize.h"
#include "backends/ort/target.h"
#include "backends/ort/weight_store.h"

namespace dycl::backends::ort {
namespace {

constexpr std::size_t kMaxInlineBytes = 256;  // smaller tensors stay in the model

Result<std::vector<ir::Bytes>> bytes_of(const ir::Program& program, const std::vector<std::string>& names) {
  std::vector<ir::Bytes> bytes;
  for (const std::string& name : names) {
    const ir::Weight& weight = program.weights.at(name);
    if (!weight.bytes.data && weight.bytes.size == 0 && weight.type.shape) {
      std::size_t count = 1;
      for (const ir::Dim& dim : *weight.type.shape) count *= static_cast<std::size_t>(dim.value);
      if (count > 0)
        return Error{ErrorKind::Missing, "weight @" + name + " has no bytes", "give the program's weights file", {}, {}};
    }
    bytes.push_back(weight.bytes);
  }
  return bytes;
}

// Engines write results of nodes into given memory, but lose other results.
void make_outputs_by_nodes(onnx::Graph& graph) {
  std::set<std::string> made;
  for (const onnx::Node& node : graph.nodes) made.insert(node.outputs.begin(), node.outputs.end());
  for (onnx::ValueInfo& output : graph.outputs) {
    if (made.count(output.name)) continue;
    const std::string source = output.name + ".source";
    for (onnx::Tensor& t : graph.initializers)
      if (t.name == output.name) t.name = source;
    for (onnx::Node& node : graph.nodes)
      for (std::string& input : node.inputs)
        if (input == output.name) input = source;
    onnx::Node identity;
    identity.op_type = "Identity";
    identity.inputs = {source};
    identity.outputs = {output.name};
    graph.nodes.push_back(std::move(identity));
  }
}

// Moves the tensors of some size out of the model, to weights of the program.
Artifact to_artifact(onnx::Model model, WeightStore& store, std::string target) {
  Artifact artifact;
  artifact.backend = "ort";
  artifact.target = std::move(target);
  make_outputs_by_nodes(model.graph);
  model.graph.value_infos.clear();
  std::map<std::string, std::string> renamed;
  for (onnx::Tensor& tensor : model.graph.initializers) {
    const bool outside = tensor.bytes.size > kMaxInlineBytes;
    const std::string name = (outside ? "w" + std::to_string(artifact.weights.size()) : "inline." + tensor.name);
    renamed[tensor.name] = name;
    if (outside) {
      artifact.weights.push_back(store.intern(tensor));
      tensor.external = onnx::ExternalData{"null", 0, static_cast<std::int64_t>(tensor.bytes.size)};
    }
    tensor.name = name;
  }
  for (onnx::Node& node : model.graph.nodes)
    for (std::string& input : node.inputs)
      if (const auto it = renamed.find(input); it != renamed.end()) input = it->second;
  const std::string bytes = onnx::write_model(model);
  artifact.bytes.assign(bytes.begin(), bytes.end());
  return artifact;
}

class OrtBackend final : public Backend {
 public:
  std::string_view name() const override { return "ort"; }

  std::vector<const ir::Op*> refuse(const ir::Program&, const ir::Function&) const override { return {}; }

  Result<std::vector<SubDnnArtifacts>> compile_program(ir::Program& program,
                                                       const BackendOptions& options) const override;
};

Result<std::vector<SubDnnArtifacts>> OrtBackend::compile_program(ir::Program& program, const BackendOptions&) const {
  DYCL_ASSIGN(const Optimizer optimizer, Optimizer::create());
  WeightStore store(program);
  std::vector<SubDnnArtifacts> all;
  for (const ir::Function& function : program.functions) {
    if (function.kind != ir::FunctionKind::SubDnn) continue;
    DYCL_ASSIGN(const ExportedModel exported, export_sub_dnn(program, function, "w%"));
    DYCL_ASSIGN(const std::vector<ir::Bytes> weights, bytes_of(program, exported.weights));
    Result<onnx::Model> optimized = optimizer.optimize(exported.model, weights, Level::Extended);
    if (!optimized) {
      Error error = std::move(optimized).error();
      error.message = "sub-DNN @" + function.name + ": " + error.message;
      error.span = function.span;
      return error;
    }
    SubDnnArtifacts artifacts{function.name, {}};
    artifacts.artifacts.push_back(to_artifact(std::move(*optimized), store, kPortableTarget));
    all.push_back(std::move(artifacts));
  }
  return all;
}

}  // namespace

std::unique_ptr<Backend> make_backend() { return std::make_unique<OrtBackend>(); }

}  // namespace dycl::backends::ort
