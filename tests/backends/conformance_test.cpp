// SPDX-License-Identifier: Apache-2.0
// Common ops three ways: the built-in evaluator, ONNX Runtime one op at a time with
// optimisation off, and the whole back end (export, optimiser, plug-in).
#include <gtest/gtest.h>

#include <cmath>

#include "backends/kernels/small/lower.h"
#include "backends/ort/evaluator.h"
#include "harness.h"
#include "ir/host_value.h"
#include "ir/tensor_evaluator.h"

namespace dycl::test {
namespace {

struct Case {
  std::string name, op;
  std::vector<Tensor> operands;
  std::vector<ir::Type> types;
  std::map<std::string, ir::Attr> attrs = {};
};

std::int64_t n(std::int64_t v) { return v; }

std::vector<Case> cases() {
  const Tensor a = random_f32({2, 3}, 1), b = random_f32({2, 3}, 2), row = random_f32({3}, 3),
               w = random_f32({3, 4}, 4);
  const Tensor ints = i64({2, 3}, {1, -2, 3, 40, 5, -6});
  const ir::Type f23 = shaped(DType::F32, {2, 3}), b23 = shaped(DType::Bool, {2, 3}), i23 = shaped(DType::I64, {2, 3});
  return {
      {"Add", "Add", {a, b}, {f23}},
      {"AddBroadcast", "Add", {a, row}, {f23}},
      {"AddInts", "Add", {ints, ints}, {i23}},
      {"Sub", "Sub", {a, b}, {f23}},
      {"MulInts", "Mul", {ints, ints}, {i23}},
      {"Div", "Div", {a, b}, {f23}},
      {"Neg", "Neg", {a}, {f23}},
      {"Relu", "Relu", {a}, {f23}},
      {"Sigmoid", "Sigmoid", {a}, {f23}},
      {"Tanh", "Tanh", {a}, {f23}},
      {"Exp", "Exp", {a}, {f23}},
      {"Greater", "Greater", {a, b}, {b23}},
      {"LessInts", "Less", {ints, i64({}, {2})}, {b23}},
      {"Equal", "Equal", {ints, ints}, {b23}},
      {"Where", "Where", {boolean({2, 3}, {1, 0, 0, 1, 1, 0}), a, b}, {f23}},
      {"Not", "Not", {boolean({3}, {1, 0, 1})}, {shaped(DType::Bool, {3})}},
      {"And", "And", {boolean({2}, {1, 0}), boolean({2}, {1, 1})}, {shaped(DType::Bool, {2})}},
      {"MatMul", "MatMul", {a, w}, {shaped(DType::F32, {2, 4})}},
      {"Gemm", "Gemm", {a, w, random_f32({4}, 5)}, {shaped(DType::F32, {2, 4})}},
      {"Transpose", "Transpose", {a}, {shaped(DType::F32, {3, 2})}, {{"perm", std::vector<std::int64_t>{1, 0}}}},
      {"Reshape", "Reshape", {a, i64({1}, {6})}, {shaped(DType::F32, {6})}},
      {"Concat", "Concat", {a, b}, {shaped(DType::F32, {4, 3})}, {{"axis", n(0)}}},
      {"ReduceSum", "ReduceSum", {a, i64({1}, {1})}, {shaped(DType::F32, {2})}, {{"keepdims", n(0)}}},
      {"ReduceMax", "ReduceMax", {a}, {shaped(DType::F32, {1, 1})}},
      {"ReduceMean", "ReduceMean", {a, i64({1}, {0})}, {shaped(DType::F32, {1, 3})}},
      {"ArgMax", "ArgMax", {a}, {shaped(DType::I64, {2, 1})}, {{"axis", n(1)}}},
      {"Softmax", "Softmax", {a}, {f23}, {{"axis", n(-1)}}},
      {"CastToInt", "Cast", {a}, {shaped(DType::I64, {2, 3})}, {{"to", n(7)}}},
      {"CastToBool", "Cast", {ints}, {b23}, {{"to", n(9)}}},
      {"Gather", "Gather", {a, i64({2}, {1, 0})}, {f23}, {{"axis", n(0)}}},
      {"GatherOne", "Gather", {a, i64({}, {-1})}, {shaped(DType::F32, {2})}, {{"axis", n(1)}}},
      {"AveragePoolOfAll",
       "AveragePool",
       {random_f32({2, 3, 4, 5}, 9)},
       {shaped(DType::F32, {2, 3, 1, 1})},
       {{"kernel_shape", std::vector<std::int64_t>{4, 5}}, {"strides", std::vector<std::int64_t>{4, 5}}}},
      {"AveragePoolOfHalves",
       "AveragePool",
       {random_f32({2, 3, 4, 4}, 9)},
       {shaped(DType::F32, {2, 3, 2, 2})},
       {{"kernel_shape", std::vector<std::int64_t>{2, 2}}, {"strides", std::vector<std::int64_t>{2, 2}}}},
      {"ConvOfOnePixel",
       "Conv",
       {random_f32({2, 3, 1, 1}, 10), random_f32({4, 3, 1, 1}, 11), random_f32({4}, 12)},
       {shaped(DType::F32, {2, 4, 1, 1})}},
      {"ConvOfOnePixelPadded",
       "Conv",
       {random_f32({2, 3, 1, 1}, 10), random_f32({4, 3, 3, 3}, 11)},
       {shaped(DType::F32, {2, 4, 1, 1})},
       {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}}},
      {"Slice", "Slice", {a, i64({1}, {1}), i64({1}, {3}), i64({1}, {1})}, {shaped(DType::F32, {2, 2})}},
      {"Squeeze", "Squeeze", {random_f32({1, 3}, 8), i64({1}, {0})}, {shaped(DType::F32, {3})}},
      {"Unsqueeze", "Unsqueeze", {row, i64({1}, {0})}, {shaped(DType::F32, {1, 3})}},
      {"Clip", "Clip", {a, f32({}, {-0.25F}), f32({}, {0.5F})}, {f23}},
      {"Empty", "Add", {f32({0, 3}, {}), row}, {shaped(DType::F32, {0, 3})}},
      {"EmptySum", "ReduceSum", {f32({0, 3}, {})}, {shaped(DType::F32, {1, 1})}},
  };
}

ir::Op op_of(const Case& c) {
  ir::Op op;
  op.name = c.op;
  op.attrs = c.attrs;
  return op;
}

class Conformance : public testing::TestWithParam<Case> {};

std::vector<ir::Tensor> evaluate(ir::TensorEvaluator& evaluator, const Case& c, bool& known) {
  std::vector<ir::Tensor> tensors;
  for (const Tensor& t : c.operands) tensors.push_back(ir::Tensor::of(t));
  std::vector<const ir::Tensor*> pointers;
  for (const ir::Tensor& t : tensors) pointers.push_back(&t);
  auto result = evaluator.evaluate(op_of(c), pointers, c.types);
  known = result.ok() || result.error().kind != ErrorKind::Unsupported;
  if (!known) return {};
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() ? std::move(*result) : std::vector<ir::Tensor>();
}

void expect_close(const ir::Tensor& actual, const ir::Tensor& expected) {
  const auto difference = ir::difference(ir::HostValue::of(actual), ir::HostValue::of(expected), {1e-6, 1e-5, 0});
  EXPECT_FALSE(difference) << *difference;
}

TEST_P(Conformance, AllAgree) {
  const Case& c = GetParam();
  auto ort = backends::ort::make_evaluator();
  ASSERT_TRUE(ort.ok()) << ort.error().message;
  bool known = false;
  const auto reference = evaluate(**ort, c, known);
  ASSERT_TRUE(known);
  ASSERT_EQ(reference.size(), c.types.size());

  const auto builtin = ir::make_builtin_evaluator();
  if (const auto own = evaluate(*builtin, c, known); known) expect_close(own.at(0), reference[0]);

  // Whole back end, operands first as inputs, then as constants; by the engine, then
  // as a small program where that is possible.
  for (const int variant : {0, 1, 2, 3}) {
    const bool constant = variant % 2 == 1;
    backends::BackendOptions options;
    options.small_programs = variant >= 2;
    ir::Program program = empty_program();
    SubDnn s(program, "s0");
    std::vector<ir::ValueId> operands;
    std::vector<Tensor> inputs;
    for (const Tensor& t : c.operands) {
      if (constant) {
        operands.push_back(s.constant(t));
      } else {
        operands.push_back(s.input(type_of(t)));
        inputs.push_back(t);
      }
    }
    s.returns(s.op(c.op, operands, c.types, c.attrs));
    const auto results = compile_and_run(std::move(program), "s0", inputs, options);
    ASSERT_TRUE(results.ok()) << results.error().message;
    for (std::size_t i = 0; i < results->size(); ++i) expect_close(ir::Tensor::of((*results)[i]), reference[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Conformance, testing::ValuesIn(cases()), [](const auto& one) { return one.param.name; });

// One step of a recurrence, as gates have it: with and without states and bias.
TEST(SmallPrograms, StepOfAnLstm) {
  for (const bool with_states : {true, false})
    for (const bool with_bias : {true, false}) {
      const auto program = [&] {
        ir::Program made = empty_program();
        SubDnn s(made, "s0");
        const ir::Type state = shaped(DType::F32, {1, 1, 5});
        const auto x = s.input(shaped(DType::F32, {1, 1, 3}));
        std::vector<ir::ValueId> operands = {x, s.weight("w", random_f32({1, 20, 3}, 1)),
                                             s.weight("r", random_f32({1, 20, 5}, 2))};
        operands.push_back(with_bias ? s.weight("b", random_f32({1, 40}, 3)) : ir::ValueId{});
        operands.emplace_back();  // lengths
        if (with_states) {
          operands.push_back(s.input(state));
          operands.push_back(s.input(state));
        }
        s.returns(s.op("LSTM", operands, {shaped(DType::F32, {1, 1, 1, 5}), state, state}, {{"hidden_size", n(5)}}));
        return made;
      };
      std::vector<Tensor> inputs = {random_f32({1, 1, 3}, 4)};
      if (with_states) inputs.insert(inputs.end(), {random_f32({1, 1, 5}, 5), random_f32({1, 1, 5}, 6)});
      const ir::Program small = program();
      EXPECT_TRUE(backends::small::lower(small, small.functions.back(), {}, 16).has_value());
      backends::BackendOptions engine_only;
      engine_only.small_programs = false;
      const auto expected = compile_and_run(program(), "s0", inputs, engine_only);
      const auto actual = compile_and_run(program(), "s0", inputs);
      ASSERT_TRUE(expected.ok() && actual.ok());
      ASSERT_EQ(actual->size(), 3U);
      for (std::size_t i = 0; i < 3; ++i) expect_close(ir::Tensor::of((*actual)[i]), ir::Tensor::of((*expected)[i]));
    }
}

TEST(OrtEvaluator, RefusesWhatItDoesNotKnow) {
  auto ort = backends::ort::make_evaluator();
  ASSERT_TRUE(ort.ok());
  ir::Op op;
  op.name = "NoSuchOperator";
  const ir::Tensor x = ir::Tensor::of(f32({1}, {1}));
  const ir::Tensor* operands[] = {&x};
  const std::vector<ir::Type> types = {shaped(DType::F32, {1})};
  const auto result = (*ort)->evaluate(op, operands, types);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::Unsupported);
}

TEST(OrtEvaluator, BadOperandsAreRuntimeFailures) {
  auto ort = backends::ort::make_evaluator();
  ASSERT_TRUE(ort.ok());
  ir::Op op;
  op.name = "MatMul";
  const ir::Tensor x = ir::Tensor::of(random_f32({2, 3}, 1));
  const ir::Tensor* operands[] = {&x, &x};
  const std::vector<ir::Type> types = {shaped(DType::F32, {2, 3})};
  const auto result = (*ort)->evaluate(op, operands, types);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::RuntimeFailure);
}

}  // namespace
}  // namespace dycl::test
