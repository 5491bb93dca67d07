// SPDX-License-Identifier: Apache-2.0
#include "backends/kernels/linear_algebra/item.h"

namespace dycl::backends::linear_algebra {

namespace {

template <typename T>
void exchange_rows(std::int64_t rows, std::int64_t columns, T* a, std::int64_t i, std::int64_t j) {
  for (std::int64_t k = 0; k < columns && i != j; ++k) std::swap(a[k * rows + i], a[k * rows + j]);
}

// Step by step, as the formulas say: the library leaves out products with 0, which a NaN or an infinity makes NaN.
template <typename T>
int factor_plainly(int m, int n, T* a, int* pivots) {
  int info = 0;
  for (std::int64_t k = 0; k < std::min(m, n); ++k) {
    T* column = a + k * m;
    std::int64_t p = k;
    for (std::int64_t i = k + 1; i < m; ++i)
      if (std::fabs(column[i]) > std::fabs(column[p])) p = i;
    pivots[k] = static_cast<int>(p) + 1;
    exchange_rows(m, n, a, k, p);
    if (column[k] == 0) {
      if (info == 0) info = static_cast<int>(k) + 1;
      continue;
    }
    for (std::int64_t i = k + 1; i < m; ++i) column[i] /= column[k];
    for (std::int64_t j = k + 1; j < n; ++j)
      for (std::int64_t i = k + 1; i < m; ++i) a[j * m + i] -= column[i] * a[j * m + k];
  }
  return info;
}

}  // namespace

template <typename T>
int factor(int m, int n, T* a, int* pivots) {
  if (!all_finite(a, std::int64_t{m} * n)) return factor_plainly(m, n, a, pivots);
  int info = 0;
  const int lda = leading(m);
  if (m > 0 && n > 0) Lapack<T>::getrf(&m, &n, a, &lda, pivots, &info);
  return info;
}

template <typename T>
void solve_factored(char trans, int n, int count, const T* lu, const int* pivots, T* b) {
  int info = 0;
  if (!all_finite(lu, std::int64_t{n} * n) || !all_finite(b, std::int64_t{n} * count)) {
    const bool forward = trans == 'N';
    for (int k = 0; k < n && forward; ++k) exchange_rows(n, count, b, k, pivots[k] - 1);
    substitute('L', forward ? 'L' : 'U', trans, forward, n, count, lu, b);
    substitute('L', forward ? 'U' : 'L', trans, !forward, n, count, lu, b);
    for (int k = n - 1; k >= 0 && !forward; --k) exchange_rows(n, count, b, k, pivots[k] - 1);
    return;
  }
  if (n > 0 && count > 0) Lapack<T>::getrs(&trans, &n, &count, lu, &n, pivots, b, &n, &info, 1);
}

namespace {

template <typename T>
bool takes_rows(int n, int count, const T* lu, const T* b) {
  return n > 0 && count > 1 && all_finite(lu, std::int64_t{n} * n) && all_finite(b, std::int64_t{n} * count);
}

// X of A X = B in the place of B, which lies row by row: to the library that is B', and X' A' = B' is solved from the
// right. Nothing is transposed, and its kernels for that side take half the time of those for the left on AVX-512.
template <typename T>
void solve_rows(int n, int count, const T* lu, const int* pivots, T* b) {
  for (std::int64_t k = 0; k < n; ++k)
    if (const std::int64_t other = pivots[k] - 1; other != k)
      std::swap_ranges(b + k * count, b + (k + 1) * count, b + other * count);
  const T one = 1;
  Lapack<T>::trsm("R", "L", "T", "U", &count, &n, &one, lu, &n, b, &count, 1, 1, 1, 1);
  Lapack<T>::trsm("R", "U", "T", "N", &count, &n, &one, lu, &n, b, &count, 1, 1, 1, 1);
}

}  // namespace

template <typename T>
void lu_factor(const Item<T>& x) {
  const int m = x.rows(0), n = x.columns(0);
  T* a = x.by_columns(0);
  int* pivots = x.template out<int>(1);
  if (!pivots) pivots = x.scratch.template take<int>(std::min(m, n));
  x.give_info(2, factor(m, n, a, pivots));
  x.give(0, a);
}

template <typename T>
void lu_unpack(const Item<T>& x) {
  const std::int64_t m = x.rows(0), n = x.columns(0), k = std::min(m, n);
  const T* lu = x.in(0);
  if (T* p = x.out(0)) {
    std::int64_t* order = x.scratch.template take<std::int64_t>(m);
    for (std::int64_t i = 0; i < m; ++i) order[i] = i;
    const int* pivots = x.template in<int>(1);
    for (std::int64_t i = 0; i < k; ++i)  // a pivot that is none is left out
      if (pivots[i] >= 1 && pivots[i] <= m) std::swap(order[i], order[pivots[i] - 1]);
    std::fill_n(p, m * m, T(0));
    for (std::int64_t i = 0; i < m; ++i) p[order[i] * m + i] = T(1);
  }
  if (T* l = x.out(1))
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < k; ++j) l[i * k + j] = j < i ? lu[i * n + j] : T(i == j);
  if (T* u = x.out(2))
    for (std::int64_t i = 0; i < k; ++i)
      for (std::int64_t j = 0; j < n; ++j) u[i * n + j] = j < i ? T(0) : lu[i * n + j];
}

namespace {

// X of A X = B, or of X A = B, which is A' X' = B': read row by row as columns, B is B' already.
template <typename T>
void solve_sides(const Item<T>& x, std::size_t operand, int n, const T* lu, const int* pivots, bool of_transposed) {
  T* out = x.out(0);
  if (x.how.left && !of_transposed && out && takes_rows(n, x.columns(operand), lu, x.in(operand))) {
    std::copy_n(x.in(operand), x.size(operand), out);
    solve_rows(n, x.columns(operand), lu, pivots, out);
  } else if (x.how.left) {
    T* b = x.by_columns(operand);
    solve_factored(of_transposed ? 'T' : 'N', n, x.columns(operand), lu, pivots, b);
    x.give(0, b);
  } else if (out) {
    std::copy_n(x.in(operand), x.size(operand), out);
    solve_factored(of_transposed ? 'N' : 'T', n, x.rows(operand), lu, pivots, out);
  }
}

}  // namespace

template <typename T>
void lu_solve(const Item<T>& x) {
  const int n = x.rows(0);
  int* pivots = x.scratch.template take<int>(n);
  for (int i = 0; i < n; ++i) pivots[i] = std::clamp(x.template in<int>(1)[i], 1, n);
  solve_sides(x, 2, n, x.by_columns(0), pivots, x.how.adjoint != 0);
}

template <typename T>
void solve(const Item<T>& x) {
  const int n = x.rows(0);
  T* a = x.by_columns(0);
  int* pivots = x.scratch.template take<int>(n);
  x.give_info(1, factor(n, n, a, pivots));
  solve_sides(x, 1, n, a, pivots, false);
}

template <typename T>
void inverse(const Item<T>& x) {
  const int n = x.rows(0);
  T* a = x.by_columns(0);
  int* pivots = x.scratch.template take<int>(n);
  x.give_info(1, factor(n, n, a, pivots));
  T* b = x.scratch.template take<T>(x.size(0));
  std::fill_n(b, x.size(0), T(0));
  for (std::int64_t i = 0; i < n; ++i) b[i * n + i] = T(1);
  T* out = x.out(0);
  if (out && takes_rows(n, n, a, b)) {
    std::copy_n(b, x.size(0), out);
    return solve_rows(n, n, a, pivots, out);
  }
  solve_factored('N', n, n, a, pivots, b);
  x.give(0, b);
}

template <typename T>
void det(const Item<T>& x) {
  const int n = x.rows(0);
  T* a = x.how.adjoint ? x.copy(0) : x.by_columns(0);  // the determinant of A' is A's
  int* pivots = x.scratch.template take<int>(n);
  factor(n, n, a, pivots);
  T parity = 1, product = 1, sign = 1, logarithm = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const T d = a[i * n + i];
    if (pivots[i] != i + 1) parity = -parity;
    product *= d;
    sign *= static_cast<T>((d > 0) - (d < 0));
    logarithm += std::log(std::fabs(d));
  }
  if (T* to = x.out(0)) *to = product * parity;
  if (T* to = x.out(1)) *to = sign * parity;
  if (T* to = x.out(2)) *to = logarithm;
}

template int factor(int, int, float*, int*);
template int factor(int, int, double*, int*);
template void solve_factored(char, int, int, const float*, const int*, float*);
template void solve_factored(char, int, int, const double*, const int*, double*);
template void lu_factor(const Item<float>&);
template void lu_factor(const Item<double>&);
template void lu_unpack(const Item<float>&);
template void lu_unpack(const Item<double>&);
template void lu_solve(const Item<float>&);
template void lu_solve(const Item<double>&);
template void solve(const Item<float>&);
template void solve(const Item<double>&);
template void inverse(const Item<float>&);
template void inverse(const Item<double>&);
template void det(const Item<float>&);
template void det(const Item<double>&);

}  // namespace dycl::backends::linear_algebra
