// SPDX-License-Identifier: Apache-2.0
#include "backends/kernels/linear_algebra/item.h"

namespace dycl::backends::linear_algebra {

namespace {

template <typename T>
void lu_factor_into(const Item<T>& x, T* lu, int* pivots, std::size_t info) {
  std::copy_n(x.in(0), x.size(0), lu);
  const int failed = factor(x, x.rows(0), x.columns(0), lu, pivots);
  if (info) x.give_info(info, failed);
}

// In the order in which they were factored, or back.
template <typename T>
void exchange_rows(std::int64_t n, std::int64_t count, const int* pivots, bool back, const Matrix<T>& b) {
  for (std::int64_t step = 0; step < n; ++step) {
    const std::int64_t k = back ? n - 1 - step : step, other = pivots[k] - 1;
    for (std::int64_t j = 0; j < count && other != k; ++j)
      std::swap(b.data[k * b.row + j * b.column], b.data[other * b.row + j * b.column]);
  }
}

// The inverse of P A is the inverse of A with its columns exchanged: exchanges them back.
template <typename T>
void return_columns(const Item<T>& x, std::int64_t n, const int* pivots, T* a) {
  std::int64_t* place = x.scratch.template take<std::int64_t>(n);
  for (std::int64_t j = 0; j < n; ++j) place[j] = j;
  for (std::int64_t k = 0; k < n; ++k) std::swap(place[k], place[pivots[k] - 1]);
  T* row = x.scratch.template take<T>(n);
  for (std::int64_t i = 0; i < n; ++i) {
    std::copy_n(a + i * n, n, row);
    for (std::int64_t j = 0; j < n; ++j) a[i * n + place[j]] = row[j];
  }
}

}  // namespace

template <typename T>
int factor(const Item<T>& x, int m, int n, T* a, int* pivots) {
  const Systems<T>& own = systems<T>();
  return own.factor(m, n, rounding_of_eager(m, n), a, pivots, x.scratch.template take<T>(own.room_for(m)));
}

template <typename T>
void solve_factored(const Item<T>& x, bool transposed, int n, int count, const T* lu, const int* pivots,
                    const Matrix<T>& b) {
  const Triangle<T> lower{{lu, n, 1}, false, true}, upper{{lu, n, 1}, true, false};
  if (!transposed) exchange_rows(n, count, pivots, false, b);
  substitute(x, n, transposed ? upper.turned() : lower, count, b);
  substitute(x, n, transposed ? lower.turned() : upper, count, b);
  if (transposed) exchange_rows(n, count, pivots, true, b);
}

template <typename T>
void lu_factor(const Item<T>& x) {
  T* lu = x.own_or_scratch(0, x.size(0));
  int* pivots = x.template out<int>(1);
  if (!pivots) pivots = x.scratch.template take<int>(std::min(x.rows(0), x.columns(0)));
  lu_factor_into(x, lu, pivots, 2);
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

// X of A X = B or, on the right, of X A = B, which is A' X' = B'; of A' in the place of A if `adjoint`.
template <typename T>
void solve_sides(const Item<T>& x, std::size_t operand, bool adjoint, const T* lu, const int* pivots) {
  T* out = x.out(0);
  if (!out) return;
  std::copy_n(x.in(operand), x.size(operand), out);
  const bool left = x.how.left != 0;
  const Matrix<T> b{out, x.columns(operand), 1};
  const int n = left ? x.rows(operand) : x.columns(operand), count = left ? x.columns(operand) : x.rows(operand);
  solve_factored(x, adjoint == left, n, count, lu, pivots, left ? b : b.turned());
}

}  // namespace

template <typename T>
void lu_solve(const Item<T>& x) {
  const int n = x.rows(0);
  int* pivots = x.scratch.template take<int>(n);
  for (int i = 0; i < n; ++i) pivots[i] = std::clamp(x.template in<int>(1)[i], 1, n);
  solve_sides(x, 2, x.how.adjoint != 0, x.in(0), pivots);
}

template <typename T>
void solve(const Item<T>& x) {
  T* lu = x.scratch.template take<T>(x.size(0));
  int* pivots = x.scratch.template take<int>(x.rows(0));
  lu_factor_into(x, lu, pivots, 1);
  solve_sides(x, 1, false, lu, pivots);
}

template <typename T>
void inverse(const Item<T>& x) {
  const int n = x.rows(0);
  T* lu = x.scratch.template take<T>(x.size(0));
  int* pivots = x.scratch.template take<int>(n);
  lu_factor_into(x, lu, pivots, 1);
  T* to = x.out(0);
  if (!to) return;
  if (!all_finite(lu, x.size(0))) {  // what `invert` takes for 0 would be NaN
    std::fill_n(to, x.size(0), T(0));
    for (std::int64_t i = 0; i < n; ++i) to[i * n + i] = T(1);
    return solve_factored(x, false, n, n, lu, pivots, {to, n, 1});
  }
  const Systems<T>& own = systems<T>();
  own.invert(n, lu, to, x.scratch.template take<T>(own.room_for(n)));
  return_columns(x, n, pivots, to);
}

template <typename T>
void det(const Item<T>& x) {
  const int n = x.rows(0);
  T* a = x.scratch.template take<T>(x.size(0));
  int* pivots = x.scratch.template take<int>(n);
  if (x.how.adjoint) {  // the determinant of A' is A's
    turn(x.in(0), n, n, a);
    factor(x, n, n, a, pivots);
  } else {
    lu_factor_into(x, a, pivots, 0);
  }
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

template int factor(const Item<float>&, int, int, float*, int*);
template int factor(const Item<double>&, int, int, double*, int*);
template void solve_factored(const Item<float>&, bool, int, int, const float*, const int*, const Matrix<float>&);
template void solve_factored(const Item<double>&, bool, int, int, const double*, const int*, const Matrix<double>&);
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
