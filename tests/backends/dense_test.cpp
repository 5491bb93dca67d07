// SPDX-License-Identifier: Apache-2.0
// The dense kernels of every instruction set that this processor has, against the same in double precision.
#include "backends/kernels/dense/kernels.h"

#include "backends/kernels/dense/helper_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace dycl::backends::dense {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<const Kernels*> all_kernels() {
  std::size_t count = 0;
  const Kernels* const* tables = available(&count);
  return {tables, tables + count};
}

std::vector<float> random_floats(std::int64_t count, unsigned seed, float scale = 1.0F) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> value(-scale, scale);
  std::vector<float> out(static_cast<std::size_t>(count));
  for (float& v : out) v = value(generator);
  return out;
}

double reference(Function function, double x) {
  switch (function) {
    case Function::Relu: return x < 0 ? 0 : x;
    case Function::Sigmoid: return 1 / (1 + std::exp(-x));
    case Function::Tanh: return std::tanh(x);
    case Function::Exp: return std::exp(x);
    case Function::Log: return std::log(x);
    case Function::Neg: return -x;
    case Function::Abs: return std::abs(x);
    case Function::Sqrt: return std::sqrt(x);
    case Function::Gelu: return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Function::Erf: return std::erf(x);
    case Function::Count: break;
  }
  return 0;
}

double activate(Activation activation, double x) {
  switch (activation) {
    case Activation::Relu: return reference(Function::Relu, x);
    case Activation::Sigmoid: return reference(Function::Sigmoid, x);
    case Activation::Tanh: return reference(Function::Tanh, x);
    case Activation::Gelu: return reference(Function::Gelu, x);
    default: return x;
  }
}

class Dense : public testing::TestWithParam<const Kernels*> {
 protected:
  const Kernels& kernels = *GetParam();
};

TEST_P(Dense, ProductsOfAllSizes) {
  for (const std::int64_t n : {1, 2, 15, 16, 17, 31, 32, 33, 48, 49, 100})
    for (const std::int64_t k : {1, 2, 3, 4, 5, 63, 130})
      for (const std::int64_t m : {0, 1, 2, 3, 4, 6, 7, 12, 13, 25})
        for (const bool transposed : {false, true}) {
          const auto a = random_floats(m * k, 1), b = random_floats(n * k, 2), bias = random_floats(n, 3);
          std::vector<float> packed(static_cast<std::size_t>(k * padded_columns(n)), kNan);
          pack(b.data(), n, k, transposed, packed.data());
          std::vector<float> out(static_cast<std::size_t>(m * n + 1), 7.0F);
          Product product{m, a.data(), k, bias.data(), 0, 1, Activation::None, out.data(), n};
          kernels.multiply({n, k, packed.data()}, 0, panels_of(n), product);
          EXPECT_EQ(out.back(), 7.0F) << "wrote beyond the end";
          for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
              double sum = bias[static_cast<std::size_t>(j)];
              for (std::int64_t p = 0; p < k; ++p)
                sum += static_cast<double>(a[static_cast<std::size_t>(i * k + p)]) *
                       static_cast<double>(b[static_cast<std::size_t>(transposed ? j * k + p : p * n + j)]);
              ASSERT_NEAR(out[static_cast<std::size_t>(i * n + j)], sum, 1e-5 * std::sqrt(static_cast<double>(k)))
                  << "m " << m << " n " << n << " k " << k;
            }
        }
}

TEST_P(Dense, BiasesAndActivations) {
  const std::int64_t m = 5, n = 37, k = 19;
  const auto a = random_floats(m * k, 4), b = random_floats(n * k, 5);
  std::vector<float> packed(static_cast<std::size_t>(k * padded_columns(n)));
  pack(b.data(), n, k, true, packed.data());
  struct Bias {
    std::int64_t row, column, count;
  };
  for (const Bias& shape : {Bias{0, 0, 1}, Bias{0, 1, n}, Bias{n, 1, m * n}, Bias{1, 0, m}})
    for (int which = 0; which < static_cast<int>(Activation::Count); ++which) {
      const auto bias = random_floats(shape.count, 6);
      const auto activation = static_cast<Activation>(which);
      std::vector<float> out(static_cast<std::size_t>(m * n));
      kernels.multiply({n, k, packed.data()}, 0, panels_of(n),
                       {m, a.data(), k, bias.data(), shape.row, shape.column, activation, out.data(), n});
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          double sum = bias[static_cast<std::size_t>(i * shape.row + j * shape.column)];
          for (std::int64_t p = 0; p < k; ++p)
            sum += static_cast<double>(a[static_cast<std::size_t>(i * k + p)]) *
                   static_cast<double>(b[static_cast<std::size_t>(j * k + p)]);
          ASSERT_NEAR(out[static_cast<std::size_t>(i * n + j)], activate(activation, sum), 1e-5);
        }
    }
}

TEST_P(Dense, PanelsCutAmongThreadsAreTheSameBits) {
  const std::int64_t m = 3, n = 201, k = 77;
  const auto a = random_floats(m * k, 7), b = random_floats(n * k, 8);
  std::vector<float> packed(static_cast<std::size_t>(k * padded_columns(n)));
  pack(b.data(), n, k, false, packed.data());
  std::vector<float> whole(static_cast<std::size_t>(m * n)), cut(whole.size());
  kernels.multiply({n, k, packed.data()}, 0, panels_of(n),
                   {m, a.data(), k, nullptr, 0, 0, Activation::None, whole.data(), n});
  for (std::int64_t panel = panels_of(n); panel-- > 0;)
    kernels.multiply({n, k, packed.data()}, panel, panel + 1,
                     {m, a.data(), k, nullptr, 0, 0, Activation::None, cut.data(), n});
  EXPECT_EQ(whole, cut);
}

// What is missing in the last panel is zeros: an infinity in a row must not meet them in a result.
TEST_P(Dense, InfinityAndNanInProducts) {
  const std::int64_t n = 17, k = 3;
  std::vector<float> packed(static_cast<std::size_t>(k * padded_columns(n)));
  const std::vector<float> b(static_cast<std::size_t>(n * k), 2.0F), a = {kInf, 1.0F, 1.0F, 1.0F, kNan, 1.0F};
  pack(b.data(), n, k, true, packed.data());
  std::vector<float> out(static_cast<std::size_t>(2 * n));
  kernels.multiply({n, k, packed.data()}, 0, panels_of(n),
                   {2, a.data(), k, nullptr, 0, 0, Activation::Relu, out.data(), n});
  for (std::size_t j = 0; j < 17; ++j) {
    EXPECT_EQ(out[j], kInf);
    EXPECT_TRUE(std::isnan(out[17 + j]));
  }
}

TEST_P(Dense, FunctionsWithinFewUlp) {
  std::vector<float> x = {0.0F,  -0.0F, 1e-30F, -1e-30F, 0.5F,   0.624F, 0.626F,  -0.95F, 0.949F, 1.0F,
                          -1.0F, 20.0F, -20.0F, 87.0F,   -87.0F, 88.7F,  -100.0F, 1e-40F, 4.0F,   -4.1F};
  for (const float scale : {0.1F, 1.0F, 10.0F, 90.0F})
    for (const float v : random_floats(2000, 9, scale)) x.push_back(v);
  for (int which = 0; which < static_cast<int>(Function::Count); ++which) {
    const auto function = static_cast<Function>(which);
    std::vector<float> y(x.size());
    kernels.map(function, x.data(), y.data(), static_cast<std::int64_t>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double right = reference(function, x[i]);
      if (std::isnan(right)) {
        EXPECT_TRUE(std::isnan(y[i])) << which << " of " << x[i];
        continue;
      }
      if (std::isinf(static_cast<float>(right))) {
        EXPECT_EQ(y[i], static_cast<float>(right)) << which << " of " << x[i];
        continue;
      }
      // As in torch: Gelu loses what 1 + erf loses, a sigmoid is 0 where exp(-x) is infinite.
      const double allowed = function == Function::Gelu
                                 ? 4e-7 * std::max(1e-3, std::abs(static_cast<double>(x[i])))
                                 : 5e-7 * std::abs(right) + (function == Function::Sigmoid ? 4e-39 : 1.5e-45);
      EXPECT_LE(std::abs(static_cast<double>(y[i]) - right), allowed) << "function " << which << " of " << x[i];
    }
  }
}

TEST_P(Dense, FunctionsAtTheEnds) {
  const std::vector<float> x = {kInf, -kInf, kNan, 1e38F, -1e38F};
  const std::map<Function, std::vector<float>> expected = {{Function::Relu, {kInf, 0, kNan, 1e38F, 0}},
                                                           {Function::Sigmoid, {1, 0, kNan, 1, 0}},
                                                           {Function::Tanh, {1, -1, kNan, 1, -1}},
                                                           {Function::Exp, {kInf, 0, kNan, kInf, 0}},
                                                           {Function::Erf, {1, -1, kNan, 1, -1}},
                                                           {Function::Abs, {kInf, kInf, kNan, 1e38F, 1e38F}},
                                                           {Function::Neg, {-kInf, kInf, kNan, -1e38F, 1e38F}}};
  for (const auto& [function, right] : expected) {
    std::vector<float> y(x.size());
    kernels.map(function, x.data(), y.data(), static_cast<std::int64_t>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(right[i]))
        EXPECT_TRUE(std::isnan(y[i]));
      else
        EXPECT_EQ(y[i], right[i]) << static_cast<int>(function) << " of " << x[i];
    }
  }
  const std::vector<float> logs = {kInf, -1.0F, 0.0F, kNan};
  std::vector<float> y(logs.size());
  kernels.map(Function::Log, logs.data(), y.data(), 4);
  EXPECT_EQ(y[0], kInf);
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_EQ(y[2], -kInf);
  EXPECT_TRUE(std::isnan(y[3]));
}

TEST_P(Dense, Pairs) {
  const std::function<float(float, float)> right[] = {[](float a, float b) { return a + b; },
                                                      [](float a, float b) { return a - b; },
                                                      [](float a, float b) { return a * b; },
                                                      [](float a, float b) { return a / b; },
                                                      [](float a, float b) { return a != a  ? a
                                                                                    : a > b ? a
                                                                                            : b; },
                                                      [](float a, float b) { return a != a  ? a
                                                                                    : a < b ? a
                                                                                            : b; }};
  for (const std::int64_t n : {0, 1, 15, 33})
    for (int which = 0; which < static_cast<int>(Pair::Count); ++which)
      for (const std::int64_t step_a : {0, 1})
        for (const std::int64_t step_b : {0, 1}) {
          auto a = random_floats(n + 1, 10), b = random_floats(n + 1, 11);
          a[0] = kNan;
          std::vector<float> y(static_cast<std::size_t>(n + 1), 5.0F);
          kernels.pair(static_cast<Pair>(which), a.data(), step_a, b.data(), step_b, y.data(), n);
          EXPECT_EQ(y.back(), 5.0F);
          for (std::int64_t i = 0; i < n; ++i) {
            const float expected =
                right[which](a[static_cast<std::size_t>(i * step_a)], b[static_cast<std::size_t>(i * step_b)]);
            const float found = y[static_cast<std::size_t>(i)];
            if (std::isnan(expected))
              EXPECT_TRUE(std::isnan(found));
            else
              EXPECT_EQ(found, expected);
          }
        }
}

TEST_P(Dense, Softmax) {
  for (const std::int64_t columns : {1, 7, 16, 100})
    for (const bool logarithm : {false, true}) {
      const auto x = random_floats(3 * columns, 12, 30.0F);
      std::vector<float> y(x.size());
      kernels.softmax(logarithm, 3, columns, x.data(), y.data());
      for (std::size_t r = 0; r < 3; ++r) {
        const auto width = static_cast<std::size_t>(columns);
        double sum = 0;
        for (std::size_t j = 0; j < width; ++j) sum += std::exp(static_cast<double>(x[r * width + j]));
        for (std::size_t j = 0; j < width; ++j) {
          const double right = static_cast<double>(x[r * width + j]) - std::log(sum);
          EXPECT_NEAR(y[r * width + j], logarithm ? right : std::exp(right), logarithm ? 1e-5 : 1e-6);
        }
      }
    }
  std::vector<float> masked = {-kInf, 1.0F, 1.0F, -kInf}, y(4);
  kernels.softmax(false, 1, 4, masked.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{0, 0.5F, 0.5F, 0}));
  const std::vector<float> nothing(4, -kInf);
  kernels.softmax(false, 1, 4, nothing.data(), y.data());
  for (const float v : y) EXPECT_TRUE(std::isnan(v));  // as torch: 0 / 0
  for (std::size_t at : {0, 3}) {
    std::vector<float> bad = {1.0F, 2.0F, 3.0F, 4.0F};
    bad[at] = kNan;
    kernels.softmax(false, 1, 4, bad.data(), y.data());
    for (const float v : y) EXPECT_TRUE(std::isnan(v));
  }
}

TEST_P(Dense, LayerNorm) {
  for (const std::int64_t columns : {1, 5, 16, 130}) {
    const auto x = random_floats(2 * columns, 13, 3.0F), scale = random_floats(columns, 14),
               bias = random_floats(columns, 15);
    std::vector<float> y(x.size());
    kernels.layer_norm(2, columns, 1e-5F, x.data(), scale.data(), bias.data(), y.data());
    const auto width = static_cast<std::size_t>(columns);
    for (std::size_t r = 0; r < 2; ++r) {
      double mean = 0, variance = 0;
      for (std::size_t j = 0; j < width; ++j) mean += x[r * width + j];
      mean /= static_cast<double>(columns);
      for (std::size_t j = 0; j < width; ++j) variance += (x[r * width + j] - mean) * (x[r * width + j] - mean);
      variance /= static_cast<double>(columns);
      for (std::size_t j = 0; j < width; ++j)
        EXPECT_NEAR(y[r * width + j], (x[r * width + j] - mean) / std::sqrt(variance + 1e-5) * scale[j] + bias[j],
                    1e-5);
    }
  }
}

TEST_P(Dense, LinesOfAMatrix) {
  for (const std::int64_t rows : {0, 1, 4, 5, 9})
    for (const std::int64_t k : {0, 1, 15, 16, 70}) {
      const std::int64_t stride = k + 3;
      const auto matrix = random_floats(rows * stride + 1, 16), x = random_floats(k + 1, 17),
                 factors = random_floats(rows + 1, 18);
      std::vector<float> y(static_cast<std::size_t>(rows) + 1, 3.0F), sums(static_cast<std::size_t>(k) + 1, 2.0F);
      kernels.dots(rows, k, matrix.data(), stride, x.data(), y.data());
      kernels.weighted_sum(rows, k, matrix.data(), stride, factors.data(), sums.data());
      EXPECT_EQ(y.back(), 3.0F);
      EXPECT_EQ(sums.back(), 2.0F);
      for (std::int64_t i = 0; i < rows; ++i) {
        double right = 0;
        for (std::int64_t p = 0; p < k; ++p)
          right += static_cast<double>(matrix[static_cast<std::size_t>(i * stride + p)]) *
                   static_cast<double>(x[static_cast<std::size_t>(p)]);
        EXPECT_NEAR(y[static_cast<std::size_t>(i)], right, 1e-5);
      }
      for (std::int64_t p = 0; p < k; ++p) {
        double right = 2.0;
        for (std::int64_t i = 0; i < rows; ++i)
          right += static_cast<double>(matrix[static_cast<std::size_t>(i * stride + p)]) *
                   static_cast<double>(factors[static_cast<std::size_t>(i)]);
        EXPECT_NEAR(sums[static_cast<std::size_t>(p)], right, 1e-5);
      }
    }
}

TEST_P(Dense, LstmCell) {
  for (const std::int64_t hidden : {1, 10, 33}) {
    const auto gates = random_floats(4 * hidden, 19, 4.0F), cell = random_floats(hidden, 20);
    std::vector<float> h(static_cast<std::size_t>(hidden)), c(h.size());
    const float* g = gates.data();
    kernels.lstm_cell(hidden, g, g + hidden, g + 2 * hidden, g + 3 * hidden, cell.data(), h.data(), c.data());
    const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
    for (std::size_t i = 0; i < h.size(); ++i) {
      const double next =
          sigmoid(g[h.size() + i]) * cell[i] + sigmoid(g[i]) * std::tanh(static_cast<double>(g[2 * h.size() + i]));
      EXPECT_NEAR(c[i], next, 1e-6);
      EXPECT_NEAR(h[i], sigmoid(g[3 * h.size() + i]) * std::tanh(next), 1e-6);
    }
  }
}

struct Windows {
  const char* what;
  MaxPool how;
};

std::vector<Windows> windows() {
  const auto axis = [](std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                       std::int64_t pad) {
    const std::int64_t out = (in + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
    return MaxPool::Axis{in, out, kernel, stride, dilation, pad};
  };
  const MaxPool::Axis none;
  return {{"quarters", {{none, axis(6, 2, 2, 1, 0), axis(37, 2, 2, 1, 0)}, 1}},
          {"quarters, few", {{none, axis(5, 2, 2, 1, 0), axis(4, 2, 2, 1, 0)}, 1}},
          {"dilated, in blocks of 16", {{axis(4, 2, 1, 2, 1), axis(9, 3, 2, 2, 3), axis(8, 2, 1, 3, 2)}, 16}},
          {"3 by 3, every second", {{none, axis(9, 3, 2, 1, 1), axis(11, 3, 2, 1, 1)}, 1}},
          {"one row", {{none, none, axis(17, 4, 1, 1, 2)}, 1}},
          {"every third, dilated", {{none, axis(10, 2, 3, 2, 0), axis(13, 3, 3, 2, 1)}, 1}},
          {"a volume", {{axis(4, 2, 2, 1, 1), axis(5, 3, 1, 1, 1), axis(6, 2, 2, 1, 0)}, 1}},
          {"in blocks of 8", {{none, axis(7, 3, 2, 1, 1), axis(8, 2, 2, 1, 0)}, 8}},
          {"in blocks of 16", {{none, axis(7, 3, 1, 1, 1), axis(8, 3, 3, 1, 1)}, 16}},
          {"quarters, in blocks of 16", {{none, axis(7, 2, 2, 1, 0), axis(8, 2, 2, 1, 0)}, 16}},
          {"quarters, in blocks of 8", {{none, axis(4, 2, 2, 1, 0), axis(5, 2, 2, 1, 0)}, 8}},
          {"rows of four, in blocks of 16", {{none, axis(8, 4, 4, 1, 0), axis(8, 4, 4, 1, 0)}, 16}},
          {"rows of seven, in blocks of 8", {{none, axis(9, 7, 1, 1, 3), axis(16, 7, 2, 1, 3)}, 8}},
          {"wide, in blocks of 16", {{none, axis(5, 2, 2, 1, 0), axis(23, 11, 3, 1, 2)}, 16}},
          {"wide and dilated, in blocks of 8", {{none, none, axis(40, 9, 5, 3, 4)}, 8}}};
}

// One window's largest, element by element.
template <typename T>
T largest_of(const MaxPool& how, const std::vector<T>& x, std::int64_t place, std::int64_t lane) {
  const MaxPool::Axis &d = how.axes[0], &h = how.axes[1], &w = how.axes[2];
  T most = -std::numeric_limits<T>::infinity();
  for (std::int64_t i = 0; i < d.kernel * h.kernel * w.kernel; ++i) {
    const std::int64_t a = place / (h.out * w.out) * d.stride + i / (h.kernel * w.kernel) * d.dilation - d.before;
    const std::int64_t b = place / w.out % h.out * h.stride + i / w.kernel % h.kernel * h.dilation - h.before;
    const std::int64_t c = place % w.out * w.stride + i % w.kernel * w.dilation - w.before;
    if (a < 0 || a >= d.in || b < 0 || b >= h.in || c < 0 || c >= w.in) continue;
    const T value = x[static_cast<std::size_t>(((a * h.in + b) * w.in + c) * how.lanes + lane)];
    if (value > most || std::isnan(value)) most = value;
    if (std::isnan(value)) break;
  }
  return most;
}

template <typename T, typename Kernel>
void expect_max_pools(Kernel kernel) {
  for (const Windows& each : windows()) {
    const MaxPool& how = each.how;
    const auto numbers = random_floats(how.places() * how.lanes, 23, 4.0F);
    for (const auto& [value, apart] : {std::pair(T(1), numbers.size()), {T(kNan), 7}, {T(kNan), 131}, {T(kInf), 7},
                                       {-T(kInf), 7}}) {
      std::vector<T> x(numbers.begin(), numbers.end()), line(static_cast<std::size_t>(how.line()));
      for (std::size_t i = 3; i < x.size(); i += apart) x[i] = value;
      std::vector<T> y(static_cast<std::size_t>(how.results() * how.lanes));
      kernel(how, x.data(), line.data(), y.data());
      for (std::size_t i = 0; i < y.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        const T wanted = largest_of(how, x, at / how.lanes, at % how.lanes);
        ASSERT_TRUE(y[i] == wanted || (std::isnan(y[i]) && std::isnan(wanted)))
            << each.what << ": " << y[i] << " for " << wanted << " at " << i;
      }
    }
  }
}

TEST_P(Dense, MaxPoolsHandOnNaNAndInfinities) {
  expect_max_pools<float>(GetParam()->max_pool);
  expect_max_pools<double>(GetParam()->max_pool_of_doubles);
}

template <typename T, typename Kernel>
void expect_integer_max_pools(Kernel kernel) {
  for (const Windows& each : windows()) {
    const MaxPool& how = each.how;
    if (how.lanes != 1) continue;
    std::vector<T> x(static_cast<std::size_t>(how.places())), line(static_cast<std::size_t>(how.line()));
    std::vector<T> y(static_cast<std::size_t>(how.results()));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i * 97 + i * i * 31 + 128);
    const std::vector<double> wide(x.begin(), x.end());
    kernel(how, x.data(), line.data(), y.data());
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double wanted = largest_of(how, wide, static_cast<std::int64_t>(i), 0);
      const double least = std::numeric_limits<T>::min();
      ASSERT_EQ(y[i], std::isinf(wanted) ? least : wanted) << each.what << " at " << i;
    }
  }
}

TEST_P(Dense, MaxPoolsOfIntegers) {
  expect_integer_max_pools<std::int8_t>(GetParam()->max_pool_of_int8);
  expect_integer_max_pools<std::uint8_t>(GetParam()->max_pool_of_uint8);
}

// Each part once, whoever does it; several callers at the same time.
TEST(HelperThreads, DoesEachPartOnce) {
  for (const bool spins : {true, false})
    for (const int threads : {1, 2, 4}) {
      HelperThreads helpers(threads, spins);
      const auto work = [&helpers] {
        for (const std::int64_t parts : {0, 1, 2, 7, 100})
          for (int round = 0; round < 50; ++round) {
            std::vector<std::atomic<int>> done(static_cast<std::size_t>(parts));
            helpers.run(
                parts, [](void* data, std::int64_t i) { ++static_cast<std::atomic<int>*>(data)[i]; }, done.data());
            for (const std::atomic<int>& each : done) ASSERT_EQ(each, 1);
          }
      };
      std::thread other(work);
      work();
      other.join();
    }
}

INSTANTIATE_TEST_SUITE_P(Sets, Dense, testing::ValuesIn(all_kernels()),
                         [](const auto& each) { return std::string(each.param->name); });

}  // namespace
}  // namespace dycl::backends::dense
