// SPDX-License-Identifier: Apache-2.0
// Max pooling for body.h, compiled once per instruction set as that is. In a blocked layout each place is a vector, of
// which a window takes the largest. In a plain one a window is taken in two steps: the largest of its rows, place by
// place, and of these the largest along the row; windows of two by two, which are the most frequent, in one.
#pragma once

#include "backends/kernels/dense/kernels.h"

namespace dycl::backends::dense {
namespace {

// What every element is as large as.
template <typename T>
inline constexpr T kLeast = static_cast<T>(-1) < T{} ? static_cast<T>(T{1} << (8 * sizeof(T) - 1)) : T{};
template <>
inline constexpr float kLeast<float> = -__builtin_inff();
template <>
inline constexpr double kLeast<double> = -__builtin_inf();

// A NaN stays, whichever of the two it is.
template <typename T>
inline T larger(T a, T b) {
  return (b > a) | (b != b) ? b : a;
}

// Elements beside each other, read and written at any address.
template <typename T, std::int64_t Lanes>
struct Beside {
  typedef T Vec __attribute__((vector_size(Lanes * sizeof(T))));  // NOLINT: an alias would lose the attribute
};

struct Results {
  std::int64_t first, last;
};

// The results whose window has its k-th place inside the plane.
inline Results with_place_inside(const MaxPool::Axis& axis, std::int64_t k) {
  const std::int64_t offset = k * axis.dilation - axis.before;
  const std::int64_t first = offset >= 0 ? 0 : (axis.stride - 1 - offset) / axis.stride;
  const std::int64_t last = offset >= axis.in ? 0 : (axis.in - 1 - offset) / axis.stride + 1;
  return {first, last < axis.out ? last : axis.out};
}

// Of a line of places the largest of each window. Stride 0: the axis says.
template <typename T, std::int64_t Stride>
inline void along(const MaxPool::Axis& axis, const T* line, T* y) {
  const std::int64_t stride = Stride ? Stride : axis.stride;
  for (std::int64_t i = 0; i < axis.out; ++i) y[i] = kLeast<T>;
  for (std::int64_t k = 0; k < axis.kernel; ++k) {
    const Results results = with_place_inside(axis, k);
    const T* from = line + (k * axis.dilation - axis.before);
#pragma GCC ivdep
    for (std::int64_t i = results.first; i < results.last; ++i) y[i] = larger(y[i], from[i * stride]);
  }
}

template <typename T>
inline void along(const MaxPool::Axis& axis, const T* line, T* y) {
  if (axis.stride == 1) return along<T, 1>(axis, line, y);
  if (axis.stride == 2) return along<T, 2>(axis, line, y);
  along<T, 0>(axis, line, y);
}

// The largest of the rows of the windows (depth, height), place by place: in `line`, or where the only row is.
template <typename T>
inline const T* of_rows(const MaxPool& how, std::int64_t depth, std::int64_t height, const T* x, T* line) {
  const MaxPool::Axis &d = how.axes[0], &h = how.axes[1];
  const std::int64_t n = how.line();
  const T* only = nullptr;
  std::int64_t rows = 0;
  for (std::int64_t i = 0; i < d.kernel; ++i)
    for (std::int64_t j = 0; j < h.kernel; ++j) {
      const std::int64_t at_d = depth * d.stride + i * d.dilation - d.before;
      const std::int64_t at_h = height * h.stride + j * h.dilation - h.before;
      if (at_d < 0 || at_d >= d.in || at_h < 0 || at_h >= h.in) continue;
      const T* row = x + (at_d * h.in + at_h) * n;
      if (++rows == 1) {
        only = row;
        continue;
      }
      const T* before = rows == 2 ? only : line;
#pragma GCC ivdep
      for (std::int64_t p = 0; p < n; ++p) line[p] = larger(before[p], row[p]);
    }
  if (rows == 0)
    for (std::int64_t p = 0; p < n; ++p) line[p] = kLeast<T>;
  return rows == 1 ? only : line;
}

// Where the places of a window begin and end: those of the padding are left out.
struct Reach {
  std::int64_t first, end;
};

inline Reach reach_of(const MaxPool::Axis& axis, std::int64_t result) {
  const std::int64_t start = result * axis.stride - axis.before, end = start + axis.kernel * axis.dilation;
  const std::int64_t first = start >= 0 ? start : start + (axis.dilation - 1 - start) / axis.dilation * axis.dilation;
  return {first, end < axis.in ? end : axis.in};
}

template <typename Vec>
inline void keep_larger(Vec& most, const void* from) {
  Vec at;
  __builtin_memcpy(&at, from, sizeof at);
  most = (at > most) | (at != at) ? at : most;
}

// Of a window with rows of several vectors: the largest in four chains, so that no comparison waits for the one before,
// and by comparisons that leave a NaN out, which are an instruction each. Whether there was one is seen of two vectors
// at a time; such a window is looked at again.
template <typename Vec>
struct Wide {
  using Mask = decltype(Vec{} > Vec{});
  Vec most[4];
  Mask strange{};

  explicit Wide(const Vec& least) : most{least, least, least, least} {}
  static bool any(const Mask& mask) {
    std::uint64_t words[sizeof(Mask) / sizeof(std::uint64_t)], all = 0;
    __builtin_memcpy(words, &mask, sizeof mask);
    for (const std::uint64_t word : words) all |= word;
    return all != 0;
  }
  void keep(int chain, const Vec& at) { most[chain] = at > most[chain] ? at : most[chain]; }

  template <typename T>
  void line(const T* from, std::int64_t count, std::int64_t step) {
    for (; count >= 4; count -= 4, from += 4 * step) {
      Vec at[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) __builtin_memcpy(&at[i], from + i * step, sizeof at[i]), keep(i, at[i]);
      strange |= ~((at[0] < at[1]) | (at[0] >= at[1])) | ~((at[2] < at[3]) | (at[2] >= at[3]));
    }
    for (; count > 0; --count, from += step) {
      Vec at;
      __builtin_memcpy(&at, from, sizeof at);
      keep(0, at), strange |= at != at;
    }
  }
  // The largest, if no NaN was among them.
  bool largest(Vec& found) {
    keep(2, most[3]), keep(0, most[1]), keep(0, most[2]);
    found = most[0];
    return !any(strange);
  }
};

constexpr std::int64_t kWide = 3;  // vectors of a row from which on that is faster

// Of the rows of a window: `each(first vector)`.
template <typename T, typename Each>
inline void each_line(const MaxPool& how, const Reach& in_d, const Reach& in_h, std::int64_t first, std::int64_t lanes,
                      const T* x, Each&& each) {
  const MaxPool::Axis &d = how.axes[0], &h = how.axes[1], &w = how.axes[2];
  for (std::int64_t a = in_d.first; a < in_d.end; a += d.dilation)
    for (std::int64_t b = in_h.first; b < in_h.end; b += h.dilation)
      each(x + ((a * h.in + b) * w.in + first) * lanes);
}

// Windows of two by two that lie beside each other, within a plane of two dims: what most networks ask for.
inline bool is_quarters(const MaxPool& how) {
  const auto halves = [](const MaxPool::Axis& axis) {
    return axis.kernel == 2 && axis.stride == 2 && axis.dilation == 1 && axis.before == 0 && axis.out * 2 <= axis.in;
  };
  return how.axes[0].in == 1 && how.axes[0].out == 1 && how.axes[0].kernel == 1 && how.axes[0].before == 0 &&
         halves(how.axes[1]) && halves(how.axes[2]);
}

template <typename T, std::int64_t Lanes>
void max_pool_of_quarters_of_blocks(const MaxPool& how, const T* x, T* y) {
  using Vec = typename Beside<T, Lanes>::Vec;
  const MaxPool::Axis &h = how.axes[1], &w = how.axes[2];
  for (std::int64_t j = 0; j < h.out; ++j) {
    const T *upper = x + 2 * j * w.in * Lanes, *lower = upper + w.in * Lanes;
    for (std::int64_t k = 0; k < w.out; ++k, y += Lanes, upper += 2 * Lanes, lower += 2 * Lanes) {
      Vec most, other;
      __builtin_memcpy(&most, upper, sizeof most);
      __builtin_memcpy(&other, lower, sizeof other);
      keep_larger(most, upper + Lanes);
      keep_larger(other, lower + Lanes);
      keep_larger(most, &other);
      __builtin_memcpy(y, &most, sizeof most);
    }
  }
}

// A blocked layout: the largest of a window is of vectors.
template <typename T, std::int64_t Lanes>
void max_pool_of_blocks(const MaxPool& how, const T* x, T* y) {
  if (is_quarters(how)) return max_pool_of_quarters_of_blocks<T, Lanes>(how, x, y);
  using Vec = typename Beside<T, Lanes>::Vec;
  const MaxPool::Axis &d = how.axes[0], &h = how.axes[1], &w = how.axes[2];
  const std::int64_t step = w.dilation * Lanes;
  for (std::int64_t i = 0; i < d.out; ++i)
    for (std::int64_t j = 0; j < h.out; ++j) {
      const Reach in_d = reach_of(d, i), in_h = reach_of(h, j);
      for (std::int64_t k = 0; k < w.out; ++k, y += Lanes) {
        const Reach in_w = reach_of(w, k);
        const std::int64_t reach = in_w.end - in_w.first;  // a division costs more than a window
        const std::int64_t count = w.dilation == 1 ? reach : (reach + w.dilation - 1) / w.dilation;
        Vec most = Vec{} + kLeast<T>;
        Wide<Vec> wide(most);
        if (count >= kWide)
          each_line(how, in_d, in_h, in_w.first, Lanes, x, [&](const T* from) { wide.line(from, count, step); });
        if (count < kWide || !wide.largest(most)) {
          most = Vec{} + kLeast<T>;
          each_line(how, in_d, in_h, in_w.first, Lanes, x, [&](const T* from) {
            for (std::int64_t c = 0; c < count; ++c) keep_larger(most, from + c * step);
          });
        }
        __builtin_memcpy(y, &most, sizeof most);
      }
    }
}

template <typename T>
void max_pool_of_quarters(const MaxPool& how, const T* x, T* y) {
  constexpr std::int64_t kOnce = 8;  // results
  using Vec = typename Beside<T, kOnce>::Vec;
  using Pairs = typename Beside<T, 2 * kOnce>::Vec;
  const MaxPool::Axis &h = how.axes[1], &w = how.axes[2];
  for (std::int64_t j = 0; j < h.out; ++j, y += w.out) {
    const T *upper = x + 2 * j * w.in, *lower = upper + w.in;
    std::int64_t k = 0;
    for (; k + kOnce <= w.out; k += kOnce) {
      Pairs a, b;
      __builtin_memcpy(&a, upper + 2 * k, sizeof a);
      __builtin_memcpy(&b, lower + 2 * k, sizeof b);
      const Pairs most = (b > a) | (b != b) ? b : a;
      const Vec even = __builtin_shufflevector(most, most, 0, 2, 4, 6, 8, 10, 12, 14);
      const Vec odd = __builtin_shufflevector(most, most, 1, 3, 5, 7, 9, 11, 13, 15);
      const Vec larger_of_both = (odd > even) | (odd != odd) ? odd : even;
      __builtin_memcpy(y + k, &larger_of_both, sizeof larger_of_both);
    }
    for (; k < w.out; ++k)
      y[k] = larger(larger(upper[2 * k], upper[2 * k + 1]), larger(lower[2 * k], lower[2 * k + 1]));
  }
}

template <typename T>
void max_pool(const MaxPool& how, const T* x, T* line, T* y) {
  if constexpr (sizeof(T) >= sizeof(float)) {
    if (how.lanes == 8) return max_pool_of_blocks<T, 8>(how, x, y);
    if (how.lanes == 16) return max_pool_of_blocks<T, 16>(how, x, y);
  }
  if (is_quarters(how)) return max_pool_of_quarters(how, x, y);
  const MaxPool::Axis &d = how.axes[0], &h = how.axes[1], &w = how.axes[2];
  for (std::int64_t i = 0; i < d.out; ++i)
    for (std::int64_t j = 0; j < h.out; ++j, y += w.out) along<T>(w, of_rows(how, i, j, x, line), y);
}

}  // namespace
}  // namespace dycl::backends::dense
