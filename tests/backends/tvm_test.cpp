// SPDX-License-Identifier: Apache-2.0
// What only the TVM back end has: plans that must be read with care, kernels shared by structure, and a compiler that
// may be missing. Everything that all back ends share is in conformance_ops_test.cpp and conformance_engines_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <random>

#include "backends/cache.h"
#include "backends/choose/compare.h"
#include "backends/choose/trial.h"
#include "backends/layout_conversion.h"
#include "backends/ort/evaluator.h"
#include "backends/tvm/finite_check.h"
#include "backends/tvm/library.h"
#include "backends/tvm/plan.h"
#include "harness.h"

namespace dycl::test {
namespace {

namespace tvm = backends::tvm;

// Two sub-DNNs of one structure with weights of their own.
ir::Program twins() {
  ir::Program program = empty_program();
  for (unsigned i = 0; i < 2; ++i) {
    SubDnn s(program, "s" + std::to_string(i));
    const ir::Type type = shaped(DType::F32, {1, 16, 8, 8});
    const auto weight = s.weight("w" + std::to_string(i), random_f32({16, 16, 3, 3}, i + 1, 0.1F));
    const auto conv = s.op("Conv", {s.input(type), weight}, type, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
    s.returns({s.op("Relu", {conv}, type)});
  }
  return program;
}

class Tvm : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* python = std::getenv("DYCL_TVM_PYTHON"); python && std::string(python).ends_with("refusing_python"))
      GTEST_SKIP() << "there is a stand-in for TVM's compiler";
    if (const auto engine = (*backends::find_backend("tvm"))->engine(); !engine)
      GTEST_SKIP() << engine.error().message << "; " << engine.error().help;
  }
  static Result<std::vector<backends::SubDnnArtifacts>> compile(ir::Program& program, backends::BackendOptions o = {}) {
    return (*backends::find_backend("tvm"))->compile_program(program, o);
  }
};

TEST_F(Tvm, SubDnnsOfOneStructureShareTheirKernels) {
  ir::Program program = twins();
  const auto artifacts = compile(program);
  ASSERT_TRUE(artifacts.ok()) << artifacts.error().message;
  const auto& first = (*artifacts)[0].artifacts.front();
  const auto& second = (*artifacts)[1].artifacts.front();
  EXPECT_EQ(first.backend, "tvm");
  EXPECT_EQ(first.bytes, second.bytes);
  ASSERT_EQ(first.weights.size(), second.weights.size());
  EXPECT_NE(first.weights, second.weights);
  EXPECT_EQ((*artifacts)[0].artifacts.back().target, backends::kPortableTarget);
  EXPECT_EQ((*artifacts)[0].artifacts.back().backend, "ort");
}

// Operands and results in blocked layout, of one block of channels and of several, beside plain ones.
TEST_F(Tvm, TakesAndGivesTheBlockedLayout) {
  ir::Program program = empty_program();
  SubDnn s(program, "s");
  const ir::Type narrow = shaped(DType::F32, {2, 16, 6, 5}), wide = shaped(DType::F32, {2, 48, 6, 5});
  const auto weight = s.weight("w", random_f32({48, 16, 3, 3}, 3, 0.1F));
  const auto x = s.input(narrow), y = s.input(wide), z = s.input(wide);
  const auto conv = s.op("Conv", {x, weight}, wide, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  const auto sum = s.op("Add", {conv, y}, wide);
  s.returns({s.op("Relu", {sum}, wide), x, s.op("Add", {sum, z}, wide), s.op("Relu", {x}, narrow)});
  const ir::Function& function = *program.find("s");
  const auto operands = backends::random_operands(function, 5);
  const auto results_of = [&](const backends::PortLayouts& layouts) {
    backends::BackendOptions options;
    options.agreed["s"] = layouts;
    auto made = compile(program, options);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
    const backends::Artifact& artifact = (*made)[0].artifacts.front();
    EXPECT_EQ(artifact.input_layouts, layouts.inputs);
    EXPECT_EQ(artifact.output_layouts, layouts.outputs);
    auto trial = backends::Trial::start("tvm", 1);
    EXPECT_TRUE(trial.ok());
    const auto loaded = (*trial)->load(program, function, artifact, operands);
    EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
    auto results = (*trial)->run(*loaded);
    EXPECT_TRUE(results.ok());
    return std::move(*results);
  };
  const auto plain = results_of({});
  const auto blocked = results_of({{"nchwc16", "nchwc16", ""}, {"nchwc16", "nchwc16", "", "nchwc16"}});
  const auto swapped = results_of({{"", "", "nchwc8"}, {"", "", "nchwc16", ""}});
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(backends::difference(blocked[i], plain[i]), "") << i;
    EXPECT_EQ(backends::difference(swapped[i], plain[i]), "") << i;
  }
}

// 3 x 3 convolutions of 16 channels and more, by transforms of windows; what a guard does not let pass is summed up as
// it is.
class TvmFast : public Tvm {
 protected:
  static ir::Program program_of(float scale) {
    ir::Program program = empty_program();
    SubDnn s(program, "s");
    const ir::Type narrow = shaped(DType::F32, {2, 16, 9, 40}), wide = shaped(DType::F32, {2, 48, 10, 38});
    const auto x = s.input(narrow), y = s.input(wide);
    const auto first = s.op("Conv", {x, s.weight("v", random_f32({48, 16, 3, 3}, 3, scale))}, wide,
                            {{"pads", std::vector<std::int64_t>{1, 0, 2, 0}}});
    const auto between = s.op("Relu", {first}, wide);
    const auto second = s.op("Conv", {between, s.weight("w", random_f32({48, 48, 3, 3}, 4, 0.1F))}, wide,
                             {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
    const auto sum = s.op("Relu", {s.op("Add", {second, y}, wide)}, wide);
    // A constant that is no weight of a convolution may be anything.
    const auto least = s.op("Max", {sum, s.constant(f32({}, {-std::numeric_limits<float>::infinity()}))}, wide);
    s.returns({least, second});
    return program;
  }

  static std::vector<ir::Tensor> run(const ir::Program& program, const backends::Artifact& artifact,
                                     const std::vector<ir::Tensor>& operands, int threads) {
    auto trial = backends::Trial::start("tvm", threads);
    EXPECT_TRUE(trial.ok());
    const auto loaded = (*trial)->load(program, *program.find("s"), artifact, operands);
    EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
    auto results = (*trial)->run(*loaded);
    EXPECT_TRUE(results.ok());
    return std::move(*results);
  }
};

// What a compiled sub-DNN gives for drawn numbers, with a special one among them, against the reference.
void expect_right(const ir::Program& program, const backends::Artifact& artifact, const std::vector<float>& specials) {
  const ir::Function& function = *program.find("s");
  const auto evaluator = backends::ort::make_evaluator();
  ASSERT_TRUE(evaluator.ok());
  auto trial = backends::Trial::start("tvm", 1);
  ASSERT_TRUE(trial.ok());
  for (std::size_t i = 0; i < specials.size(); ++i) {
    auto operands = backends::random_operands(function, static_cast<unsigned>(i));
    const auto count = static_cast<std::size_t>(operands[0].count());
    for (std::size_t k = 0; k < 3 && i > 0; ++k) operands[0].data<float>()[(i * 977 + k * 3301) % count] = specials[i];
    const auto expected = backends::reference(program, function, operands, **evaluator);
    ASSERT_TRUE(expected.ok()) << expected.error().message;
    const auto loaded = (*trial)->load(program, function, artifact, operands);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    const auto results = (*trial)->run(*loaded);
    ASSERT_TRUE(results.ok());
    for (std::size_t r = 0; r < results->size(); ++r)
      EXPECT_EQ(backends::difference((*results)[r], (*expected)[r]), "") << specials[i] << ", result " << r;
  }
}

// Groups of few channels are computed several as one, which zeros between them must not show.
TEST_F(TvmFast, GroupsOfFewChannelsDoNotMeet) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const std::int64_t inner : {4, 8, 16})
    for (const std::int64_t stride : {1, 2}) {
      ir::Program program = empty_program();
      SubDnn s(program, "s");
      const ir::Type image = shaped(DType::F32, {1, 64, 12, 12});
      const ir::Type made = shaped(DType::F32, {1, 64, 12 / stride, 12 / stride});
      const auto weight = s.weight("w", random_f32({64, inner, 3, 3}, 5, 0.2F));
      s.returns({s.op("Conv", {s.input(image), weight}, made,
                      {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}},
                       {"strides", std::vector<std::int64_t>{stride, stride}},
                       {"group", 64 / inner}})});
      const auto artifacts = compile(program);
      ASSERT_TRUE(artifacts.ok()) << artifacts.error().message;
      const backends::Artifact& artifact = (*artifacts)[0].artifacts.front();
      const auto plan = tvm::read_plan(artifact.bytes);
      ASSERT_TRUE(plan.ok());
      EXPECT_EQ(plan->instead.size(), inner < 16 ? 1U : 0U) << inner << ", " << stride;
      expect_right(program, artifact, {0, std::nanf(""), inf, -1e30F});
    }
}

// Two branches, windows, sums per channel and means between convolutions, in a sub-DNN with an op (Squeeze) whose
// layout TVM's own pass does not know; channels that fill no vector, and a product whose columns fill no panel.
TEST_F(Tvm, ChannelsStayLastThroughWholeNetworks) {
  ir::Program program = empty_program();
  SubDnn s(program, "s");
  const auto f = [](std::vector<std::int64_t> dims) { return shaped(DType::F32, std::move(dims)); };
  const std::vector<std::int64_t> same = {1, 1, 1, 1};
  const ir::Type image = f({1, 3, 12, 12}), wide = f({1, 48, 12, 12}), narrow = f({1, 24, 12, 12});
  const auto x = s.input(image);
  const auto first = s.op("Conv", {x, s.weight("w0", random_f32({48, 3, 3, 3}, 1, 0.3F))}, wide, {{"pads", same}});
  const auto scaled = s.op("Mul", {first, s.weight("c0", random_f32({1, 48, 1, 1}, 2))}, wide);
  const auto shifted = s.op("Sub", {s.weight("c1", random_f32({1, 48, 1, 1}, 3)), scaled}, wide);
  const auto body = s.op("Tanh", {shifted}, wide);
  const auto left = s.op("Conv", {body, s.weight("w1", random_f32({24, 48, 1, 1}, 4, 0.2F))}, narrow);
  const auto right = s.op("Conv", {body, s.weight("w2", random_f32({24, 48, 5, 5}, 5, 0.1F))}, narrow,
                          {{"pads", std::vector<std::int64_t>{2, 2, 2, 2}}});
  const auto both = s.op("Concat", {left, right}, wide, {{"axis", std::int64_t{1}}});
  const auto kernel = std::vector<std::int64_t>{2, 2};
  const auto halved = s.op("AveragePool", {s.op("Add", {both, body}, wide)}, f({1, 48, 6, 6}),
                           {{"kernel_shape", kernel}, {"strides", kernel}});
  const auto largest =
      s.op("MaxPool", {halved}, f({1, 48, 6, 6}), {{"kernel_shape", std::vector<std::int64_t>{3, 3}}, {"pads", same}});
  const auto mean = s.op("GlobalAveragePool", {largest}, f({1, 48, 1, 1}));
  const auto flat = s.op("Squeeze", {mean, s.constant(i64({2}, {2, 3}))}, f({1, 48}));
  const auto scores = s.op("MatMul", {flat, s.weight("w3", random_f32({48, 131}, 6))}, f({1, 131}));
  const auto best = s.op("ArgMax", {scores}, shaped(DType::I64, {1, 1}), {{"axis", std::int64_t{1}}});
  s.returns({halved, largest, scores, best});
  const auto artifacts = compile(program);
  ASSERT_TRUE(artifacts.ok()) << artifacts.error().message;
  expect_right(program, (*artifacts)[0].artifacts.front(), {0, 0, 0});
}

TEST_F(TvmFast, ConvolutionsAreRightOnAllNumbers) {
  ir::Program program = program_of(0.1F);
  const auto made = compile(program);
  ASSERT_TRUE(made.ok()) << made.error().message;
  const backends::Artifact& artifact = (*made)[0].artifacts.front();
  const auto plan = tvm::read_plan(artifact.bytes);
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->instead.size(), 1U);
  EXPECT_EQ(std::count_if(plan->steps.begin(), plan->steps.end(),
                          [](const auto& step) { return step.action == tvm::Action::Guard; }),
            2);
  const auto evaluator = backends::ort::make_evaluator();
  ASSERT_TRUE(evaluator.ok());
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> specials = {0, std::nanf(""), inf, -inf, 1e14F, -1e16F, 1e30F, 3e38F, 1e-40F};
  for (std::size_t i = 0; i < specials.size(); ++i) {
    auto operands = backends::random_operands(*program.find("s"), static_cast<unsigned>(i));
    for (std::size_t k = 0; k < 3 && i > 0; ++k)
      operands[0].data<float>()[(i * 977 + k * 3301) % static_cast<std::size_t>(operands[0].count())] = specials[i];
    const auto expected = backends::reference(program, *program.find("s"), operands, **evaluator);
    ASSERT_TRUE(expected.ok()) << expected.error().message;
    for (const int threads : {1, 2}) {
      const auto results = run(program, artifact, operands, threads);
      for (std::size_t r = 0; r < results.size(); ++r)
        EXPECT_EQ(backends::difference(results[r], (*expected)[r]), "") << specials[i] << ", result " << r;
    }
  }
}

TEST_F(TvmFast, ImmoderateWeightsAreSummedUp) {
  ir::Program program = program_of(1e20F);
  const auto made = compile(program);
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto plan = tvm::read_plan((*made)[0].artifacts.front().bytes);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->instead.empty());
}

// Weights that another op computes from an operand are no weights to the compiler.
TEST_F(TvmFast, KernelsThatAreOperandsAreSummedUp) {
  ir::Program program = empty_program();
  SubDnn s(program, "s");
  const ir::Type image = shaped(DType::F32, {1, 16, 8, 8}), kernel = shaped(DType::F32, {16, 16, 3, 3});
  const auto x = s.input(image), k = s.input(kernel);
  s.returns({s.op("Conv", {x, s.op("Relu", {k}, kernel)}, image, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}})});
  const auto made = compile(program);
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto plan = tvm::read_plan((*made)[0].artifacts.front().bytes);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->instead.empty());
}

TEST(TvmFiniteCheck, KnowsModerateNumbers) {
  for (const std::size_t count : {0, 1, 63, 64, 65, 1000}) {
    std::vector<float> data(count, -1e15F);
    EXPECT_TRUE(tvm::is_moderate(data.data(), count)) << count;
    for (std::size_t i = 0; i < count; i += 13)
      for (const float bad : {std::nanf(""), -std::nanf(""), -std::numeric_limits<float>::infinity(), 1.1e15F}) {
        data[i] = bad;
        EXPECT_FALSE(tvm::is_moderate(data.data(), count)) << count << " " << i;
        data[i] = 1;
      }
  }
}

// What is compiled is compared on NaNs and infinities too, and a product with zero has them.
TEST_F(Tvm, AProductWithZeroKeepsNaNs) {
  ir::Program program = empty_program();
  SubDnn s(program, "s");
  const ir::Type type = shaped(DType::F32, {1, 16, 4, 4}), both = shaped(DType::F32, {1, 32, 4, 4});
  const auto x = s.input(type);
  const auto zeros = s.op("Mul", {x, s.constant(f32({}, {0}))}, type);
  s.returns({s.op("Concat", {x, zeros}, both, {{"axis", std::int64_t{1}}})});
  const auto made = compile(program);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ((*made)[0].artifacts.front().backend, "tvm");
}

// The layouts that tests rely on are really other orders of elements.
TEST(LayoutConversion, IsAnotherOrderOfTheSameElements) {
  ir::Tensor tensor = ir::Tensor::zeros(DType::F32, {1, 4, 1, 3});
  for (int i = 0; i < 12; ++i) tensor.data<float>()[i] = static_cast<float>(i);
  const ir::Tensor blocked = backends::to_layout(tensor, "nchwc2");
  const float expected[] = {0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11};
  for (int i = 0; i < 12; ++i) EXPECT_EQ(blocked.data<float>()[i], expected[i]) << i;
  EXPECT_EQ(backends::from_layout(blocked, "nchwc2").bytes, tensor.bytes);
  for (const char* tag : {"", "nchwc", "nchwc3", "nchwc2x", "nchwc-2", "else"})
    EXPECT_EQ(backends::to_layout(tensor, tag).bytes, tensor.bytes) << tag;
}

TEST_F(Tvm, WhatWasCompiledBeforeIsTakenFromTheCache) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "tvm_cache";
  std::filesystem::remove_all(folder);
  const backends::Cache cache(folder);
  std::size_t calls = 0;
  backends::BackendOptions options;
  options.cache = &cache;
  ir::Program program = twins(), again = twins();
  const auto first = compile(program, options);
  ASSERT_TRUE(first.ok()) << first.error().message;
  options.engine_calls = &calls;
  const auto second = compile(again, options);
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(calls, 0U);
  EXPECT_EQ((*first)[0].artifacts.front().bytes, (*second)[0].artifacts.front().bytes);
  EXPECT_EQ((*first)[1].artifacts.front().weights, (*second)[1].artifacts.front().weights);
}

// Kernels are trusted, the plan is not: whatever is in it, reading and loading it does no harm.
TEST_F(Tvm, DamagedPlansAreErrors) {
  ir::Program program = twins();
  const auto artifacts = compile(program);
  ASSERT_TRUE(artifacts.ok()) << artifacts.error().message;
  const auto& good = (*artifacts)[0].artifacts.front().bytes;
  const auto plan = tvm::read_plan(good);
  ASSERT_TRUE(plan.ok());
  const std::size_t end = good.size() - plan->library.size();
  PluginRun::Options options;
  options.backend = "tvm";
  std::mt19937 generator(3);
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    auto bad = *artifacts;
    auto& bytes = bad[0].artifacts.front().bytes;
    for (int k = 0; k <= round % 3; ++k) bytes[generator() % end] ^= static_cast<std::uint8_t>(1U + generator() % 255U);
    refused += !PluginRun::create(program, bad, options).ok();
  }
  EXPECT_GE(refused, 150);
  for (std::size_t size = 0; size < end; size += 7) EXPECT_FALSE(tvm::read_plan({good.data(), size}).ok()) << size;
}

// Convolutions of several structures.
ir::Program several(int count) {
  ir::Program program = empty_program();
  for (int i = 0; i < count; ++i) {
    SubDnn s(program, "s" + std::to_string(i));
    const std::int64_t n = 8 + i;
    const auto x = s.input(shaped(DType::F32, {1, 16, n, n}));
    const auto weight =
        s.weight("w" + std::to_string(i), random_f32({16, 16, 3, 3}, static_cast<unsigned>(i) + 1, 0.1F));
    s.returns({s.op("Conv", {x, weight}, shaped(DType::F32, {1, 16, n, n}),
                    {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}})});
  }
  return program;
}

TEST_F(Tvm, ParallelCompilationGivesTheSame) {
  ir::Program program = several(4), again = several(4);
  backends::BackendOptions alone, together;
  alone.jobs = 1;
  together.jobs = 3;
  together.first = {"s3", "s1"};
  const auto first = compile(program, alone), second = compile(again, together);
  ASSERT_TRUE(first.ok()) << first.error().message;
  ASSERT_TRUE(second.ok()) << second.error().message;
  ASSERT_EQ(first->size(), second->size());
  for (std::size_t i = 0; i < first->size(); ++i) {
    EXPECT_EQ((*first)[i].function, (*second)[i].function);
    EXPECT_EQ((*first)[i].artifacts.front().weights, (*second)[i].artifacts.front().weights);
    EXPECT_EQ((*first)[i].artifacts.front().bytes, (*second)[i].artifacts.front().bytes) << i;
  }
}

TEST_F(Tvm, WhatIsNotBegunAtTheDeadlineFails) {
  ir::Program program = several(2);
  backends::BackendOptions options;
  options.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  int failed = 0;
  options.failed = [&](const ir::Function&, const Error& error) { failed += error.message == "the budget is spent"; };
  const auto made = compile(program, options);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(failed, 2);
}

// Tuning leaves records, which later compilations use; its code is checked like any other.
TEST_F(Tvm, TuningIsRememberedByKernel) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "tvm_tuning";
  std::filesystem::remove_all(folder);
  const backends::Cache cache(folder);
  std::vector<std::string> notices, steps;
  backends::BackendOptions options;
  options.cache = &cache;
  options.tune = 4;
  options.notice = [&](std::string_view text) { notices.emplace_back(text); };
  options.progress = [&](std::string_view text) { steps.emplace_back(text); };
  ir::Program program = twins(), again = twins();
  const auto first = compile(program, options);
  ASSERT_TRUE(first.ok()) << first.error().message;
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_EQ(notices[0].rfind("tuned ", 0), 0U) << notices[0];
  EXPECT_FALSE(steps.empty());
  std::size_t calls = 0;
  options.tune = 0;
  options.engine_calls = &calls;
  const auto second = compile(again, options);
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(calls, 0U);
  EXPECT_EQ((*first)[0].artifacts.front().bytes, (*second)[0].artifacts.front().bytes);
}

// Run with DYCL_TVM_PYTHON naming refusing_python (tests/backends/CMakeLists.txt).
class TvmRefusal : public testing::Test {
 protected:
  void SetUp() override {
    const char* python = std::getenv("DYCL_TVM_PYTHON");
    if (!python || !std::string(python).ends_with("refusing_python")) GTEST_SKIP() << "the compiler is TVM's own";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    ::setenv("DYCL_TEST_TVM_LOG", (folder_ / "log").c_str(), 1);
    ::setenv("DYCL_TEST_TVM_MODE", (folder_ / "mode").c_str(), 1);
  }
  // The failures of both sub-DNNs.
  std::vector<std::string> compile(const std::string& mode) {
    std::ofstream(folder_ / "mode") << mode;
    const backends::Cache cache(folder_ / "cache");
    std::vector<std::string> failures;
    backends::BackendOptions options;
    options.cache = &cache;
    options.failed = [&](const ir::Function&, const Error& error) { failures.push_back(error.message); };
    ir::Program program = twins();
    const auto made = (*backends::find_backend("tvm"))->compile_program(program, options);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return failures;
  }
  int asked() const {
    std::ifstream log(folder_ / "log");
    int lines = 0;
    for (std::string line; std::getline(log, line);) ++lines;
    return lines;
  }

  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "tvm_refusal";
};

TEST_F(TvmRefusal, IsRememberedForTheStructure) {
  const std::vector<std::string> expected(2, "TVM: it is too hot");
  EXPECT_EQ(compile("refuse"), expected);
  EXPECT_EQ(asked(), 1);
  EXPECT_EQ(compile("refuse"), expected);
  EXPECT_EQ(asked(), 1);
}

TEST_F(TvmRefusal, ACompilerThatDiesIsNoRefusal) {
  const std::vector<std::string> expected(2, "TVM's compiler was ended by signal 9");
  EXPECT_EQ(compile("die"), expected);
  EXPECT_EQ(compile("die"), expected);
  EXPECT_EQ(asked(), 2);
}

// Run with DYCL_TVM_HOME naming a folder without TVM (tests/backends/CMakeLists.txt).
TEST(TvmMissing, IsNamedWithTheCommandThatInstallsIt) {
  if (!std::getenv("DYCL_TVM_HOME")) GTEST_SKIP() << "TVM is there";
  const auto engine = (*backends::find_backend("tvm"))->engine();
  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(engine.error().kind, ErrorKind::Missing);
  EXPECT_NE(engine.error().help.find("pip install"), std::string::npos) << engine.error().help;
}

}  // namespace
}  // namespace dycl::test
