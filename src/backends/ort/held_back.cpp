// SPDX-License-Identifier: Apache-2.0
#include "backends/ort/held_back.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace dycl::backends::ort {
namespace {

// The operand that a kernel reads as it is, or -1.
int large_operand(const onnx::Node& node) {
  if (!node.domain.empty()) return -1;
  if (node.op_type == "MatMul" || node.op_type == "Gemm") return 1;
  return node.op_type == "Gather" ? 0 : -1;
}

// The names that stand anywhere but in such a place.
std::set<std::string> otherwise_used(const onnx::Graph& graph) {
  std::set<std::string> found;
  for (const onnx::ValueInfo& output : graph.outputs) found.insert(output.name);
  for (const onnx::Node& node : graph.nodes)
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (static_cast<int>(i) != large_operand(node)) found.insert(node.inputs[i]);
  return found;
}

onnx::ValueInfo port_of(const onnx::Tensor& tensor) {
  onnx::ValueInfo info;
  info.name = tensor.name;
  info.dtype = tensor.dtype;
  info.shape.emplace();
  for (const std::int64_t extent : tensor.dims) info.shape->push_back({extent, {}});
  return info;
}

}  // namespace

HeldBack hold_back(onnx::Graph& graph, const std::vector<ir::Bytes>& weights, const HoldBackLimits& limits) {
  HeldBack held;
  std::uint64_t bytes = 0;
  std::map<std::string, const ir::Bytes*> by_name;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    bytes += weights[i].size;
    by_name.emplace("w" + std::to_string(i), &weights[i]);
  }
  if (bytes < limits.model) return held;
  const std::set<std::string> others = otherwise_used(graph);
  std::erase_if(graph.initializers, [&](onnx::Tensor& tensor) {
    const auto found = tensor.external ? by_name.find(tensor.name) : by_name.end();
    if (found == by_name.end() || found->second->size < limits.weight || others.contains(tensor.name)) return false;
    graph.inputs.push_back(port_of(tensor));
    tensor.external.reset();
    tensor.bytes = *found->second;
    held.tensors.push_back(std::move(tensor));
    return true;
  });
  return held;
}

void put_back(onnx::Graph& graph, HeldBack held) {
  std::set<std::string> names;
  for (const onnx::Tensor& tensor : held.tensors) names.insert(tensor.name);
  std::erase_if(graph.inputs, [&](const onnx::ValueInfo& input) { return names.contains(input.name); });
  for (onnx::Tensor& tensor : held.tensors) graph.initializers.push_back(std::move(tensor));
}

}  // namespace dycl::backends::ort
