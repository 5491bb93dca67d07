// SPDX-License-Identifier: Apache-2.0
// ONNX bytes in and out: structs, import of whole models, and files that are damaged
// or hostile.
#include <gtest/gtest.h>

#include <unistd.h>
#include <cstring>

#include <filesystem>
#include <fstream>
#include <random>

#include "onnx/format/opsets.h"
#include "onnx/format/proto.h"
#include "onnx/import/import.h"
#include "onnx/import/operators.h"

namespace dycl::onnx {
namespace {

ir::Bytes bytes_of(const std::string& text) { return ir::Bytes::copy_of(text.data(), text.size()); }

Tensor tensor(std::string name, std::vector<std::int64_t> dims, const std::vector<float>& elements) {
  return {std::move(name),
          DType::F32,
          std::move(dims),
          ir::Bytes::copy_of(elements.data(), elements.size() * sizeof(float)),
          {}};
}

Node node(std::string op, std::vector<std::string> inputs, std::vector<std::string> outputs) {
  Node n;
  n.op_type = std::move(op);
  n.inputs = std::move(inputs);
  n.outputs = std::move(outputs);
  return n;
}

ValueInfo info(std::string name, DType dtype, std::vector<Dimension> shape) {
  return {std::move(name), dtype, std::move(shape)};
}

// y = Relu(x @ w) + [1, 1]; big has 400 elements and so becomes a weight.
Model example() {
  Model model;
  model.opsets[""] = 23;
  Graph& g = model.graph;
  g.name = "g";
  g.inputs = {info("x", DType::F32, {{-1, "N"}, {20, ""}})};
  g.outputs = {info("y", DType::F32, {{-1, "N"}, {20, ""}})};
  g.initializers = {tensor("layer/big", {20, 20}, std::vector<float>(400, 0.5F)), tensor("one", {1}, {1})};
  g.nodes = {node("MatMul", {"x", "layer/big"}, {"h"}), node("Relu", {"h"}, {"r"}), node("Add", {"r", "one"}, {"y"})};
  return model;
}

TEST(OnnxProto, ReadsWhatItWrites) {
  Model model = example();
  Node rich = node("Foo", {"x", ""}, {"z"});
  rich.domain = "com.microsoft";
  rich.attributes = {int_attribute("i", -3), ints_attribute("is", {1, -2, 1LL << 40})};
  Attribute f;
  f.name = "fs";
  f.kind = Attribute::Kind::Floats;
  f.floats = {0.5F, -2};
  rich.attributes.push_back(f);
  Attribute body;
  body.name = "body";
  body.kind = Attribute::Kind::Graph;
  body.graph.push_back(example().graph);
  rich.attributes.push_back(body);
  model.graph.nodes.push_back(rich);
  model.graph.value_infos = {info("h", DType::F16, {{-1, ""}, {3, ""}}), info("scalar", DType::Bool, {})};
  const std::string once = write_model(model);
  const auto back = read_model(bytes_of(once));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(write_model(*back), once);
  const Node& read = back->graph.nodes.back();
  EXPECT_EQ(read.attribute("is")->ints, rich.attributes[1].ints);
  EXPECT_EQ(read.attribute("fs")->floats, f.floats);
  EXPECT_EQ(read.attribute("body")->graph.front().nodes.size(), 3U);
  EXPECT_EQ(back->graph.value_infos[0].shape->size(), 2U);
  EXPECT_EQ(back->graph.value_infos[1].shape->size(), 0U);
}

TEST(OnnxImport, StraightLineModel) {
  const auto program = import_model(bytes_of(write_model(example())), {});
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->symbols.count("N"), 1U);
  ASSERT_EQ(program->weights.size(), 1U);
  EXPECT_EQ(program->weights.begin()->first, "layer_big");
  const ir::Function& main = program->main();
  std::vector<std::string> names;
  for (const ir::Op& op : main.blocks[0].body) names.push_back(op.name);
  EXPECT_EQ(names, (std::vector<std::string>{"weight", "const", "MatMul", "Relu", "Add"}));
  EXPECT_EQ(ir::to_string(main.results.at(0).type), "f32[*]");  // a pass finds out
}

TEST(OnnxImport, OlderReductionsGetTheirAxesAsAnInput) {
  Model model = example();
  model.opsets[""] = 17;
  model.graph.nodes.push_back(node("ReduceMean", {"y"}, {"m"}));
  model.graph.nodes.back().attributes = {ints_attribute("axes", {1})};
  model.graph.outputs.push_back(info("m", DType::F32, {{-1, "N"}, {1, ""}}));
  const auto program = import_model(bytes_of(write_model(model)), {});
  ASSERT_TRUE(program.ok()) << program.error().message;
  const ir::Op& op = program->main().blocks[0].body.back();
  EXPECT_EQ(op.name, "ReduceMean");
  EXPECT_EQ(op.operands.size(), 2U);
  EXPECT_EQ(op.attr("axes"), nullptr);
}

std::vector<std::string> ops_of(const Model& model) {
  const auto program = import_model(bytes_of(write_model(model)), {});
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().message);
  std::vector<std::string> names;
  if (program.ok())
    for (const ir::Op& op : program->main().blocks[0].body) names.push_back(op.name);
  return names;
}

TEST(OnnxImport, OlderFormsAreRewritten) {
  Model model = example();
  model.opsets[""] = 9;
  Graph& g = model.graph;
  g.initializers = {tensor("scales", {2}, {1, 2})};
  Node resize = node("Upsample", {"x", "scales"}, {"a"});
  Node clip = node("Clip", {"a"}, {"b"});
  Attribute low;
  low.name = "min";
  low.kind = Attribute::Kind::Float;
  clip.attributes = {low};
  Node softmax = node("Softmax", {"b"}, {"c"});
  Node squeeze = node("Unsqueeze", {"c"}, {"y"});
  squeeze.attributes = {ints_attribute("axes", {0})};
  g.nodes = {resize, clip, softmax, squeeze};
  EXPECT_EQ(ops_of(model), (std::vector<std::string>{"const", "const", "const", "Resize", "CastLike", "Clip", "Shape",
                                                     "Flatten", "Softmax", "Reshape", "Unsqueeze"}));
  model.opsets[""] = 10;
  g.nodes[0].op_type = "Resize";
  g.nodes[0].inputs[1] = "x";  // scales that only a run knows: which neighbour is the nearest?
  const auto refused = import_model(bytes_of(write_model(model)), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(ops_of(example()).size() > 1);
}

// Stated shapes are hints: a wrong one changes nothing. A dtype that is not the operator's is an error.
TEST(OnnxImport, StatedTypesAreHints) {
  Model model = example();
  model.graph.value_infos = {info("h", DType::F32, {{7, ""}, {3, ""}, {1, ""}})};
  const auto program = import_model(bytes_of(write_model(model)), {});
  ASSERT_TRUE(program.ok()) << program.error().message;
  for (const ir::Value& value : program->main().values)
    EXPECT_TRUE(value.hint != "h" || ir::to_string(value.type) == "f32[*]") << ir::to_string(value.type);
  model.graph.value_infos[0].dtype = DType::F16;
  const auto refused = import_model(bytes_of(write_model(model)), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("is f32, but stated as f16"), std::string::npos);
}

TEST(OnnxImport, NodesMustHaveTheFormOfTheirOperator) {
  const auto message_of = [](const Node& n) {
    Model model = example();
    model.graph.nodes.push_back(n);
    const auto result = import_model(bytes_of(write_model(model)), {});
    return result.ok() ? std::string("accepted") : result.error().message;
  };
  EXPECT_NE(message_of(node("MatMul", {"x"}, {"z"})).find("lacks input 2"), std::string::npos);
  EXPECT_NE(message_of(node("MatMul", {"x", ""}, {"z"})).find("lacks input 2"), std::string::npos);
  EXPECT_NE(message_of(node("Relu", {"x", "x"}, {"z"})).find("2 inputs, but takes at most 1"), std::string::npos);
  EXPECT_NE(message_of(node("Relu", {"x"}, {"z", "u"})).find("2 outputs"), std::string::npos);
  EXPECT_NE(message_of(node("Relu", {"x"}, {})).find("lacks output 1"), std::string::npos);
  EXPECT_NE(message_of(node("Concat", {"x", "x"}, {"z"})).find("lacks the attribute 'axis'"), std::string::npos);
  Node n = node("Concat", {"x"}, {"z"});
  n.attributes = {ints_attribute("axis", {1})};
  EXPECT_NE(message_of(n).find("'axis' of another kind"), std::string::npos);
  n.attributes = {int_attribute("axis", 1), int_attribute("axis", 1)};
  EXPECT_NE(message_of(n).find("'axis' twice"), std::string::npos);
  n.attributes = {int_attribute("axis", 1), int_attribute("way", 1)};
  EXPECT_NE(message_of(n).find("'way', which it does not take"), std::string::npos);
  EXPECT_NE(message_of(node("Upsample", {"x", "x"}, {"z"})).find("no operator that DyCL knows"), std::string::npos);
  EXPECT_NE(message_of(node("Swish", {"x"}, {"z"})).find("no operator that DyCL knows in opset 23"), std::string::npos);
}

TEST(OnnxImport, LaterOpsetsAreKept) {
  Model model = example();
  model.opsets[""] = 24;
  model.graph.nodes.push_back(node("Swish", {"y"}, {"z"}));
  const auto program = import_model(bytes_of(write_model(model)), {});
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(opsets_of(*program).at(""), 24);
}

TEST(OnnxImport, Refuses) {
  auto message_of = [](const Model& model) {
    const auto result = import_model(bytes_of(write_model(model)), {});
    return result.ok() ? std::string("accepted") : result.error().message;
  };
  Model undefined = example();
  undefined.graph.nodes[0].inputs[0] = "nowhere";
  EXPECT_NE(message_of(undefined).find("nowhere"), std::string::npos);
  Model twice = example();
  twice.graph.nodes[1].outputs[0] = "h";
  EXPECT_NE(message_of(twice).find("twice"), std::string::npos);
  Model later = example();
  later.opsets[""] = kNewestOpset + 1;
  EXPECT_NE(message_of(later).find("opset 27"), std::string::npos);
  Model none = example();
  none.opsets.clear();
  EXPECT_NE(message_of(none).find("does not say which opset"), std::string::npos);
  Model random = example();
  random.graph.nodes[1].op_type = "RandomNormalLike";
  EXPECT_NE(message_of(random).find("random"), std::string::npos);
  Model outside = example();
  outside.graph.initializers[0].external = ExternalData{"../../etc/passwd", 0, 1600};
  EXPECT_NE(message_of(outside).find("outside"), std::string::npos);
  Model absolute = example();
  absolute.graph.initializers[0].external = ExternalData{"/etc/passwd", 0, 1600};
  EXPECT_NE(message_of(absolute).find("outside"), std::string::npos);
}

TEST(OnnxImport, ExternalDataIsMapped) {
  const auto folder = std::filesystem::temp_directory_path() / ("dycl_onnx_test_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "w.bin", std::ios::binary) << std::string(100, 'x') << std::string(1600, '\0');
  Model model = example();
  model.graph.initializers[0].external = ExternalData{"w.bin", 100, 1600};
  const auto program = import_model(bytes_of(write_model(model)), folder);
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->weights.at("layer_big").bytes.size, 1600U);
  EXPECT_EQ(program->weights.at("layer_big").bytes.data[0], 0);
  model.graph.initializers[0].external = ExternalData{"w.bin", 101, 1600};
  EXPECT_FALSE(import_model(bytes_of(write_model(model)), folder).ok());
  model.graph.initializers[0].external = ExternalData{"none.bin", 0, 1600};
  EXPECT_FALSE(import_model(bytes_of(write_model(model)), folder).ok());
  std::filesystem::remove_all(folder);
}

TEST(OnnxHostile, NestingIsLimited) {
  Model model = example();
  for (int depth = 0; depth < 100; ++depth) {
    Attribute body;
    body.name = "body";
    body.kind = Attribute::Kind::Graph;
    body.graph.push_back(std::move(model.graph));
    model.graph = Graph();
    model.graph.nodes = {node("If", {"c"}, {"y"})};
    model.graph.nodes[0].attributes = {std::move(body)};
  }
  const auto result = read_model(bytes_of(write_model(model)));
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("nested"), std::string::npos);
}

TEST(OnnxHostile, HugeShapesDoNotAllocate) {
  Model model = example();
  model.graph.initializers[1].dims = {1LL << 40, 1LL << 40, 1LL << 40};
  EXPECT_FALSE(read_model(bytes_of(write_model(model))).ok());
  model.graph.initializers[1].dims = {-1};
  EXPECT_FALSE(read_model(bytes_of(write_model(model))).ok());
  model.graph.initializers[1].dims = {1LL << 61};
  model.graph.initializers[1].external = ExternalData{"w.bin", 0, -1};
  EXPECT_FALSE(import_model(bytes_of(write_model(model)), "/").ok());
}

TEST(OnnxHostile, DamagedBytesNeverCrash) {
  const std::string good = write_model(example());
  for (std::size_t size = 0; size < good.size(); ++size) (void)import_model(bytes_of(good.substr(0, size)), {});
  const unsigned seed = 7;
  std::mt19937 generator(seed);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bad = good;
    const int flips = 1 + static_cast<int>(generator() % 4);
    for (int k = 0; k < flips; ++k) bad[generator() % bad.size()] = static_cast<char>(generator());
    if (import_model(bytes_of(bad), {}).ok()) ++accepted;
  }
  EXPECT_LT(accepted, 20000);  // most flips hit the payload of the weight; the rest must be noticed
}

}  // namespace
}  // namespace dycl::onnx
