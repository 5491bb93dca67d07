// SPDX-License-Identifier: Apache-2.0
// Dense kernels of our own for steps with few rows (a decode step, a recurrent cell, a gate): products with a
// weight that is packed once, and vectorised functions. Such products stream the weight once and do little with it, so
// memory decides: the packed form is read strictly in order and lies on huge pages.
//
// Packed form of a K x N matrix: panels of 32 columns (the last of 16 if no more than 16 are left), a panel row by row,
// what is missing filled with zeros. One pass over a panel serves up to 12 rows.
//
// The same kernels are compiled for several instruction sets; `best` picks one for the process. Which panels a call
// computes does not change a result's bits, so work may be cut among threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dycl::backends::dense {

inline constexpr std::int64_t kPanel = 32;

enum class Activation : std::int64_t { None, Relu, Sigmoid, Tanh, Gelu, Count };

// Functions of one element; NaN stays NaN.
enum class Function : std::int64_t { Relu, Sigmoid, Tanh, Exp, Log, Neg, Abs, Sqrt, Gelu, Erf, Count };

enum class Pair : std::int64_t { Add, Sub, Mul, Div, Max, Min, Count };

inline std::int64_t panels_of(std::int64_t n) { return (n + kPanel - 1) / kPanel; }
inline std::int64_t padded_columns(std::int64_t n) {
  const std::int64_t rest = n % kPanel;
  return n - rest + (rest == 0 ? 0 : rest <= kPanel / 2 ? kPanel / 2 : kPanel);
}

struct Packed {
  std::int64_t n = 0, k = 0;
  const float* data = nullptr;  // k * padded_columns(n)
};

// out[m,n] = activation(a[m,k] * B + bias)
struct Product {
  std::int64_t m = 0;
  const float* a = nullptr;  // rows at distance lda
  std::int64_t lda = 0;
  const float* bias = nullptr;  // or none; element (i, j) at i * bias_row + j * bias_column
  std::int64_t bias_row = 0, bias_column = 0;
  Activation activation = Activation::None;
  float* out = nullptr;  // rows at distance ldo
  std::int64_t ldo = 0;
};

// The largest of each window of a plane; a NaN in the window is its largest. Planes have three axes (those that are
// missing have the extent 1) and at each place `lanes` elements beside each other: the channels of a blocked layout.
struct MaxPool {
  struct Axis {
    std::int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1;
    std::int64_t before = 0;  // places of padding
  };
  Axis axes[3];
  std::int64_t lanes = 1;

  std::int64_t places() const { return axes[0].in * axes[1].in * axes[2].in; }
  std::int64_t results() const { return axes[0].out * axes[1].out * axes[2].out; }
  std::int64_t line() const { return axes[2].in * lanes; }  // elements of the memory that `max_pool` is lent, of one lane
};

struct Kernels {
  const char* name;
  void (*multiply)(const Packed& b, std::int64_t first_panel, std::int64_t last_panel, const Product& product);
  // y = a * x over rows: x and y of any alignment; a line of the matrix per result. For matrices that are not packed.
  void (*dots)(std::int64_t rows, std::int64_t k, const float* matrix, std::int64_t stride, const float* x, float* y);
  // y += sum over rows of factor * row.
  void (*weighted_sum)(std::int64_t rows, std::int64_t n, const float* matrix, std::int64_t stride,
                       const float* factors, float* y);
  void (*map)(Function function, const float* x, float* y, std::int64_t n);
  // Steps of 0 or 1: an operand that is one element, or as long as the result.
  void (*pair)(Pair function, const float* a, std::int64_t step_a, const float* b, std::int64_t step_b, float* y,
               std::int64_t n);
  void (*softmax)(bool logarithm, std::int64_t rows, std::int64_t columns, const float* x, float* y);
  // scale and bias may be missing.
  void (*layer_norm)(std::int64_t rows, std::int64_t columns, float epsilon, const float* x, const float* scale,
                     const float* bias, float* y);
  // From the sums of the four gates, of `hidden` elements each, to the next cell and hidden state.
  void (*lstm_cell)(std::int64_t hidden, const float* in, const float* forget, const float* fresh, const float* shown,
                    const float* cell, float* next_hidden, float* next_cell);
  // One plane from x to y; `line` has MaxPool::line() elements where there is one lane.
  void (*max_pool)(const MaxPool& how, const float* x, float* line, float* y);
  void (*max_pool_of_doubles)(const MaxPool& how, const double* x, double* line, double* y);
  void (*max_pool_of_int8)(const MaxPool& how, const std::int8_t* x, std::int8_t* line, std::int8_t* y);  // one lane
  void (*max_pool_of_uint8)(const MaxPool& how, const std::uint8_t* x, std::uint8_t* line, std::uint8_t* y);
};

const Kernels& best();

// Whether `best` was made for an instruction set with wide vectors: without, an engine's products are as good.
bool has_wide_vectors();

// All that this processor can run, the best first; for tests.
const Kernels* const* available(std::size_t* count);

// `transposed`: b is n x k, otherwise k x n.
void pack(const float* b, std::int64_t n, std::int64_t k, bool transposed, float* out);

}  // namespace dycl::backends::dense
