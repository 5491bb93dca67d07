// SPDX-License-Identifier: Apache-2.0
// Weights that the optimiser is not shown.
#include "backends/ort/held_back.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "backends/ort/optimize.h"

namespace dycl::backends::ort {
namespace {

onnx::Node node(const std::string& op_type, std::vector<std::string> inputs, const std::string& output) {
  onnx::Node made;
  made.op_type = op_type;
  made.name = output;
  made.inputs = std::move(inputs);
  made.outputs = {output};
  return made;
}

onnx::ValueInfo port(const std::string& name) {
  onnx::ValueInfo info;
  info.name = name;
  info.dtype = DType::F32;
  info.shape = {{{1, {}}, {4, {}}}};
  return info;
}

onnx::Tensor weight(int number, std::vector<std::int64_t> dims, const ir::Bytes& bytes) {
  onnx::Tensor tensor;
  tensor.name = "w" + std::to_string(number);
  tensor.dims = std::move(dims);
  tensor.external = onnx::ExternalData{tensor.name, 0, static_cast<std::int64_t>(bytes.size)};
  return tensor;
}

// Relu(x @ w0 + w1), where w2 is multiplied by and added.
struct Example {
  std::vector<float> square = std::vector<float>(16, 0.5F), row = std::vector<float>(4, 2.0F);
  std::vector<ir::Bytes> weights;
  onnx::Model model;

  Example() {
    for (const auto* elements : {&square, &row, &square})
      weights.push_back(ir::Bytes::copy_of(elements->data(), elements->size() * sizeof(float)));
    model.opsets[""] = 17;
    model.graph.name = "g";
    model.graph.inputs = {port("x")};
    model.graph.outputs = {port("y")};
    model.graph.initializers = {weight(0, {4, 4}, weights[0]), weight(1, {4}, weights[1]),
                                weight(2, {4, 4}, weights[2])};
    model.graph.nodes = {node("MatMul", {"x", "w0"}, "a"), node("Add", {"a", "w1"}, "b"),
                         node("MatMul", {"b", "w2"}, "c"), node("Add", {"w2", "c"}, "d"),
                         node("ReduceSum", {"d"}, "s"),    node("Add", {"s", "x"}, "y")};
  }
};

std::vector<std::string> names_of(const auto& things) {
  std::vector<std::string> names;
  for (const auto& thing : things) names.push_back(thing.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(HeldBack, WhatIsOnlyMultipliedByIsAnInputMeanwhile) {
  Example example;
  onnx::Graph& graph = example.model.graph;
  HeldBack held = hold_back(graph, example.weights, {0, 32});
  EXPECT_EQ(names_of(held.tensors), Names{"w0"});  // w1 is small, w2 is added
  EXPECT_EQ(names_of(graph.inputs), (Names{"x", "w0"}));
  EXPECT_EQ(names_of(graph.initializers), (Names{"w1", "w2"}));
  const auto optimizer = Optimizer::create();
  ASSERT_TRUE(optimizer.ok());
  auto optimized = optimizer->optimize(example.model, example.weights, Level::Extended);
  ASSERT_TRUE(optimized.ok()) << optimized.error().message;
  put_back(optimized->graph, std::move(held));
  EXPECT_EQ(names_of(optimized->graph.inputs), Names{"x"});
  const auto& all = optimized->graph.initializers;
  const auto w0 = std::find_if(all.begin(), all.end(), [](const onnx::Tensor& tensor) { return tensor.name == "w0"; });
  ASSERT_NE(w0, all.end());
  EXPECT_FALSE(w0->external);
  EXPECT_EQ(w0->bytes.data, example.weights[0].data);
  EXPECT_EQ(w0->dims, (std::vector<std::int64_t>{4, 4}));
}

TEST(HeldBack, OfSmallModelsNothing) {
  Example example;
  EXPECT_TRUE(hold_back(example.model.graph, example.weights).tensors.empty());
  EXPECT_EQ(example.model.graph.initializers.size(), 3U);
}

}  // namespace
}  // namespace dycl::backends::ort
