// SPDX-License-Identifier: Apache-2.0
#include "backends/kernels/linear_algebra/item.h"

namespace dycl::backends::linear_algebra {

// ---- triangular systems and Cholesky ----------------------------------------------------------------

template <typename T>
void substitute(const Item<T>& x, int n, const Triangle<T>& m, int count, const Matrix<T>& b) {
  const Systems<T>& own = systems<T>();
  own.solve(n, m, count, b, x.scratch.template take<T>(own.room_for(n)));
}

template <typename T>
void solve_triangular(const Item<T>& x) {
  T* out = x.own_or_scratch(0, x.size(1));
  std::copy_n(x.in(1), x.size(1), out);
  const Triangle<T> a{{x.in(0), x.rows(0), 1}, x.how.upper != 0, x.how.unit != 0};
  const Matrix<T> b{out, x.columns(1), 1};
  if (x.how.left)
    substitute(x, x.rows(0), a, x.columns(1), b);
  else
    substitute(x, x.rows(0), a.turned(), x.rows(1), b.turned());
}

namespace {

template <typename T>
bool half_is_finite(const T* a, std::int64_t n, bool upper) {
  for (std::int64_t i = 0; i < n; ++i)
    if (!all_finite(a + i * n + (upper ? i : 0), upper ? n - i : i + 1)) return false;
  return true;
}

}  // namespace

template <typename T>
void cholesky(const Item<T>& x) {
  const int n = x.rows(0);
  T* a = x.own_or_scratch(0, x.size(0));
  std::copy_n(x.in(0), x.size(0), a);
  int info = 0;
  const char uplo = x.how.upper ? 'L' : 'U';
  if (n > 0) Lapack<T>::potrf(&uplo, &n, a, &n, &info, 1);
  for (std::int64_t i = 0; i < n && info == 0; ++i)  // some routines do not see a NaN
    if (!(a[i * n + i] > 0)) info = static_cast<int>(i) + 1;
  clear_other_half(a, n, x.how.upper != 0);
  x.give_info(1, info);
}

// b := (L L')^-1 b or (U' U)^-1 b.
template <typename T>
static void substitute_both(const Item<T>& x, int n, const Triangle<T>& factor, int count, const Matrix<T>& b) {
  substitute(x, n, factor.upper ? factor.turned() : factor, count, b);
  substitute(x, n, factor.upper ? factor : factor.turned(), count, b);
}

template <typename T>
void cholesky_solve(const Item<T>& x) {
  T* b = x.own_or_scratch(0, x.size(0));
  std::copy_n(x.in(0), x.size(0), b);
  const int n = x.rows(1);
  substitute_both<T>(x, n, {{x.in(1), n, 1}, x.how.upper != 0}, x.columns(0), {b, x.columns(0), 1});
}

// L^-1 by `inverse`, then L'^-1 L^-1, without what is 0: as eager, where a NaN touches only what it stands in.
template <typename T>
static void invert_square_plainly(std::int64_t n, const Matrix<const T>& l, T* to, T* inverse) {
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = j; i < n; ++i) {
      T sum = T(i == j);
      for (std::int64_t k = j; k < i; ++k) sum -= l.data[i * l.row + k * l.column] * inverse[k * n + j];
      inverse[i * n + j] = sum / l.data[i * (l.row + l.column)];
    }
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j <= i; ++j) {
      T sum = 0;
      for (std::int64_t k = i; k < n; ++k) sum += inverse[k * n + i] * inverse[k * n + j];
      to[i * n + j] = to[j * n + i] = sum;
    }
}

template <typename T>
void cholesky_inverse(const Item<T>& x) {
  const int n = x.rows(0);
  const Triangle<T> given{{x.in(0), n, 1}, x.how.upper != 0};
  int info = 0;
  for (std::int64_t i = n - 1; i >= 0; --i)
    if (given.of.data[i * n + i] == 0) info = static_cast<int>(i) + 1;
  x.give_info(1, info);
  T* to = x.out(0);
  if (!to) return;
  if (info != 0) {
    std::fill_n(to, x.size(0), T(0));
    for (std::int64_t i = 0; i < n; ++i) to[i * n + i] = T(1);
    return substitute_both<T>(x, n, given, n, {to, n, 1});
  }
  T* inverse = x.scratch.template take<T>(x.size(0));
  if (!half_is_finite(given.of.data, n, given.upper))
    return invert_square_plainly<T>(n, given.upper ? given.of.turned() : given.of, to, inverse);
  const Systems<T>& own = systems<T>();
  own.invert_square(n, given.upper ? given : given.turned(), to, inverse, x.scratch.template take<T>(own.room_for(n)));
}

// ---- indefinite symmetric matrices --------------------------------------------------------------------------

template <typename T>
void ldl_factor(const Item<T>& x) {
  const int n = x.rows(0);
  const char uplo = 'L';
  T* a = x.by_columns(0);
  int* pivots = x.template out<int>(1);
  if (!pivots) pivots = x.scratch.template take<int>(n);
  int info = 0;
  const bool is_nan = any_nan(a, x.size(0));
  if (is_nan) {  // the library goes on as if that column were 0; eager's says nothing of it
    std::fill_n(a, x.size(0), std::numeric_limits<T>::quiet_NaN());
    for (int i = 0; i < n; ++i) pivots[i] = i + 1;
  } else if (n > 0) {
    x.with_work([&](T* work, int size) { Lapack<T>::sytrf(&uplo, &n, a, &n, pivots, work, &size, &info, 1); });
  }
  x.give(0, a);
  if (x.out(0)) clear_other_half(x.out(0), n, false);
  x.give_info(2, info);
}

namespace {

// `given` as the factorization gives them: the row exchanged with row k (from 1), or, negative, with the second or both
// rows of a block of two. A pivot that is none exchanges nothing: the library would read beyond the matrix.
void take_pivots(const int* given, int n, int* pivots) {
  for (int k = 0; k < n; ++k) {
    const bool block = given[k] < 0 && k + 1 < n && given[k + 1] < 0;
    if (block) {
      for (const int i : {k, k + 1}) pivots[i] = given[i] >= -n ? given[i] : -(i + 1);
      ++k;
    } else {
      pivots[k] = given[k] >= 1 && given[k] <= n ? given[k] : k + 1;
    }
  }
}

}  // namespace

template <typename T>
void ldl_solve(const Item<T>& x) {
  const int n = x.rows(0), count = x.columns(2);
  const char uplo = 'L';
  T* b = x.by_columns(2);
  int* pivots = x.scratch.template take<int>(n);
  take_pivots(x.template in<int>(1), n, pivots);
  int info = 0;
  if (n > 0 && count > 0) Lapack<T>::sytrs(&uplo, &n, &count, x.by_columns(0), &n, pivots, b, &n, &info, 1);
  x.give(0, b);
}

template void substitute(const Item<float>&, int, const Triangle<float>&, int, const Matrix<float>&);
template void substitute(const Item<double>&, int, const Triangle<double>&, int, const Matrix<double>&);
template void solve_triangular(const Item<float>&);
template void solve_triangular(const Item<double>&);
template void cholesky(const Item<float>&);
template void cholesky(const Item<double>&);
template void cholesky_solve(const Item<float>&);
template void cholesky_solve(const Item<double>&);
template void cholesky_inverse(const Item<float>&);
template void cholesky_inverse(const Item<double>&);
template void ldl_factor(const Item<float>&);
template void ldl_factor(const Item<double>&);
template void ldl_solve(const Item<float>&);
template void ldl_solve(const Item<double>&);

}  // namespace dycl::backends::linear_algebra
