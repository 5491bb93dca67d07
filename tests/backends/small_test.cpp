// SPDX-License-Identifier: Apache-2.0
// Small programs against the engine: ops of recurrent and decoding steps at odd sizes, with NaN and infinities, empty;
// wrong indices; damaged programs.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "backends/kernels/small/format.h"
#include "backends/kernels/small/lower.h"
#include "harness.h"

namespace dycl::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::int64_t n(std::int64_t v) { return v; }
ir::Type f(std::vector<std::int64_t> dims) { return shaped(DType::F32, std::move(dims)); }

void expect_near(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.shape, expected.shape);
  ASSERT_EQ(actual.dtype, expected.dtype);
  if (actual.dtype != DType::F32) {
    EXPECT_EQ(actual.bytes, expected.bytes);
    return;
  }
  const std::vector<float> x = floats(actual), y = floats(expected);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(y[i]) || std::isinf(y[i])) {
      EXPECT_TRUE(std::isnan(y[i]) ? std::isnan(x[i]) : x[i] == y[i]) << i << ": " << x[i] << " for " << y[i];
    } else {
      EXPECT_NEAR(x[i], y[i], 1e-5 + 1e-5 * std::abs(y[i])) << i;
    }
  }
}

bool is_small(const ir::Program& program) {
  return backends::small::lower(program, program.functions.back(), {}, 16).has_value();
}

// The sub-DNN is a small program and computes what the engine computes.
void agrees(const ir::Program& program, const std::vector<Tensor>& inputs) {
  EXPECT_TRUE(is_small(program));
  backends::BackendOptions engine_only;
  engine_only.small_programs = false;
  const auto expected = compile_and_run(program, "s0", inputs, engine_only);
  const auto actual = compile_and_run(program, "s0", inputs);
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  ASSERT_TRUE(actual.ok()) << actual.error().message;
  ASSERT_EQ(actual->size(), expected->size());
  for (std::size_t i = 0; i < actual->size(); ++i) expect_near((*actual)[i], (*expected)[i]);
}

// One op of inputs (rank known) and, after them, constants.
void op_agrees(const std::string& name, const std::vector<Tensor>& inputs, const std::vector<Tensor>& constants,
               const std::vector<ir::Type>& types, const std::map<std::string, ir::Attr>& attrs = {}) {
  SCOPED_TRACE(name);
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  std::vector<ir::ValueId> operands;
  for (const Tensor& t : inputs) operands.push_back(s.input(type_of(t)));
  for (const Tensor& t : constants) operands.push_back(s.constant(t));
  s.returns(s.op(name, operands, types, attrs));
  agrees(program, inputs);
}

TEST(Small, PartsOfTensors) {
  const Tensor x = random_f32({3, 7, 5}, 1);
  op_agrees("Split", {x}, {i64({3}, {2, 1, 4})}, {f({3, 2, 5}), f({3, 1, 5}), f({3, 4, 5})}, {{"axis", n(1)}});
  op_agrees("Split", {x}, {i64({2}, {0, 3})}, {f({0, 7, 5}), f({3, 7, 5})}, {{"axis", n(0)}});
  op_agrees("Slice", {x}, {i64({2}, {-4, 1}), i64({2}, {100, 5}), i64({2}, {1, -1}), i64({2}, {2, 3})}, {f({3, 2, 2})});
  op_agrees("Slice", {x}, {i64({1}, {5}), i64({1}, {2}), i64({1}, {1})}, {f({3, 0, 5})});
  op_agrees("Slice", {i64({5}, {1, 2, 3, 4, 5})}, {i64({1}, {1}), i64({1}, {4})}, {shaped(DType::I64, {3})});
  op_agrees("Slice", {boolean({2, 3}, {1, 0, 1, 0, 0, 1})}, {i64({1}, {1}), i64({1}, {3}), i64({1}, {1})},
            {shaped(DType::Bool, {2, 2})});
  op_agrees("Concat", {x, random_f32({3, 1, 5}, 2), random_f32({3, 0, 5}, 2)}, {}, {f({3, 8, 5})}, {{"axis", n(1)}});
  op_agrees("Concat", {i64({2, 1}, {1, 2}), i64({2, 2}, {3, 4, 5, 6})}, {}, {shaped(DType::I64, {2, 3})},
            {{"axis", n(-1)}});
  op_agrees("Expand", {random_f32({3, 1}, 3)}, {i64({3}, {2, 1, 4})}, {f({2, 3, 4})});
  op_agrees("Expand", {random_f32({}, 3)}, {i64({2}, {1, 1})}, {f({1, 1})});
  for (const std::vector<std::int64_t>& perm :
       {std::vector<std::int64_t>{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}, {2, 0, 1}}) {
    std::vector<std::int64_t> dims;
    for (const std::int64_t d : perm) dims.push_back(x.shape[static_cast<std::size_t>(d)]);
    op_agrees("Transpose", {x}, {}, {f(dims)}, {{"perm", perm}});
  }
  op_agrees("Transpose", {random_f32({1, 4, 1, 3}, 4)}, {}, {f({1, 1, 4, 3})},
            {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
}

TEST(Small, ChoicesAndIndices) {
  op_agrees("Where", {boolean({2, 1}, {1, 0}), random_f32({3}, 1), random_f32({2, 3}, 2)}, {}, {f({2, 3})});
  op_agrees("Where", {boolean({}, {1}), i64({2}, {1, 2}), i64({1}, {9})}, {}, {shaped(DType::I64, {2})});
  op_agrees("Where", {boolean({0}, {}), f32({0}, {}), f32({}, {1})}, {}, {f({0})});
  op_agrees("Gather", {random_f32({5, 3}, 1), i64({2, 2}, {4, 0, -1, 2})}, {}, {f({2, 2, 3})});
  op_agrees("Gather", {random_f32({2, 5, 3}, 1), i64({}, {-5})}, {}, {f({2, 3})}, {{"axis", n(1)}});
  op_agrees("Gather", {random_f32({2, 5}, 1), i64({0}, {})}, {}, {f({2, 0})}, {{"axis", n(1)}});
  op_agrees("GatherElements", {random_f32({2, 5, 2}, 1), i64({2, 1, 2}, {4, 0, -1, 2})}, {}, {f({2, 1, 2})},
            {{"axis", n(1)}});
  op_agrees("TopK", {f32({2, 5}, {1, 3, 3, -1, 2, 0, 0, 0, 5, 5})}, {i64({1}, {3})},
            {f({2, 3}), shaped(DType::I64, {2, 3})});
  op_agrees("TopK", {random_f32({1, 33}, 2)}, {i64({1}, {1})}, {f({1, 1}), shaped(DType::I64, {1, 1})},
            {{"largest", n(0)}});
  op_agrees("torch.TopK", {random_f32({3, 40}, 2)}, {i64({1}, {7})}, {f({3, 7}), shaped(DType::I64, {3, 7})},
            {{"sorted", n(0)}});
  op_agrees("torch.Sort", {i64({2, 3, 1}, {3, 3, -1, 2, 0, 2})}, {},
            {shaped(DType::I64, {2, 3, 1}), shaped(DType::I64, {2, 3, 1})}, {{"axis", n(1)}, {"descending", n(1)}});
  op_agrees("torch.KthValue", {boolean({5}, {1, 0, 1, 1, 0})}, {i64({1}, {3})},
            {shaped(DType::Bool, {1}), shaped(DType::I64, {1})});
  op_agrees("torch.Mode", {f32({2, 3}, {1, kNan, 1, 2, 3, 3})}, {}, {f({2, 1}), shaped(DType::I64, {2, 1})});
  op_agrees("BitwiseAnd", {i64({3}, {-1, 6, 5}), i64({}, {3})}, {}, {shaped(DType::I64, {3})});
  op_agrees("BitwiseXor", {i64({3}, {-1, 6, 5}), i64({3}, {3, 3, 3})}, {}, {shaped(DType::I64, {3})});
  op_agrees("IsNaN", {f32({4}, {1, kNan, kInf, 0})}, {}, {shaped(DType::Bool, {4})});
  op_agrees("ReduceMax", {boolean({2, 3}, {0, 0, 0, 0, 1, 0})}, {i64({1}, {1})}, {shaped(DType::Bool, {2})},
            {{"keepdims", n(0)}});
  op_agrees("ReduceMin", {boolean({2, 3}, {1, 1, 1, 0, 1, 0})}, {i64({1}, {1})}, {shaped(DType::Bool, {2})},
            {{"keepdims", n(0)}});
}

TEST(Small, FunctionsAndNorms) {
  const Tensor ends = f32({6}, {0, kInf, -kInf, kNan, 1e-30F, -3});
  for (const char* name : {"Sigmoid", "Tanh", "Exp", "Erf", "Relu", "Neg", "Abs"}) {
    op_agrees(name, {ends}, {}, {f({6})});
    op_agrees(name, {random_f32({3, 37}, 5, 4.0F)}, {}, {f({3, 37})});
    op_agrees(name, {f32({0}, {})}, {}, {f({0})});
  }
  op_agrees("Gelu", {random_f32({2, 19}, 6, 3.0F)}, {}, {f({2, 19})});
  op_agrees("Sqrt", {f32({3}, {4, 0, -1})}, {}, {f({3})});
  op_agrees("Log", {f32({5}, {4, 0, -1, kInf, 1e-40F})}, {}, {f({5})});
  op_agrees("Softmax", {random_f32({3, 21}, 7, 9.0F)}, {}, {f({3, 21})}, {{"axis", n(1)}});
  op_agrees("Softmax", {f32({2, 3}, {-kInf, 0, 0, kNan, 1, 2})}, {}, {f({2, 3})}, {{"axis", n(-1)}});
  op_agrees("LogSoftmax", {random_f32({2, 300}, 8, 9.0F)}, {}, {f({2, 300})}, {{"axis", n(1)}});
  op_agrees("LayerNormalization", {random_f32({2, 3, 18}, 9)}, {random_f32({18}, 10), random_f32({18}, 11)},
            {f({2, 3, 18})}, {{"epsilon", 1e-3}});
  op_agrees("LayerNormalization", {random_f32({2, 3, 6}, 9)}, {random_f32({3, 6}, 10)}, {f({2, 3, 6})},
            {{"axis", n(1)}});
  op_agrees("Cast", {tensor(DType::F64, {2}, std::vector<double>{1.5, -2.25})}, {}, {f({2})}, {{"to", n(1)}});
  op_agrees("Cast", {random_f32({3}, 1)}, {}, {shaped(DType::F64, {3})}, {{"to", n(11)}});
}

TEST(Small, PairsThatBroadcast) {
  for (const char* name : {"Add", "Sub", "Mul", "Div", "Max", "Min"}) {
    op_agrees(name, {random_f32({2, 3, 17}, 1), random_f32({3, 1}, 2)}, {}, {f({2, 3, 17})});
    op_agrees(name, {random_f32({17}, 1), random_f32({2, 1, 17}, 2)}, {}, {f({2, 1, 17})});
    op_agrees(name, {random_f32({4, 1}, 1), random_f32({1, 5}, 2)}, {}, {f({4, 5})});
    op_agrees(name, {random_f32({}, 1), random_f32({}, 2)}, {}, {f({})});
    op_agrees(name, {f32({0, 2}, {}), random_f32({2}, 2)}, {}, {f({0, 2})});
  }
}

TEST(Small, ProductsOfActivations) {
  op_agrees("MatMul", {random_f32({2, 3, 1, 7}, 1), random_f32({2, 3, 7, 5}, 2)}, {}, {f({2, 3, 1, 5})});
  op_agrees("MatMul", {random_f32({2, 4, 7}, 1), random_f32({1, 7, 33}, 2)}, {}, {f({2, 4, 33})});
  op_agrees("MatMul", {random_f32({1, 4, 7}, 1), random_f32({3, 7, 2}, 2)}, {}, {f({3, 4, 2})});
  op_agrees("MatMul", {random_f32({4, 7}, 1), random_f32({7, 18}, 2)}, {}, {f({4, 18})});
  for (const bool returned : {false, true}) {  // a transposed factor is not computed unless something else wants it
    ir::Program program = empty_program();
    SubDnn s(program, "s0");
    const auto q = s.input(f({1, 2, 1, 6})), k = s.input(f({1, 2, 9, 6}));
    const auto t = s.op("Transpose", {k}, f({1, 2, 6, 9}), {{"perm", std::vector<std::int64_t>{0, 1, 3, 2}}});
    const auto y = s.op("MatMul", {q, t}, f({1, 2, 1, 9}));
    const auto also = s.op("Neg", {t}, f({1, 2, 6, 9}));
    s.returns(returned ? std::vector{y, t} : std::vector{y, also});
    agrees(program, {random_f32({1, 2, 1, 6}, 1), random_f32({1, 2, 9, 6}, 2)});
  }
}

// A recurrent cell as torch writes it down, its matrices both ways round; several rows.
TEST(Small, RecurrentCell) {
  for (const std::int64_t rows : {1, 3, 16})
    for (const std::int64_t hidden : {5, 48}) {
      ir::Program program = empty_program();
      SubDnn s(program, "s0");
      const auto x = s.input(f({rows, 11})), h = s.input(f({rows, hidden})), c = s.input(f({rows, hidden}));
      const auto of_x =
          s.op("Gemm", {x, s.weight("w", random_f32({4 * hidden, 11}, 1)), s.weight("b", random_f32({4 * hidden}, 2))},
               f({rows, 4 * hidden}), {{"transB", n(1)}});
      const auto of_h = s.op("MatMul", {h, s.weight("r", random_f32({hidden, 4 * hidden}, 3))}, f({rows, 4 * hidden}));
      const auto sum = s.op("Add", {of_x, of_h}, f({rows, 4 * hidden}));
      const ir::Type part = f({rows, hidden});
      const auto gates = s.op("Split", {sum, s.constant(i64({4}, {hidden, hidden, hidden, hidden}))},
                              {part, part, part, part}, {{"axis", n(1)}});
      const auto kept = s.op("Mul", {s.op("Sigmoid", {gates[1]}, part), c}, part);
      const auto added = s.op("Mul", {s.op("Sigmoid", {gates[0]}, part), s.op("Tanh", {gates[2]}, part)}, part);
      const auto next = s.op("Add", {kept, added}, part);
      s.returns({s.op("Mul", {s.op("Sigmoid", {gates[3]}, part), s.op("Tanh", {next}, part)}, part), next, gates[1]});
      agrees(program, {random_f32({rows, 11}, 4), random_f32({rows, hidden}, 5), random_f32({rows, hidden}, 6)});
    }
}

TEST(Small, TwoThreadsGiveTheSameBits) {
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  const auto x = s.input(f({2, 300}));
  const auto y = s.op("MatMul", {x, s.weight("w", random_f32({300, 1000}, 1))}, f({2, 1000}));
  s.returns({s.op("Gemm", {s.op("Tanh", {y}, f({2, 1000})), s.weight("v", random_f32({400, 1000}, 2))}, f({2, 400}),
                  {{"transB", n(1)}})});
  EXPECT_TRUE(is_small(program));
  const auto backend = backends::find_backend("ort");
  const auto artifacts = (*backend)->compile_program(program, {});
  ASSERT_TRUE(artifacts.ok());
  std::vector<Tensor> results;
  for (const int threads : {1, 2, 3, 0}) {
    PluginRun::Options options;
    options.threads = threads;
    const auto run = PluginRun::create(program, *artifacts, options);
    ASSERT_TRUE(run.ok()) << run.error().message;
    for (int i = 0; i < 20; ++i) {
      const auto made = (*run)->run("s0", {random_f32({2, 300}, 3)});
      ASSERT_TRUE(made.ok());
      results.push_back((*made)[0]);
      EXPECT_EQ(results.back(), results.front());
    }
  }
}

ir::Program lookup() {
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  const auto token = s.input(shaped(DType::I64, {2}));
  s.returns({s.op("Gather", {s.weight("table", random_f32({10, 4}, 1)), token}, f({2, 4}))});
  return program;
}

TEST(Small, AnIndexOutOfRangeIsAnError) {
  EXPECT_TRUE(is_small(lookup()));
  EXPECT_TRUE(compile_and_run(lookup(), "s0", {i64({2}, {9, -10})}).ok());
  for (const std::int64_t wrong :
       {n(10), n(-11), std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    const auto result = compile_and_run(lookup(), "s0", {i64({2}, {0, wrong})});
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().kind, ErrorKind::RuntimeFailure);
    EXPECT_NE(result.error().message.find("index"), std::string::npos);
  }
}

// What is the engine's: many rows, much work, shapes known at run time, the other form of Gelu.
TEST(Small, LargeOrUnknownIsTheEngines) {
  const auto one = [](const std::string& name, const ir::Type& in, const ir::Type& out,
                      std::map<std::string, ir::Attr> attrs) {
    ir::Program program = empty_program();
    SubDnn s(program, "s0");
    s.returns({s.op(name, {s.input(in)}, out, std::move(attrs))});
    return is_small(program);
  };
  EXPECT_TRUE(one("Tanh", f({100}), f({100}), {}));
  EXPECT_FALSE(one("Tanh", f({1 << 20}), f({1 << 20}), {}));
  EXPECT_FALSE(one("Tanh", f({-1}), f({-1}), {}));
  EXPECT_FALSE(one("Gelu", f({8}), f({8}), {{"approximate", std::string("tanh")}}));
  for (const std::int64_t rows : {1, 64}) {
    ir::Program program = empty_program();
    SubDnn s(program, "s0");
    s.returns({s.op("MatMul", {s.input(f({rows, 512})), s.weight("w", random_f32({512, 2048}, 1))}, f({rows, 2048}))});
    EXPECT_EQ(is_small(program), rows == 1);
  }
}

// Words replaced by others: refused, or run without touching what is not theirs.
TEST(Small, DamagedProgramsAreErrors) {
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  const auto x = s.input(f({2, 3, 8})), token = s.input(shaped(DType::I64, {2}));
  const auto t = s.op("Transpose", {x}, f({3, 2, 8}), {{"perm", std::vector<std::int64_t>{1, 0, 2}}});
  const auto e = s.op("Gather", {s.weight("table", random_f32({10, 8}, 1)), token}, f({2, 8}));
  const auto sum = s.op("Add", {t, e}, f({3, 2, 8}));
  const auto normed =
      s.op("LayerNormalization", {sum, s.constant(random_f32({8}, 2)), s.constant(random_f32({8}, 3))}, f({3, 2, 8}));
  const auto y = s.op("MatMul", {normed, s.weight("w", random_f32({8, 64}, 4))}, f({3, 2, 64}));
  const auto best = s.op("TopK", {y, s.constant(i64({1}, {2}))}, {f({3, 2, 2}), shaped(DType::I64, {3, 2, 2})});
  const auto nan = s.op("IsNaN", {y}, shaped(DType::Bool, {3, 2, 64}));
  const auto chosen = s.op("Where", {nan, s.constant(f32({}, {0})), y}, f({3, 2, 64}));
  const auto plucked = s.op("GatherElements", {chosen, best[1]}, f({3, 2, 2}), {{"axis", n(2)}});
  const auto squared =
      s.op("MatMul", {sum, s.op("Transpose", {sum}, f({3, 8, 2}), {{"perm", std::vector<std::int64_t>{0, 2, 1}}})},
           f({3, 2, 2}));
  s.returns({best[0], plucked, s.op("Concat", {squared, plucked}, f({3, 4, 2}), {{"axis", n(1)}})});
  const std::vector<Tensor> inputs = {random_f32({2, 3, 8}, 5), i64({2}, {3, 9})};
  agrees(program, inputs);
  auto backend = backends::find_backend("ort");
  const auto good = (*backend)->compile_program(program, {});
  ASSERT_TRUE(good.ok());
  std::mt19937 generator(7);
  int refused = 0;
  for (int i = 0; i < 1500; ++i) {
    auto bad = *good;
    auto& bytes = bad[0].artifacts[0].bytes;
    const std::size_t at = 8 + generator() % (bytes.size() / 8 - 1) * 8;
    const std::int64_t words[] = {-1,
                                  0,
                                  1,
                                  2,
                                  3,
                                  8,
                                  64,
                                  std::int64_t{1} << 20,
                                  std::int64_t{1} << 40,
                                  static_cast<std::int64_t>(generator() % 20)};
    std::memcpy(bytes.data() + at, &words[generator() % std::size(words)], 8);
    const auto run = PluginRun::create(program, bad, {});
    if (!run) {
      ++refused;
      continue;
    }
    (void)(*run)->run("s0", inputs);
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace dycl::test
