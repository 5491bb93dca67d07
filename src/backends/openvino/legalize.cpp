// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/legalize.h"

#include <limits>
#include <set>
#include <utility>

namespace dycl::backends::openvino {
namespace {

class Rewriter {
 public:
  explicit Rewriter(onnx::Graph& graph) : graph_(graph) {
    for (const auto* infos : {&graph.inputs, &graph.outputs, &graph.value_infos})
      for (const onnx::ValueInfo& info : *infos)
        if (info.dtype == DType::Bool) bools_.insert(info.name);
    for (const onnx::Tensor& tensor : graph.initializers)
      if (tensor.dtype == DType::Bool) bools_.insert(tensor.name);
  }

  void run() {
    std::vector<onnx::Node> before = std::exchange(graph_.nodes, {});
    for (onnx::Node& node : before) rewrite(std::move(node));
  }

 private:
  void rewrite(onnx::Node node) {
    const std::string& op = node.op_type;
    if (!node.domain.empty()) return keep(std::move(node));
    if (op == "Relu") return relu(std::move(node));
    if (op == "Greater" || op == "GreaterOrEqual") return mirrored(std::move(node));
    if (op == "Exp" || op == "HardSigmoid" || op == "Max" || op == "Min") return nan_of_first(std::move(node));
    if (op == "Clip") return clip(node);
    if (op == "Softmax" || op == "LogSoftmax") return along_axis(std::move(node));
    if (op == "MaxPool") return max_pool(std::move(node));
    if (op == "ReduceMax" || op == "ReduceMin")
      return bools_.count(node.inputs[0]) ? bool_reduction(std::move(node)) : reduction(std::move(node));
    keep(std::move(node));
  }

  void keep(onnx::Node node) { graph_.nodes.push_back(std::move(node)); }

  std::string fresh() { return "legal" + std::to_string(next_++); }

  std::string add(const std::string& op, std::vector<std::string> inputs, std::string output = {},
                  std::vector<onnx::Attribute> attributes = {}) {
    onnx::Node node;
    node.op_type = op;
    node.name = fresh();
    node.inputs = std::move(inputs);
    node.outputs = {output.empty() ? fresh() : std::move(output)};
    node.attributes = std::move(attributes);
    keep(node);
    return node.outputs[0];
  }

  template <typename T>
  std::string constant(DType dtype, std::vector<std::int64_t> dims, T value) {
    onnx::Tensor tensor;
    tensor.name = fresh();
    tensor.dtype = dtype;
    tensor.dims = std::move(dims);
    tensor.bytes = ir::Bytes::copy_of(reinterpret_cast<const std::uint8_t*>(&value), sizeof value);
    graph_.initializers.push_back(tensor);
    return tensor.name;
  }

  const std::string& zero() {
    if (zero_.empty()) zero_ = constant(DType::F32, {}, 0.0F);
    return zero_;
  }

  const std::string& infinity(bool positive) {
    std::string& name = infinities_[positive ? 1 : 0];
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    if (name.empty()) name = constant(DType::F32, {}, positive ? kInfinity : -kInfinity);
    return name;
  }

  const std::string& nan() {
    if (nan_.empty()) nan_ = constant(DType::F32, {}, std::numeric_limits<float>::quiet_NaN());
    return nan_;
  }

  void relu(onnx::Node node) {
    node.op_type = "Max";
    node.inputs.insert(node.inputs.begin(), zero());
    keep(std::move(node));
  }

  void mirrored(onnx::Node node) {
    node.op_type = node.op_type == "Greater" ? "Less" : "LessOrEqual";
    std::swap(node.inputs[0], node.inputs[1]);
    keep(std::move(node));
  }

  void nan_of_first(onnx::Node node) {
    const std::string first = node.inputs[0], output = std::exchange(node.outputs[0], fresh());
    const std::string plain = node.outputs[0];
    keep(std::move(node));
    add("Where", {add("IsNaN", {first}), first, plain}, output);
  }

  // Comparisons with a NaN are false, so it is handed on.
  void clip(const onnx::Node& node) {
    const std::string &x = node.inputs[0], &low = node.inputs[1], &high = node.inputs[2];
    const std::string raised = add("Where", {add("Less", {x, low}), low, x});
    add("Where", {add("Less", {high, raised}), high, raised}, node.outputs[0]);
  }

  // A NaN or an infinity among what is added up makes all of its results NaN.
  void along_axis(onnx::Node node) {
    const onnx::Attribute* attribute = node.attribute("axis");
    const std::string axes = constant(DType::I64, {1}, attribute ? attribute->i : std::int64_t{-1});
    const std::string marks = add("Where", {add("Less", {node.inputs[0], infinity(true)}), zero(), nan()});
    const std::string bad = add("ReduceSum", {marks, axes});
    const std::string output = std::exchange(node.outputs[0], fresh());
    const std::string plain = node.outputs[0];
    keep(std::move(node));
    add("Add", {plain, bad}, output);
  }

  // An extremum of infinities alone is a number there, and a NaN is lost. A second reduction, `most_of`, over 0 for an
  // infinity that loses, 1 for what beats it and 2 for a NaN, says what there was.
  template <typename MostOf>
  void extremum(onnx::Node node, bool largest, const MostOf& most_of) {
    const std::string x = node.inputs[0], output = std::exchange(node.outputs[0], fresh());
    const std::string plain = node.outputs[0], &worst = infinity(!largest);
    const std::string beats = largest ? add("Less", {worst, x}) : add("Less", {x, worst});
    const std::string number = add("Cast", {beats}, {}, {onnx::int_attribute("to", static_cast<int>(DType::F32))});
    const std::string most = most_of(add("Where", {add("IsNaN", {x}), constant(DType::F32, {}, 2.0F), number}), node);
    keep(std::move(node));
    const std::string some = add("Where", {add("Less", {zero(), most}), plain, worst});
    add("Where", {add("Less", {constant(DType::F32, {}, 1.5F), most}), nan(), some}, output);
  }

  void reduction(onnx::Node node) {
    const bool largest = node.op_type == "ReduceMax";
    extremum(std::move(node), largest, [this](const std::string& kinds, const onnx::Node& of) {
      std::vector<std::string> inputs = of.inputs;
      inputs[0] = kinds;
      return add("ReduceMax", std::move(inputs), {}, of.attributes);
    });
  }

  void max_pool(onnx::Node node) {
    extremum(std::move(node), true, [this](const std::string& kinds, const onnx::Node& of) {
      return add("MaxPool", {kinds}, {}, of.attributes);
    });
  }

  // Whether any, or all, are true.
  void bool_reduction(onnx::Node node) {
    node.inputs[0] = add("Cast", {node.inputs[0]}, {}, {onnx::int_attribute("to", static_cast<int>(DType::F32))});
    const std::string output = std::exchange(node.outputs[0], fresh());
    const std::string number = node.outputs[0];
    keep(std::move(node));
    add("Less", {zero(), number}, output);
  }

  onnx::Graph& graph_;
  std::set<std::string> bools_;  // values of that dtype
  int next_ = 0;
  std::string zero_, nan_, infinities_[2];
};

}  // namespace

void legalize(onnx::Graph& graph) { Rewriter(graph).run(); }

}  // namespace dycl::backends::openvino
