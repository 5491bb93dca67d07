// SPDX-License-Identifier: Apache-2.0
// What `run:` lines cannot say: traces, spans, host functions, bad arguments.
#include "ir/interpret.h"

#include <gtest/gtest.h>

#include "ir/parse.h"

namespace dycl::ir {
namespace {

class InterpretTest : public ::testing::Test {
 protected:
  Result<RunOutcome> run(const std::string& text, std::vector<HostValue> arguments, RunOptions options = {}) {
    auto program = parse(text, "t", {.spans_from_text = true});
    EXPECT_TRUE(program.ok()) << program.error().message;
    program_ = std::move(*program);
    auto interpreter = Interpreter::create(program_, *evaluator_);
    if (!interpreter) return interpreter.error();
    return interpreter->run(arguments, options);
  }

  Program program_;
  std::unique_ptr<TensorEvaluator> evaluator_ = make_builtin_evaluator();
};

HostValue integer(std::int64_t v) { return HostValue::of(v); }

constexpr const char* kCount =
    "func @f(%n: int) -> (int) {\n"
    "^entry:\n"
    "  %zero = const 0\n"
    "  goto ^loop(%zero)\n"
    "^loop(%i: int):\n"
    "  %more = int.lt %i, %n\n"
    "  branch %more, ^body, ^done\n"
    "^body:\n"
    "  %one = const 1\n"
    "  %next = int.add %i, %one\n"
    "  goto ^loop(%next)\n"
    "^done:\n"
    "  return %i\n"
    "}\n";

TEST_F(InterpretTest, TracesDecisions) {
  RunTrace trace;
  RunOptions options;
  options.trace = &trace;
  ASSERT_TRUE(run(kCount, {integer(2)}, options).ok());
  EXPECT_EQ(trace.decisions, (std::vector<Decision>{{{1}, 1, false}, {{1}, 1, false}, {{1}, 0, false}}));
}

TEST_F(InterpretTest, ForcesDecisions) {
  RunTrace trace;
  RunOptions options;
  options.trace = &trace;
  options.forced = {1, 1, 1, 0};
  const auto outcome = run(kCount, {integer(0)}, options);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->results[0].integer(), 3);
  EXPECT_TRUE(trace.decisions[0].forced);
  options.forced = {2};
  EXPECT_EQ(run(kCount, {integer(0)}, options).error().kind, ErrorKind::InvalidInput);
}

TEST_F(InterpretTest, LimitsLoops) {
  RunOptions options;
  options.loop_limit = 10;
  EXPECT_TRUE(run(kCount, {integer(10)}, options).ok());
  const auto outcome = run(kCount, {integer(11)}, options);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().kind, ErrorKind::RuntimeFailure);
  EXPECT_EQ(outcome.error().span.line, 5U);
  std::string own = kCount;
  own.replace(own.find("^loop(%i: int):"), 15, "^loop(%i: int) limit 3:");
  EXPECT_TRUE(run(own, {integer(3)}, options).ok());
  EXPECT_FALSE(run(own, {integer(4)}, options).ok());
}

TEST_F(InterpretTest, ErrorsSayWhere) {
  const auto outcome =
      run("func @f(%n: int) -> (int) {\n^entry:\n  %q = int.floordiv %n, %n\n  return %q\n}\n", {integer(0)});
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().type, "ZeroDivisionError");
  EXPECT_EQ(outcome.error().span.line, 3U);
}

TEST_F(InterpretTest, ChecksArguments) {
  const std::string text =
      "symbol N in [2, 4]\nfunc @f(%x: f32[N,3], %y: f32[N]) -> (f32[N,3]) {\n^entry:\n  return %x\n}\n";
  const auto tensor = [](std::vector<std::int64_t> shape) {
    return HostValue::of(Tensor::zeros(DType::F32, std::move(shape)));
  };
  EXPECT_TRUE(run(text, {tensor({2, 3}), tensor({2})}).ok());
  for (const auto& bad :
       std::vector<std::vector<HostValue>>{{tensor({2, 3})},
                                           {tensor({2, 4}), tensor({2})},
                                           {tensor({2, 3}), tensor({3})},
                                           {tensor({1, 3}), tensor({1})},
                                           {tensor({5, 3}), tensor({5})},
                                           {tensor({6}), tensor({2})},
                                           {integer(1), tensor({2})},
                                           {HostValue::of(Tensor::zeros(DType::F64, {2, 3})), tensor({2})}}) {
    const auto outcome = run(text, bad);
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.error().kind, ErrorKind::InvalidInput) << outcome.error().message;
  }
}

TEST_F(InterpretTest, FindsLiesAboutShapes) {
  const auto outcome = run("func @f(%x: f32[2]) -> (f32[3]) {\n^entry:\n  %y = Relu %x : f32[3]\n  return %y\n}\n",
                           {HostValue::of(Tensor::zeros(DType::F32, {2}))});
  ASSERT_FALSE(outcome.ok());
  EXPECT_NE(outcome.error().message.find("%y"), std::string::npos) << outcome.error().message;
}

TEST_F(InterpretTest, RefusesInvalidPrograms) {
  EXPECT_EQ(run("func @f() -> (int) {\n^entry:\n  return\n}\n", {}).error().kind, ErrorKind::InvalidModel);
}

TEST_F(InterpretTest, RefusesOpsItDoesNotKnow) {
  const auto tensor = HostValue::of(Tensor::zeros(DType::F32, {2}));
  EXPECT_EQ(
      run("func @f(%x: f32[2]) -> (f32[2]) {\n^entry:\n  %y = com.test.Odd %x : f32[2]\n  return %y\n}\n", {tensor})
          .error()
          .kind,
      ErrorKind::Unsupported);
  EXPECT_EQ(
      run("func @f(%x: f32[2]) -> (f32[2]) {\n^entry:\n  %y = Relu %x {odd=1} : f32[2]\n  return %y\n}\n", {tensor})
          .error()
          .kind,
      ErrorKind::Unsupported);
}

TEST_F(InterpretTest, CallsHostFunctions) {
  const std::string text =
      "func @f(%n: int) -> (int) {\n^entry:\n  %q = host_call %n {name=\"twice\"} : int\n  return %q\n}\n";
  EXPECT_EQ(run(text, {integer(4)}).error().kind, ErrorKind::Missing);
  RunOptions options;
  options.host_functions["twice"] = [](std::span<const HostValue> args) -> Result<std::vector<HostValue>> {
    return std::vector<HostValue>{integer(2 * args[0].integer())};
  };
  EXPECT_EQ(run(text, {integer(4)}, options)->results[0].integer(), 8);
}

TEST_F(InterpretTest, MissingWeightsAreNamed) {
  const auto outcome =
      run("weight @w: f32[2]\nfunc @f() -> (f32[2]) {\n^entry:\n  %q = weight @w\n  return %q\n}\n", {});
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().kind, ErrorKind::Missing);
}

TEST_F(InterpretTest, DrawsFollowTheSeed) {
  const std::string text =
      "func @f() -> (f32[4], i64[4]) {\n^entry:\n  %four = const 4\n  %low = const -2\n  %from = const 0.0\n"
      "  %to = const 1.0\n  %a = rand.uniform %from, %to, %four "
      "{dtype=\"f32\"} : f32[4]\n"
      "  %b = rand.int %low, %four, %four {dtype=\"i64\"} : i64[4]\n  return %a, %b\n}\n";
  RunOptions options;
  const auto first = run(text, {}, options), again = run(text, {}, options);
  options.seed = 1;
  const auto other = run(text, {}, options);
  EXPECT_EQ(difference(first->results[0], again->results[0]), std::nullopt);
  EXPECT_NE(difference(first->results[0], other->results[0]), std::nullopt);
  for (int i = 0; i < 4; ++i) {
    EXPECT_GE(first->results[0].tensor().data<float>()[i], 0.0F);
    EXPECT_LT(first->results[0].tensor().data<float>()[i], 1.0F);
    EXPECT_GE(first->results[1].tensor().data<std::int64_t>()[i], -2);
    EXPECT_LT(first->results[1].tensor().data<std::int64_t>()[i], 4);
  }
}

TEST(HostValues, CompareWithTolerance) {
  const auto value = [](float v) { return HostValue::of(Tensor::of(DType::F32, {1}, std::vector<float>{v})); };
  EXPECT_TRUE(difference(value(1.0F), value(1.00001F)));
  EXPECT_FALSE(difference(value(1.0F), value(1.00001F), {0, 1e-4, 0}));
  EXPECT_FALSE(difference(value(NAN), value(NAN)));
  EXPECT_TRUE(difference(value(NAN), value(1), {1e9, 1e9, 1e9}));
  EXPECT_TRUE(difference(value(INFINITY), value(1), {1e9, 1e9, 1e9}));
  EXPECT_TRUE(difference(HostValue::of(1.0), HostValue::of(std::int64_t{1})));
  EXPECT_TRUE(difference(HostValue::none(), HostValue::some(HostValue::of(true))));
  EXPECT_TRUE(difference(HostValue::list({HostValue::of(true)}), HostValue::list({})));
}

}  // namespace
}  // namespace dycl::ir
