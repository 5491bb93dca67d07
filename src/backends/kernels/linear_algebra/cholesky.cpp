// SPDX-License-Identifier: Apache-2.0
#include "backends/kernels/linear_algebra/item.h"

namespace dycl::backends::linear_algebra {

// ---- triangular systems and Cholesky ----------------------------------------------------------------

namespace {

// Step by step, as the formulas say: the library leaves out products with 0, which a NaN or an infinity makes NaN.
template <typename T>
void substitute_plainly(bool left, bool upper, bool turned, bool unit, int m, int n, const T* a, T* b) {
  const std::int64_t order = left ? m : n, count = left ? n : m;
  const bool backward = upper != (turned != !left);  // b M is M' b', of the transposed matrix
  const auto at = [&](std::int64_t i, std::int64_t j) { return turned == left ? a[i * order + j] : a[j * order + i]; };
  const auto of = [&](std::int64_t i, std::int64_t j) -> T& { return left ? b[j * m + i] : b[i * m + j]; };
  for (std::int64_t c = 0; c < count; ++c)
    for (std::int64_t step = 0; step < order; ++step) {
      const std::int64_t i = backward ? order - 1 - step : step;
      T sum = of(i, c);
      for (std::int64_t k = backward ? i + 1 : 0; k < (backward ? order : i); ++k) sum -= at(i, k) * of(k, c);
      of(i, c) = unit ? sum : sum / at(i, i);
    }
}

template <typename T>
bool half_is_finite(const T* a, std::int64_t n, bool upper) {  // column by column
  for (std::int64_t j = 0; j < n; ++j)
    if (!all_finite(a + j * n + (upper ? 0 : j), upper ? j + 1 : n - j)) return false;
  return true;
}

}  // namespace

template <typename T>
void substitute(char side, char uplo, char trans, bool unit, int m, int n, const T* a, T* b) {
  const bool upper = uplo == 'U';
  if (!half_is_finite(a, side == 'L' ? m : n, upper) || !all_finite(b, std::int64_t{m} * n))
    return substitute_plainly(side == 'L', upper, trans == 'T', unit, m, n, a, b);
  const T one = 1;
  const int lda = leading(side == 'L' ? m : n), ldb = leading(m);
  const char diag = unit ? 'U' : 'N';
  if (m > 0 && n > 0) Lapack<T>::trsm(&side, &uplo, &trans, &diag, &m, &n, &one, a, &lda, b, &ldb, 1, 1, 1, 1);
}

// Read column by column, every matrix is its transpose: A X = B is X' A' = B', and the other half of A' is used.
template <typename T>
void solve_triangular(const Item<T>& x) {
  T* b = x.own_or_scratch(0, x.size(1));
  std::copy_n(x.in(1), x.size(1), b);
  substitute(x.how.left ? 'R' : 'L', x.how.upper ? 'L' : 'U', 'N', x.how.unit != 0, x.columns(1), x.rows(1), x.in(0),
             b);
}

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

// X' = B' (L L')^-1 or B' (U' U)^-1.
template <typename T>
void cholesky_solve(const Item<T>& x) {
  T* b = x.own_or_scratch(0, x.size(0));
  std::copy_n(x.in(0), x.size(0), b);
  const bool upper = x.how.upper != 0;
  const char uplo = upper ? 'L' : 'U';
  substitute('R', uplo, upper ? 'T' : 'N', false, x.columns(0), x.rows(0), x.in(1), b);
  substitute('R', uplo, upper ? 'N' : 'T', false, x.columns(0), x.rows(0), x.in(1), b);
}

template <typename T>
void cholesky_inverse(const Item<T>& x) {
  const int n = x.rows(0);
  T* a = x.own_or_scratch(0, x.size(0));
  std::copy_n(x.in(0), x.size(0), a);
  int info = 0;
  const char uplo = x.how.upper ? 'L' : 'U';
  if (!half_is_finite(a, n, uplo == 'U')) {
    T* inverse = x.scratch.template take<T>(x.size(0));
    std::fill_n(inverse, x.size(0), T(0));
    for (std::int64_t i = 0; i < n; ++i) inverse[i * n + i] = T(1);
    for (std::int64_t i = n - 1; i >= 0; --i)
      if (a[i * n + i] == 0) info = static_cast<int>(i) + 1;
    substitute('R', uplo, x.how.upper ? 'T' : 'N', false, n, n, a, inverse);
    substitute('R', uplo, x.how.upper ? 'N' : 'T', false, n, n, a, inverse);
    std::copy_n(inverse, x.size(0), a);
    return x.give_info(1, info);
  }
  if (n > 0) Lapack<T>::potri(&uplo, &n, a, &n, &info, 1);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < i; ++j)
      (x.how.upper ? a[i * n + j] : a[j * n + i]) = x.how.upper ? a[j * n + i] : a[i * n + j];
  x.give_info(1, info);
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

template void substitute(char, char, char, bool, int, int, const float*, float*);
template void substitute(char, char, char, bool, int, int, const double*, double*);
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
