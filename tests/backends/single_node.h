// SPDX-License-Identifier: Apache-2.0
// A package's artifact as an attacker would write it: a model of one node with any operator, attributes and operands.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/artifact.h"
#include "harness.h"
#include "onnx/format/proto.h"

namespace dycl::test {

struct SingleNode {
  std::string domain, name;
  std::map<std::string, std::int64_t> attributes;
  std::vector<DType> results;  // their shapes are the operator's to say
  std::map<std::string, std::vector<std::int64_t>> lists = {};  // attributes, too
};

// Operands without a dtype are left out. `constants` are initializers, the others are given at run time.
inline Result<std::vector<Tensor>> run_single(const SingleNode& op, const std::vector<std::optional<Tensor>>& operands,
                                              const std::vector<std::size_t>& constants = {}) {
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  onnx::Model model;
  model.opsets = {{"", onnx::kOpset}, {op.domain, 1}};
  onnx::Node node;
  node.domain = op.domain, node.op_type = op.name;
  for (const auto& [key, value] : op.attributes) node.attributes.push_back(onnx::int_attribute(key, value));
  for (const auto& [key, values] : op.lists) node.attributes.push_back(onnx::ints_attribute(key, values));
  std::vector<Tensor> given;
  std::vector<ir::ValueId> inputs;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    node.inputs.push_back(operands[i] ? "x" + std::to_string(i) : "");
    if (!operands[i]) continue;
    const Tensor& t = *operands[i];
    if (std::find(constants.begin(), constants.end(), i) != constants.end()) {
      model.graph.initializers.push_back(
          {node.inputs.back(), t.dtype, t.shape, ir::Bytes::copy_of(t.bytes.data(), t.bytes.size()), {}});
      continue;
    }
    model.graph.inputs.push_back({node.inputs.back(), t.dtype, std::vector<onnx::Dimension>(t.shape.size())});
    inputs.push_back(s.input(shaped(t.dtype, std::vector<std::int64_t>(t.shape.size(), -1))));
    given.push_back(t);
  }
  std::vector<ir::ValueId> made;
  for (std::size_t i = 0; i < op.results.size(); ++i) {
    node.outputs.push_back("y" + std::to_string(i));
    model.graph.outputs.push_back({node.outputs.back(), op.results[i]});
    made.push_back(s.op("Any", {}, ir::Type::tensor_of_unknown_rank(op.results[i])));
  }
  s.returns(made);
  model.graph.name = "g";
  model.graph.nodes.push_back(node);
  const std::string bytes = onnx::write_model(model);
  backends::Artifact artifact;
  artifact.backend = "ort", artifact.target = backends::kPortableTarget;
  artifact.bytes.assign(bytes.begin(), bytes.end());
  DYCL_ASSIGN(const auto run, PluginRun::create(program, {{"s0", {artifact}}}, {}));
  return run->run("s0", given);
}

}  // namespace dycl::test
