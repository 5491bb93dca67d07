// SPDX-License-Identifier: Apache-2.0
#include "backends/ort/small_run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "support/dtype.h"

namespace dycl::backends::ort::small {
namespace {

constexpr std::int64_t kMaxCount = 1 << 24;  // far above what is worth running here

// ---- kernels -----------------------------------------------------------------------

// Sums in lanes, so that the compiler can use vectors and error stays small.
constexpr std::int64_t kLanes = 16;

float sum_of(const float* x, std::int64_t n) {
  float lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::int64_t k = 0; k < kLanes; ++k) lanes[k] += x[i + k];
  float sum = 0;
  for (; i < n; ++i) sum += x[i];
  for (const float lane : lanes) sum += lane;
  return sum;
}

float dot(const float* x, const float* y, std::int64_t n) {
  float lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::int64_t k = 0; k < kLanes; ++k) lanes[k] += x[i + k] * y[i + k];
  float sum = 0;
  for (; i < n; ++i) sum += x[i] * y[i];
  for (const float lane : lanes) sum += lane;
  return sum;
}

template <typename F>
void map(const float* x, float* y, std::int64_t n, F f) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
}

void unary(UnaryFunction function, const void* in, void* out, std::int64_t n) {
  const auto* x = static_cast<const float*>(in);
  auto* y = static_cast<float*>(out);
  switch (function) {
    case UnaryFunction::Relu: return map(x, y, n, [](float v) { return v < 0 ? 0.0F : v; });  // NaN stays
    case UnaryFunction::Sigmoid: return map(x, y, n, [](float v) { return 1.0F / (1.0F + std::exp(-v)); });
    case UnaryFunction::Tanh: return map(x, y, n, [](float v) { return std::tanh(v); });
    case UnaryFunction::Exp: return map(x, y, n, [](float v) { return std::exp(v); });
    case UnaryFunction::Log: return map(x, y, n, [](float v) { return std::log(v); });
    case UnaryFunction::Neg: return map(x, y, n, [](float v) { return -v; });
    case UnaryFunction::Abs: return map(x, y, n, [](float v) { return std::abs(v); });
    case UnaryFunction::Sqrt: return map(x, y, n, [](float v) { return std::sqrt(v); });
    case UnaryFunction::Not: {
      const auto* b = static_cast<const std::uint8_t*>(in);
      for (std::int64_t i = 0; i < n; ++i) static_cast<std::uint8_t*>(out)[i] = b[i] ? 0 : 1;
      return;
    }
    case UnaryFunction::Count: return;
  }
}

// Walks the output in order, with the strides of both operands (0 where broadcast).
template <typename In, typename Out, typename F>
void broadcast(const std::int64_t* numbers, int rank, const void* a, const void* b, void* out, F f) {
  const std::int64_t *dims = numbers, *sa = numbers + rank, *sb = numbers + 2 * rank;
  const auto* x = static_cast<const In*>(a);
  const auto* y = static_cast<const In*>(b);
  auto* z = static_cast<Out*>(out);
  std::int64_t at[kMaxRank] = {}, pa = 0, pb = 0, count = 1;
  for (int d = 0; d < rank; ++d) count *= dims[d];
  for (std::int64_t i = 0; i < count; ++i) {
    z[i] = static_cast<Out>(f(x[pa], y[pb]));
    for (int d = rank - 1; d >= 0; --d) {
      pa += sa[d];
      pb += sb[d];
      if (++at[d] < dims[d]) break;
      pa -= sa[d] * dims[d];
      pb -= sb[d] * dims[d];
      at[d] = 0;
    }
  }
}

// Integers of tensors wrap around, as in every engine.
template <typename T>
struct Wrapping {
  using Type = T;
};
template <>
struct Wrapping<std::int64_t> {
  using Type = std::uint64_t;
};

template <typename T>
void arithmetic(BinaryFunction function, const std::int64_t* n, int rank, const void* a, const void* b, void* out) {
  using B = std::uint8_t;
  using U = typename Wrapping<T>::Type;
  switch (function) {
    case BinaryFunction::Add:
      return broadcast<T, T>(n, rank, a, b, out, [](T x, T y) { return static_cast<U>(x) + static_cast<U>(y); });
    case BinaryFunction::Sub:
      return broadcast<T, T>(n, rank, a, b, out, [](T x, T y) { return static_cast<U>(x) - static_cast<U>(y); });
    case BinaryFunction::Mul:
      return broadcast<T, T>(n, rank, a, b, out, [](T x, T y) { return static_cast<U>(x) * static_cast<U>(y); });
    case BinaryFunction::Div:  // of floats only; integers are refused when read
      if constexpr (std::is_same_v<T, float>) broadcast<T, T>(n, rank, a, b, out, [](T x, T y) { return x / y; });
      return;
    case BinaryFunction::Max:
      return broadcast<T, T>(n, rank, a, b, out, [](T x, T y) { return x != x || x > y ? x : y; });
    case BinaryFunction::Min:
      return broadcast<T, T>(n, rank, a, b, out, [](T x, T y) { return x != x || x < y ? x : y; });
    case BinaryFunction::Greater: return broadcast<T, B>(n, rank, a, b, out, [](T x, T y) { return x > y; });
    case BinaryFunction::GreaterOrEqual: return broadcast<T, B>(n, rank, a, b, out, [](T x, T y) { return x >= y; });
    case BinaryFunction::Less: return broadcast<T, B>(n, rank, a, b, out, [](T x, T y) { return x < y; });
    case BinaryFunction::LessOrEqual: return broadcast<T, B>(n, rank, a, b, out, [](T x, T y) { return x <= y; });
    case BinaryFunction::Equal: return broadcast<T, B>(n, rank, a, b, out, [](T x, T y) { return x == y; });
    default: return;
  }
}

void logical(BinaryFunction function, const std::int64_t* n, int rank, const void* a, const void* b, void* out) {
  using B = std::uint8_t;
  switch (function) {
    case BinaryFunction::And: return broadcast<B, B>(n, rank, a, b, out, [](B x, B y) { return x && y; });
    case BinaryFunction::Or: return broadcast<B, B>(n, rank, a, b, out, [](B x, B y) { return x || y; });
    case BinaryFunction::Xor: return broadcast<B, B>(n, rank, a, b, out, [](B x, B y) { return !x != !y; });
    case BinaryFunction::Equal: return broadcast<B, B>(n, rank, a, b, out, [](B x, B y) { return !x == !y; });
    default: return;
  }
}

struct GemmSizes {
  std::int64_t m, n, k, transposed, bias;
  double alpha, beta;
};

void gemm(const GemmSizes& s, const float* a, const float* b, const float* c, float* out) {
  for (std::int64_t i = 0; i < s.m; ++i) {
    float* row = out + i * s.n;
    const float* x = a + i * s.k;
    if (s.transposed) {
      for (std::int64_t j = 0; j < s.n; ++j) row[j] = dot(x, b + j * s.k, s.k);
    } else {
      std::fill_n(row, s.n, 0.0F);
      for (std::int64_t p = 0; p < s.k; ++p) {
        const float v = x[p];
        const float* line = b + p * s.n;
        for (std::int64_t j = 0; j < s.n; ++j) row[j] += v * line[j];
      }
    }
    const auto alpha = static_cast<float>(s.alpha), beta = static_cast<float>(s.beta);
    if (alpha != 1.0F)
      for (std::int64_t j = 0; j < s.n; ++j) row[j] *= alpha;
    if (s.bias == 1)
      for (std::int64_t j = 0; j < s.n; ++j) row[j] += beta * c[0];
    if (s.bias == 2)
      for (std::int64_t j = 0; j < s.n; ++j) row[j] += beta * c[j];
    if (s.bias == 3)
      for (std::int64_t j = 0; j < s.n; ++j) row[j] += beta * c[i * s.n + j];
  }
}

float reduce_line(ReduceFunction function, const float* x, std::int64_t n, std::int64_t stride) {
  if (function == ReduceFunction::Sum || function == ReduceFunction::Mean) {
    float sum = 0;
    if (stride == 1)
      sum = sum_of(x, n);
    else
      for (std::int64_t i = 0; i < n; ++i) sum += x[i * stride];
    return function == ReduceFunction::Mean ? sum / static_cast<float>(n) : sum;
  }
  float best = x[0];
  for (std::int64_t i = 1; i < n; ++i) {
    const float v = x[i * stride];
    if (v != v || (function == ReduceFunction::Max ? v > best : v < best)) best = v;
    if (best != best) break;  // NaN wins
  }
  return best;
}

void reduce(ReduceFunction function, const std::int64_t* n, const float* x, float* y) {
  const std::int64_t outer = n[0], middle = n[1], inner = n[2];
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i)
      y[o * inner + i] = reduce_line(function, x + o * middle * inner + i, middle, inner);
}

// One block of channels at a time: kBlock sums side by side.
template <int kBlock>
void blocked_mean(std::int64_t groups, std::int64_t spatial, const float* x, float* y) {
  for (std::int64_t g = 0; g < groups; ++g) {
    constexpr int kWays = 2;  // two independent sums hide the latency of additions
    float sums[kWays][kBlock] = {};
    const float* at = x + g * spatial * kBlock;
    std::int64_t s = 0;
    for (; s + kWays <= spatial; s += kWays)
      for (int w = 0; w < kWays; ++w)
        for (int k = 0; k < kBlock; ++k) sums[w][k] += at[(s + w) * kBlock + k];
    for (; s < spatial; ++s)
      for (int k = 0; k < kBlock; ++k) sums[0][k] += at[s * kBlock + k];
    for (int k = 0; k < kBlock; ++k) y[g * kBlock + k] = (sums[0][k] + sums[1][k]) / static_cast<float>(spatial);
  }
}

void softmax(bool logarithm, std::int64_t rows, std::int64_t columns, const float* in, float* out) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* x = in + r * columns;
    float* y = out + r * columns;
    const float top = *std::max_element(x, x + columns);
    float sum = 0;
    for (std::int64_t j = 0; j < columns; ++j) sum += std::exp(x[j] - top);
    const float log_sum = std::log(sum);
    for (std::int64_t j = 0; j < columns; ++j) y[j] = logarithm ? x[j] - top - log_sum : std::exp(x[j] - top) / sum;
  }
}

void arg_max(const std::int64_t* n, const float* x, std::int64_t* y) {
  const std::int64_t outer = n[0], middle = n[1], inner = n[2];
  const bool last = n[3] != 0;
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) {
      const float* line = x + o * middle * inner + i;
      std::int64_t best = 0;
      for (std::int64_t m = 1; m < middle; ++m) {
        const float v = line[m * inner], b = line[best * inner];
        if (last ? v >= b : v > b) best = m;
      }
      y[o * inner + i] = best;
    }
}

void pick(const std::int64_t* n, const std::uint8_t* x, std::uint8_t* y) {
  const auto line = static_cast<std::size_t>(n[0] * n[3]);
  const auto outer = static_cast<std::size_t>(n[1]), middle = static_cast<std::size_t>(n[2]);
  if (line == 0) return;
  for (std::size_t o = 0; o < outer; ++o)
    std::memcpy(y + o * line, x + (o * middle + static_cast<std::size_t>(n[4])) * line, line);
}

float sigmoid(float v) { return 1.0F / (1.0F + std::exp(-v)); }

void lstm_cell(std::int64_t hidden, const float* gates, const float* cell, float* out) {
  const float *in = gates, *shown = gates + hidden, *kept = gates + 2 * hidden, *fresh = gates + 3 * hidden;
  for (std::int64_t i = 0; i < hidden; ++i) {
    const float next = sigmoid(kept[i]) * cell[i] + sigmoid(in[i]) * std::tanh(fresh[i]);
    out[i] = sigmoid(shown[i]) * std::tanh(next);
    out[hidden + i] = next;
  }
}

std::int64_t to_integer(float v) {
  constexpr float kLimit = 9223372036854775808.0F;
  return v >= -kLimit && v < kLimit ? static_cast<std::int64_t>(v) : std::numeric_limits<std::int64_t>::min();
}
std::int64_t to_integer(std::int64_t v) { return v; }
std::int64_t to_integer(std::uint8_t v) { return v; }

template <typename From>
void cast_from(const From* x, DType to, void* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (to == DType::F32)
      static_cast<float*>(out)[i] = static_cast<float>(x[i]);
    else if (to == DType::I64)
      static_cast<std::int64_t*>(out)[i] = to_integer(x[i]);
    else
      static_cast<std::uint8_t*>(out)[i] = x[i] != From{} ? 1 : 0;
  }
}

double double_of(std::int64_t bits) {
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace

// ---- reading -------------------------------------------------------------------------

class SmallProgram::Reader {
 public:
  Reader(const std::uint8_t* bytes, std::size_t size, const Sizes& sizes) : bytes_(bytes), size_(size), sizes_(sizes) {}

  Result<SmallProgram> program();

 private:
  Result<std::int64_t> word() {
    if (size_ - at_ < sizeof(std::int64_t)) return damaged("it ends too early");
    std::int64_t value = 0;
    std::memcpy(&value, bytes_ + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  Result<std::int64_t> number(std::int64_t least, std::int64_t most) {
    DYCL_ASSIGN(const std::int64_t value, word());
    if (value < least || value > most) return damaged("a number is out of range");
    return value;
  }
  static Error damaged(const std::string& why) {
    return {ErrorKind::InvalidPackage, "a small program is damaged: " + why, {}, {}, {}};
  }

  Result<Where> where(std::size_t bytes, std::size_t alignment, bool written);
  Result<std::size_t> room(Place place, std::size_t index) const;
  Result<void> numbers(Step& step, std::initializer_list<std::pair<std::int64_t, std::int64_t>> ranges);
  Result<Step> step();
  Result<void> binary(Step& step);
  Result<void> gemm_step(Step& step);
  Result<void> reduction(Step& step, std::size_t result_size, std::size_t first);
  Result<std::size_t> count(const Step& step, std::initializer_list<std::size_t> which) const;

  const std::uint8_t* bytes_;
  std::size_t size_;
  const Sizes& sizes_;
  std::size_t at_ = 0;
  SmallProgram out_;
};

Result<std::size_t> SmallProgram::Reader::room(Place place, std::size_t index) const {
  auto of = [&](const std::vector<std::size_t>& sizes) -> Result<std::size_t> {
    if (index >= sizes.size()) return damaged("a step names a tensor that is not there");
    return sizes[index];
  };
  switch (place) {
    case Place::Input: return of(sizes_.inputs);
    case Place::Output: return of(sizes_.outputs);
    case Place::Weight: return of(sizes_.weights);
    case Place::Scratch: return out_.scratch_ - std::min(index, out_.scratch_);
    case Place::Literal: return out_.literals_.size() - std::min(index, out_.literals_.size());
    case Place::None: return std::size_t{0};
  }
  return damaged("a place of unknown kind");
}

Result<SmallProgram::Where> SmallProgram::Reader::where(std::size_t bytes, std::size_t alignment, bool written) {
  DYCL_ASSIGN(const std::int64_t kind, number(0, 5));
  DYCL_ASSIGN(const std::int64_t index, number(0, kMaxCount * 8));
  const Where found{static_cast<Place>(kind), static_cast<std::size_t>(index)};
  DYCL_ASSIGN(const std::size_t available, room(found.place, found.index));
  if (bytes > available) return damaged("a step reaches beyond a tensor");
  const bool offset = found.place == Place::Scratch || found.place == Place::Literal;
  if (offset && found.index % alignment != 0) return damaged("a step is not aligned");
  if (written && found.place != Place::Output && found.place != Place::Scratch)
    return damaged("a step writes to what may only be read");
  if (!written && found.place == Place::Output) return damaged("a step reads an output");
  return found;
}

Result<void> SmallProgram::Reader::numbers(Step& step,
                                           std::initializer_list<std::pair<std::int64_t, std::int64_t>> ranges) {
  for (const auto& [least, most] : ranges) {
    DYCL_ASSIGN(const std::int64_t value, number(least, most));
    step.numbers.push_back(value);
  }
  return {};
}

Result<std::size_t> SmallProgram::Reader::count(const Step& step, std::initializer_list<std::size_t> which) const {
  std::int64_t product = 1;
  for (const std::size_t i : which) {
    product *= step.numbers[i];
    if (product > kMaxCount) return damaged("a step is too large");
  }
  return static_cast<std::size_t>(product);
}

Result<void> SmallProgram::Reader::binary(Step& step) {
  DYCL_TRY(numbers(step, {{0, static_cast<std::int64_t>(BinaryFunction::Count) - 1}, {0, 16}, {0, kMaxRank}}));
  const auto function = static_cast<BinaryFunction>(step.numbers[0]);
  const auto dtype = dtype_of_code(static_cast<int>(step.numbers[1]));
  const bool is_bool = dtype == DType::Bool;
  if (!dtype || (!is_bool && *dtype != DType::F32 && *dtype != DType::I64))
    return damaged("a dtype it cannot compute with");
  const bool takes_bool = function >= BinaryFunction::And || function == BinaryFunction::Equal;
  if (is_bool ? !takes_bool : function >= BinaryFunction::And) return damaged("a function of another dtype");
  if (*dtype == DType::I64 && function == BinaryFunction::Div) return damaged("a division of integers");
  const auto rank = static_cast<std::size_t>(step.numbers[2]);
  std::int64_t elements = 1, reach[2] = {1, 1};
  for (std::size_t i = 0; i < 3 * rank; ++i) DYCL_TRY(numbers(step, {{0, kMaxCount}}));
  for (std::size_t d = 0; d < rank; ++d) {
    elements *= step.numbers[3 + d];
    if (elements > kMaxCount) return damaged("a step is too large");
  }
  for (std::size_t d = 0; d < rank && elements > 0; ++d)
    for (std::size_t k = 0; k < 2; ++k) reach[k] += step.numbers[3 + (k + 1) * rank + d] * (step.numbers[3 + d] - 1);
  if (reach[0] > kMaxCount || reach[1] > kMaxCount) return damaged("a step is too large");
  const std::size_t size = size_of(*dtype), n = static_cast<std::size_t>(elements);
  const bool compares = function >= BinaryFunction::Greater;
  DYCL_ASSIGN(step.a, where(n ? static_cast<std::size_t>(reach[0]) * size : 0, size, false));
  DYCL_ASSIGN(step.b, where(n ? static_cast<std::size_t>(reach[1]) * size : 0, size, false));
  DYCL_ASSIGN(step.out, where(n * (compares ? 1 : size), compares ? 1 : size, true));
  return {};
}

Result<void> SmallProgram::Reader::gemm_step(Step& step) {
  DYCL_TRY(numbers(step, {{1, kMaxCount}, {1, kMaxCount}, {1, kMaxCount}, {0, 1}, {0, 3}}));
  for (int i = 0; i < 2; ++i) {
    DYCL_ASSIGN(const std::int64_t bits, word());
    step.numbers.push_back(bits);
  }
  DYCL_ASSIGN(const std::size_t a, count(step, {0, 2}));
  DYCL_ASSIGN(const std::size_t b, count(step, {1, 2}));
  DYCL_ASSIGN(const std::size_t out, count(step, {0, 1}));
  const std::size_t bias[] = {0, 1, static_cast<std::size_t>(step.numbers[1]), out};
  DYCL_ASSIGN(step.a, where(a * 4, 4, false));
  DYCL_ASSIGN(step.b, where(b * 4, 4, false));
  DYCL_ASSIGN(step.c, where(bias[step.numbers[4]] * 4, 4, false));
  DYCL_ASSIGN(step.out, where(out * 4, 4, true));
  return {};
}

// outer, middle, inner at numbers[first...]
Result<void> SmallProgram::Reader::reduction(Step& step, std::size_t result_size, std::size_t first) {
  if (step.numbers[first + 1] == 0) return damaged("a reduction of nothing");
  DYCL_ASSIGN(const std::size_t in, count(step, {first, first + 1, first + 2}));
  DYCL_ASSIGN(const std::size_t out, count(step, {first, first + 2}));
  DYCL_ASSIGN(step.a, where(in * 4, 4, false));
  DYCL_ASSIGN(step.out, where(out * result_size, result_size, true));
  return {};
}

Result<SmallProgram::Step> SmallProgram::Reader::step() {
  Step step;
  DYCL_ASSIGN(const std::int64_t code, number(1, 11));
  step.opcode = static_cast<Opcode>(code);
  const std::pair<std::int64_t, std::int64_t> extent = {0, kMaxCount}, positive = {1, kMaxCount};
  switch (step.opcode) {
    case Opcode::Unary: {
      DYCL_TRY(numbers(step, {{0, static_cast<std::int64_t>(UnaryFunction::Count) - 1}, extent}));
      const std::size_t size = static_cast<UnaryFunction>(step.numbers[0]) == UnaryFunction::Not ? 1 : 4;
      DYCL_ASSIGN(step.a, where(static_cast<std::size_t>(step.numbers[1]) * size, size, false));
      DYCL_ASSIGN(step.out, where(static_cast<std::size_t>(step.numbers[1]) * size, size, true));
      break;
    }
    case Opcode::Binary: DYCL_TRY(binary(step)); break;
    case Opcode::Gemm: DYCL_TRY(gemm_step(step)); break;
    case Opcode::Reduce:
      DYCL_TRY(numbers(step, {{0, static_cast<std::int64_t>(ReduceFunction::Count) - 1}, extent, extent, extent}));
      DYCL_TRY(reduction(step, 4, 1));
      break;
    case Opcode::ArgMax:
      DYCL_TRY(numbers(step, {extent, extent, extent, {0, 1}}));
      DYCL_TRY(reduction(step, 8, 0));
      break;
    case Opcode::BlockedMean: {
      DYCL_TRY(numbers(step, {positive, positive, positive, {8, 16}}));
      const std::int64_t block = step.numbers[3];
      if ((block != 8 && block != 16) || step.numbers[1] % block != 0) return damaged("a block size");
      DYCL_ASSIGN(const std::size_t in, count(step, {0, 1, 2}));
      DYCL_ASSIGN(const std::size_t out, count(step, {0, 1}));
      DYCL_ASSIGN(step.a, where(in * 4, 4, false));
      DYCL_ASSIGN(step.out, where(out * 4, 4, true));
      break;
    }
    case Opcode::Softmax: {
      DYCL_TRY(numbers(step, {{0, 1}, extent, positive}));
      DYCL_ASSIGN(const std::size_t n, count(step, {1, 2}));
      DYCL_ASSIGN(step.a, where(n * 4, 4, false));
      DYCL_ASSIGN(step.out, where(n * 4, 4, true));
      break;
    }
    case Opcode::Cast: {
      DYCL_TRY(numbers(step, {{0, 16}, {0, 16}, extent}));
      std::size_t sizes[2] = {};
      for (std::size_t i = 0; i < 2; ++i) {
        const auto dtype = dtype_of_code(static_cast<int>(step.numbers[i]));
        if (dtype != DType::F32 && dtype != DType::I64 && dtype != DType::Bool) return damaged("a cast it cannot do");
        sizes[i] = size_of(*dtype);
      }
      DYCL_ASSIGN(step.a, where(static_cast<std::size_t>(step.numbers[2]) * sizes[0], sizes[0], false));
      DYCL_ASSIGN(step.out, where(static_cast<std::size_t>(step.numbers[2]) * sizes[1], sizes[1], true));
      break;
    }
    case Opcode::Copy: {
      DYCL_TRY(numbers(step, {{0, kMaxCount * 8}}));
      DYCL_ASSIGN(step.a, where(static_cast<std::size_t>(step.numbers[0]), 1, false));
      DYCL_ASSIGN(step.out, where(static_cast<std::size_t>(step.numbers[0]), 1, true));
      break;
    }
    case Opcode::Pick: {
      DYCL_TRY(numbers(step, {{1, 8}, extent, positive, extent, extent}));
      if (step.numbers[4] >= step.numbers[2]) return damaged("a step reaches beyond a tensor");
      const auto size = static_cast<std::size_t>(step.numbers[0]);
      DYCL_ASSIGN(const std::size_t in, count(step, {1, 2, 3}));
      DYCL_ASSIGN(const std::size_t out, count(step, {1, 3}));
      DYCL_ASSIGN(step.a, where(in * size, 1, false));
      DYCL_ASSIGN(step.out, where(out * size, 1, true));
      break;
    }
    case Opcode::LstmCell: {
      DYCL_TRY(numbers(step, {{1, kMaxCount / 4}}));
      const auto hidden = static_cast<std::size_t>(step.numbers[0]);
      DYCL_ASSIGN(step.a, where(hidden * 16, 4, false));
      DYCL_ASSIGN(step.b, where(hidden * 4, 4, false));
      DYCL_ASSIGN(step.out, where(hidden * 8, 4, true));
      break;
    }
  }
  return step;
}

Result<SmallProgram> SmallProgram::Reader::program() {
  at_ = sizeof kMagic;
  DYCL_ASSIGN(const std::int64_t scratch, number(0, kMaxCount * 8));
  DYCL_ASSIGN(const std::int64_t literals, number(0, kMaxCount));
  DYCL_ASSIGN(const std::int64_t steps, number(0, kMaxCount));
  out_.scratch_ = static_cast<std::size_t>(scratch);
  const std::size_t padded = (static_cast<std::size_t>(literals) + 7) / 8 * 8;
  if (size_ - at_ < padded) return damaged("it ends too early");
  out_.literals_.assign(bytes_ + at_, bytes_ + at_ + literals);
  at_ += padded;
  for (std::int64_t i = 0; i < steps; ++i) {
    DYCL_ASSIGN(Step one, step());
    out_.steps_.push_back(std::move(one));
  }
  if (at_ != size_) return damaged("it goes on after its end");
  return std::move(out_);
}

bool SmallProgram::is_small(const void* bytes, std::size_t size) {
  return size >= sizeof kMagic && std::memcmp(bytes, kMagic, sizeof kMagic) == 0;
}

Result<SmallProgram> SmallProgram::read(const void* bytes, std::size_t size, const Sizes& sizes) {
  return Reader(static_cast<const std::uint8_t*>(bytes), size, sizes).program();
}

// ---- running -------------------------------------------------------------------------

struct SmallProgram::Memory {
  const void* const* inputs;
  void* const* outputs;
  const void* const* weights;
  std::uint8_t* scratch;
  const std::uint8_t* literals;

  const void* read(const Where& w) const {
    switch (w.place) {
      case Place::Input: return inputs[w.index];
      case Place::Weight: return weights[w.index];
      case Place::Scratch: return scratch + w.index;
      case Place::Literal: return literals + w.index;
      case Place::Output:
      case Place::None: return nullptr;
    }
    return nullptr;
  }
  void* write(const Where& w) const { return w.place == Place::Output ? outputs[w.index] : scratch + w.index; }
};

void SmallProgram::execute(const Step& step, const Memory& memory) {
  const std::int64_t* n = step.numbers.data();
  const void* a = memory.read(step.a);
  void* out = memory.write(step.out);
  const auto* x = static_cast<const float*>(a);
  auto* y = static_cast<float*>(out);
  switch (step.opcode) {
    case Opcode::Unary: return unary(static_cast<UnaryFunction>(n[0]), a, out, n[1]);
    case Opcode::Binary: {
      const auto function = static_cast<BinaryFunction>(n[0]);
      const auto dtype = static_cast<DType>(n[1]);
      const int rank = static_cast<int>(n[2]);
      const void* b = memory.read(step.b);
      if (dtype == DType::F32) return arithmetic<float>(function, n + 3, rank, a, b, out);
      if (dtype == DType::I64) return arithmetic<std::int64_t>(function, n + 3, rank, a, b, out);
      return logical(function, n + 3, rank, a, b, out);
    }
    case Opcode::Gemm:
      return gemm({n[0], n[1], n[2], n[3], n[4], double_of(n[5]), double_of(n[6])}, x,
                  static_cast<const float*>(memory.read(step.b)), static_cast<const float*>(memory.read(step.c)), y);
    case Opcode::Reduce: return reduce(static_cast<ReduceFunction>(n[0]), n + 1, x, y);
    case Opcode::BlockedMean:
      return n[3] == 16 ? blocked_mean<16>(n[0] * n[1] / 16, n[2], x, y) : blocked_mean<8>(n[0] * n[1] / 8, n[2], x, y);
    case Opcode::Softmax: return softmax(n[0] != 0, n[1], n[2], x, y);
    case Opcode::ArgMax: return arg_max(n, x, static_cast<std::int64_t*>(out));
    case Opcode::Cast: {
      const auto to = static_cast<DType>(n[1]);
      if (static_cast<DType>(n[0]) == DType::F32) return cast_from(x, to, out, n[2]);
      if (static_cast<DType>(n[0]) == DType::I64) return cast_from(static_cast<const std::int64_t*>(a), to, out, n[2]);
      return cast_from(static_cast<const std::uint8_t*>(a), to, out, n[2]);
    }
    case Opcode::Copy:
      if (n[0] > 0) std::memcpy(out, a, static_cast<std::size_t>(n[0]));
      return;
    case Opcode::Pick: return pick(n, static_cast<const std::uint8_t*>(a), static_cast<std::uint8_t*>(out));
    case Opcode::LstmCell: return lstm_cell(n[0], x, static_cast<const float*>(memory.read(step.b)), y);
  }
}

void SmallProgram::run(const void* const* inputs, void* const* outputs, const void* const* weights,
                       void* scratch) const {
  const Memory memory{inputs, outputs, weights, static_cast<std::uint8_t*>(scratch), literals_.data()};
  for (const Step& step : steps_) execute(step, memory);
}

}  // namespace dycl::backends::ort::small
