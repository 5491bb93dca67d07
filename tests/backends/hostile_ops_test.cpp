// SPDX-License-Identifier: Apache-2.0
// Our own ops inside the engine's models, with operands and attributes that no compiler of ours writes but a package
// may: what does not fit is refused, and nothing is read or written beyond a tensor (which the sanitizer would see).
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "backends/kernels/linear_algebra.h"
#include "single_node.h"

namespace dycl::test {
namespace {

namespace la = backends::linear_algebra;
using Dims = std::vector<std::int64_t>;

std::size_t count_of(const Dims& dims) {
  std::size_t n = 1;
  for (const std::int64_t d : dims) n *= static_cast<std::size_t>(d);
  return n;
}

Tensor i32(const Dims& shape, const std::vector<std::int32_t>& elements) { return tensor(DType::I32, shape, elements); }

SingleNode linear(la::Op op, std::map<std::string, std::int64_t> attributes = {}) {
  SingleNode node{"linalg", la::form_of(op).name, std::move(attributes), {}};
  for (const char letter : la::form_of(op).out)
    node.results.push_back(letter == 'i' ? DType::I32 : letter == 'l' ? DType::I64 : DType::F32);
  return node;
}

TEST(HostileLinearAlgebra, OptionsThatAnOpDoesNotHaveAreRefused) {
  const Tensor a = random_f32({3, 3}, 1);
  for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{3}, std::int64_t{1} << 40, INT64_MIN}) {
    EXPECT_FALSE(run_single(linear(la::Op::Svd, {{"vectors", bad}}), {a}).ok()) << bad;
    EXPECT_FALSE(run_single(linear(la::Op::Qr, {{"mode", bad}}), {a}).ok()) << bad;
  }
  for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{4}, INT64_MAX})
    EXPECT_FALSE(run_single(linear(la::Op::LeastSquares, {{"driver", bad}}), {a, a, f32({1}, {0})}).ok()) << bad;
  EXPECT_TRUE(run_single(linear(la::Op::Svd, {{"vectors", 2}}), {a}).ok());
}

TEST(HostileLinearAlgebra, LeastSquaresReadsOneNumber) {
  const Tensor a = random_f32({3, 2}, 1), b = random_f32({3, 1}, 2);
  EXPECT_TRUE(run_single(linear(la::Op::LeastSquares), {a, b, f32({1}, {0})}).ok());
  EXPECT_FALSE(run_single(linear(la::Op::LeastSquares), {a, b, f32({0}, {})}).ok());
  EXPECT_FALSE(run_single(linear(la::Op::LeastSquares), {a, b, f32({0, 1}, {})}).ok());
  EXPECT_FALSE(run_single(linear(la::Op::LeastSquares), {a, b, f32({2}, {0, 0})}).ok());
}

// Users reach this with tensors of their own.
TEST(HostileLinearAlgebra, PivotsThatAreNoneExchangeNothing) {
  const Tensor a = random_f32({3, 3}, 1), b = random_f32({3, 2}, 2);
  constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min();
  const std::vector<std::vector<std::int32_t>> all = {{0, 0, 0},  {1, 2, -3}, {-1, 2, 3},  {-1, -1, -1},
                                                      {1, -1, 3}, {9, 9, 9},  {-9, -9, 3}, {kLeast, kLeast, kLeast}};
  for (const std::vector<std::int32_t>& pivots : all) {
    EXPECT_TRUE(run_single(linear(la::Op::LdlSolve), {a, i32({3}, pivots), b}).ok()) << pivots[0] << pivots[2];
    EXPECT_TRUE(run_single(linear(la::Op::LuSolve), {a, i32({3}, pivots), b}).ok());
    EXPECT_TRUE(run_single(linear(la::Op::LuUnpack), {a, i32({3}, pivots)}).ok());
  }
}

TEST(HostileLinearAlgebra, PivotsOfTheFactorizationStayAsTheyAre) {
  const Tensor a = f32({4, 4}, {0, 2, 1, 0, 2, 0, 3, 1, 1, 3, 5, 2, 0, 1, 2, 0}), b = random_f32({4, 2}, 2);
  const auto factored = run_single(linear(la::Op::LdlFactor), {a});
  ASSERT_TRUE(factored.ok()) << factored.error().message;
  const auto solved = run_single(linear(la::Op::LdlSolve), {(*factored)[0], (*factored)[1], b});
  ASSERT_TRUE(solved.ok()) << solved.error().message;
  const std::vector<float> x = floats((*solved)[0]), m = floats(a), wanted = floats(b);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 2; ++j) {
      float sum = 0;
      for (std::size_t k = 0; k < 4; ++k) sum += m[i * 4 + k] * x[k * 2 + j];
      EXPECT_NEAR(sum, wanted[i * 2 + j], 1e-4);
    }
}

// Any op with any operands: answers or refusals, and NaN in some.
TEST(HostileLinearAlgebra, AnyOperandsAreTakenOrRefused) {
  std::mt19937 random(7);
  const auto any = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const float specials[] = {0, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e38F};
  int taken = 0;
  for (int round = 0; round < 1500; ++round) {
    const auto op = static_cast<la::Op>(any(la::kOps));
    SingleNode node = linear(op);
    for (const auto& [name, option] : la::kOptions)
      if (any(2)) node.attributes[name] = any(10) ? any(3) : any(9) - 4;
    const std::int64_t n = any(4), m = any(3) ? n : any(4);
    std::vector<std::optional<Tensor>> operands;
    for (const char letter : la::form_of(op).in) {
      Dims dims;
      if (any(3) == 0) dims.push_back(2);  // a batch
      if (letter == 'T' && any(4)) dims.push_back(any(8) ? n : any(5));
      dims.push_back(any(8) ? m : any(5));
      Tensor t = random_f32(dims, static_cast<unsigned>(round));
      if (letter == 'i') {
        std::vector<std::int32_t> pivots(count_of(dims));
        for (std::int32_t& p : pivots) p = any(11) - 5;
        t = i32(dims, pivots);
      } else if (any(4) == 0 && !t.bytes.empty()) {
        std::vector<float> elements = floats(t);
        elements[random() % elements.size()] = specials[any(4)];
        t = f32(dims, elements);
      }
      operands.push_back(t);
    }
    taken += run_single(node, operands).ok();
  }
  EXPECT_GT(taken, 200);
}

// Our kernels take the place of the engine's, whatever the model's windows are.
TEST(HostilePooling, WindowsBeyondTheOperandAreRefused) {
  const Tensor x = random_f32({1, 2, 5, 4}, 1);
  const auto pools = [&](const std::string& name, const Dims& values) {
    SingleNode node{"", "MaxPool", {}, {DType::F32}};
    node.lists = {{"kernel_shape", {2, 2}}, {"strides", {1, 1}}, {"dilations", {1, 1}}, {"pads", {0, 0, 0, 0}}};
    node.lists[name] = values;
    return run_single(node, {x}).ok();
  };
  EXPECT_TRUE(pools("kernel_shape", {3, 2}));
  constexpr std::int64_t kOne = 1;
  for (const std::int64_t bad : {-kOne, kOne << 31, kOne << 62, INT64_MAX, INT64_MIN}) {
    EXPECT_FALSE(pools("kernel_shape", {bad, 2})) << bad;
    EXPECT_FALSE(pools("strides", {1, bad})) << bad;
    EXPECT_FALSE(pools("dilations", {bad, 1})) << bad;
    EXPECT_FALSE(pools("pads", {0, bad, 0, 0})) << bad;
    EXPECT_FALSE(pools("pads", {0, 0, 0, bad})) << bad;
  }
  EXPECT_FALSE(pools("kernel_shape", {1, 1, 1, 1}));
  EXPECT_FALSE(pools("kernel_shape", {}));
}

TEST(HostileSelection, AnyOperandsAreTakenOrRefused) {
  std::mt19937 random(8);
  const auto any = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const std::int64_t numbers[] = {-1, 0, 1, 2, 3, 17, INT64_MAX, INT64_MIN};
  int taken = 0;
  for (int round = 0; round < 600; ++round) {
    static const char* const kNames[] = {"TopK", "Sort", "KthValue", "Mode"};
    SingleNode node{"torch", kNames[any(4)], {}, {DType::F32, DType::I64}};
    for (const char* name : {"axis", "largest", "descending", "sorted", "stable"})
      if (any(2)) node.attributes[name] = any(6) ? any(2) : numbers[any(8)];
    Dims dims;
    for (int rank = any(4); rank > 0; --rank) dims.push_back(any(10) ? 1 + any(20) : 0);
    std::vector<std::optional<Tensor>> operands = {random_f32(dims, static_cast<unsigned>(round))};
    const bool has_k = node.name == "TopK" || node.name == "KthValue";
    if (has_k) operands.push_back(any(8) ? i64({1}, {any(4) ? any(5) : numbers[any(8)]}) : i64({0}, {}));
    taken += run_single(node, operands).ok();
  }
  EXPECT_GT(taken, 100);
}

}  // namespace
}  // namespace dycl::test
