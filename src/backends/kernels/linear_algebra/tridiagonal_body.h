// SPDX-License-Identifier: Apache-2.0
// A symmetric matrix made tridiagonal by reflections, a part of systems_body.h: as LAPACK's sytd2 for a lower triangle,
// but on the whole matrix, whose rows are its columns. One pass over what is left is a step: it takes a reflection off
// and multiplies by the next one's vector, which is known before.
#pragma once

namespace dycl::backends::linear_algebra {
namespace {

template <typename T>
struct Tridiagonal {
  using S = Strip<T, 2>;
  using P = Panel<T, 2>;
  using V = typename S::V;
  static constexpr Index kLanes = S::kLanes, kMost = 4;  // vectors whose sums stay in registers

  Index n, row;
  T* a;
  // The vector of this step's reflection and of the next one's; what goes with it, A v less its share of v.
  T *vector, *next, *with, *product;

  // a[first .. first + Count vectors) of the rows below k, less v w' + w v'; product += next' times them.
  template <int Count>
  void pass(Index k, Index first) {
    V v[Count], w[Count], sum[Count];
    for (int c = 0; c < Count; ++c) {
      v[c] = *reinterpret_cast<V*>(vector + first + c * kLanes);
      w[c] = *reinterpret_cast<V*>(with + first + c * kLanes), sum[c] = V{};
    }
    for (Index i = k; i < n; ++i) {
      V* at = reinterpret_cast<V*>(a + i * row + first);
      const V vi = S::splat(vector[i]), wi = S::splat(with[i]), of_next = S::splat(next[i]);
#pragma GCC unroll 4
      for (int c = 0; c < Count; ++c) {
        const V after = at[c] - vi * w[c] - wi * v[c];
        at[c] = after;
        sum[c] += of_next * after;
      }
    }
    for (int c = 0; c < Count; ++c) *reinterpret_cast<V*>(product + first + c * kLanes) = sum[c];
  }
  void pass(Index k) {
    Index first = k / kLanes * kLanes;
    for (; first + kMost * kLanes <= row; first += kMost * kLanes) pass<kMost>(k, first);
    for (; first < row; first += kLanes) pass<1>(k, first);
  }

  // The reflection that leaves of x, from place k on, its first element alone, which it returns. False: x is too small.
  static bool reflection(Index k, Index n, T* x, T& tau, T& first) {
    T sum = 0;
    for (Index j = k + 1; j < n; ++j) sum += x[j] * x[j];
    tau = 0, first = x[k];
    T factor = 0;
    if (const T square = first * first + sum; sum > 0) {
      constexpr T kEpsilon = std::numeric_limits<T>::epsilon();
      if (!(square > std::numeric_limits<T>::min() / (kEpsilon * kEpsilon))) return false;
      first = P::opposite(x[k], root_of(square));
      tau = (first - x[k]) / first;
      factor = T(1) / (x[k] - first);
    } else {
      for (Index j = k + 1; j < n; ++j)
        if (x[j] != 0) return false;
    }
    x[k] = 1;
    for (Index j = k + 1; j < n; ++j) x[j] *= factor;
    return true;
  }

  void keep_vector(const Reflections<T>& to, Index k) const {  // which begins below row k
    const Index first = k / S::kWidth * S::kWidth, in = k - first, m = n - 1;
    T* x = S::aligned(to.vectors) + first * m;
    T* below = S::aligned(to.triangles) + k * S::kWidth;
    for (Index i = 0; i < in; ++i) x[i * S::kWidth + in] = 0;
    auto dots = P::Row::splat(0);
    for (Index i = in; i < m - first; ++i) {
      x[i * S::kWidth + in] = next[first + i + 1];
      dots.add(P::Row::splat(next[first + i + 1]), P::Row::load(x, i));
    }
    dots.store(below, 0);
    for (Index j = 0; j < S::kWidth; ++j) below[j] = j < in ? to.tau[k] * below[j] : T(0);
  }

  // `diagonal` of n, `beside` of n - 1. The first n - 1 reflections are of rows 1 ..., the last of them is none.
  bool reduce(const Reflections<T>* to, T* tau, T* diagonal, T* beside) {
    fill(vector, row, T(0)), fill(with, row, T(0));
    for (Index k = 0; k + 1 < n; ++k) {
      // Row k, with the last reflection taken off, and from it the next one.
      const T* line = a + k * row;
      for (Index j = 0; j < row; ++j) next[j] = line[j] - vector[k] * with[j] - with[k] * vector[j];
      diagonal[k] = next[k];
      fill(next, k + 1, T(0));
      if (!reflection(k + 1, n, next, tau[k], beside[k])) return false;
      if (to) keep_vector(*to, k);
      pass(k + 1);
      T dot = 0;
      for (Index j = k + 1; j < n; ++j) product[j] *= tau[k], dot += product[j] * next[j];
      const T share = -(tau[k] * dot) / 2;
      for (Index j = 0; j < row; ++j) with[j] = j > k ? product[j] + share * next[j] : T(0);
      T* const before = vector;
      vector = next, next = before;
    }
    const T* line = a + (n - 1) * row;
    diagonal[n - 1] = line[n - 1] - 2 * vector[n - 1] * with[n - 1];
    return true;
  }
};

// The lower triangle of a, row by row.
template <typename T>
bool reduce_symmetric(Index n, const T* a, const Reflections<T>* to, T* tau, T* diagonal, T* beside, T* room) {
  using Own = Tridiagonal<T>;
  Own x{n, Pivoted<T>::whole(n), Own::S::aligned(room), nullptr, nullptr, nullptr, nullptr};
  T* at = x.a + n * x.row;
  T** const vectors[] = {&x.vector, &x.next, &x.with, &x.product};
  for (T** each : vectors) *each = at, at += x.row;
  for (Index i = 0; i < n; ++i) {
    copy(a + i * n, i + 1, x.a + i * x.row);
    fill(x.a + i * x.row + n, x.row - n, T(0));
    for (Index j = 0; j < i; ++j) x.a[j * x.row + i] = a[i * n + j];
  }
  return x.reduce(to, tau, diagonal, beside);
}

// to := Q b, row by row, for the reflections of `reduce_symmetric` and b, column by column.
template <typename T>
void multiply_by_reflections(const Reflections<T>& from, const T* b, T* to, T* room) {
  const Index n = from.columns + 1, m = from.rows;
  Reflections<T> all = from;
  all.columns += Strip<T, 2>::kWidth;  // its last panel is of two vectors, too
  strips<T>(n, [&](auto strip, Index first, Index width) {
    using S = decltype(strip);
    T *x = S::aligned(room), *own = x + (n + 1) * S::kWidth;
    S::read(n, width, {b + first * n, 1, n}, x);
    panels<T>(from.columns, all, true, [&](auto panel, Index at, Index steps, T* of, T* triangle) {
      panel.template apply<S::kWidth / S::kLanes>(m - at, steps, true, of, all.tau + at, triangle,
                                                  x + (at + 1) * S::kWidth, own);
    });
    S::write(n, width, x, {to + first, n, 1});
  });
}

}  // namespace
}  // namespace dycl::backends::linear_algebra
