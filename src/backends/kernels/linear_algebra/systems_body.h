// SPDX-License-Identifier: Apache-2.0
// The systems of systems.h for one instruction set. The includer names it: DYCL_BYTES in a vector, DYCL_ROWS of a
// block, whose sums stay in registers (two vectors each), DYCL_SET, and the tables DYCL_SINGLE and DYCL_DOUBLE.
#include <limits>

#include "backends/kernels/linear_algebra/systems.h"

namespace dycl::backends::linear_algebra {
namespace {

using Index = std::int64_t;

// Not std's: a function that the linker may share with other files must not hold this instruction set.
constexpr Index least(Index a, Index b) { return a < b ? a : b; }
template <typename T>
void fill(T* x, Index count, T value) {
  for (Index i = 0; i < count; ++i) x[i] = value;
}
template <typename T>
void copy(const T* from, Index count, T* to) {
  for (Index i = 0; i < count; ++i) to[i] = from[i];
}
template <typename T>
void exchange(T* a, Index count, T* b) {
  for (Index i = 0; i < count; ++i) {
    const T own = a[i];
    a[i] = b[i], b[i] = own;
  }
}
inline float size_of(float x) { return __builtin_fabsf(x); }
inline double size_of(double x) { return __builtin_fabs(x); }
inline float root_of(float x) { return __builtin_sqrtf(x); }
inline double root_of(double x) { return __builtin_sqrt(x); }
template <int Count>
struct Rows {
  static constexpr int value = Count;
};

// `Vectors`: how many a strip is wide, 1 or 2.
template <typename T, int Vectors>
struct Strip {
  typedef T V __attribute__((vector_size(DYCL_BYTES), may_alias));
  static constexpr Index kLanes = DYCL_BYTES / sizeof(T), kWidth = kLanes * Vectors;

  static V splat(T x) { return x - V{}; }
  static V* at(T* x, Index row) { return reinterpret_cast<V*>(x + row * kWidth); }

  // ---- sums of products ----

  template <int Count>
  struct Block {
    V sum[Count][Vectors];

    void load(T* x) {
      for (int r = 0; r < Count; ++r)
        for (int v = 0; v < Vectors; ++v) sum[r][v] = at(x, r)[v];
    }
    void store(T* x) const {
      for (int r = 0; r < Count; ++r)
        for (int v = 0; v < Vectors; ++v) at(x, r)[v] = sum[r][v];
    }
    // Less a x, for a of Count x terms.
    void subtract(Index terms, Matrix<const T> a, T* x) {
      const T* from = a.data;
      for (Index k = 0; k < terms; ++k, from += a.column) {
        V own[Vectors];
        for (int v = 0; v < Vectors; ++v) own[v] = at(x, k)[v];
#pragma GCC unroll 16
        for (int r = 0; r < Count; ++r) {
          const V factor = splat(from[r * a.row]);
          for (int v = 0; v < Vectors; ++v) sum[r][v] -= factor * own[v];
        }
      }
    }
    void solve(Matrix<const T> a, bool upper, bool unit) {  // its own rows, of the triangle `a`
      if (upper) {
#pragma GCC unroll 16
        for (int r = Count - 1; r >= 0; --r) {
          const T* row = a.data + r * a.row;
#pragma GCC unroll 16
          for (int k = Count - 1; k > r; --k)
            for (int v = 0; v < Vectors; ++v) sum[r][v] -= splat(row[k * a.column]) * sum[k][v];
          for (int v = 0; v < Vectors && !unit; ++v) sum[r][v] /= splat(row[r * a.column]);
        }
        return;
      }
#pragma GCC unroll 16
      for (int r = 0; r < Count; ++r) {
        const T* row = a.data + r * a.row;
#pragma GCC unroll 16
        for (int k = 0; k < r; ++k)
          for (int v = 0; v < Vectors; ++v) sum[r][v] -= splat(row[k * a.column]) * sum[k][v];
        for (int v = 0; v < Vectors && !unit; ++v) sum[r][v] /= splat(row[r * a.column]);
      }
    }
  };

  // `each(block, first row)` for all rows of n, in blocks; from the last on if `backward`.
  template <typename Each>
  static void blocks(Index n, bool backward, Each&& each) {
    Index left = n;
    const auto those = [&](auto block, Index rows) {
      for (; left >= rows; left -= rows) each(block, backward ? left - rows : n - left);
    };
    those(Rows<DYCL_ROWS>(), DYCL_ROWS);
    those(Rows<4>(), 4);
    those(Rows<1>(), 1);
  }

  // x := M^-1 x, for the n rows of a strip.
  static void solve(Index n, const Triangle<T>& m, T* x) {
    blocks(n, m.upper, [&](auto rows, Index first) {
      constexpr int kRows = decltype(rows)::value;
      Block<kRows> block;
      block.load(x + first * kWidth);
      const T* row = m.of.data + first * m.of.row;
      const Index after = first + kRows;
      if (m.upper)
        block.subtract(n - after, {row + after * m.of.column, m.of.row, m.of.column}, x + after * kWidth);
      else
        block.subtract(first, {row, m.of.row, m.of.column}, x);
      block.solve({row + first * m.of.column, m.of.row, m.of.column}, m.upper, m.unit);
      block.store(x + first * kWidth);
    });
  }

  // y := y - a x, for y of n rows and x of count.
  static void subtract(Index n, Index count, Matrix<const T> a, T* x, T* y) {
    blocks(n, false, [&](auto rows, Index first) {
      Block<decltype(rows)::value> block;
      block.load(y + first * kWidth);
      block.subtract(count, {a.data + first * a.row, a.row, a.column}, x);
      block.store(y + first * kWidth);
    });
  }

  // ---- a strip in memory of its own ----

  static T* aligned(T* room) {
    const auto rest = reinterpret_cast<std::uintptr_t>(room) % DYCL_BYTES;
    return rest ? room + (DYCL_BYTES - rest) / sizeof(T) : room;
  }
  static void read(Index n, Index width, Matrix<const T> from, T* x) {
    if (width < kWidth) fill(x, n * kWidth, T(0));
    if (from.column == 1) {
      for (Index i = 0; i < n; ++i) copy(from.data + i * from.row, width, x + i * kWidth);
    } else {
      for (Index j = 0; j < width; ++j)
        for (Index i = 0; i < n; ++i) x[i * kWidth + j] = from.data[i * from.row + j * from.column];
    }
  }
  static void write(Index n, Index width, const T* x, Matrix<T> to) {
    if (to.column == 1) {
      for (Index i = 0; i < n; ++i) copy(x + i * kWidth, width, to.data + i * to.row);
    } else {
      for (Index j = 0; j < width; ++j)
        for (Index i = 0; i < n; ++i) to.data[i * to.row + j * to.column] = x[i * kWidth + j];
    }
  }

  // ---- LU ----

  // The first of the greatest of column k, from row `from` on.
  static Index greatest(Index from, Index rows, Index k, const T* x) {
    Index place = from;
    T most = size_of(x[from * kWidth + k]);
    for (Index i = from + 1; i < rows; ++i)
      if (const T size = size_of(x[i * kWidth + k]); size > most) most = size, place = i;
    return place;
  }

  // a - f b, rounded once or, as where products and sums are of their own, twice.
  template <bool Fused>
  static V less(V a, V f, V b) {
    V product = f * b;
#if defined(__x86_64__)
    if constexpr (!Fused) asm("" : "+v"(product));  // keeps the compiler from fusing
#endif
    return a - product;
  }

  // Factors a strip alone; `beside(i, j)` exchanges rows of what lies beside it. Pivots from 0, within the strip.
  template <typename Beside>
  static int factor(Index rows, Index width, const Rounding& how, T* x, Beside&& beside) {
    int info = 0;
    Index place = rows > 0 ? greatest(0, rows, 0, x) : 0;
    for (Index k = 0; k < least(rows, width); ++k) {
      if (place != k)
        exchange(x + k * kWidth, kWidth, x + place * kWidth);
      beside(k, place);
      const T pivot = x[k * kWidth + k];
      if (pivot == 0) {
        if (info == 0) info = static_cast<int>(k) + 1;
        if (k + 1 < least(rows, width)) place = greatest(k + 1, rows, k + 1, x);
        continue;
      }
      place = how.fused ? eliminate<true>(k, rows, least(rows, width), pivot, how.divides, x)
                        : eliminate<false>(k, rows, least(rows, width), pivot, how.divides, x);
    }
    return info;
  }

  // Takes row k off those below; where the next pivot is.
  template <bool Fused>
  static Index eliminate(Index k, Index rows, Index steps, T pivot, bool divides, T* x) {
    alignas(DYCL_BYTES) T taken[kWidth], here[kWidth], right[kWidth];
    for (Index j = 0; j < kWidth; ++j) taken[j] = x[k * kWidth + j], here[j] = T(j == k), right[j] = T(j > k);
    divides |= size_of(pivot) < std::numeric_limits<T>::min();  // its reciprocal may be infinite
    const T reciprocal = divides ? pivot : T(1) / pivot;
    const Index next = k + 1 < steps ? k + 1 : k, only = k / kLanes;
    Index place = k + 1;
    T most = -1;
    for (Index i = k + 1; i < rows; ++i) {
      T* row = x + i * kWidth;
      const T factor = divides ? row[k] / pivot : row[k] * reciprocal;
      const V f = splat(factor);
      for (int v = 0; v < Vectors; ++v) {
        if (v < only) continue;
        V* own = at(row, 0) + v;
        const V new_row = less<Fused>(*own, f, reinterpret_cast<V*>(taken)[v]);
        if (v == only)
          *own = reinterpret_cast<V*>(right)[v] != V{} ? new_row : reinterpret_cast<V*>(here)[v] != V{} ? f : *own;
        else
          *own = new_row;
      }
      const T size = size_of(row[next]);
      if (size > most || i == k + 1) most = size, place = i;
    }
    return place;
  }
};

// ---- one column ----

// A single unknown column, in blocks of as many rows as a vector has lanes. What lies beside a block of the triangle is
// taken off by whole vectors: along its rows, or along its columns.
template <typename T>
struct Column {
  using V = typename Strip<T, 1>::V;
  static constexpr Index kLanes = Strip<T, 1>::kLanes;

  static V load(const T* x) {
    V v;
    __builtin_memcpy(&v, x, sizeof(v));
    return v;
  }

  // The block's own triangle, of `rows` rows: what is found is taken off the others at once, which do not wait for
  // each other.
  static void solve_own(Index rows, const Matrix<const T>& a, bool upper, bool unit, T* x) {
    for (Index step = 0; step < rows; ++step) {
      const Index i = upper ? rows - 1 - step : step;
      const T* column = a.data + i * a.column;
      if (!unit) x[i] /= column[i * a.row];
      const T found = x[i];
      for (Index k = upper ? 0 : i + 1; k < (upper ? i : rows); ++k) x[k] -= column[k * a.row] * found;
    }
  }

  // y[0 .. rows) -= a x, rows of `count` elements.
  template <int Count>
  static void subtract_rows(Index count, const T* a, Index row, const T* x, T* y) {
    V sums[Count] = {};
    T rest[Count] = {};
    Index k = 0;
    for (; k + kLanes <= count; k += kLanes) {
      const V own = load(x + k);
#pragma GCC unroll 8
      for (int r = 0; r < Count; ++r) {
        __builtin_prefetch(a + (Count + r) * row + k);
        sums[r] += load(a + r * row + k) * own;
      }
    }
    for (; k < count; ++k)
      for (int r = 0; r < Count; ++r) rest[r] += a[r * row + k] * x[k];
    alignas(DYCL_BYTES) T parts[kLanes][Count];
    for (int r = 0; r < Count; ++r)
      for (Index l = 0; l < kLanes; ++l) parts[l][r] = sums[r][l];
    for (Index l = 0; l < kLanes; ++l)
      for (int r = 0; r < Count; ++r) rest[r] += parts[l][r];
    for (int r = 0; r < Count; ++r) y[r] -= rest[r];
  }

  // y[0 .. count) -= a x, for `columns` columns of a.
  static void subtract_columns(Index columns, Index count, const T* a, Index column, const T* x, T* y) {
    for (Index k = 0; k < columns; ++k)
      for (Index i = 0; i < count; ++i) y[i] -= a[k * column + i] * x[k];
  }

  static void solve(Index n, const Triangle<T>& m, T* x) {
    const Matrix<const T>& a = m.of;
    const Index count = (n + kLanes - 1) / kLanes;
    for (Index step = 0; step < count; ++step) {
      const Index first = (m.upper ? count - 1 - step : step) * kLanes, rows = n - first < kLanes ? n - first : kLanes;
      const Index from = m.upper ? first + rows : 0, to = m.upper ? n : first;  // the unknowns that are known
      const T* row = a.data + first * a.row;
      Index r = 0;
      if (a.row != 1) {
        const auto own = [&](Index i) { return row + i * a.row + from; };
        for (; r + 8 <= rows; r += 8) subtract_rows<8>(to - from, own(r), a.row, x + from, x + first + r);
        for (; r < rows; ++r) subtract_rows<1>(to - from, own(r), a.row, x + from, x + first + r);
      }
      solve_own(rows, {row + first * a.column, a.row, a.column}, m.upper, m.unit, x + first);
      if (a.row == 1) {
        const Index left = m.upper ? 0 : first + rows, end = m.upper ? first : n;
        subtract_columns(rows, end - left, a.data + left + first * a.column, a.column, x + first, x + left);
      }
    }
  }
};

// `each(strip, first, width)` for all strips of `count` columns: the last may be of one vector.
template <typename T, typename Each>
void strips(Index count, Each&& each) {
  constexpr Index kLanes = Strip<T, 1>::kLanes;
  Index first = 0;
  for (; count - first > kLanes; first += 2 * kLanes) each(Strip<T, 2>(), first, least(count - first, 2 * kLanes));
  if (first < count) each(Strip<T, 1>(), first, count - first);
}

template <typename T>
void solve(Index n, const Triangle<T>& m, Index count, const Matrix<T>& b, T* room) {
  if (count == 1 && (m.of.row == 1 || m.of.column == 1)) {
    for (Index i = 0; i < n; ++i) room[i] = b.data[i * b.row];
    Column<T>::solve(n, m, room);
    for (Index i = 0; i < n; ++i) b.data[i * b.row] = room[i];
    return;
  }
  strips<T>(count, [&](auto strip, Index first, Index width) {
    T* x = strip.aligned(room);
    const Matrix<T> part{b.data + first * b.column, b.row, b.column};
    strip.read(n, width, {part.data, part.row, part.column}, x);
    strip.solve(n, m, x);
    strip.write(n, width, x, part);
  });
}

template <typename T>
int factor(Index m, Index n, const Rounding& how, T* a, int* pivots, T* room) {
  int info = 0;
  strips<T>(n, [&](auto strip, Index first, Index width) {
    T* x = strip.aligned(room);
    const Index done = least(first, m);
    const Matrix<T> part{a + first, n, 1};
    strip.read(m, width, {part.data, n, 1}, x);
    strip.solve(done, {{a, n, 1}, false, true}, x);
    T* rest = x + done * strip.kWidth;
    strip.subtract(m - done, done, {a + done * n, n, 1}, x, rest);
    const int failed = strip.factor(m - done, width, how, rest, [&](Index i, Index j) {
      pivots[done + i] = static_cast<int>(done + j) + 1;
      if (i == j) return;
      T *one = a + (done + i) * n, *other = a + (done + j) * n;
      exchange(one, first, other);
      exchange(one + first + width, n - first - width, other + first + width);
    });
    if (failed && info == 0) info = static_cast<int>(done) + failed;
    strip.write(m, width, x, part);
  });
  return info;
}

// x := the columns first .. of L^-1, which begin with zeros.
template <typename T, typename S>
void columns_of_inverse(S strip, Index n, const Triangle<T>& lower, Index first, Index width, T* x) {
  fill(x, n * strip.kWidth, T(0));
  for (Index j = 0; j < width; ++j) x[(first + j) * strip.kWidth + j] = T(1);
  const Matrix<const T>& of = lower.of;
  strip.solve(n - first, {{of.data + first * (of.row + of.column), of.row, of.column}, false, lower.unit},
              x + first * strip.kWidth);
}

template <typename T>
void invert(Index n, const T* lu, T* to, T* room) {
  strips<T>(n, [&](auto strip, Index first, Index width) {
    T* x = strip.aligned(room);
    columns_of_inverse<T>(strip, n, {{lu, n, 1}, false, true}, first, width, x);
    strip.solve(n, {{lu, n, 1}, true, false}, x);
    strip.write(n, width, x, {to + first, n, 1});
  });
}

template <typename T>
void invert_square(Index n, const Triangle<T>& m, T* to, T* inverse, T* room) {
  const Triangle<T> lower = m.turned();  // M' is L: (L L')^-1 is the product of L^-1 turned and L^-1
  strips<T>(n, [&](auto strip, Index first, Index width) {
    T* x = strip.aligned(room);
    columns_of_inverse<T>(strip, n, lower, first, width, x);
    for (Index i = 0; i < n * strip.kWidth; ++i) x[i] = -x[i];
    strip.write(n, width, x, {inverse + first, n, 1});
  });
  strips<T>(n, [&](auto strip, Index first, Index width) {
    T* x = strip.aligned(room);
    strip.read(n, width, {inverse + first, n, 1}, x);
    alignas(DYCL_BYTES) T sums[DYCL_ROWS * Strip<T, 2>::kWidth];
    const Index last = first + width;  // rows beyond are those of the other half
    strip.blocks(last, false, [&](auto rows, Index row) {
      constexpr int kRows = decltype(rows)::value;
      typename decltype(strip)::template Block<kRows> block{};
      const Index from = row > first ? row : first;  // above, L^-1 is 0 in one or the other
      block.subtract(n - from, {inverse + from * n + row, 1, n}, x + from * strip.kWidth);
      block.store(sums);
      for (Index r = 0; r < kRows; ++r)
        for (Index j = 0; j < width; ++j) to[(row + r) * n + first + j] = -sums[r * strip.kWidth + j];
    });
  });
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < i; ++j) to[i * n + j] = to[j * n + i];
}

}  // namespace
}  // namespace dycl::backends::linear_algebra

#include "backends/kernels/linear_algebra/reflections_body.h"
#include "backends/kernels/linear_algebra/pivoted_body.h"
#include "backends/kernels/linear_algebra/tridiagonal_body.h"

namespace dycl::backends::linear_algebra {
namespace {

template <typename T>
constexpr Systems<T> kTable = {DYCL_SET,
                               Strip<T, 1>::kLanes,
                               solve<T>,
                               factor<T>,
                               invert<T>,
                               invert_square<T>,
                               factor_by_reflections<T>,
                               multiply_out<T>,
                               factor_pivoted<T>,
                               reflect_pivoted<T>,
                               reduce_symmetric<T>,
                               multiply_by_reflections<T>};

}  // namespace

extern const Systems<float> DYCL_SINGLE;
extern const Systems<double> DYCL_DOUBLE;
const Systems<float> DYCL_SINGLE = kTable<float>;
const Systems<double> DYCL_DOUBLE = kTable<double>;

}  // namespace dycl::backends::linear_algebra
