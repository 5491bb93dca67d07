// SPDX-License-Identifier: Apache-2.0
// QR by reflections, a part of systems_body.h: for each instruction set. A panel of columns is a strip: step by step
// its vectors are found, which stay in the strip, 1 on the diagonal and 0 above. All that stands left of a strip is
// taken off it in one go for each panel: the product of its reflections is 1 - V T V' with
//   T' = (1 + L)^-1 D     D: the factors tau, L: below the diagonal, tau times the products of the panel's vectors.
#pragma once

namespace dycl::backends::linear_algebra {
namespace {

template <typename T, int Vectors>
struct Panel {
  using S = Strip<T, Vectors>;
  using V = typename S::V;
  static constexpr Index kLanes = S::kLanes, kWidth = S::kWidth;

  struct Row {
    V of[Vectors];

    static Row splat(T x) {
      Row made;
      for (int v = 0; v < Vectors; ++v) made.of[v] = S::splat(x);
      return made;
    }
    static Row load(T* x, Index row) {
      Row made;
      for (int v = 0; v < Vectors; ++v) made.of[v] = S::at(x, row)[v];
      return made;
    }
    void store(T* x, Index row) const {
      for (int v = 0; v < Vectors; ++v) S::at(x, row)[v] = of[v];
    }
    void add(const Row& a, const Row& b) {
      for (int v = 0; v < Vectors; ++v) of[v] += a.of[v] * b.of[v];
    }
    void add(const Row& a) {
      for (int v = 0; v < Vectors; ++v) of[v] += a.of[v];
    }
  };

  // Of the rows below k: their element k times the row, summed up. Lane k has the sum of squares.
  static Row products(Index k, Index rows, T* x) {
    Row sum = Row::splat(0);
    for (Index i = k + 1; i < rows; ++i) sum.add(Row::splat(x[i * kWidth + k]), Row::load(x, i));
    return sum;
  }

  // Column k from row k on, brought near 1 by a power of two, which is returned; 0 where all of it is 0.
  static T scale(Index k, Index rows, T* x) {
    T most = 0;
    for (Index i = k; i < rows; ++i) most = most < size_of(x[i * kWidth + k]) ? size_of(x[i * kWidth + k]) : most;
    if (most == 0) return 0;
    T by = 1;
    while (most * by < T(0.5) && by < T(1) / std::numeric_limits<T>::min()) by *= 2;
    for (Index i = k; i < rows; ++i) x[i * kWidth + k] *= by;
    return by;
  }

  // The square of a column's norm above which its products with small columns are exact, too.
  static constexpr T kSmall = sizeof(T) == 4 ? T(0x1p-40) : T(0x1p-300);

  // What becomes of the first element x of a column of this length: of the other sign, so that nothing cancels.
  static T opposite(T x, T length) { return __builtin_signbit(x) ? length : -length; }

  // Takes the reflection off the rows below k, with `taken` of it for each column; puts its vector into column k.
  // The products for the next column, as above.
  static Row reflect(Index k, Index rows, T factor, const T* taken, T* x) {
    alignas(DYCL_BYTES) T lanes[kWidth];
    for (Index j = 0; j < kWidth; ++j) lanes[j] = T(j == k);
    const Row here = Row::load(lanes, 0), row_taken = Row::load(const_cast<T*>(taken), 0);
    const Index next = k + 1 < kWidth ? k + 1 : k;
    const auto one = [&](Index i, Row& row) {
      const T own = x[i * kWidth + k] * factor;
      const V splatted = S::splat(own);
      row = Row::load(x, i);
      for (int v = 0; v < Vectors; ++v) {
        const V after = row.of[v] - splatted * row_taken.of[v];
        row.of[v] = here.of[v] != V{} ? splatted : after;
      }
      const T of_next = x[i * kWidth + next] - own * taken[next];
      row.store(x, i);
      return of_next;
    };
    Row row, sums[2] = {Row::splat(0), Row::splat(0)};
    if (k + 1 < rows) one(k + 1, row);
    Index i = k + 2;
    for (; i + 1 < rows; i += 2) {
      const V first = S::splat(one(i, row));
      for (int v = 0; v < Vectors; ++v) sums[0].of[v] += first * row.of[v];
      const V second = S::splat(one(i + 1, row));
      for (int v = 0; v < Vectors; ++v) sums[1].of[v] += second * row.of[v];
    }
    if (i < rows) sums[0].add(Row::splat(one(i, row)), row);
    sums[0].add(sums[1]);
    return sums[0];
  }

  // Factors the strip's first `steps` columns. What it leaves above the diagonal and on it is R; below are the vectors.
  static void factor(Index rows, Index steps, T* x, T* tau, T* triangle) {
    alignas(DYCL_BYTES) T sums[kWidth], taken[kWidth];
    Row found = products(0, rows, x);
    for (Index k = 0; k < steps; ++k) {
      T* row = x + k * kWidth;
      found.store(sums, 0);
      T by = 1;
      if (const T square = row[k] * row[k] + sums[k]; !(square > kSmall)) {
        by = scale(k, rows, x);
        products(k, rows, x).store(sums, 0);
      }
      T factor = 0, after = row[k];
      tau[k] = 0;
      if (sums[k] > 0) {
        after = opposite(row[k], root_of(row[k] * row[k] + sums[k]));
        tau[k] = (after - row[k]) / after;
        factor = T(1) / (row[k] - after);
      }
      T* below = triangle + k * kWidth;
      for (Index j = 0; j < kWidth; ++j) {
        const T dot = tau[k] * (row[j] + factor * sums[j]);
        below[j] = j < k ? dot : T(0);
        taken[j] = j > k ? dot : T(0);
        row[j] -= taken[j];
      }
      row[k] = by == 0 ? after : after / by;
      found = reflect(k, rows, factor, taken, x);
    }
  }

  // The strip's triangle above the vectors becomes that of the vectors: 1 on the diagonal, 0 above.
  static void leave_vectors(Index steps, T* x) {
    for (Index i = 0; i < steps; ++i)
      for (Index j = i; j < kWidth; ++j) x[i * kWidth + j] = T(i == j);
  }

  // y := the panel's reflections, one after the other or from the last on, of a strip y of as many rows.
  template <int Wide>
  static void apply(Index rows, Index steps, bool from_last, T* x, T* tau, const T* triangle, T* y, T* room) {
    using Y = Strip<T, Wide>;
    const Triangle<T> lower{{triangle, kWidth, 1}, false, true};
    Y::blocks(steps, false, [&](auto count, Index first) {
      typename Y::template Block<decltype(count)::value> block{};
      block.subtract(rows, {x + first, 1, kWidth}, y);
      block.store(room + first * Y::kWidth);
    });
    const auto scale_rows = [&] {
      for (Index i = 0; i < steps; ++i)
        for (int v = 0; v < Wide; ++v) Y::at(room, i)[v] *= Y::splat(-tau[i]);
    };
    if (!from_last) scale_rows();
    Y::solve(steps, from_last ? lower.turned() : lower, room);
    if (from_last) scale_rows();
    Y::subtract(rows, steps, {x, kWidth, 1}, room, y);
  }
};

// `each(panel, its first column, its reflections, vectors, triangle)` for those of the first `count` columns: all
// panels are of two vectors, but that the last strip may be of one.
template <typename T, typename Each>
void panels(Index count, const Reflections<T>& all, bool from_last, Each&& each) {
  constexpr Index kWidth = Strip<T, 2>::kWidth;
  const Index number = (count + kWidth - 1) / kWidth;
  for (Index step = 0; step < number; ++step) {
    const Index first = (from_last ? number - 1 - step : step) * kWidth, steps = least(count - first, kWidth);
    T* vectors = Strip<T, 2>::aligned(all.vectors) + first * all.rows;
    T* triangle = Strip<T, 2>::aligned(all.triangles) + first * kWidth;
    if (all.columns - first > Strip<T, 1>::kLanes)
      each(Panel<T, 2>(), first, steps, vectors, triangle);
    else
      each(Panel<T, 1>(), first, steps, vectors, triangle);
  }
}

template <typename T>
void factor_by_reflections(const T* a, const Reflections<T>& to, bool keeps_vectors, Index rows_of_r, T* r, T* room) {
  const Index m = to.rows, n = to.columns, count = least(m, n);
  strips<T>(n, [&](auto strip, Index first, Index width) {
    using S = decltype(strip);
    const bool factors = first < count;
    const Index done = least(first, count), steps = factors ? least(width, count - first) : 0;
    T* vectors = S::aligned(to.vectors) + first * m;
    T *x = S::aligned(room), *own = x + (m + 1) * S::kWidth;
    S::read(m, width, {a + first, n, 1}, x);
    panels<T>(done, to, false, [&](auto panel, Index at, Index reflections, T* of, T* triangle) {
      panel.template apply<S::kWidth / S::kLanes>(m - at, reflections, false, of, to.tau + at, triangle,
                                                  x + at * S::kWidth, own);
    });
    if (factors) {
      using P = Panel<T, S::kWidth / S::kLanes>;
      T* rest = x + done * S::kWidth;
      P::factor(m - done, steps, rest, to.tau + done, S::aligned(to.triangles) + first * Strip<T, 2>::kWidth);
      copy(rest, (m - done) * S::kWidth, vectors);
      P::leave_vectors(steps, vectors);
    }
    if (!r) return;
    for (Index i = first + 1; i < rows_of_r && !keeps_vectors; ++i)
      fill(x + i * S::kWidth, least(width, i - first), T(0));
    S::write(rows_of_r, width, x, {r + first, n, 1});
  });
}

template <typename T>
void multiply_out(const Reflections<T>& from, Index wide, T* to, T* room) {
  const Index m = from.rows;
  strips<T>(wide, [&](auto strip, Index first, Index width) {
    using S = decltype(strip);
    T *x = S::aligned(room), *own = x + (m + 1) * S::kWidth;
    fill(x, m * S::kWidth, T(0));
    for (Index j = 0; j < width; ++j) x[(first + j) * S::kWidth + j] = T(1);
    // Panels beyond the strip would find zeros.
    panels<T>(least(m, from.columns), from, true, [&](auto panel, Index at, Index reflections, T* of, T* triangle) {
      if (at >= first + width) return;
      panel.template apply<S::kWidth / S::kLanes>(m - at, reflections, true, of, from.tau + at, triangle,
                                                  x + at * S::kWidth, own);
    });
    S::write(m, width, x, {to + first, wide, 1});
  });
}

}  // namespace
}  // namespace dycl::backends::linear_algebra
