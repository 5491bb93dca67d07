// SPDX-License-Identifier: Apache-2.0
// QR with columns exchanged, a part of systems_body.h: the greatest column that is left comes next, as in LAPACK's
// geqp3. One pass over what is left of the matrix is a step: it takes a reflection off and sums up what the next one
// asks for, whose column is known before.
#pragma once

namespace dycl::backends::linear_algebra {
namespace {

template <typename T>
struct Pivoted {
  using S = Strip<T, 2>;
  using P = Panel<T, 2>;
  using V = typename S::V;
  static constexpr Index kLanes = S::kLanes, kMost = 8;  // vectors whose sums stay in registers

  Index m, n, row;  // row: elements from one to the next, an odd number of vectors, so that a column is not of one set
  T* a;
  Reflections<T> to;
  Index* order;
  // For each column: the norm of what is left of it, as it was when last summed up, the reflection's part, products.
  T *norms, *summed, *taken, *sums;
  T *own, *next;  // the column of this step and of the one after it; then its vector

  static Index whole(Index count) { return ((count + kLanes - 1) / kLanes | 1) * kLanes; }

  void begin(const T* from) {
    fill(norms, row, T(0));
    for (Index i = 0; i < m; ++i) {
      copy(from + i * n, n, a + i * row);
      fill(a + i * row + n, row - n, T(0));
      for (Index j = 0; j < row; ++j) norms[j] += a[i * row + j] * a[i * row + j];
    }
    for (Index j = 0; j < n; ++j) norms[j] = summed[j] = root_of(norms[j]), order[j] = j;
  }

  Index greatest_from(Index k) const {
    Index place = k;
    for (Index j = k + 1; j < n; ++j)
      if (norms[j] > norms[place]) place = j;
    return place;
  }

  // Column `place` goes to k: its part below row k is `own`, so that of k goes where it was.
  void exchange_columns(Index k, Index place) {
    for (Index i = 0; i < k; ++i) exchange(a + i * row + k, 1, a + i * row + place);
    for (Index i = k; i < m; ++i) a[i * row + place] = a[i * row + k];
    T* const of_columns[] = {norms, summed, sums};
    for (T* each : of_columns) exchange(each + k, 1, each + place);
    exchange(order + k, 1, order + place);
  }

  // What is left of column j below row k, once the reflection is taken off.
  T norm_of(Index k, Index j) const {
    T sum = 0;
    for (Index i = k + 1; i < m; ++i) {
      const T x = a[i * row + j] - own[i] * taken[j];
      sum += x * x;
    }
    return root_of(sum);
  }

  // As LAPACK: what row k has of a column is taken off its norm, unless too little would be left to be exact.
  void lower_norms(Index k) {
    const T least_share = root_of(std::numeric_limits<T>::epsilon() / 2);
    const T* line = a + k * row;
    for (Index j = k + 1; j < n; ++j) {
      const T before = norms[j];
      const T share = before > 0 ? line[j] / before : T(1), ratio = before > 0 ? before / summed[j] : T(0);
      const T left = share * share < 1 ? 1 - share * share : T(0);
      norms[j] = left * ratio * ratio > least_share ? before * root_of(left) : before == 0 ? T(0) : T(-1);
    }
    for (Index j = k + 1; j < n; ++j)
      if (norms[j] < 0) norms[j] = summed[j] = norm_of(k, j);
  }

  // Takes the reflection off the rows below k, from column `first` on, `Count` vectors; sums up products with `next`.
  template <int Count>
  void pass(Index k, Index first) {
    V part[Count], sum[Count];
    for (int v = 0; v < Count; ++v) part[v] = *reinterpret_cast<V*>(taken + first + v * kLanes), sum[v] = V{};
    for (Index i = k + 1; i < m; ++i) {
      V* at = reinterpret_cast<V*>(a + i * row + first);
      const V factor = S::splat(own[i]), of_next = S::splat(i > k + 1 ? next[i] : T(0));
#pragma GCC unroll 8
      for (int v = 0; v < Count; ++v) {
        const V after = at[v] - factor * part[v];
        at[v] = after;
        sum[v] += of_next * after;
      }
    }
    for (int v = 0; v < Count; ++v) *reinterpret_cast<V*>(sums + first + v * kLanes) = sum[v];
  }
  void pass(Index k) {
    Index first = (k + 1) / kLanes * kLanes;
    for (; first + kMost * kLanes <= row; first += kMost * kLanes) pass<kMost>(k, first);
    for (; first + 2 * kLanes <= row; first += 2 * kLanes) pass<2>(k, first);
    for (; first < row; first += kLanes) pass<1>(k, first);
  }

  // The vector, whose rest below row k is in `own`, into its panel, with the products of it and those before it.
  void keep_vector(Index k) const {
    const Index first = k / S::kWidth * S::kWidth, in = k - first;
    T* x = S::aligned(to.vectors) + first * m;
    T* below = S::aligned(to.triangles) + first * S::kWidth + in * S::kWidth;
    for (Index i = 0; i < in; ++i) x[i * S::kWidth + in] = 0;
    x[in * S::kWidth + in] = 1;
    auto dots = P::Row::splat(0);
    for (Index i = k + 1; i < m; ++i) {
      x[(i - first) * S::kWidth + in] = own[i];
      dots.add(P::Row::splat(own[i]), P::Row::load(x, i - first));
    }
    dots.store(below, 0);
    for (Index j = 0; j < S::kWidth; ++j) below[j] = j < in ? to.tau[k] * (below[j] + x[in * S::kWidth + j]) : T(0);
  }

  // False where a column is too small to be squared.
  bool step(Index k) {
    const T square = own[k] * own[k] + sums[k];
    if (!(square > P::kSmall)) return false;
    T factor = 0, after = own[k];
    to.tau[k] = 0;
    if (sums[k] > 0) {
      after = P::opposite(own[k], root_of(square));
      to.tau[k] = (after - own[k]) / after;
      factor = T(1) / (own[k] - after);
    }
    T* line = a + k * row;
    for (Index j = 0; j < row; ++j) {
      taken[j] = j > k ? to.tau[k] * (line[j] + factor * sums[j]) : T(0);
      line[j] -= taken[j];
    }
    line[k] = after;
    for (Index i = k + 1; i < m; ++i) own[i] *= factor;
    keep_vector(k);
    lower_norms(k);
    return true;
  }

  bool factor(const T* from) {
    begin(from);
    Index place = greatest_from(0);
    for (Index i = 0; i < m; ++i) own[i] = a[i * row + place];
    fill(sums, row, T(0));
    for (Index i = 1; i < m; ++i)
      for (Index j = 0; j < row; ++j) sums[j] += own[i] * a[i * row + j];
    for (Index k = 0; k < n; ++k) {
      if (place != k) exchange_columns(k, place);
      if (!step(k)) return false;
      if (k + 1 == n) break;
      place = greatest_from(k + 1);
      for (Index i = k + 1; i < m; ++i) next[i] = a[i * row + place] - own[i] * taken[place];
      pass(k);
      T* const vector = own;
      own = next, next = vector;
    }
    return true;
  }
};

template <typename T>
T* factor_pivoted(const T* a, const Reflections<T>& to, T* r, Index* order, T* room) {
  using Own = Pivoted<T>;
  Own x{to.rows, to.columns, Own::whole(to.columns), Own::S::aligned(r), to, order, {}, {}, {}, {}, {}, {}};
  T* at = Own::S::aligned(room);
  T** const of_columns[] = {&x.norms, &x.summed, &x.taken, &x.sums};
  for (T** each : of_columns) *each = at, at += x.row;
  x.own = at, x.next = at + Own::whole(to.rows);
  return x.factor(a) ? x.a : nullptr;
}

// b := Q' b, for b of as many rows as Q.
template <typename T>
void reflect_pivoted(const Reflections<T>& from, Index count, const Matrix<T>& b, T* room) {
  const Index m = from.rows;
  Reflections<T> all = from;
  all.columns += Strip<T, 2>::kWidth;  // its last panel is of two vectors, too
  strips<T>(count, [&](auto strip, Index first, Index width) {
    using S = decltype(strip);
    T *x = S::aligned(room), *own = x + (m + 1) * S::kWidth;
    const Matrix<T> part{b.data + first * b.column, b.row, b.column};
    S::read(m, width, {part.data, part.row, part.column}, x);
    panels<T>(least(m, from.columns), all, false, [&](auto panel, Index at, Index steps, T* of, T* triangle) {
      panel.template apply<S::kWidth / S::kLanes>(m - at, steps, false, of, all.tau + at, triangle,
                                                  x + at * S::kWidth, own);
    });
    S::write(m, width, x, part);
  });
}

}  // namespace
}  // namespace dycl::backends::linear_algebra
