// SPDX-License-Identifier: Apache-2.0
#include "backends/kernels/recurrent.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

// Sanitizers are not up yet when the versions of a function are chosen between.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define DYCL_WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define DYCL_WIDE
#endif

namespace dycl::backends::recurrent {
namespace {

// By the bits: those of a greater size are a greater integer, of a NaN too. Side by side, which the compiler turns into
// vectors.
template <typename T>
[[gnu::always_inline]] inline bool are_tame(const T* elements, std::int64_t count) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits kMost = std::bit_cast<Bits>(std::numeric_limits<T>::max() / T(1e8));
  constexpr Bits kSize = std::numeric_limits<Bits>::max() >> 1;  // all but the sign
  constexpr std::int64_t kLanes = 256 / sizeof(T);
  Bits found[kLanes] = {};  // the sign bit: one was larger
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::int64_t l = 0; l < kLanes; ++l) found[l] |= kMost - (std::bit_cast<Bits>(elements[i + l]) & kSize);
  Bits beyond = 0;
  for (const Bits one : found) beyond |= one;
  for (; i < count; ++i) beyond |= kMost - (std::bit_cast<Bits>(elements[i]) & kSize);
  return (beyond & ~kSize) == 0;
}

template <typename T>
T sigmoid(T v) {
  return T(1) / (T(1) + std::exp(-v));
}

template <typename T>
T dot(const T* a, const T* b, std::int64_t count) {
  T sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

// One sequence of one direction, with its states.
template <typename T>
class Sequence {
 public:
  Sequence(const Layer<T>& layer, std::int64_t direction, std::int64_t row)
      : l_(layer), d_(direction), row_(row), n_(layer.hidden), h_(state(layer.h0)), c_(state(layer.c0)) {
    const std::int64_t rows = l_.gates() * n_;
    w_ = l_.w + d_ * rows * l_.inputs;
    r_ = l_.r + d_ * rows * n_;
    b_ = l_.b ? l_.b + d_ * 2 * rows : nullptr;
    p_ = l_.p ? l_.p + d_ * 3 * n_ : nullptr;
  }

  void run() {
    const std::int64_t length = l_.lengths ? std::clamp<std::int64_t>(l_.lengths[row_], 0, l_.time) : l_.time;
    const bool backwards = l_.direction == Direction::Reverse || d_ == 1;
    for (std::int64_t step = 0; step < length; ++step) {
      const std::int64_t t = backwards ? length - 1 - step : step;
      step_at(t);
      if (l_.y) std::copy_n(h_.data(), n_, y_at(t));
    }
    for (std::int64_t t = length; t < l_.time && l_.y; ++t) std::fill_n(y_at(t), n_, T(0));
    const std::int64_t place = (d_ * l_.batch + row_) * n_;
    if (l_.h) std::copy_n(h_.data(), n_, l_.h + place);
    if (l_.c) std::copy_n(c_.data(), n_, l_.c + place);
  }

 private:
  std::vector<T> state(const T* initial) const {
    std::vector<T> found(static_cast<std::size_t>(n_), T(0));
    if (initial) std::copy_n(initial + (d_ * l_.batch + row_) * n_, n_, found.data());
    return found;
  }
  T* y_at(std::int64_t t) const { return l_.y + ((t * l_.directions() + d_) * l_.batch + row_) * n_; }

  T of_input(std::int64_t gate, std::int64_t unit, std::int64_t t) const {
    const std::int64_t at = gate * n_ + unit;
    return dot(w_ + at * l_.inputs, l_.x + (t * l_.batch + row_) * l_.inputs, l_.inputs) + (b_ ? b_[at] : T(0));
  }
  T of_state(std::int64_t gate, std::int64_t unit, const std::vector<T>& state) const {
    const std::int64_t at = gate * n_ + unit;
    return dot(r_ + at * n_, state.data(), n_) + (b_ ? b_[l_.gates() * n_ + at] : T(0));
  }
  T of_state(std::int64_t gate, std::int64_t unit) const { return of_state(gate, unit, h_); }
  T peephole(std::int64_t gate, std::int64_t unit, T c) const { return p_ ? p_[gate * n_ + unit] * c : T(0); }

  void step_at(std::int64_t t) {
    switch (l_.cell) {
      case Cell::Lstm: return lstm(t);
      case Cell::Gru: return gru(t);
      case Cell::GruResetFirst: return gru_reset_first(t);
    }
  }

  void lstm(std::int64_t t) {
    std::vector<T> next(h_.size());
    for (std::int64_t k = 0; k < n_; ++k) {
      T gate[4];
      for (std::int64_t g = 0; g < 4; ++g) gate[g] = of_input(g, k, t) + of_state(g, k);
      T& c = c_[static_cast<std::size_t>(k)];
      const T input = sigmoid(gate[0] + peephole(0, k, c));
      const T forget = l_.coupled ? T(1) - input : sigmoid(gate[2] + peephole(2, k, c));
      c = forget * c + input * std::tanh(gate[3]);
      next[static_cast<std::size_t>(k)] = sigmoid(gate[1] + peephole(1, k, c)) * std::tanh(c);
    }
    h_.swap(next);
  }

  void gru_reset_first(std::int64_t t) {
    std::vector<T> next(h_.size()), reset(h_);
    for (std::int64_t k = 0; k < n_; ++k)
      reset[static_cast<std::size_t>(k)] *= sigmoid(of_input(1, k, t) + of_state(1, k));
    for (std::int64_t k = 0; k < n_; ++k) {
      const T z = sigmoid(of_input(0, k, t) + of_state(0, k));
      const T n = std::tanh(of_input(2, k, t) + of_state(2, k, reset));
      next[static_cast<std::size_t>(k)] = n + z * (h_[static_cast<std::size_t>(k)] - n);
    }
    h_.swap(next);
  }

  void gru(std::int64_t t) {
    std::vector<T> next(h_.size());
    for (std::int64_t k = 0; k < n_; ++k) {
      const T z = sigmoid(of_input(0, k, t) + of_state(0, k)), r = sigmoid(of_input(1, k, t) + of_state(1, k));
      const T n = std::tanh(of_input(2, k, t) + r * of_state(2, k));
      next[static_cast<std::size_t>(k)] = n + z * (h_[static_cast<std::size_t>(k)] - n);
    }
    h_.swap(next);
  }

  const Layer<T>& l_;
  std::int64_t d_, row_, n_;
  std::vector<T> h_, c_;
  const T *w_ = nullptr, *r_ = nullptr, *b_ = nullptr, *p_ = nullptr;
};

}  // namespace

DYCL_WIDE bool is_tame(const float* elements, std::int64_t count) { return are_tame(elements, count); }
DYCL_WIDE bool is_tame(const double* elements, std::int64_t count) { return are_tame(elements, count); }

template <typename T>
void compute(const Layer<T>& layer) {
  for (std::int64_t d = 0; d < layer.directions(); ++d)
    for (std::int64_t row = 0; row < layer.batch; ++row) Sequence<T>(layer, d, row).run();
}

template void compute(const Layer<float>&);
template void compute(const Layer<double>&);

}  // namespace dycl::backends::recurrent
