// SPDX-License-Identifier: Apache-2.0
// The dense kernels, compiled once per instruction set: dense_<set>.cpp defines DYCL_LANES (floats of a vector
// register), DYCL_ROWS (rows of a product that are computed together) and DYCL_TABLE and includes this. Only builtins
// here: a function of the standard library compiled for one instruction set could be the one that the linker keeps for
// all. Vectors are GNU vector types; products and sums are contracted to fused ones where the set has them.
#include "backends/kernels/dense/kernels.h"
#include "backends/kernels/dense/pooling.h"

namespace dycl::backends::dense {
namespace {

using std::int32_t;
using std::int64_t;

constexpr int64_t kLanes = DYCL_LANES;
constexpr int kPerPanel = static_cast<int>(kPanel / kLanes);

using Vec = float __attribute__((vector_size(kLanes * 4)));
using Loose = float __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));

inline Vec load(const float* p) { return *reinterpret_cast<const Loose*>(p); }
inline void store(float* p, Vec v) { *reinterpret_cast<Loose*>(p) = v; }
inline Vec all(float v) { return v - Vec{}; }

// ---- functions of one element, without branches ---------------------------------------

inline float bits_as_float(int32_t v) { return __builtin_bit_cast(float, v); }

// 2^n in two factors, so that results among the subnormal numbers and the largest are reached.
inline float exp_of(float x) {
  constexpr float kLog2e = 1.44269504F, kHigh = 0.693359375F, kLow = -2.12194440e-4F, kMagic = 12582912.0F;
  const float clamped = x > 89.0F ? 89.0F : x < -104.0F ? -104.0F : x;
  const float shifted = clamped * kLog2e + kMagic;
  const float n = shifted - kMagic;
  const float r = (clamped - n * kHigh) - n * kLow;
  const float q =
      ((((0.000199179703F * r + 0.001394619F) * r + 0.00833326485F) * r + 0.0416662693F) * r + 0.166666672F) * r + 0.5F;
  const float value = (q * r) * r + r + 1.0F;
  const int32_t exponent = __builtin_bit_cast(int32_t, shifted) - __builtin_bit_cast(int32_t, kMagic);
  const int32_t half = exponent >> 1;
  const float scaled = value * bits_as_float((half + 127) << 23) * bits_as_float((exponent - half + 127) << 23);
  return x != x ? x : scaled;
}

inline float sigmoid_of(float x) { return 1.0F / (1.0F + exp_of(-x)); }

inline float tanh_of(float x) {
  const float t = x < 0 ? -x : x, s = x * x;
  const float p =
      ((((0.00213716272F * s - 0.0081717046F) * s + 0.021698691F) * s - 0.0539464541F) * s + 0.133332044F) * s -
      0.333333313F;
  const float small = (p * s) * x + x;
  const float large = 1.0F - 2.0F / (1.0F + exp_of(2.0F * t));
  const float with_sign = x < 0 ? -large : large;
  return t < 0.625F ? small : with_sign;  // NaN: large is NaN
}

inline float erf_of(float x) {
  const float t = x < 0 ? -x : x, s = x * x;
  const float p =
      (((((7.8891193e-05F * s - 0.000802084105F) * s + 0.00518953521F) * s - 0.0268544443F) * s + 0.112836003F) * s -
       0.37612626F) *
          s +
      1.12837911F;
  const float c = t > 4.05F ? 4.05F : t;
  const float l =
      (((((-0.000199342147F * c + 0.00307636382F) * c - 0.0223579779F) * c + 0.104201123F) * c + 0.636877954F) * c +
       1.12785459F) *
          c +
      0.00015281442F;
  const float large = 1.0F - exp_of(-l);
  const float with_sign = x < 0 ? -large : large;
  return t < 0.95F ? p * x : with_sign;
}

inline float gelu_of(float x) { return 0.5F * x * (1.0F + erf_of(x * 0.707106781F)); }

// The mantissa in [sqrt(1/2), sqrt(2)), the atanh series of it.
inline float log_of(float x) {
  const bool tiny = x < 1.17549435e-38F;
  const float scaled = tiny ? x * 8388608.0F : x;
  const int32_t bits = __builtin_bit_cast(int32_t, scaled);
  const auto shifted = static_cast<int32_t>(static_cast<std::uint32_t>(bits) - 0x3f3504f3U);  // wraps for x < 0
  const int32_t exponent = shifted >> 23;
  const float m = bits_as_float((shifted & 0x007fffff) + 0x3f3504f3);
  const float e = static_cast<float>(exponent) - (tiny ? 23.0F : 0.0F);
  const float f = m - 1.0F, s = f / (2.0F + f), z = s * s;
  const float series = z * (0.666666667F + z * (0.4F + z * (0.285714286F + z * (0.222222222F + z * 0.18F))));
  const float value = e * 0.693359375F + (f - (f * f * 0.5F - s * (f * f * 0.5F + series)) + e * -2.12194440e-4F);
  const float infinity = __builtin_inff();
  const float positive = x == infinity ? x : value;
  const float nonnegative = x == 0 ? -infinity : positive;
  return x != x ? x : x < 0 ? __builtin_nanf("") : nonnegative;
}

inline float activated(Activation activation, float v) {
  switch (activation) {
    case Activation::Relu: return v < 0 ? 0.0F : v;
    case Activation::Sigmoid: return sigmoid_of(v);
    case Activation::Tanh: return tanh_of(v);
    case Activation::Gelu: return gelu_of(v);
    default: return v;
  }
}

// ---- products --------------------------------------------------------------------------

// Sums of `Chains` interleaved parts of k hide the latency of additions where there are few rows.
template <int Rows, int Vectors, int Chains>
inline void sums_of(const float* b, int64_t width, int64_t k, const float* a, int64_t lda, Vec (&sums)[Rows][Vectors]) {
  Vec part[Chains][Rows][Vectors] = {};
  int64_t p = 0;
  for (; p + Chains <= k; p += Chains) {
#pragma GCC unroll 8
    for (int c = 0; c < Chains; ++c) {
      const float* line = b + (p + c) * width;
#pragma GCC unroll 12
      for (int i = 0; i < Rows; ++i) {
        const Vec x = all(a[i * lda + p + c]);
#pragma GCC unroll 8
        for (int v = 0; v < Vectors; ++v) part[c][i][v] += x * load(line + v * kLanes);
      }
    }
  }
  for (; p < k; ++p)
    for (int i = 0; i < Rows; ++i)
      for (int v = 0; v < Vectors; ++v) part[0][i][v] += all(a[i * lda + p]) * load(b + p * width + v * kLanes);
  for (int i = 0; i < Rows; ++i)
    for (int v = 0; v < Vectors; ++v) {
      Vec sum = part[0][i][v];
      if constexpr (Chains == 2) sum += part[1][i][v];
      if constexpr (Chains == 4) sum = (sum + part[1][i][v]) + (part[2][i][v] + part[3][i][v]);
      sums[i][v] = sum;
    }
}

// Columns `at` and on, as many as there are of Vectors * kLanes.
template <int Rows, int Vectors>
void finish(const Vec (&sums)[Rows][Vectors], int64_t at, int64_t n, int64_t first_row, const Product& product) {
  constexpr int64_t kWidth = Vectors * kLanes;
  const int64_t columns = n - at < kWidth ? n - at : kWidth;
  const bool row_bias = product.bias && product.bias_column == 1;
  for (int i = 0; i < Rows; ++i) {
    const int64_t row = first_row + i;
    const float* bias = product.bias ? product.bias + row * product.bias_row + at * product.bias_column : nullptr;
    float* out = product.out + row * product.ldo + at;
    if (columns == kWidth && product.activation == Activation::None && (row_bias || !bias)) {
      for (int v = 0; v < Vectors; ++v)
        store(out + v * kLanes, bias ? sums[i][v] + load(bias + v * kLanes) : sums[i][v]);
      continue;
    }
    float line[kWidth];
    for (int v = 0; v < Vectors; ++v) store(line + v * kLanes, sums[i][v]);
    if (bias)
      for (int64_t j = 0; j < columns; ++j) line[j] += bias[j * product.bias_column];
    switch (product.activation) {
      case Activation::Relu:
        for (float& v : line) v = activated(Activation::Relu, v);
        break;
      case Activation::Sigmoid:
        for (float& v : line) v = sigmoid_of(v);
        break;
      case Activation::Tanh:
        for (float& v : line) v = tanh_of(v);
        break;
      case Activation::Gelu:
        for (float& v : line) v = gelu_of(v);
        break;
      default: break;
    }
    for (int64_t j = 0; j < columns; ++j) out[j] = line[j];
  }
}

struct Strip {  // some columns of a panel
  const float* b;
  int64_t width, k, at, n;
};

template <int Rows, int Vectors>
void strip_rows(const Strip& s, int64_t first_row, const Product& product) {
  constexpr int kChains = Rows * Vectors <= 2 ? 4 : Rows * Vectors <= 4 ? 2 : 1;
  Vec sums[Rows][Vectors];
  sums_of<Rows, Vectors, kChains>(s.b, s.width, s.k, product.a + first_row * product.lda, product.lda, sums);
  finish(sums, s.at, s.n, first_row, product);
}

template <int Rows, int Vectors>
void up_to(const Strip& s, int64_t first_row, int64_t rows, const Product& product) {
  if constexpr (Rows > 0) {
    if (rows == Rows) return strip_rows<Rows, Vectors>(s, first_row, product);
    return up_to<Rows - 1, Vectors>(s, first_row, rows, product);
  }
}

template <int Vectors>
void strip(const Strip& s, const Product& product) {
  for (int64_t i = 0; i < product.m; i += DYCL_ROWS)
    up_to<DYCL_ROWS, Vectors>(s, i, product.m - i < DYCL_ROWS ? product.m - i : DYCL_ROWS, product);
}

// Few rows: the panel in one pass. Otherwise in strips of as many registers as DYCL_ROWS leaves.
void panel_product(const float* b, int64_t width, int64_t k, int64_t at, int64_t n, const Product& product) {
  constexpr int kNarrow = kPerPanel > 2 ? 2 : kPerPanel;
  const int vectors = static_cast<int>(width / kLanes);
  if constexpr (kPerPanel > 2)
    if (vectors == kPerPanel && (product.m == 1 || product.m == 2)) {
      const Strip whole{b, width, k, at, n};
      return product.m == 1 ? strip_rows<1, kPerPanel>(whole, 0, product) : strip_rows<2, kPerPanel>(whole, 0, product);
    }
  for (int v = 0; v < vectors; v += kNarrow) {
    const int64_t column = at + v * kLanes;
    if (column >= n) return;
    const Strip part{b + v * kLanes, width, k, column, n};
    if (vectors - v >= kNarrow)
      strip<kNarrow>(part, product);
    else
      strip<1>(part, product);
  }
}

void multiply(const Packed& b, int64_t first_panel, int64_t last_panel, const Product& product) {
  for (int64_t panel = first_panel; panel < last_panel; ++panel) {
    const int64_t at = panel * kPanel;
    const int64_t width = b.n - at > kPanel / 2 ? kPanel : kPanel / 2;
    panel_product(b.data + at * b.k, width, b.k, at, b.n, product);
  }
}

inline float sum_of(Vec v) {
  float sum = 0;
  for (int i = 0; i < kLanes; ++i) sum += v[i];
  return sum;
}

template <int Lines>
inline void dot_lines(int64_t k, const float* matrix, int64_t stride, const float* x, float* y) {
  Vec sums[Lines] = {};
  int64_t p = 0;
  for (; p + kLanes <= k; p += kLanes) {
    const Vec v = load(x + p);
    for (int i = 0; i < Lines; ++i) sums[i] += v * load(matrix + i * stride + p);
  }
  for (int i = 0; i < Lines; ++i) {
    float sum = sum_of(sums[i]);
    for (int64_t q = p; q < k; ++q) sum += x[q] * matrix[i * stride + q];
    y[i] = sum;
  }
}

void dots(int64_t rows, int64_t k, const float* matrix, int64_t stride, const float* x, float* y) {
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4) dot_lines<4>(k, matrix + i * stride, stride, x, y + i);
  for (; i < rows; ++i) dot_lines<1>(k, matrix + i * stride, stride, x, y + i);
}

void weighted_sum(int64_t rows, int64_t n, const float* matrix, int64_t stride, const float* factors, float* y) {
  int64_t j = 0;
  for (; j + 4 * kLanes <= n; j += 4 * kLanes) {
    Vec sums[4];
    for (int v = 0; v < 4; ++v) sums[v] = load(y + j + v * kLanes);
    for (int64_t i = 0; i < rows; ++i) {
      const Vec f = all(factors[i]);
      for (int v = 0; v < 4; ++v) sums[v] += f * load(matrix + i * stride + j + v * kLanes);
    }
    for (int v = 0; v < 4; ++v) store(y + j + v * kLanes, sums[v]);
  }
  for (; j < n; ++j) {
    float sum = y[j];
    for (int64_t i = 0; i < rows; ++i) sum += factors[i] * matrix[i * stride + j];
    y[j] = sum;
  }
}

// ---- lines ------------------------------------------------------------------------------

template <typename F>
inline void each(const float* x, float* y, int64_t n, F f) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
}

void map(Function function, const float* x, float* y, int64_t n) {
  switch (function) {
    case Function::Relu: return each(x, y, n, [](float v) { return v < 0 ? 0.0F : v; });
    case Function::Sigmoid: return each(x, y, n, [](float v) { return sigmoid_of(v); });
    case Function::Tanh: return each(x, y, n, [](float v) { return tanh_of(v); });
    case Function::Exp: return each(x, y, n, [](float v) { return exp_of(v); });
    case Function::Log: return each(x, y, n, [](float v) { return log_of(v); });
    case Function::Neg: return each(x, y, n, [](float v) { return -v; });
    case Function::Abs: return each(x, y, n, [](float v) { return __builtin_fabsf(v); });
    case Function::Sqrt: return each(x, y, n, [](float v) { return __builtin_sqrtf(v); });
    case Function::Gelu: return each(x, y, n, [](float v) { return gelu_of(v); });
    case Function::Erf: return each(x, y, n, [](float v) { return erf_of(v); });
    case Function::Count: return;
  }
}

template <typename F>
inline void both(const float* a, int64_t step_a, const float* b, int64_t step_b, float* y, int64_t n, F f) {
  if (step_a == 1 && step_b == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = f(a[i], b[i]);
  } else if (step_a == 1) {
    const float v = b[0];
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = f(a[i], v);
  } else if (step_b == 1) {
    const float v = a[0];
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = f(v, b[i]);
  } else {
    const float v = f(a[0], b[0]);
    for (int64_t i = 0; i < n; ++i) y[i] = v;
  }
}

void pair(Pair function, const float* a, int64_t step_a, const float* b, int64_t step_b, float* y, int64_t n) {
  if (n == 0) return;
  switch (function) {
    case Pair::Add: return both(a, step_a, b, step_b, y, n, [](float u, float v) { return u + v; });
    case Pair::Sub: return both(a, step_a, b, step_b, y, n, [](float u, float v) { return u - v; });
    case Pair::Mul: return both(a, step_a, b, step_b, y, n, [](float u, float v) { return u * v; });
    case Pair::Div: return both(a, step_a, b, step_b, y, n, [](float u, float v) { return u / v; });
    case Pair::Max:
      return both(a, step_a, b, step_b, y, n, [](float u, float v) { return u != u ? u : u > v ? u : v; });
    case Pair::Min:
      return both(a, step_a, b, step_b, y, n, [](float u, float v) { return u != u ? u : u < v ? u : v; });
    case Pair::Count: return;
  }
}

// Sums in lanes; the same order whatever the instruction set is not promised.
inline float total(const float* x, int64_t n) {
  Vec sum = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) sum += load(x + i);
  float rest = 0;
  for (; i < n; ++i) rest += x[i];
  return sum_of(sum) + rest;
}

inline float largest(const float* x, int64_t n) {
  float lanes[kLanes];
  for (int i = 0; i < kLanes; ++i) lanes[i] = x[0];
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes)
    for (int i = 0; i < kLanes; ++i) lanes[i] = x[j + i] > lanes[i] ? x[j + i] : lanes[i];
  float top = x[0];
  for (; j < n; ++j) top = x[j] > top ? x[j] : top;
  for (const float lane : lanes) top = lane > top ? lane : top;
  return top;
}

// A NaN anywhere in a row makes its sum NaN and so the whole row.
void softmax(bool logarithm, int64_t rows, int64_t columns, const float* in, float* out) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* x = in + r * columns;
    float* y = out + r * columns;
    const float top = largest(x, columns);
    each(x, y, columns, [top](float v) { return exp_of(v - top); });
    const float sum = total(y, columns);
    if (logarithm) {
      const float log_sum = log_of(sum);
      each(x, y, columns, [top, log_sum](float v) { return v - top - log_sum; });
    } else {
      each(y, y, columns, [sum](float v) { return v / sum; });
    }
  }
}

void layer_norm(int64_t rows, int64_t columns, float epsilon, const float* in, const float* scale, const float* bias,
                float* out) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* x = in + r * columns;
    float* y = out + r * columns;
    const float mean = total(x, columns) / static_cast<float>(columns);
    Vec squares = {};
    int64_t i = 0;
    for (; i + kLanes <= columns; i += kLanes) {
      const Vec d = load(x + i) - all(mean);
      squares += d * d;
    }
    float sum = sum_of(squares);
    for (; i < columns; ++i) sum += (x[i] - mean) * (x[i] - mean);
    const float inverse = 1.0F / __builtin_sqrtf(sum / static_cast<float>(columns) + epsilon);
    each(x, y, columns, [mean, inverse](float v) { return (v - mean) * inverse; });
    if (scale) pair(Pair::Mul, y, 1, scale, 1, y, columns);
    if (bias) pair(Pair::Add, y, 1, bias, 1, y, columns);
  }
}

void lstm_cell(int64_t hidden, const float* in, const float* forget, const float* fresh, const float* shown,
               const float* cell, float* next_hidden, float* next_cell) {
#pragma GCC ivdep
  for (int64_t i = 0; i < hidden; ++i) {
    const float kept = sigmoid_of(forget[i]) * cell[i], added = sigmoid_of(in[i]) * tanh_of(fresh[i]);
    const float next = kept + added;
    next_cell[i] = next;
    next_hidden[i] = sigmoid_of(shown[i]) * tanh_of(next);
  }
}

}  // namespace

extern const Kernels DYCL_TABLE;
const Kernels DYCL_TABLE = {DYCL_SET,
                            multiply,
                            dots,
                            weighted_sum,
                            map,
                            pair,
                            softmax,
                            layer_norm,
                            lstm_cell,
                            max_pool<float>,
                            max_pool<double>,
                            max_pool<std::int8_t>,
                            max_pool<std::uint8_t>};

}  // namespace dycl::backends::dense
