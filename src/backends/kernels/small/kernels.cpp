// SPDX-License-Identifier: Apache-2.0
#include "backends/kernels/small/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace dycl::backends::small {
namespace {

// Walks dims in order and calls f with the offsets of up to three operands, for all but the last dim.
template <int Operands, typename F>
void walk(int rank, const std::int64_t* dims, const std::int64_t* const (&strides)[Operands], F line) {
  std::int64_t at[kMaxRank] = {}, offset[Operands] = {}, lines = 1;
  for (int d = 0; d + 1 < rank; ++d) lines *= dims[d];
  if (rank > 0 && dims[rank - 1] == 0) return;
  for (std::int64_t i = 0; i < lines; ++i) {
    line(i, offset);
    for (int d = rank - 2; d >= 0; --d) {
      for (int k = 0; k < Operands; ++k) offset[k] += strides[k][d];
      if (++at[d] < dims[d]) break;
      for (int k = 0; k < Operands; ++k) offset[k] -= strides[k][d] * dims[d];
      at[d] = 0;
    }
  }
}

constexpr std::int64_t kZero = 0, kOne = 1;

template <typename In, typename Out, typename F>
void broadcast(const std::int64_t* n, const void* a, const void* b, void* out, F f) {
  const int rank = static_cast<int>(n[0]);
  const std::int64_t *dims = n + 1, *sa = dims + rank, *sb = sa + rank;
  const std::int64_t count = rank > 0 ? dims[rank - 1] : kOne;
  const std::int64_t ia = rank > 0 ? sa[rank - 1] : kZero, ib = rank > 0 ? sb[rank - 1] : kZero;
  walk<2>(rank, dims, {sa, sb}, [&](std::int64_t line, const std::int64_t* offset) {
    const In* x = static_cast<const In*>(a) + offset[0];
    const In* y = static_cast<const In*>(b) + offset[1];
    Out* z = static_cast<Out*>(out) + line * count;
    for (std::int64_t i = 0; i < count; ++i) z[i] = static_cast<Out>(f(x[i * ia], y[i * ib]));
  });
}

// Lines with steps of 0 or 1 are the dense kernels'.
bool floats_in_lines(BinaryFunction function, const std::int64_t* n, const float* a, const float* b, float* out) {
  const int rank = static_cast<int>(n[0]);
  const std::int64_t *dims = n + 1, *sa = dims + rank, *sb = sa + rank;
  const std::int64_t count = rank > 0 ? dims[rank - 1] : kOne;
  const std::int64_t ia = rank > 0 ? sa[rank - 1] : kZero, ib = rank > 0 ? sb[rank - 1] : kZero;
  if (function > BinaryFunction::Min || ia > 1 || ib > 1) return false;
  walk<2>(rank, dims, {sa, sb}, [&](std::int64_t line, const std::int64_t* offset) {
    dense::best().pair(static_cast<dense::Pair>(function), a + offset[0], ia, b + offset[1], ib, out + line * count,
                       count);
  });
  return true;
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
void arithmetic(BinaryFunction function, const std::int64_t* n, const void* a, const void* b, void* out) {
  using B = std::uint8_t;
  using U = typename Wrapping<T>::Type;
  switch (function) {
    case BinaryFunction::Add:
      return broadcast<T, T>(n, a, b, out, [](T x, T y) { return static_cast<U>(x) + static_cast<U>(y); });
    case BinaryFunction::Sub:
      return broadcast<T, T>(n, a, b, out, [](T x, T y) { return static_cast<U>(x) - static_cast<U>(y); });
    case BinaryFunction::Mul:
      return broadcast<T, T>(n, a, b, out, [](T x, T y) { return static_cast<U>(x) * static_cast<U>(y); });
    case BinaryFunction::Div:  // of floats only; integers are refused when read
      if constexpr (std::is_same_v<T, float>) broadcast<T, T>(n, a, b, out, [](T x, T y) { return x / y; });
      return;
    case BinaryFunction::Max: return broadcast<T, T>(n, a, b, out, [](T x, T y) { return x != x || x > y ? x : y; });
    case BinaryFunction::Min: return broadcast<T, T>(n, a, b, out, [](T x, T y) { return x != x || x < y ? x : y; });
    case BinaryFunction::Greater: return broadcast<T, B>(n, a, b, out, [](T x, T y) { return x > y; });
    case BinaryFunction::GreaterOrEqual: return broadcast<T, B>(n, a, b, out, [](T x, T y) { return x >= y; });
    case BinaryFunction::Less: return broadcast<T, B>(n, a, b, out, [](T x, T y) { return x < y; });
    case BinaryFunction::LessOrEqual: return broadcast<T, B>(n, a, b, out, [](T x, T y) { return x <= y; });
    case BinaryFunction::Equal: return broadcast<T, B>(n, a, b, out, [](T x, T y) { return x == y; });
    default: break;
  }
  if constexpr (std::is_same_v<T, std::int64_t>) {
    if (function == BinaryFunction::BitAnd) return broadcast<T, T>(n, a, b, out, [](T x, T y) { return x & y; });
    if (function == BinaryFunction::BitOr) return broadcast<T, T>(n, a, b, out, [](T x, T y) { return x | y; });
    if (function == BinaryFunction::BitXor) return broadcast<T, T>(n, a, b, out, [](T x, T y) { return x ^ y; });
  }
}

void logical(BinaryFunction function, const std::int64_t* n, const void* a, const void* b, void* out) {
  using B = std::uint8_t;
  switch (function) {
    case BinaryFunction::And: return broadcast<B, B>(n, a, b, out, [](B x, B y) { return x && y; });
    case BinaryFunction::Or: return broadcast<B, B>(n, a, b, out, [](B x, B y) { return x || y; });
    case BinaryFunction::Xor: return broadcast<B, B>(n, a, b, out, [](B x, B y) { return !x != !y; });
    case BinaryFunction::Equal: return broadcast<B, B>(n, a, b, out, [](B x, B y) { return !x == !y; });
    default: return;
  }
}

// Sums in lanes, so that the compiler can use vectors and error stays small.
float sum_of(const float* x, std::int64_t n) {
  constexpr std::int64_t kLanes = 16;
  float lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::int64_t k = 0; k < kLanes; ++k) lanes[k] += x[i + k];
  float sum = 0;
  for (; i < n; ++i) sum += x[i];
  for (const float lane : lanes) sum += lane;
  return sum;
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

std::uint8_t reduce_line(ReduceFunction function, const std::uint8_t* x, std::int64_t n, std::int64_t stride) {
  const bool any = function == ReduceFunction::Any;
  for (std::int64_t i = 0; i < n; ++i)
    if ((x[i * stride] != 0) == any) return any ? 1 : 0;
  return any ? 0 : 1;
}

template <typename T>
void reduce_lines(const std::int64_t* n, const void* in, void* out) {
  const auto function = static_cast<ReduceFunction>(n[0]);
  const std::int64_t outer = n[1], middle = n[2], inner = n[3];
  const auto* x = static_cast<const T*>(in);
  auto* y = static_cast<T*>(out);
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i)
      y[o * inner + i] = reduce_line(function, x + o * middle * inner + i, middle, inner);
}

// One block of channels at a time: kBlock sums side by side.
template <int kBlock>
void mean_of_blocks(std::int64_t groups, std::int64_t spatial, const float* x, float* y) {
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

template <typename T>
std::int64_t to_integer(T v) {
  if constexpr (std::is_floating_point_v<T>) {
    constexpr T kLimit = 9223372036854775808.0;
    return v >= -kLimit && v < kLimit ? static_cast<std::int64_t>(v) : std::numeric_limits<std::int64_t>::min();
  } else {
    return static_cast<std::int64_t>(v);
  }
}

template <typename From>
void cast_from(const void* in, DType to, void* out, std::int64_t n) {
  const auto* x = static_cast<const From*>(in);
  switch (to) {
    case DType::F32:
      for (std::int64_t i = 0; i < n; ++i) static_cast<float*>(out)[i] = static_cast<float>(x[i]);
      return;
    case DType::F64:
      for (std::int64_t i = 0; i < n; ++i) static_cast<double*>(out)[i] = static_cast<double>(x[i]);
      return;
    case DType::I64:
      for (std::int64_t i = 0; i < n; ++i) static_cast<std::int64_t*>(out)[i] = to_integer(x[i]);
      return;
    default:
      for (std::int64_t i = 0; i < n; ++i) static_cast<std::uint8_t*>(out)[i] = x[i] != From{} ? 1 : 0;
  }
}

template <typename T>
void move_elements(const std::int64_t* n, const void* in, void* out) {
  const int rank = static_cast<int>(n[1]);
  const std::int64_t *dims = n + 2, *from = dims + rank, *to = from + rank;
  const T* x = static_cast<const T*>(in) + to[rank];
  T* y = static_cast<T*>(out) + to[rank + 1];
  const std::int64_t count = rank > 0 ? dims[rank - 1] : kOne;
  const std::int64_t step_in = rank > 0 ? from[rank - 1] : kOne, step_out = rank > 0 ? to[rank - 1] : kOne;
  walk<2>(rank, dims, {from, to}, [&](std::int64_t, const std::int64_t* offset) {
    const T* source = x + offset[0];
    T* target = y + offset[1];
    if (step_in == 1 && step_out == 1) {
      std::memcpy(target, source, static_cast<std::size_t>(count) * sizeof(T));
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) target[i * step_out] = source[i * step_in];
  });
}

template <typename T>
void choose(const std::int64_t* n, const std::uint8_t* condition, const void* a, const void* b, void* out) {
  const int rank = static_cast<int>(n[1]);
  const std::int64_t *dims = n + 2, *sc = dims + rank, *sa = sc + rank, *sb = sa + rank;
  const std::int64_t count = rank > 0 ? dims[rank - 1] : kOne;
  const std::int64_t ic = rank > 0 ? sc[rank - 1] : kZero, ia = rank > 0 ? sa[rank - 1] : kZero,
                     ib = rank > 0 ? sb[rank - 1] : kZero;
  walk<3>(rank, dims, {sc, sa, sb}, [&](std::int64_t line, const std::int64_t* offset) {
    const std::uint8_t* c = condition + offset[0];
    const T* x = static_cast<const T*>(a) + offset[1];
    const T* y = static_cast<const T*>(b) + offset[2];
    T* z = static_cast<T*>(out) + line * count;
    for (std::int64_t i = 0; i < count; ++i) z[i] = c[i * ic] ? x[i * ia] : y[i * ib];
  });
}

constexpr std::int64_t kWorthHelp = 1 << 16;  // elements of a matrix from which on a second thread pays

struct Shared {
  const dense::Packed* matrix;
  const dense::Product* product;
  std::int64_t panels, parts;
};

void some_panels(void* data, std::int64_t part) {
  const auto& s = *static_cast<const Shared*>(data);
  dense::best().multiply(*s.matrix, s.panels * part / s.parts, s.panels * (part + 1) / s.parts, *s.product);
}

}  // namespace

double double_of(std::int64_t bits) {
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

void unary(UnaryFunction function, const void* in, void* out, std::int64_t count) {
  const auto* x = static_cast<const float*>(in);
  auto* y = static_cast<float*>(out);
  auto* flags = static_cast<std::uint8_t*>(out);
  switch (function) {
    case UnaryFunction::Gelu: return dense::best().map(dense::Function::Gelu, x, y, count);
    case UnaryFunction::Erf: return dense::best().map(dense::Function::Erf, x, y, count);
    case UnaryFunction::IsNaN:
      for (std::int64_t i = 0; i < count; ++i) flags[i] = x[i] != x[i] ? 1 : 0;
      return;
    case UnaryFunction::Not:
      for (std::int64_t i = 0; i < count; ++i) flags[i] = static_cast<const std::uint8_t*>(in)[i] ? 0 : 1;
      return;
    case UnaryFunction::Count: return;
    default: return dense::best().map(static_cast<dense::Function>(function), x, y, count);  // the same order
  }
}
static_assert(static_cast<int>(UnaryFunction::Sqrt) == static_cast<int>(dense::Function::Sqrt) &&
              static_cast<int>(UnaryFunction::Tanh) == static_cast<int>(dense::Function::Tanh) &&
              static_cast<int>(BinaryFunction::Min) == static_cast<int>(dense::Pair::Min));

void binary(const std::int64_t* n, const void* a, const void* b, void* out) {
  const auto function = static_cast<BinaryFunction>(n[0]);
  const auto dtype = static_cast<DType>(n[1]);
  if (dtype == DType::F32) {
    if (floats_in_lines(function, n + 2, static_cast<const float*>(a), static_cast<const float*>(b),
                        static_cast<float*>(out)))
      return;
    return arithmetic<float>(function, n + 2, a, b, out);
  }
  if (dtype == DType::I64) return arithmetic<std::int64_t>(function, n + 2, a, b, out);
  return logical(function, n + 2, a, b, out);
}

void gemm(const std::int64_t* numbers, const float* a, const float* b, const float* c, float* out) {
  const std::int64_t m = numbers[0], n = numbers[1], k = numbers[2], bias = numbers[4];
  const auto alpha = static_cast<float>(double_of(numbers[5])), beta = static_cast<float>(double_of(numbers[6]));
  for (std::int64_t i = 0; i < m; ++i) {
    float* row = out + i * n;
    const float* x = a + i * k;
    if (numbers[3]) {
      dense::best().dots(n, k, b, k, x, row);
    } else {
      std::fill_n(row, n, 0.0F);
      dense::best().weighted_sum(k, n, b, n, x, row);
    }
    if (alpha != 1.0F)
      for (std::int64_t j = 0; j < n; ++j) row[j] *= alpha;
    if (bias == 1)
      for (std::int64_t j = 0; j < n; ++j) row[j] += beta * c[0];
    if (bias >= 2)
      for (std::int64_t j = 0; j < n; ++j) row[j] += beta * c[(bias == 3 ? i * n : 0) + j];
  }
}

void packed_gemm(const std::int64_t* n, const dense::Packed& b, const float* a, const float* c, float* out,
                 dense::HelperThreads* helpers) {
  dense::Product product;
  product.m = n[0];
  product.a = a;
  product.lda = n[2];
  product.bias = n[4] == 0 ? nullptr : c;
  product.bias_row = n[4] == 3 ? n[1] : 0;
  product.bias_column = n[4] >= 2 ? 1 : 0;
  product.out = out;
  product.ldo = n[1];
  Shared shared{&b, &product, dense::panels_of(b.n), 1};
  if (helpers && b.n * b.k >= kWorthHelp) {
    shared.parts = std::min<std::int64_t>(shared.panels, std::int64_t{4} * helpers->threads());
    return helpers->run(shared.parts, some_panels, &shared);
  }
  some_panels(&shared, 0);
}

void mat_mul(const std::int64_t* numbers, const float* a, const float* b, float* out) {
  const std::int64_t batches = numbers[0], m = numbers[1], n = numbers[2], k = numbers[3];
  for (std::int64_t batch = 0; batch < batches; ++batch)
    for (std::int64_t i = 0; i < m; ++i) {
      const float* x = a + batch * numbers[4] + i * k;
      const float* matrix = b + batch * numbers[5];
      float* row = out + (batch * m + i) * n;
      if (numbers[6]) {
        dense::best().dots(n, k, matrix, k, x, row);
        continue;
      }
      std::fill_n(row, n, 0.0F);
      dense::best().weighted_sum(k, n, matrix, n, x, row);
    }
}

void reduce(const std::int64_t* n, const void* in, void* out) {
  const auto function = static_cast<ReduceFunction>(n[0]);
  if (function == ReduceFunction::Any || function == ReduceFunction::All) return reduce_lines<std::uint8_t>(n, in, out);
  reduce_lines<float>(n, in, out);
}

void blocked_mean(const std::int64_t* n, const float* in, float* out) {
  if (n[3] == 16) return mean_of_blocks<16>(n[0] * n[1] / 16, n[2], in, out);
  mean_of_blocks<8>(n[0] * n[1] / 8, n[2], in, out);
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

// Each in turn the first of the best that are left, i.e. that come after the one before in value or, if equal, in
// place.
void top_k(const std::int64_t* n, const float* in, float* values, std::int64_t* indices) {
  const std::int64_t rows = n[0], columns = n[1], k = n[2];
  const float sign = n[3] ? 1.0F : -1.0F;
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* x = in + r * columns;
    std::int64_t before = -1;
    for (std::int64_t i = 0; i < k; ++i) {
      std::int64_t best = -1;
      for (std::int64_t j = 0; j < columns; ++j) {
        const float v = sign * x[j];
        const bool left = before < 0 || v < sign * x[before] || (v == sign * x[before] && j > before);
        if (left && (best < 0 || v > sign * x[best])) best = j;
      }
      before = std::max<std::int64_t>(best, 0);
      values[r * k + i] = x[before];
      indices[r * k + i] = before;
    }
  }
}

void cast(const std::int64_t* n, const void* in, void* out) {
  const auto to = static_cast<DType>(n[1]);
  switch (static_cast<DType>(n[0])) {
    case DType::F32: return cast_from<float>(in, to, out, n[2]);
    case DType::F64: return cast_from<double>(in, to, out, n[2]);
    case DType::I64: return cast_from<std::int64_t>(in, to, out, n[2]);
    default: return cast_from<std::uint8_t>(in, to, out, n[2]);
  }
}

void pick(const std::int64_t* n, const void* in, void* out) {
  const auto line = static_cast<std::size_t>(n[0] * n[3]);
  const auto outer = static_cast<std::size_t>(n[1]), middle = static_cast<std::size_t>(n[2]);
  if (line == 0) return;
  for (std::size_t o = 0; o < outer; ++o)
    std::memcpy(static_cast<char*>(out) + o * line,
                static_cast<const char*>(in) + (o * middle + static_cast<std::size_t>(n[4])) * line, line);
}

void move(const std::int64_t* n, const void* in, void* out) {
  if (n[0] == 4) return move_elements<std::uint32_t>(n, in, out);
  if (n[0] == 8) return move_elements<std::uint64_t>(n, in, out);
  move_elements<std::uint8_t>(n, in, out);
}

void where(const std::int64_t* n, const std::uint8_t* condition, const void* a, const void* b, void* out) {
  if (n[0] == 4) return choose<std::uint32_t>(n, condition, a, b, out);
  if (n[0] == 8) return choose<std::uint64_t>(n, condition, a, b, out);
  choose<std::uint8_t>(n, condition, a, b, out);
}

void lstm_cell(std::int64_t hidden, const float* gates, const float* cell, float* out) {
  dense::best().lstm_cell(hidden, gates, gates + 2 * hidden, gates + 3 * hidden, gates + hidden, cell, out,
                          out + hidden);
}

bool take(const std::int64_t* n, const void* in, const void* indices, void* out) {
  const std::int64_t outer = n[1], middle = n[2], count = n[4];
  const auto line = static_cast<std::size_t>(n[0] * n[3]);
  auto* to = static_cast<char*>(out);
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t index = static_cast<DType>(n[5]) == DType::I64 ? static_cast<const std::int64_t*>(indices)[i]
                                                                  : static_cast<const std::int32_t*>(indices)[i];
      if (index < -middle || index >= middle) return false;
      if (index < 0) index += middle;
      if (line > 0)
        std::memcpy(to, static_cast<const char*>(in) + static_cast<std::size_t>(o * middle + index) * line, line);
      to += line;
    }
  return true;
}

bool pluck(const std::int64_t* n, const void* in, const std::int64_t* indices, void* out) {
  const std::int64_t outer = n[1], middle = n[2], inner = n[3], count = n[4];
  const auto size = static_cast<std::size_t>(n[0]);
  std::int64_t at = 0;
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t j = 0; j < inner; ++j, ++at) {
        const std::int64_t index = indices[at] < 0 ? indices[at] + middle : indices[at];
        if (index < 0 || index >= middle) return false;
        std::memcpy(static_cast<char*>(out) + static_cast<std::size_t>(at) * size,
                    static_cast<const char*>(in) + static_cast<std::size_t>((o * middle + index) * inner + j) * size,
                    size);
      }
  return true;
}

}  // namespace dycl::backends::small
