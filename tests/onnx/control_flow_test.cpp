// SPDX-License-Identifier: Apache-2.0
// If, Loop and Scan of ONNX files: imported, verified, and run by the reference interpreter.
#include <gtest/gtest.h>

#include "ir/interpret.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "onnx/format/proto.h"
#include "onnx/import/import.h"

namespace dycl::onnx {
namespace {

Node node(std::string op, std::vector<std::string> inputs, std::vector<std::string> outputs,
          std::vector<Attribute> attributes = {}) {
  Node n;
  n.op_type = std::move(op);
  n.inputs = std::move(inputs);
  n.outputs = std::move(outputs);
  n.attributes = std::move(attributes);
  return n;
}

ValueInfo info(std::string name, DType dtype, std::vector<std::int64_t> dims) {
  ValueInfo v{std::move(name), dtype, std::vector<Dimension>()};
  for (const std::int64_t dim : dims) v.shape->push_back({dim, ""});
  return v;
}

Attribute graph(std::string name, Graph body) {
  Attribute a;
  a.name = std::move(name);
  a.kind = Attribute::Kind::Graph;
  a.graph.push_back(std::move(body));
  return a;
}

template <typename T>
Tensor tensor(std::string name, DType dtype, std::vector<std::int64_t> dims, const std::vector<T>& elements) {
  return {
      std::move(name), dtype, std::move(dims), ir::Bytes::copy_of(elements.data(), elements.size() * sizeof(T)), {}};
}

ir::HostValue f32(std::vector<std::int64_t> shape, std::vector<float> elements) {
  return ir::HostValue::of(ir::Tensor::of(DType::F32, std::move(shape), elements));
}
ir::HostValue i64(std::int64_t value) {
  return ir::HostValue::of(ir::Tensor::of(DType::I64, {}, std::vector<std::int64_t>{value}));
}

std::vector<ir::HostValue> run(const Graph& g, const std::vector<ir::HostValue>& arguments) {
  Model model;
  model.opsets[""] = 23;
  model.graph = g;
  model.graph.name = "g";
  const std::string bytes = write_model(model);
  const auto program = import_model(ir::Bytes::copy_of(bytes.data(), bytes.size()), {});
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().message);
  if (!program) return {};
  const auto evaluator = ir::make_builtin_evaluator();
  auto interpreter = ir::Interpreter::create(*program, *evaluator);
  EXPECT_TRUE(interpreter.ok()) << interpreter.error().message << "\n" << ir::print(*program);
  if (!interpreter) return {};
  auto outcome = interpreter->run(arguments);
  EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().message) << "\n" << ir::print(*program);
  return outcome ? std::move(outcome->results) : std::vector<ir::HostValue>();
}

void expect_results(const Graph& g, const std::vector<ir::HostValue>& arguments,
                    const std::vector<ir::HostValue>& expected) {
  const auto results = run(g, arguments);
  ASSERT_EQ(results.size(), expected.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto difference = ir::difference(results[i], expected[i], {1e-6, 1e-6, 0});
    EXPECT_FALSE(difference) << i << ": " << *difference;
  }
}

// y = -x or x + x, and a value from outside in one arm.
Graph if_graph() {
  Graph then_graph, else_graph, g;
  then_graph.nodes = {node("Neg", {"x"}, {"a"})};
  then_graph.outputs = {info("a", DType::F32, {2})};
  else_graph.nodes = {node("Add", {"x", "x"}, {"b"})};
  else_graph.outputs = {info("b", DType::F32, {2})};
  g.inputs = {info("x", DType::F32, {2})};
  g.initializers = {tensor<float>("zero", DType::F32, {}, {0})};
  g.nodes = {node("ReduceSum", {"x"}, {"s"}, {int_attribute("keepdims", 0)}), node("Greater", {"s", "zero"}, {"c"}),
             node("If", {"c"}, {"y"}, {graph("then_branch", then_graph), graph("else_branch", else_graph)}),
             node("Relu", {"y"}, {"z"})};
  g.outputs = {info("y", DType::F32, {2}), info("z", DType::F32, {2})};
  return g;
}

TEST(OnnxControlFlow, If) {
  expect_results(if_graph(), {f32({2}, {3, -1})}, {f32({2}, {-3, 1}), f32({2}, {0, 1})});
  expect_results(if_graph(), {f32({2}, {-3, 1})}, {f32({2}, {-6, 2}), f32({2}, {0, 2})});
}

// v doubles each trip; every v is collected; ends early at `limit`.
Graph loop_graph(bool with_trips, bool with_limit) {
  Graph body, g;
  body.inputs = {info("i", DType::I64, {}), info("go", DType::Bool, {}), info("v", DType::F32, {2})};
  body.nodes = {node("Add", {"v", "v"}, {"w"}), node("Identity", {"w"}, {"seen"})};
  if (with_limit) {
    body.nodes.push_back(node("ReduceSum", {"w"}, {"sum"}, {int_attribute("keepdims", 0)}));
    body.nodes.push_back(node("Less", {"sum", "limit"}, {"go_on"}));
  } else {
    body.nodes.push_back(node("Identity", {"go"}, {"go_on"}));
  }
  body.outputs = {info("go_on", DType::Bool, {}), info("w", DType::F32, {2}), info("seen", DType::F32, {2})};
  g.inputs = {info("n", DType::I64, {}), info("x", DType::F32, {2})};
  g.initializers = {tensor<float>("limit", DType::F32, {}, {20})};
  g.nodes = {node("Loop", {with_trips ? "n" : "", "", "x"}, {"y", "all"}, {graph("body", body)})};
  g.outputs = {info("y", DType::F32, {2}), info("all", DType::F32, {-1, 2})};
  return g;
}

TEST(OnnxControlFlow, LoopWithTrips) {
  expect_results(loop_graph(true, false), {i64(3), f32({2}, {1, 2})},
                 {f32({2}, {8, 16}), f32({3, 2}, {2, 4, 4, 8, 8, 16})});
  expect_results(loop_graph(true, false), {i64(0), f32({2}, {1, 2})}, {f32({2}, {1, 2}), f32({0, 2}, {})});
}

TEST(OnnxControlFlow, LoopWithCondition) {
  expect_results(loop_graph(false, true), {i64(0), f32({2}, {1, 2})},
                 {f32({2}, {8, 16}), f32({3, 2}, {2, 4, 4, 8, 8, 16})});
  expect_results(loop_graph(true, true), {i64(2), f32({2}, {1, 2})}, {f32({2}, {4, 8}), f32({2, 2}, {2, 4, 4, 8})});
}

Graph scan_graph(std::int64_t direction) {
  Graph body, g;
  body.inputs = {info("s", DType::F32, {2}), info("slice", DType::F32, {2})};
  body.nodes = {node("Add", {"s", "slice"}, {"t"}), node("Identity", {"t"}, {"seen"})};
  body.outputs = {info("t", DType::F32, {2}), info("seen", DType::F32, {2})};
  g.inputs = {info("x", DType::F32, {3, 2})};
  g.initializers = {tensor<float>("start", DType::F32, {2}, {0, 0})};
  g.nodes = {node(
      "Scan", {"start", "x"}, {"last", "sums"},
      {graph("body", body), int_attribute("num_scan_inputs", 1), ints_attribute("scan_input_directions", {direction}),
       ints_attribute("scan_output_directions", {direction})})};
  g.outputs = {info("last", DType::F32, {2}), info("sums", DType::F32, {-1, 2})};
  return g;
}

TEST(OnnxControlFlow, Scan) {
  const auto x = f32({3, 2}, {1, 2, 3, 4, 5, 6});
  expect_results(scan_graph(0), {x}, {f32({2}, {9, 12}), f32({3, 2}, {1, 2, 4, 6, 9, 12})});
  expect_results(scan_graph(1), {x}, {f32({2}, {9, 12}), f32({3, 2}, {9, 12, 8, 10, 5, 6})});
}

// A growing tensor is carried: the type must widen.
TEST(OnnxControlFlow, LoopThatChangesShapes) {
  Graph body, g;
  body.inputs = {info("i", DType::I64, {}), info("go", DType::Bool, {}), info("v", DType::F32, {-1})};
  body.nodes = {node("Concat", {"v", "v"}, {"w"}, {int_attribute("axis", 0)}), node("Identity", {"go"}, {"go_on"})};
  body.outputs = {info("go_on", DType::Bool, {}), info("w", DType::F32, {-1})};
  g.inputs = {info("n", DType::I64, {}), info("x", DType::F32, {1})};
  g.nodes = {node("Loop", {"n", "", "x"}, {"y"}, {graph("body", body)})};
  g.outputs = {info("y", DType::F32, {-1})};
  expect_results(g, {i64(2), f32({1}, {5})}, {f32({4}, {5, 5, 5, 5})});
}

TEST(OnnxControlFlow, IfInsideLoop) {
  Graph body, g;
  Graph inner = if_graph();
  body.inputs = {info("i", DType::I64, {}), info("go", DType::Bool, {}), info("x", DType::F32, {2})};
  body.initializers = inner.initializers;
  body.nodes = inner.nodes;
  body.nodes.push_back(node("Identity", {"go"}, {"go_on"}));
  body.outputs = {info("go_on", DType::Bool, {}), info("y", DType::F32, {2})};
  g.inputs = {info("n", DType::I64, {}), info("start", DType::F32, {2})};
  g.nodes = {node("Loop", {"n", "", "start"}, {"end"}, {graph("body", body)})};
  g.outputs = {info("end", DType::F32, {2})};
  expect_results(g, {i64(3), f32({2}, {3, -1})}, {f32({2}, {-12, 4})});  // negated, doubled, doubled
}

// The body states no types: they are those of what it computes.
TEST(OnnxControlFlow, LoopWithoutStatedTypes) {
  Graph g = loop_graph(true, false);
  for (ValueInfo& output : g.nodes[0].attributes[0].graph[0].outputs) output = {output.name};
  expect_results(g, {i64(2), f32({2}, {1, 2})}, {f32({2}, {4, 8}), f32({2, 2}, {2, 4, 4, 8})});
}

// Wrong shapes of a body's values, and axes from the end of a tensor whose rank only a run knows.
TEST(OnnxControlFlow, WrongShapesChangeNothing) {
  Graph g = loop_graph(true, false);
  g.nodes[0].attributes[0].graph[0].outputs[1] = info("w", DType::F32, {9, 9, 9});
  g.nodes[0].attributes[0].graph[0].value_infos = {info("seen", DType::F32, {7})};
  expect_results(g, {i64(2), f32({2}, {1, 2})}, {f32({2}, {4, 8}), f32({2, 2}, {2, 4, 4, 8})});
  g = scan_graph(0);
  g.nodes[0].attributes.push_back(ints_attribute("scan_input_axes", {-2}));
  g.nodes[0].attributes.push_back(ints_attribute("scan_output_axes", {-2}));
  expect_results(g, {f32({3, 2}, {1, 2, 3, 4, 5, 6})}, {f32({2}, {9, 12}), f32({3, 2}, {1, 2, 4, 6, 9, 12})});
}

// x + 1 for each element of a sequence; an optional that is there or not.
TEST(OnnxControlFlow, SequencesAndOptionals) {
  Graph body, g;
  body.inputs = {info("e", DType::F32, {2}), info("k", DType::F32, {})};
  body.nodes = {node("Add", {"e", "k"}, {"f"})};
  body.outputs = {{"f"}};
  ValueInfo sequence = info("s", DType::F32, {2}), maybe = info("m", DType::F32, {2});
  sequence.sequence = true;
  maybe.optional = true;
  g.inputs = {sequence, maybe};
  g.initializers = {tensor<float>("one", DType::F32, {}, {1})};
  g.nodes = {node("SequenceMap", {"s", "one"}, {"t"}, {graph("body", body)}),
             node("OptionalHasElement", {"m"}, {"has"})};
  g.outputs = {{"t"}, {"has"}};
  const auto list = [](std::vector<ir::HostValue> elements) { return ir::HostValue::list(std::move(elements)); };
  const auto boolean = [](bool value) {
    return ir::HostValue::of(ir::Tensor::of(DType::Bool, {}, std::vector<std::uint8_t>{value}));
  };
  expect_results(g, {list({f32({2}, {1, 2}), f32({2}, {3, 4})}), ir::HostValue::none()},
                 {list({f32({2}, {2, 3}), f32({2}, {4, 5})}), boolean(false)});
  expect_results(g, {list({}), ir::HostValue::some(f32({2}, {1, 2}))}, {list({}), boolean(true)});
}

TEST(OnnxControlFlow, WrongBodiesAreErrors) {
  auto message = [](const Graph& g) {
    Model model;
    model.opsets[""] = 23;
    model.graph = g;
    const std::string bytes = write_model(model);
    const auto program = import_model(ir::Bytes::copy_of(bytes.data(), bytes.size()), {});
    return program.ok() ? std::string("accepted") : program.error().message;
  };
  Graph g = loop_graph(true, false);
  g.nodes[0].inputs.pop_back();
  EXPECT_NE(message(g).find("another number of values"), std::string::npos);
  g = loop_graph(true, false);
  g.nodes[0].attributes.clear();
  EXPECT_NE(message(g).find("lacks the attribute 'body'"), std::string::npos);
  g = loop_graph(true, false);
  g.nodes[0].attributes[0].graph[0].outputs[1] = info("w", DType::F32, {3});
  g.nodes[0].attributes[0].graph[0].nodes[0].op_type = "Nonsense";
  EXPECT_NE(message(g), "");  // shapes are the verifier's to judge; it must not crash
  g = if_graph();
  g.nodes[2].attributes[1].graph[0].outputs.clear();
  EXPECT_NE(message(g).find("different outputs"), std::string::npos);
}

}  // namespace
}  // namespace dycl::onnx
