// SPDX-License-Identifier: Apache-2.0
#include "backends/kernels/linear_algebra/item.h"

namespace dycl::backends::linear_algebra {

namespace {

template <typename T>
struct System {  // of least squares, column by column
  int m, n, count, ldb;
  T *a, *b, *s;
  T rcond;
  int rank = 0, info = 0;
};

template <typename T>
void least_squares_by(const Item<T>& x, System<T>& y) {
  const int lda = leading(y.m);
  switch (static_cast<Driver>(x.how.driver)) {
    case Driver::Gels: {
      const char trans = 'N';
      return x.with_work([&](T* work, int size) {
        Lapack<T>::gels(&trans, &y.m, &y.n, &y.count, y.a, &lda, y.b, &y.ldb, work, &size, &y.info, 1);
      });
    }
    case Driver::Gelsy: {
      int* columns = x.scratch.template take<int>(y.n);
      std::fill_n(columns, y.n, 0);
      return x.with_work([&](T* work, int size) {
        Lapack<T>::gelsy(&y.m, &y.n, &y.count, y.a, &lda, y.b, &y.ldb, columns, &y.rcond, &y.rank, work, &size,
                         &y.info);
      });
    }
    case Driver::Gelsd: {
      int isize = 0;
      int* iwork = &isize;
      return x.with_work([&](T* work, int size) {
        if (size >= 0) iwork = x.scratch.template take<int>(isize);
        Lapack<T>::gelsd(&y.m, &y.n, &y.count, y.a, &lda, y.b, &y.ldb, y.s, &y.rcond, &y.rank, work, &size, iwork,
                         &y.info);
      });
    }
    case Driver::Gelss:
      return x.with_work([&](T* work, int size) {
        Lapack<T>::gelss(&y.m, &y.n, &y.count, y.a, &lda, y.b, &y.ldb, y.s, &y.rcond, &y.rank, work, &size, &y.info);
      });
  }
}

// What eager's library makes of such matrices: an error for NaN, one of each kind for an infinity.
template <typename T>
void not_finite(const Item<T>& x, System<T>& y) {
  const auto driver = static_cast<Driver>(x.how.driver);
  const bool fails = driver == Driver::Gels || driver == Driver::Gelsd || any_nan(y.a, x.size(0));
  if (fails) y.info = driver == Driver::Gels ? (any_nan(y.a, x.size(0)) ? kNotFinite - 1 : 1) : kNotFinite;
  const T all = driver == Driver::Gelsy && !fails ? T(0) : std::numeric_limits<T>::quiet_NaN();
  std::fill_n(y.b, std::int64_t{y.ldb} * y.count, all);
  std::fill_n(y.s, std::min(y.m, y.n), all);
}

// How many columns of R, upper triangular, are not nearly what those before them make up, as gelsy finds it.
template <typename T>
int rank_of(const Item<T>& x, int n, const T* r, std::int64_t row, T rcond) {
  const int kSmallest = 2, kGreatest = 1;
  T *small = x.scratch.template take<T>(n), *great = x.scratch.template take<T>(n);
  T* column = x.scratch.template take<T>(n);
  T least = std::fabs(r[0]), most = least;
  small[0] = great[0] = 1;
  int rank = 1;
  for (; rank < n; ++rank) {
    for (int i = 0; i <= rank; ++i) column[i] = r[i * row + rank];
    T next_least = 0, next_most = 0, s1 = 0, c1 = 0, s2 = 0, c2 = 0;
    Lapack<T>::laic1(&kSmallest, &rank, small, &least, column, column + rank, &next_least, &s1, &c1);
    Lapack<T>::laic1(&kGreatest, &rank, great, &most, column, column + rank, &next_most, &s2, &c2);
    if (!(next_most * rcond <= next_least)) return rank;
    for (int i = 0; i < rank; ++i) small[i] *= s1, great[i] *= s2;
    small[rank] = c1, great[rank] = c2, least = next_least, most = next_most;
  }
  return rank;
}

constexpr std::int64_t kCached = 1 << 20;  // bytes: a larger matrix does not stay near the processor between steps

// gelsy for a matrix of full rank by kernels of our own. False where it is none: nothing was done.
template <typename T>
bool solve_by_own_kernels(const Item<T>& x, T rcond) {
  const int m = x.rows(0), n = x.columns(0), count = x.columns(1);
  if (static_cast<Driver>(x.how.driver) != Driver::Gelsy || m < n || n == 0 || count == 0) return false;
  if (x.size(0) > kCached / std::int64_t{sizeof(T)} || !has_usual_size(x.in(0), x.size(0))) return false;
  if (!all_finite(x.in(1), x.size(1))) return false;
  const Systems<T>& own = systems<T>();
  const Reflections<T> all = reflections(x, m, n);
  auto* order = x.scratch.template take<std::int64_t>(n);
  const T* r = own.factor_pivoted(x.in(0), all, x.scratch.template take<T>(own.room_for_pivoted(m, n)), order,
                                  x.scratch.template take<T>(own.room_for_norms(m, n)));
  if (!r || rank_of(x, n, r, own.row_of(n), rcond) < n) return false;
  T* b = x.scratch.template take<T>(x.size(1));
  std::copy_n(x.in(1), x.size(1), b);
  own.reflect_pivoted(all, count, {b, count, 1}, room_for_reflections(x, m));
  substitute<T>(x, n, {{r, own.row_of(n), 1}, true}, count, {b, count, 1});
  if (T* to = x.out(0))
    for (int i = 0; i < n; ++i) std::copy_n(b + std::int64_t{i} * count, count, to + order[i] * count);
  if (T* rest = x.out(1)) {
    std::fill_n(rest, count, T(0));
    for (std::int64_t i = n; i < m; ++i)
      for (int j = 0; j < count; ++j) rest[j] += b[i * count + j] * b[i * count + j];
  }
  if (auto* rank = x.template out<std::int64_t>(2)) *rank = n;
  if (T* s = x.out(3)) std::fill_n(s, n, T(0));
  x.give_info(4, 0);
  return true;
}

}  // namespace

template <typename T>
void least_squares(const Item<T>& x) {
  if (solve_by_own_kernels(x, *static_cast<const T*>(x.problem.in[2].data))) return;
  System<T> y;
  y.m = x.rows(0), y.n = x.columns(0), y.count = x.columns(1), y.ldb = leading(std::max(y.m, y.n));
  y.a = x.by_columns(0);
  y.s = x.own_or_scratch(3, std::min(y.m, y.n));
  y.rcond = *static_cast<const T*>(x.problem.in[2].data);  // one for the batch
  y.b = x.scratch.template take<T>(std::int64_t{y.ldb} * y.count);
  std::fill_n(y.b, std::int64_t{y.ldb} * y.count, T(0));
  for (std::int64_t i = 0; i < y.m; ++i)
    for (std::int64_t j = 0; j < y.count; ++j) y.b[j * y.ldb + i] = x.in(1)[i * y.count + j];
  if (!all_finite(y.a, x.size(0))) {
    not_finite(x, y);
  } else if (y.m > 0 && y.n > 0 && y.count > 0) {
    least_squares_by(x, y);
  }
  if (T* to = x.out(0))
    for (std::int64_t i = 0; i < y.n; ++i)
      for (std::int64_t j = 0; j < y.count; ++j) to[i * y.count + j] = y.m > 0 ? y.b[j * y.ldb + i] : T(0);
  if (T* rest = x.out(1))
    for (std::int64_t j = 0; j < y.count; ++j) {
      rest[j] = 0;
      for (std::int64_t i = y.n; i < y.m; ++i) rest[j] += y.b[j * y.ldb + i] * y.b[j * y.ldb + i];
    }
  if (auto* rank = x.template out<std::int64_t>(2)) *rank = y.rank;
  x.give_info(4, y.info);
}

template void least_squares(const Item<float>&);
template void least_squares(const Item<double>&);

}  // namespace dycl::backends::linear_algebra
