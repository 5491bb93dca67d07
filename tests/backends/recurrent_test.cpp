// SPDX-License-Identifier: Apache-2.0
// The ops that compute LSTM and GRU layers anew (ort/recurrent_ops.h): all forms of the layers against the formulas,
// also with NaN; and operands that a package may give them, which fit or are refused.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "backends/kernels/recurrent.h"
#include "single_node.h"

namespace dycl::test {
namespace {

namespace recurrent = backends::recurrent;
using recurrent::Cell;
using recurrent::Direction;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t kTime = 4, kBatch = 2, kInputs = 3, kHidden = 5;

struct Form {
  const char* name;
  Cell cell;
  Direction direction;
  bool peepholes = false, coupled = false, lengths = false, activations = false;
};

struct Operands {
  Tensor x, w, r, b, lengths, h0, c0, p;
};

Operands operands_of(const Form& form) {
  const std::int64_t d = form.direction == Direction::Both ? 2 : 1, rows = (form.cell == Cell::Lstm ? 4 : 3) * kHidden;
  return {random_f32({kTime, kBatch, kInputs}, 1),   random_f32({d, rows, kInputs}, 2),
          random_f32({d, rows, kHidden}, 3),         random_f32({d, 2 * rows}, 4),
          tensor<std::int32_t>(DType::I32, {kBatch}, {4, 2}), random_f32({d, kBatch, kHidden}, 5),
          random_f32({d, kBatch, kHidden}, 6),       random_f32({d, 3 * kHidden}, 7)};
}

// y, h and c by the formulas.
std::vector<Tensor> computed(const Form& form, const Operands& in) {
  const auto at = [](const Tensor& t) { return reinterpret_cast<const float*>(t.bytes.data()); };
  recurrent::Layer<float> layer;
  layer.cell = form.cell, layer.direction = form.direction, layer.coupled = form.coupled;
  layer.time = kTime, layer.batch = kBatch, layer.inputs = kInputs, layer.hidden = kHidden;
  layer.x = at(in.x), layer.w = at(in.w), layer.r = at(in.r), layer.b = at(in.b), layer.h0 = at(in.h0);
  if (form.cell == Cell::Lstm) layer.c0 = at(in.c0);
  if (form.peepholes) layer.p = at(in.p);
  if (form.lengths) layer.lengths = reinterpret_cast<const std::int32_t*>(in.lengths.bytes.data());
  const std::int64_t d = layer.directions();
  std::vector<Tensor> out = {random_f32({kTime, d, kBatch, kHidden}, 0), random_f32({d, kBatch, kHidden}, 0),
                             random_f32({d, kBatch, kHidden}, 0)};
  const auto to = [](Tensor& t) { return reinterpret_cast<float*>(t.bytes.data()); };
  layer.y = to(out[0]), layer.h = to(out[1]), layer.c = to(out[2]);
  recurrent::compute(layer);
  if (form.cell != Cell::Lstm) out.pop_back();
  return out;
}

Result<std::vector<Tensor>> compiled(const Form& form, const Operands& in,
                                     std::map<std::string, ir::Attr> attrs = {}) {
  const bool is_lstm = form.cell == Cell::Lstm;
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  const auto x = s.input(type_of(in.x));
  const ir::ValueId none{};
  std::vector<ir::ValueId> operands = {x, s.weight("w", in.w), s.weight("r", in.r), s.weight("b", in.b),
                                       form.lengths ? s.constant(in.lengths) : none, s.weight("h0", in.h0)};
  if (is_lstm) operands.push_back(s.weight("c0", in.c0));
  if (form.peepholes) operands.push_back(s.weight("p", in.p));
  static const char* const kDirections[] = {"forward", "reverse", "bidirectional"};
  attrs.emplace("hidden_size", kHidden);
  attrs.emplace("direction", std::string(kDirections[static_cast<std::size_t>(form.direction)]));
  if (form.coupled) attrs.emplace("input_forget", std::int64_t{1});
  if (form.cell == Cell::Gru) attrs.emplace("linear_before_reset", std::int64_t{1});
  if (form.activations)
    attrs.emplace("activations", is_lstm ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
                                         : std::vector<std::string>{"Sigmoid", "Tanh"});
  const std::int64_t d = form.direction == Direction::Both ? 2 : 1;
  std::vector<ir::Type> types = {shaped(DType::F32, {kTime, d, kBatch, kHidden}),
                                 shaped(DType::F32, {d, kBatch, kHidden})};
  if (is_lstm) types.push_back(types.back());
  s.returns(s.op(is_lstm ? "LSTM" : "GRU", operands, types, attrs));
  return compile_and_run(program, "s0", {in.x});
}

void expect_same(const std::vector<Tensor>& found, const std::vector<Tensor>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::vector<float> a = floats(found[i]), b = floats(expected[i]);
    ASSERT_EQ(found[i].shape, expected[i].shape);
    for (std::size_t k = 0; k < a.size(); ++k) {
      ASSERT_EQ(std::isnan(a[k]), std::isnan(b[k])) << i << " " << k;
      if (std::isnan(b[k])) continue;
      ASSERT_NEAR(a[k], b[k], 1e-5) << i << " " << k;
    }
  }
}

constexpr Form kForms[] = {
    {"lstm", Cell::Lstm, Direction::Forward},
    {"lstm with peepholes", Cell::Lstm, Direction::Both, true},
    {"lstm with coupled gates", Cell::Lstm, Direction::Reverse, false, true},
    {"lstm with all", Cell::Lstm, Direction::Both, true, false, true, false},
    {"gru", Cell::Gru, Direction::Both},
    {"gru of lengths", Cell::Gru, Direction::Reverse, false, false, true},
    {"gru, reset first", Cell::GruResetFirst, Direction::Both},
};

// Wherever it stands: in a block of a vector, or behind the last one.
template <typename T>
void expect_one_wild_element_is_seen() {
  constexpr T kMost = std::numeric_limits<T>::max() / T(1e8), kInfinity = std::numeric_limits<T>::infinity();
  for (const std::size_t count : {1, 63, 64, 65, 200}) {
    std::vector<T> all(count, -kMost);
    all[0] = kMost;
    EXPECT_TRUE(recurrent::is_tame(all.data(), static_cast<std::int64_t>(count)));
    for (std::size_t i = 0; i < count; ++i) {
      const T before = all[i];
      for (const T wild : {std::numeric_limits<T>::quiet_NaN(), kInfinity, -kInfinity, std::nextafter(kMost, kInfinity)}) {
        all[i] = wild;
        EXPECT_FALSE(recurrent::is_tame(all.data(), static_cast<std::int64_t>(count))) << i << " of " << count;
      }
      all[i] = before;
    }
  }
}

TEST(Recurrent, OneWildElementIsSeen) {
  expect_one_wild_element_is_seen<float>();
  expect_one_wild_element_is_seen<double>();
  EXPECT_TRUE(recurrent::is_tame(static_cast<const float*>(nullptr), 0));
}

TEST(Recurrent, EveryFormIsTheFormulas) {
  for (const Form& form : kForms) {
    SCOPED_TRACE(form.name);
    const Operands in = operands_of(form);
    const auto found = compiled(form, in);
    ASSERT_TRUE(found.ok()) << found.error().message;
    expect_same(*found, computed(form, in));
  }
}

TEST(Recurrent, EveryFormGivesNanWhereTheFormulasDo) {
  for (const Form& form : kForms) {
    SCOPED_TRACE(form.name);
    Operands in = operands_of(form);
    std::vector<float> x = floats(in.x);
    x[kBatch * kInputs] = kNan;  // the second step of the first sequence
    in.x = f32(in.x.shape, x);
    const auto found = compiled(form, in);
    ASSERT_TRUE(found.ok()) << found.error().message;
    expect_same(*found, computed(form, in));
  }
}

// Its input has open extents; its states begin with zeros.
Result<std::vector<Tensor>> compiled_open(const Form& form, const Operands& in, const Tensor& x) {
  const bool is_lstm = form.cell == Cell::Lstm;
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  const std::int64_t d = form.direction == Direction::Both ? 2 : 1;
  const auto given = s.input(shaped(DType::F32, {-1, -1, kInputs}));
  std::vector<ir::Type> types = {shaped(DType::F32, {-1, d, -1, kHidden}), shaped(DType::F32, {d, -1, kHidden})};
  if (is_lstm) types.push_back(types.back());
  static const char* const kDirections[] = {"forward", "reverse", "bidirectional"};
  std::map<std::string, ir::Attr> attrs = {
      {"hidden_size", kHidden}, {"direction", std::string(kDirections[static_cast<std::size_t>(form.direction)])}};
  if (form.cell == Cell::Gru) attrs.emplace("linear_before_reset", std::int64_t{1});
  const std::vector<ir::ValueId> operands = {given, s.weight("w", in.w), s.weight("r", in.r), s.weight("b", in.b)};
  s.returns(s.op(is_lstm ? "LSTM" : "GRU", operands, types, attrs));
  return compile_and_run(program, "s0", {x});
}

constexpr Form kOpenForms[] = {
    {"lstm", Cell::Lstm, Direction::Forward},        {"lstm both ways", Cell::Lstm, Direction::Both},
    {"lstm backwards", Cell::Lstm, Direction::Reverse}, {"gru", Cell::Gru, Direction::Forward},
    {"gru both ways", Cell::Gru, Direction::Both},   {"gru, reset first", Cell::GruResetFirst, Direction::Reverse},
};

TEST(Recurrent, OpenExtentsAreTheFormulas) {
  for (const Form& form : kOpenForms) {
    SCOPED_TRACE(form.name);
    Operands in = operands_of(form);
    for (Tensor* state : {&in.h0, &in.c0}) *state = f32(state->shape, std::vector<float>(floats(*state).size(), 0.0F));
    const auto found = compiled_open(form, in, in.x);
    ASSERT_TRUE(found.ok()) << found.error().message;
    expect_same(*found, computed(form, in));
  }
}

// Given these, the engine ends the process.
TEST(Recurrent, NoStepsAndNoSequences) {
  for (const Form& form : kOpenForms)
    for (const auto& [time, batch] : {std::pair<std::int64_t, std::int64_t>{0, 2}, {3, 0}, {0, 0}}) {
      SCOPED_TRACE(form.name + (" " + std::to_string(time) + "x" + std::to_string(batch)));
      const std::int64_t d = form.direction == Direction::Both ? 2 : 1;
      const auto found = compiled_open(form, operands_of(form), f32({time, batch, kInputs}, {}));
      ASSERT_TRUE(found.ok()) << found.error().message;
      EXPECT_EQ((*found)[0].shape, (std::vector<std::int64_t>{time, d, batch, kHidden}));
      EXPECT_EQ(floats((*found)[1]), std::vector<float>(static_cast<std::size_t>(d * batch * kHidden), 0.0F));
    }
}

// ---- what a package may give to the op -------------------------------------------------------------------

std::vector<std::optional<Tensor>> fitting(std::int64_t d, std::int64_t gates) {
  const std::int64_t t = 3, b = 2, n = 2, i = 2;
  std::vector<float> x(static_cast<std::size_t>(t * b * i), kNan);
  return {random_f32({t, d, b, n}, 1), random_f32({d, b, n}, 2), random_f32({d, b, n}, 3), f32({t, b, i}, x),
          random_f32({d, gates * n, i}, 4), random_f32({d, gates * n, n}, 5), random_f32({d, 2 * gates * n}, 6),
          tensor<std::int32_t>(DType::I32, {b}, {3, 1}), random_f32({d, b, n}, 7), random_f32({d, b, n}, 8),
          random_f32({d, 3 * n}, 9)};
}

SingleNode recurrent_node(std::int64_t cell, std::int64_t direction) {
  return {"mend", "Recurrent", {{"cell", cell}, {"direction", direction}}, {DType::F32, DType::F32, DType::F32}};
}

TEST(RecurrentHostile, FittingOperandsAreComputed) {
  for (std::int64_t cell = 0; cell < 3; ++cell)
    for (std::int64_t direction = 0; direction < 3; ++direction) {
      const auto operands = fitting(direction == 2 ? 2 : 1, cell == 0 ? 4 : 3);
      const auto found = run_single(recurrent_node(cell, direction), operands);
      ASSERT_TRUE(found.ok()) << found.error().message;
    }
}

TEST(RecurrentHostile, UnknownCellsAndDirectionsAreRefused) {
  for (const auto& [cell, direction] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {3, 0}, {-1, 0}, {0, 3}, {0, -1}, {INT64_MAX, 0}, {0, INT64_MIN}})
    EXPECT_FALSE(run_single(recurrent_node(cell, direction), fitting(1, 4)).ok()) << cell << " " << direction;
}

// One operand at a time is of another rank, longer or shorter in one dim, empty, or left out.
TEST(RecurrentHostile, OperandsThatDoNotFitAreRefused) {
  const auto all = fitting(1, 4);
  constexpr std::size_t kX = 3, kW = 4, kR = 5;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Tensor& t = *all[i];
    std::vector<std::vector<std::int64_t>> shapes = {{}, {1}, {1, 1}, {1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1, 1}};
    for (std::size_t axis = 0; axis < t.shape.size(); ++axis)
      for (const std::int64_t extent : {std::int64_t{0}, t.shape[axis] - 1, t.shape[axis] + 1, std::int64_t{1000}}) {
        shapes.push_back(t.shape);
        shapes.back()[axis] = extent;
      }
    for (const auto& shape : shapes) {
      std::size_t count = 1;
      for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
      auto operands = all;
      operands[i] = Tensor{t.dtype, shape, std::vector<std::uint8_t>(count * 4, 0xff)};  // NaN
      EXPECT_FALSE(run_single(recurrent_node(0, 0), operands).ok()) << i;
      if (i != kX && i < 4) continue;  // results
      EXPECT_FALSE(run_single(recurrent_node(0, 0), operands, {i}).ok()) << i << " constant";
    }
    auto operands = all;
    operands[i].reset();
    const bool may_be_left_out = i > kR;  // of y, h and c, only with their results
    EXPECT_EQ(run_single(recurrent_node(0, 0), operands).ok(), may_be_left_out) << i;
    EXPECT_EQ(i == kW || i == kR || i == kX, !may_be_left_out && i > 2);
  }
}

TEST(RecurrentHostile, FilledHasElements) {
  const SingleNode filled{"mend", "Filled", {}, {DType::F32}};
  const auto none = run_single(filled, {f32({0, 3, 0}, {})}), some = run_single(filled, {f32({1, 2}, {3, 4})});
  ASSERT_TRUE(none.ok() && some.ok());
  EXPECT_EQ((*none)[0].shape, (std::vector<std::int64_t>{1, 3, 1}));
  EXPECT_EQ(floats((*none)[0]), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(floats((*some)[0]), (std::vector<float>{3, 4}));
  const auto lengths = run_single({"mend", "Filled", {}, {DType::I32}}, {tensor<std::int32_t>(DType::I32, {0}, {})});
  ASSERT_TRUE(lengths.ok());
  EXPECT_EQ((*lengths)[0].bytes, (std::vector<std::uint8_t>{1, 0, 0, 0}));
}

TEST(RecurrentHostile, TheFormIsThatOfTheAttributes) {
  EXPECT_FALSE(run_single(recurrent_node(1, 0), fitting(1, 4)).ok());
  EXPECT_FALSE(run_single(recurrent_node(0, 0), fitting(1, 3)).ok());
  EXPECT_FALSE(run_single(recurrent_node(0, 2), fitting(1, 4)).ok());
  EXPECT_FALSE(run_single(recurrent_node(0, 1), fitting(2, 4)).ok());
}

}  // namespace
}  // namespace dycl::test
