// SPDX-License-Identifier: Apache-2.0
// Both halves of the ONNX Runtime back end together, against known values.
#include <gtest/gtest.h>

#include "harness.h"

namespace dycl::test {
namespace {

using ir::Type;

// The engine's results; where the sub-DNN could be a small program, that must give the same.
std::vector<Tensor> run(const ir::Program& program, const std::vector<Tensor>& inputs) {
  backends::BackendOptions engine_only;
  engine_only.small_programs = false;
  auto result = compile_and_run(program, "s0", inputs, engine_only);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  const auto small = compile_and_run(program, "s0", inputs);
  EXPECT_TRUE(small.ok()) << (small.ok() ? "" : small.error().message);
  EXPECT_TRUE(!result.ok() || !small.ok() || *result == *small);
  return result.ok() ? std::move(*result) : std::vector<Tensor>();
}

TEST(Ort, RunsOneOp) {
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  const auto x = s.input(shaped(DType::F32, {3}));
  s.returns({s.op("Relu", {x}, shaped(DType::F32, {3}))});
  EXPECT_EQ(run(std::move(program), {f32({3}, {-1, 0, 2})}), std::vector{f32({3}, {0, 0, 2})});
}

TEST(Ort, WeightsAndLiterals) {
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  std::vector<float> identity(32 * 32, 0);
  for (int i = 0; i < 32; ++i) identity[static_cast<std::size_t>(i * 33)] = 2;
  const auto x = s.input(shaped(DType::F32, {1, 32}));
  const auto w = s.weight("fc.weight", f32({32, 32}, identity));
  const auto y = s.op("MatMul", {x, w}, shaped(DType::F32, {1, 32}));
  s.returns({s.op("Add", {y, s.constant(f32({}, {1}))}, shaped(DType::F32, {1, 32}))});
  const Tensor input = random_f32({1, 32}, 1);
  std::vector<float> expected = floats(input);
  for (float& v : expected) v = 2 * v + 1;
  EXPECT_EQ(run(std::move(program), {input}), std::vector{f32({1, 32}, expected)});
}

// Results that no op makes must still be written into the caller's memory.
TEST(Ort, ResultsThatAreParametersConstantsOrRepeated) {
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  const auto x = s.input(shaped(DType::F32, {2}));
  const auto c = s.constant(i64({2}, {7, 8}));
  const auto w = s.weight("w", random_f32({400}, 3));
  const auto y = s.op("Neg", {x}, shaped(DType::F32, {2}));
  const auto folded = s.op("Add", {c, c}, shaped(DType::I64, {2}));
  s.returns({x, c, w, y, y, folded});
  const Tensor input = f32({2}, {1, -3}), negated = f32({2}, {-1, 3});
  EXPECT_EQ(run(std::move(program), {input}),
            (std::vector{input, i64({2}, {7, 8}), random_f32({400}, 3), negated, negated, i64({2}, {14, 16})}));
}

TEST(Ort, DynamicShapes) {
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  const auto x = s.input(shaped(DType::F32, {-1, 2}));
  const auto big = s.op("Greater", {x, s.constant(f32({}, {0}))}, shaped(DType::Bool, {-1, 2}));
  const auto where = s.op("NonZero", {big}, shaped(DType::I64, {2, -1}));
  const auto sum = s.op("ReduceSum", {x}, shaped(DType::F32, {}), {{"keepdims", std::int64_t{0}}});
  s.returns({where, sum, s.op("Relu", {x}, Type::tensor_of_unknown_rank(DType::F32))});
  EXPECT_EQ(run(program, {f32({2, 2}, {1, -1, -2, 5})}),
            (std::vector{i64({2, 2}, {0, 1, 0, 1}), f32({}, {3}), f32({2, 2}, {1, 0, 0, 5})}));
  EXPECT_EQ(run(program, {f32({0, 2}, {})}), (std::vector{i64({2, 0}, {}), f32({}, {0}), f32({0, 2}, {})}));
}

TEST(Ort, EveryDtypeCrosses) {
  for (const DType dtype : {DType::F32, DType::U8, DType::I8, DType::U16, DType::I16, DType::I32, DType::I64, DType::Bool,
                            DType::F16, DType::F64, DType::U32, DType::U64, DType::BF16}) {
    ir::Program program = empty_program();
    SubDnn s(program, "s0");
    const auto x = s.input(shaped(dtype, {2}));
    s.returns({s.op("Identity", {x}, shaped(dtype, {2}))});
    Tensor input{dtype, {2}, std::vector<std::uint8_t>(2 * size_of(dtype), 1)};
    EXPECT_EQ(run(std::move(program), {input}), std::vector{input}) << name_of(dtype);
  }
}

TEST(Ort, HalfPrecision) {
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  const auto x = s.input(shaped(DType::F16, {2}));
  const auto y = s.op("Add", {x, x}, shaped(DType::F16, {2}));
  s.returns({s.op("Cast", {y}, shaped(DType::F32, {2}), {{"to", std::int64_t{1}}})});
  const Tensor input = tensor(DType::F16, {2}, std::vector<std::uint16_t>{0x3C00, 0xC000});  // 1, -2
  EXPECT_EQ(run(std::move(program), {input}), std::vector{f32({2}, {2, -4})});
}

TEST(Ort, ResultOfAnotherShapeThanPromisedIsAnError) {
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  const auto x = s.input(shaped(DType::F32, {-1}));
  s.returns({s.op("Relu", {x}, shaped(DType::F32, {3}))});
  EXPECT_TRUE(compile_and_run(program, "s0", {f32({3}, {1, 2, 3})}).ok());
  EXPECT_FALSE(compile_and_run(program, "s0", {f32({4}, {1, 2, 3, 4})}).ok());
  EXPECT_FALSE(compile_and_run(program, "s0", {f32({2}, {1, 2})}).ok());
}

TEST(Ort, UnknownOperatorIsAnErrorThatNamesTheFunction) {
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  const auto x = s.input(shaped(DType::F32, {3}));
  s.returns({s.op("NoSuchOperator", {x}, shaped(DType::F32, {3}))});
  const auto result = compile_and_run(program, "s0", {f32({3}, {1, 2, 3})});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("@s0"), std::string::npos);
  EXPECT_NE(result.error().message.find("NoSuchOperator"), std::string::npos);
  EXPECT_EQ(result.error().kind, ErrorKind::Unsupported);
}

TEST(Ort, ARefusedOpIsFoundInTheSource) {
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  const auto x = s.input(shaped(DType::F32, {3}));
  const auto y = s.op("Relu", {x}, shaped(DType::F32, {3}));
  s.returns({s.op("NoSuchOperator", {y}, shaped(DType::F32, {3}))});
  program.functions[1].blocks[0].body[0].span = {0, 10, 1, 10, 5};
  program.functions[1].blocks[0].body[1].span = {0, 11, 1, 11, 5};
  const auto result = compile_and_run(program, "s0", {f32({3}, {1, 2, 3})});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().span.line, 11U);
}

}  // namespace
}  // namespace dycl::test
