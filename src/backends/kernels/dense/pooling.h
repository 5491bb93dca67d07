// SPDX-License-Identifier: Apache-2.0
// Max pooling for body.h, compiled once per instruction set as that is. A window is taken in two steps: the largest of
// its rows, place by place, and of these the largest along the row. Both run over elements that lie beside each other.
#pragma once

#include "backends/kernels/dense/kernels.h"

namespace dycl::backends::dense {
namespace {

// A NaN stays, whichever of the two it is.
template <typename T>
inline T larger(T a, T b) {
  const bool take = (b > a) | (b != b);
  return take ? b : a;
}

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
template <typename T, std::int64_t Lanes, std::int64_t Stride>
inline void along(const MaxPool::Axis& axis, const T* line, T* y) {
  const std::int64_t stride = Stride ? Stride : axis.stride;
  for (std::int64_t i = 0; i < axis.out * Lanes; ++i) y[i] = static_cast<T>(-__builtin_inff());
  for (std::int64_t k = 0; k < axis.kernel; ++k) {
    const Results results = with_place_inside(axis, k);
    const T* from = line + (k * axis.dilation - axis.before) * Lanes;
#pragma GCC ivdep
    for (std::int64_t i = results.first; i < results.last; ++i)
#pragma GCC unroll 16
      for (std::int64_t l = 0; l < Lanes; ++l)
        y[i * Lanes + l] = larger(y[i * Lanes + l], from[i * stride * Lanes + l]);
  }
}

template <typename T, std::int64_t Lanes>
inline void along(const MaxPool::Axis& axis, const T* line, T* y) {
  if (axis.stride == 1) return along<T, Lanes, 1>(axis, line, y);
  if (axis.stride == 2) return along<T, Lanes, 2>(axis, line, y);
  along<T, Lanes, 0>(axis, line, y);
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
    for (std::int64_t p = 0; p < n; ++p) line[p] = static_cast<T>(-__builtin_inff());
  return rows == 1 ? only : line;
}

template <typename T>
void max_pool(const MaxPool& how, const T* x, T* line, T* y) {
  const MaxPool::Axis &d = how.axes[0], &h = how.axes[1], &w = how.axes[2];
  for (std::int64_t i = 0; i < d.out; ++i)
    for (std::int64_t j = 0; j < h.out; ++j, y += w.out * how.lanes) {
      const T* rows = of_rows(how, i, j, x, line);
      switch (how.lanes) {
        case 1: along<T, 1>(w, rows, y); break;
        case 8: along<T, 8>(w, rows, y); break;
        default: along<T, 16>(w, rows, y); break;
      }
    }
}

}  // namespace
}  // namespace dycl::backends::dense
