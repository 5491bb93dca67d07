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

  const std::string& lowest() {
    if (lowest_.empty()) lowest_ = constant(DType::F32, {}, -std::numeric_limits<float>::infinity());
    return lowest_;
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

  // A NaN where x has one, else 0.
  std::string marks(const std::string& x) { return add("Where", {add("IsNaN", {x}), x, zero()}); }

  void along_axis(onnx::Node node) {
    const onnx::Attribute* attribute = node.attribute("axis");
    const std::string axes = constant(DType::I64, {1}, attribute ? attribute->i : std::int64_t{-1});
    const std::string bad = add("ReduceSum", {marks(node.inputs[0]), axes});
    const std::string output = std::exchange(node.outputs[0], fresh());
    const std::string plain = node.outputs[0];
    keep(std::move(node));
    add("Add", {plain, bad}, output);
  }

  void reduction(onnx::Node node) {
    std::vector<std::string> inputs = node.inputs;
    inputs[0] = marks(node.inputs[0]);
    const std::string bad = add("ReduceSum", inputs, {}, node.attributes);
    const std::string output = std::exchange(node.outputs[0], fresh());
    const std::string plain = node.outputs[0];
    keep(std::move(node));
    add("Add", {plain, bad}, output);
  }

  // What each window has: 0 for -inf alone (of which it makes the lowest number), 1 for numbers, 2 for a NaN.
  void max_pool(onnx::Node node) {
    const std::string x = node.inputs[0], output = std::exchange(node.outputs[0], fresh());
    const std::string plain = node.outputs[0];
    const std::string number = add("Cast", {add("Less", {lowest(), x})}, {},
                                   {onnx::int_attribute("to", static_cast<int>(DType::F32))});
    const std::string kinds = add("Where", {add("IsNaN", {x}), constant(DType::F32, {}, 2.0F), number});
    const std::string most = add("MaxPool", {kinds}, {}, node.attributes);
    keep(std::move(node));
    const std::string nan = constant(DType::F32, {}, std::numeric_limits<float>::quiet_NaN());
    const std::string some = add("Where", {add("Less", {zero(), most}), plain, lowest()});
    add("Where", {add("Less", {constant(DType::F32, {}, 1.5F), most}), nan, some}, output);
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
  std::string zero_, lowest_;
};

}  // namespace

void legalize(onnx::Graph& graph) { Rewriter(graph).run(); }

}  // namespace dycl::backends::openvino
