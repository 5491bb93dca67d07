// SPDX-License-Identifier: Apache-2.0
#include "support/random_samplers.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dycl {
namespace {

// Hoermann's transformed rejection (PTRS), for rates of 10 and more.
std::int64_t large_poisson(Random& random, double rate) {
  const double root = std::sqrt(rate), logarithm = std::log(rate);
  const double b = 0.931 + 2.53 * root;
  const double a = -0.059 + 0.02483 * b;
  const double inverse = 1.1239 + 1.1328 / (b - 3.4);
  const double squeeze = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = random.uniform_double() - 0.5;
    const double v = random.uniform_double();
    const double edge = 0.5 - std::fabs(u);
    const auto k = static_cast<std::int64_t>(std::floor((2 * a / edge + b) * u + rate + 0.43));
    if (edge >= 0.07 && v <= squeeze) return k;
    if (k < 0 || (edge < 0.013 && v > edge)) continue;
    const double bound = -rate + static_cast<double>(k) * logarithm - std::lgamma(static_cast<double>(k) + 1);
    if (std::log(v) + std::log(inverse) - std::log(a / (edge * edge) + b) <= bound) return k;
  }
}

// By counting waiting times.
template <typename T>
T few_successes(Random& random, T count, T probability) {
  double waited = 0;
  T successes = 0;
  const double scale = std::log1p(-probability);
  for (;;) {
    waited += std::ceil(std::log(random.uniform_double()) / scale);
    if (waited > count) return successes;
    successes = successes + 1;
  }
}

// What Stirling's formula lacks of log k!.
double stirling_rest(double k) {
  static constexpr double kFirst[] = {0.0810614667953272,  0.0413406959554092,  0.0276779256849983, 0.02079067210376509,
                                      0.0166446911898211,  0.0138761288230707,  0.0118967099458917, 0.0104112652619720,
                                      0.00925546218271273, 0.00833056343336287};
  if (k <= 9) return kFirst[static_cast<std::size_t>(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// Hoermann's BTRS, where ten successes and more are expected.
template <typename T>
T many_successes(Random& random, T count, T probability) {
  const double deviation = std::sqrt(count * probability * (1 - probability));
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * probability;
  const double c = count * probability + 0.5;
  const double squeeze = 0.92 - 4.2 / b;
  const double odds = probability / (1 - probability);
  const double alpha = (2.83 + 5.1 / b) * deviation;
  const double mode = std::floor((count + 1) * probability);
  for (;;) {
    const double u = random.uniform_double() - 0.5;
    double v = random.uniform_double();
    const double edge = 0.5 - std::fabs(u);
    const auto k = static_cast<T>(std::floor((2 * a / edge + b) * u + c));
    if (k < 0 || k > count) continue;
    if (edge >= 0.07 && v <= squeeze) return k;
    v = std::log(v * alpha / (a / (edge * edge) + b));
    const double bound = (mode + 0.5) * std::log((mode + 1) / (odds * (count - mode + 1))) +
                         (count + 1) * std::log((count - mode + 1) / (count - k + 1)) +
                         (k + 0.5) * std::log(odds * (count - k + 1) / (k + 1)) + stirling_rest(mode) +
                         stirling_rest(count - mode) - stirling_rest(k) - stirling_rest(count - k);
    if (v <= bound) return k;
  }
}

template <typename T>
T successes(Random& random, T count, T probability) {
  return count * probability >= T(10) ? many_successes(random, count, probability)
                                      : few_successes(random, count, probability);
}

// Marsaglia and Tsang; a shape below 1 is raised by one, and the result scaled.
template <typename T>
T gamma_number(Random& random, T shape) {
  double scale = 1;
  if (shape < 1) {
    if (shape == 0) return 0;
    scale *= std::pow(1 - random.uniform_double(), static_cast<double>(1.0F / shape));
    shape += T(1);
  }
  const double d = shape - 1.0F / 3.0F;
  const double c = 1.0F / std::sqrt(9.0F * d);
  for (;;) {
    double x, y;
    do {
      x = random.normal();
      y = 1.0F + c * x;
    } while (y <= 0);
    const double v = y * y * y;
    const double u = 1 - random.uniform_double();
    const double square = x * x;
    if (u < 1.0F - 0.0331F * square * square) return static_cast<T>(scale * d * v);
    if (std::log(u) < 0.5F * square + d * (1.0F - v + std::log(v))) return static_cast<T>(scale * d * v);
  }
}

}  // namespace

std::int64_t sample_poisson(Random& random, double rate) {
  if (rate >= 10) return large_poisson(random, rate);
  if (rate == 0) return 0;
  const double least = std::exp(-rate);
  std::int64_t events = 0;
  for (double product = random.uniform_double(); product > least; product *= random.uniform_double()) ++events;
  return events;
}

template <typename T>
T sample_gamma(Random& random, T shape) {
  return std::max(std::numeric_limits<T>::min(), gamma_number(random, shape));
}

template <typename T>
T sample_binomial(Random& random, T count, T probability) {
  if (count <= 0 || probability <= 0) return 0;
  if (probability >= 1) return count;
  if (probability <= T(0.5)) return successes(random, count, probability);
  if (probability > T(0.5)) return count - successes(random, count, static_cast<T>(1.0 - probability));
  return std::numeric_limits<T>::quiet_NaN();
}

template float sample_gamma(Random&, float);
template double sample_gamma(Random&, double);
template float sample_binomial(Random&, float, float);
template double sample_binomial(Random&, double, double);

}  // namespace dycl
