// SPDX-License-Identifier: Apache-2.0
// Both halves of the ONNX Runtime back end together, against known values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

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
  for (const DType dtype : {DType::F32, DType::U8, DType::I8, DType::U16, DType::I16, DType::I32, DType::I64,
                            DType::Bool, DType::F16, DType::F64, DType::U32, DType::U64, DType::BF16}) {
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

// Products with weights are computed by our kernels inside the engine's models (dense_ops.h).
Tensor product(const Tensor& a, const Tensor& b, bool transposed, const std::vector<float>& bias, std::int64_t bias_row,
               std::int64_t bias_column) {
  const std::vector<float> x = floats(a), w = floats(b);
  const std::int64_t k = a.shape.back(), n = b.shape[transposed ? 0 : 1],
                     m = k == 0 ? 0 : static_cast<std::int64_t>(x.size()) / k;
  std::vector<float> out;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = bias.empty() ? 0 : bias[static_cast<std::size_t>(i * bias_row + j * bias_column)];
      for (std::int64_t p = 0; p < k; ++p)
        sum += static_cast<double>(x[static_cast<std::size_t>(i * k + p)]) *
               static_cast<double>(w[static_cast<std::size_t>(transposed ? j * k + p : p * n + j)]);
      out.push_back(static_cast<float>(sum));
    }
  std::vector<std::int64_t> shape = a.shape;
  shape.back() = n;
  return f32(shape, out);
}

void expect_near(const Result<std::vector<Tensor>>& found, const Tensor& expected) {
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ((*found)[0].shape, expected.shape);
  const std::vector<float> x = floats((*found)[0]), y = floats(expected);
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], 1e-4) << i;
}

TEST(Ort, ProductsWithWeightsOfAnyNumberOfRows) {
  for (const bool transposed : {false, true})
    for (const std::int64_t n : {33, 150}) {
      const Tensor w =
          random_f32(transposed ? std::vector<std::int64_t>{n, 130} : std::vector<std::int64_t>{130, n}, 1);
      struct Bias {
        std::vector<std::int64_t> shape;
        std::int64_t row, column;
      };
      for (const Bias& bias : {Bias{{n}, 0, 1}, Bias{{1, n}, 0, 1}, Bias{{1}, 0, 0}, Bias{{}, 0, 0}}) {
        ir::Program program = empty_program();
        SubDnn s(program, "s0");
        const auto x = s.input(shaped(DType::F32, {-1, 130}));
        const Tensor c = random_f32(bias.shape, 2);
        const auto y = s.op("Gemm", {x, s.weight("w", w), s.weight("c", c)}, shaped(DType::F32, {-1, n}),
                            {{"transB", std::int64_t{transposed ? 1 : 0}}});
        s.returns({y});
        for (const std::int64_t m : {0, 1, 3, 14}) {
          const Tensor input = random_f32({m, 130}, 3);
          expect_near(compile_and_run(program, "s0", {input}),
                      product(input, w, transposed, floats(c), bias.row, bias.column));
        }
      }
    }
}

TEST(Ort, ProductsOfHigherRankAndWithFunctions) {
  const Tensor w = random_f32({64, 96}, 1, 0.2F), input = random_f32({2, 1, 3, 64}, 2);
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  const auto x = s.input(shaped(DType::F32, {2, -1, 3, 64}));
  s.returns({s.op("MatMul", {x, s.weight("w", w)}, shaped(DType::F32, {2, -1, 3, 96}))});
  expect_near(compile_and_run(program, "s0", {input}), product(input, w, false, {}, 0, 0));
  for (const char* function : {"Relu", "Sigmoid", "Tanh"}) {
    ir::Program fused = empty_program();
    SubDnn f(fused, "s0");
    const auto a = f.input(shaped(DType::F32, {-1, 64}));
    const auto y =
        f.op("Gemm", {a, f.weight("w", w), f.weight("c", random_f32({96}, 3))}, shaped(DType::F32, {-1, 96}));
    f.returns({f.op(function, {y}, shaped(DType::F32, {-1, 96}))});
    const Tensor rows = random_f32({5, 64}, 4);
    Tensor expected = product(rows, w, false, floats(random_f32({96}, 3)), 0, 1);
    std::vector<float> values = floats(expected);
    for (float& v : values)
      v = function[0] == 'R' ? std::max(v, 0.0F) : function[0] == 'T' ? std::tanh(v) : 1 / (1 + std::exp(-v));
    expect_near(compile_and_run(fused, "s0", {rows}), f32({5, 96}, values));
  }
}

// A vector times a matrix, and an operand of another width than the matrix: an error of the engine, not of ours.
TEST(Ort, ProductsOfVectorsAndOfWrongShapes) {
  const Tensor w = random_f32({64, 96}, 1);
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  const auto x = s.input(Type::tensor_of_unknown_rank(DType::F32));
  s.returns({s.op("MatMul", {x, s.weight("w", w)}, Type::tensor_of_unknown_rank(DType::F32))});
  const Tensor line = random_f32({64}, 2);
  expect_near(compile_and_run(program, "s0", {line}), product(line, w, false, {}, 0, 0));
  EXPECT_FALSE(compile_and_run(program, "s0", {random_f32({2, 63}, 2)}).ok());
  EXPECT_FALSE(compile_and_run(program, "s0", {random_f32({}, 2)}).ok());
}

TEST(Ort, ProductsOnTwoThreadsAreTheSameBits) {
  const Tensor w = random_f32({700, 300}, 1), input = random_f32({2, 300}, 2);
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  const auto x = s.input(shaped(DType::F32, {-1, 300}));
  s.returns({s.op("Gemm", {x, s.weight("w", w)}, shaped(DType::F32, {-1, 700}), {{"transB", std::int64_t{1}}})});
  const auto backend = backends::find_backend("ort");
  ASSERT_TRUE(backend.ok());
  const auto artifacts = (*backend)->compile_program(program, {});
  ASSERT_TRUE(artifacts.ok());
  std::vector<std::vector<Tensor>> results;
  for (const int threads : {1, 2}) {
    PluginRun::Options options;
    options.threads = threads;
    auto plugin = PluginRun::create(program, *artifacts, options);
    ASSERT_TRUE(plugin.ok()) << plugin.error().message;
    auto made = (*plugin)->run("s0", {input});
    ASSERT_TRUE(made.ok()) << made.error().message;
    results.push_back(*made);
  }
  EXPECT_EQ(results[0], results[1]);
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
