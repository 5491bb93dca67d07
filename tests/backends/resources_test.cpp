// SPDX-License-Identifier: Apache-2.0
// Memory and failures of the ONNX Runtime plug-in.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <random>

#include "harness.h"
#include "onnx/format/proto.h"
#include "onnx/format/protobuf.h"

namespace dycl::test {
namespace {

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Eight sub-DNNs over one 64 MB weight, each doing something else around it.
ir::Program eight_over_one_weight(std::int64_t rows, std::int64_t columns) {
  ir::Program program = empty_program();
  const Tensor weight{
      DType::F32, {rows, columns}, std::vector<std::uint8_t>(static_cast<std::size_t>(rows * columns) * 4)};
  for (int i = 0; i < 8; ++i) {
    SubDnn s(program, "s" + std::to_string(i));
    const auto x = s.input(shaped(DType::F32, {1, rows}));
    const auto w = s.weight("big", weight);
    const auto y = s.op("MatMul", {x, w}, shaped(DType::F32, {1, columns}));
    s.returns({s.op("Add", {y, s.constant(f32({}, {static_cast<float>(i)}))}, shaped(DType::F32, {1, columns}))});
  }
  return program;
}

TEST(Resources, EightSubDnnsShareOneWeight) {
  constexpr std::int64_t kRows = 4096, kColumns = 4096;
  constexpr std::size_t kWeight = static_cast<std::size_t>(kRows * kColumns) * 4;
  ir::Program program = eight_over_one_weight(kRows, kColumns);
  auto* data = const_cast<std::uint8_t*>(program.weights.at("big").bytes.data);
  for (std::size_t i = 0; i < kWeight; i += 4096) data[i] = 0;  // resident before we count
  auto backend = backends::find_backend("ort");
  const auto artifacts = (*backend)->compile_program(program, {});
  ASSERT_TRUE(artifacts.ok()) << artifacts.error().message;
  EXPECT_EQ(program.weights.size(), 1U);  // nothing was copied into a new weight
  const std::size_t before = resident_bytes();
  const auto run = PluginRun::create(program, *artifacts, {});
  ASSERT_TRUE(run.ok()) << run.error().message;
  for (int i = 0; i < 8; ++i) {
    const auto y = (*run)->run("s" + std::to_string(i), {random_f32({1, kRows}, 1)});
    ASSERT_TRUE(y.ok()) << y.error().message;
    EXPECT_EQ(floats((*y)[0])[0], static_cast<float>(i));
  }
  const std::size_t after = resident_bytes();
  const std::size_t grown = after > before ? after - before : 0;
  RecordProperty("grown_mb", static_cast<int>(grown >> 20));
  EXPECT_LT(static_cast<double>(grown), 1.3 * static_cast<double>(kWeight)) << (grown >> 20) << " MB";
}

// Of experts, only those that an input chose are packed.
TEST(Resources, WeightsOfSubDnnsThatNeverRunAreNotPacked) {
  constexpr std::int64_t kRows = 2048, kColumns = 2048;
  constexpr std::size_t kWeight = static_cast<std::size_t>(kRows * kColumns) * 4;
  for (const std::int64_t rows : {1, -1}) {  // as a small program; inside the engine
    ir::Program program = empty_program();
    for (int i = 0; i < 6; ++i) {
      SubDnn s(program, "s" + std::to_string(i));
      const auto x = s.input(shaped(DType::F32, {rows, kRows}));
      const auto w = s.weight("w" + std::to_string(i), random_f32({kRows, kColumns}, static_cast<unsigned>(i)));
      s.returns({s.op("MatMul", {x, w}, shaped(DType::F32, {rows, kColumns}))});
    }
    auto backend = backends::find_backend("ort");
    const auto artifacts = (*backend)->compile_program(program, {});
    ASSERT_TRUE(artifacts.ok()) << artifacts.error().message;
    const std::size_t before = resident_bytes();
    const auto run = PluginRun::create(program, *artifacts, {});
    ASSERT_TRUE(run.ok()) << run.error().message;
    ASSERT_TRUE((*run)->run("s3", {random_f32({1, kRows}, 1)}).ok());
    const std::size_t after = resident_bytes(), grown = after > before ? after - before : 0;
    EXPECT_LT(grown, 2 * kWeight) << (grown >> 20) << " MB for one of six weights of " << (kWeight >> 20);
  }
}

ir::Program one_matmul() {
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  const auto x = s.input(shaped(DType::F32, {1, 32}));
  s.returns({s.op("MatMul", {x, s.weight("w", random_f32({32, 32}, 1))}, shaped(DType::F32, {1, 32}))});
  return program;
}

class Damaged : public testing::TestWithParam<bool> {};  // whether as a small program

TEST_P(Damaged, ArtifactsAreErrors) {
  ir::Program program = one_matmul();
  auto backend = backends::find_backend("ort");
  backends::BackendOptions options;
  options.small_programs = GetParam();
  const auto good = (*backend)->compile_program(program, options);
  ASSERT_TRUE(good.ok());
  std::mt19937 generator(3);
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    auto bad = *good;
    auto& bytes = bad[0].artifacts[0].bytes;
    if (i % 3 == 0)
      bytes.resize(generator() % bytes.size());
    else
      bytes[generator() % bytes.size()] = static_cast<std::uint8_t>(generator());
    const auto run = PluginRun::create(program, bad, {});
    if (!run) {
      ++refused;
      EXPECT_NE(run.error().message.find("@s0"), std::string::npos);
      continue;
    }
    (void)(*run)->run("s0", {random_f32({1, 32}, 1)});
  }
  EXPECT_GT(refused, 100);
}

INSTANTIATE_TEST_SUITE_P(Forms, Damaged, testing::Bool());

TEST(Failures, AnArtifactMustFitItsFunction) {
  ir::Program program = one_matmul();
  auto backend = backends::find_backend("ort");
  backends::BackendOptions options;
  options.small_programs = false;
  const auto artifacts = (*backend)->compile_program(program, options);
  ASSERT_TRUE(artifacts.ok());
  ir::Program other = program;
  other.functions[1].results[0].type = shaped(DType::F64, {1, 32});
  EXPECT_FALSE(PluginRun::create(other, *artifacts, {}).ok());
  other = program;
  other.functions[1].params.push_back(other.functions[1].params[0]);
  EXPECT_FALSE(PluginRun::create(other, *artifacts, {}).ok());
  auto without_weights = *artifacts;
  for (auto& artifact : without_weights[0].artifacts) artifact.weights.clear();
  EXPECT_FALSE(PluginRun::create(program, without_weights, {}).ok());
}

// A weight of another shape than the model says must not be read beyond its end.
TEST(Failures, AWeightMustFitTheModel) {
  ir::Program program = one_matmul();
  auto backend = backends::find_backend("ort");
  backends::BackendOptions options;
  options.small_programs = false;
  const auto artifacts = (*backend)->compile_program(program, options);
  ASSERT_TRUE(artifacts.ok());
  program.weights["w"] = {shaped(DType::F32, {8, 8}), ir::Bytes::copy_of(random_f32({8, 8}, 1).bytes.data(), 256)};
  const auto run = PluginRun::create(program, *artifacts, {});
  EXPECT_FALSE(run.ok());
}

// A model may name no file and no address of memory.
TEST(Failures, AModelMayOnlyWantWhatThePackageGives) {
  ir::Program program = one_matmul();
  auto backend = backends::find_backend("ort");
  backends::BackendOptions options;
  options.small_programs = false;
  const auto artifacts = (*backend)->compile_program(program, options);
  ASSERT_TRUE(artifacts.ok());
  for (const std::string location : {"zero", "*/_ORT_MEM_ADDR_/*"}) {
    auto bad = *artifacts;
    for (auto& artifact : bad[0].artifacts) {
      const auto model = onnx::read_model(ir::Bytes::copy_of(artifact.bytes.data(), artifact.bytes.size()));
      ASSERT_TRUE(model.ok());
      onnx::Model changed = *model;
      ASSERT_TRUE(changed.graph.initializers[0].external.has_value());
      changed.graph.initializers[0].external->location = location;
      const std::string bytes = onnx::write_model(changed);
      artifact.bytes.assign(bytes.begin(), bytes.end());
    }
    const auto run = PluginRun::create(program, bad, {});
    ASSERT_FALSE(run.ok());
    EXPECT_NE(run.error().message.find("names a file"), std::string::npos);
  }
}

std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 128; value >>= 7) text += static_cast<char>(value | 128);
  return text + static_cast<char>(value);
}
std::string field(std::uint64_t tag, const std::string& message) {
  return varint(tag * 8 + 2) + varint(message.size()) + message;
}
std::string number(std::uint64_t tag, std::uint64_t value) { return varint(tag * 8) + varint(value); }

// What an engine's loader would recurse into or make memory for is refused before it sees it.
TEST(Failures, AModelHasBounds) {
  constexpr int kGraph = 7, kNode = 1, kInitializer = 5, kInput = 11, kType = 2, kSequence = 4, kAttribute = 5, kG = 6;
  std::string type = field(1, number(1, 1)), graph;
  for (int i = 0; i < 1000; ++i) type = field(kSequence, field(1, type));
  for (int i = 0; i < 1000; ++i) graph = field(kNode, field(kAttribute, field(kG, graph)));
  std::string nodes;
  for (int i = 0; i < (1 << 20) + 1; ++i) nodes += field(kNode, "");
  std::string dims;
  for (int i = 0; i < 100; ++i) dims += number(1, 1);
  const std::pair<std::string, const char*> kCases[] = {
      {field(kInput, field(kType, type)), "types are nested too deeply"},
      {graph, "graphs are nested too deeply"},
      {nodes, "too many ops"},
      {field(kInitializer, dims), "too many dims"},
      {field(kInitializer, number(1, std::uint64_t{1} << 40) + number(2, 1)), "more elements than bytes"},
      {field(kInitializer, number(1, std::uint64_t{1} << 62) + number(1, 16)), "more elements than bytes"},
      {field(kInitializer, number(1, ~std::uint64_t{0})), "more elements than bytes"},
  };
  ir::Program program = one_matmul();
  auto backend = backends::find_backend("ort");
  backends::BackendOptions options;
  options.small_programs = false;
  const auto artifacts = (*backend)->compile_program(program, options);
  ASSERT_TRUE(artifacts.ok());
  for (const auto& [more, why] : kCases) {
    auto bad = *artifacts;
    const std::string bytes = field(kGraph, more);  // a second part of the graph
    for (auto& artifact : bad[0].artifacts) artifact.bytes.insert(artifact.bytes.end(), bytes.begin(), bytes.end());
    const auto run = PluginRun::create(program, bad, {});
    ASSERT_FALSE(run.ok()) << why;
    EXPECT_NE(run.error().message.find(why), std::string::npos) << run.error().message;
  }
}

// What is checked is what the engine sees: fields of another wire type than ONNX says, which it skips, and its other
// formats could show it another model.
TEST(Failures, AModelIsOneAndTheSame) {
  constexpr int kIrVersion = 1, kGraph = 7, kNode = 1, kInitializer = 5, kDataType = 2, kName = 8, kDataLocation = 14;
  ir::Program program = one_matmul();
  auto backend = backends::find_backend("ort");
  backends::BackendOptions options;
  options.small_programs = false;
  const auto artifacts = (*backend)->compile_program(program, options);
  ASSERT_TRUE(artifacts.ok());
  const auto& good = artifacts->at(0).artifacts.at(0).bytes;
  const std::string model(good.begin(), good.end());
  std::string graph, rest;  // of a model that names a file, which everybody but the check would see
  protozero::pbf_reader reader(model);
  while (reader.next(kGraph)) graph = field(kGraph, std::string(onnx::text_of(reader)));
  const auto place = graph.find("null");
  ASSERT_NE(place, std::string::npos);
  graph.replace(place, 4, "zero");
  rest = number(kIrVersion, 8) + field(8, number(2, 17));
  const std::pair<std::string, const char*> kCases[] = {
      {rest + graph, "names a file"},
      {rest + number(kGraph, graph.size()) + graph, "not a well-formed model"},
      {rest + field(kGraph, number(kNode, graph.size())) + graph, "not a well-formed model"},
      {model + number(kGraph, 0), "not a well-formed model"},
      {model + field(kGraph, number(kInitializer, 0)), "not a well-formed model"},
      {model + field(kGraph, field(kInitializer, field(kDataType, "x"))), "not a well-formed model"},
      {model + field(kGraph, field(kInitializer, field(kDataLocation, "x"))), "not a well-formed model"},
      {model + field(kGraph, field(kInitializer, number(kName, 0))), "not a well-formed model"},
      {rest, "no graph"},
      {number(kIrVersion, 8) + field(2, "ORTM") + model, "not a model of ONNX"},
      {number(kIrVersion, 8) + field(2, "TFL3") + model, "not a model of ONNX"},
  };
  for (const auto& [bytes, why] : kCases) {
    auto bad = *artifacts;
    for (auto& artifact : bad[0].artifacts) artifact.bytes.assign(bytes.begin(), bytes.end());
    const auto run = PluginRun::create(program, bad, {});
    ASSERT_FALSE(run.ok()) << why;
    EXPECT_NE(run.error().message.find(why), std::string::npos) << run.error().message;
  }
}

TEST(Failures, UnknownEngineOptionIsRefused) {
  const dycl_plugin* plugin = load_plugin();
  ASSERT_NE(plugin, nullptr);
  const dycl_plugin_host host{sizeof host, DYCL_PLUGIN_ABI, nullptr, nullptr, nullptr};
  const char* keys[] = {"flux"};
  const char* values[] = {"1.21"};
  dycl_engine_options options{};
  options.struct_size = sizeof options;
  options.threads = 1;
  options.extra_count = 1;
  options.extra_keys = keys;
  options.extra_values = values;
  dycl_engine* engine = nullptr;
  EXPECT_EQ(plugin->create_engine(&host, &options, &engine), DYCL_PLUGIN_UNSUPPORTED);
  EXPECT_NE(std::string(plugin->last_error()).find("flux"), std::string::npos);
}

// The library is opened once per process, so this asks a new one.
TEST(FailuresDeathTest, AMissingLibraryIsAnErrorThatNamesTheRemedy) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        ::setenv("DYCL_ORT_LIBRARY", "/nonexistent/libonnxruntime.so.1", 1);
        const auto run = PluginRun::create(empty_program(), {}, {});
        const bool right = !run && run.error().kind == ErrorKind::Missing &&
                           run.error().message.find("DYCL_ORT_LIBRARY") != std::string::npos;
        std::_Exit(right ? 7 : 1);
      },
      testing::ExitedWithCode(7), "");
}

TEST(Threads, TwoEnginesAndSeveralThreadsWork) {
  ir::Program program = one_matmul();
  auto backend = backends::find_backend("ort");
  backends::BackendOptions options;
  options.small_programs = false;
  const auto artifacts = (*backend)->compile_program(program, options);
  ASSERT_TRUE(artifacts.ok());
  PluginRun::Options two;
  two.threads = 2;
  const auto first = PluginRun::create(program, *artifacts, two);
  const auto second = PluginRun::create(program, *artifacts, {});
  ASSERT_TRUE(first.ok() && second.ok());
  const auto a = (*first)->run("s0", {random_f32({1, 32}, 1)}), b = (*second)->run("s0", {random_f32({1, 32}, 1)});
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(*a, *b);
}

}  // namespace
}  // namespace dycl::test
