// SPDX-License-Identifier: Apache-2.0
#include "backends/kernels/linear_algebra/item.h"

namespace dycl::backends::linear_algebra {

namespace {

// c := (1 - tau v v') c for `count` columns of m elements; v[0] is 1.
template <typename T>
void reflect(std::int64_t m, std::int64_t count, const T* v, T tau, T* c, std::int64_t ldc) {
  for (std::int64_t j = 0; j < count; ++j) {
    T* column = c + j * ldc;
    T sum = column[0];
    for (std::int64_t i = 1; i < m; ++i) sum += v[i] * column[i];
    column[0] -= tau * sum;
    for (std::int64_t i = 1; i < m; ++i) column[i] -= tau * sum * v[i];
  }
}

// Step by step, as the formulas say: the library leaves out products with 0, which a NaN or an infinity makes NaN.
template <typename T>
void factor_plainly(std::int64_t m, std::int64_t n, T* a, T* tau) {
  for (std::int64_t k = 0; k < std::min(m, n); ++k) {
    T* v = a + k * m + k;
    T rest = 0;
    for (std::int64_t i = 1; i < m - k; ++i) rest += v[i] * v[i];
    tau[k] = 0;
    if (rest == 0) continue;
    const T length = -std::copysign(std::sqrt(v[0] * v[0] + rest), v[0]);
    tau[k] = (length - v[0]) / length;
    for (std::int64_t i = 1; i < m - k; ++i) v[i] /= v[0] - length;
    reflect(m - k, n - k - 1, v, tau[k], v + m, m);
    v[0] = std::isnan(tau[k]) ? tau[k] : length;  // as eager's library
  }
}

template <typename T>
void multiply_out_plainly(std::int64_t m, std::int64_t n, std::int64_t k, T* a, const T* tau) {
  for (std::int64_t j = k; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i) a[j * m + i] = T(i == j);
  for (std::int64_t j = k - 1; j >= 0; --j) {
    T* v = a + j * m + j;
    reflect(m - j, n - j - 1, v, tau[j], v + m, m);
    for (std::int64_t i = 1; i < m - j; ++i) v[i] *= -tau[j];
    v[0] = 1 - tau[j];
    std::fill_n(a + j * m, j, T(0));
  }
}

template <typename T>
void factor_qr(const Item<T>& x, int m, int n, T* a, T* tau) {
  if (!all_finite(a, std::int64_t{m} * n)) return factor_plainly<T>(m, n, a, tau);
  const int lda = leading(m);
  int info = 0;
  if (m > 0 && n > 0)
    x.with_work([&](T* work, int size) { Lapack<T>::geqrf(&m, &n, a, &lda, tau, work, &size, &info); });
}

template <typename T>
void multiply_out(const Item<T>& x, int m, int n, int k, T* a, const T* tau) {
  if (!all_finite(a, std::int64_t{m} * std::min(n, k)) || !all_finite(tau, k))
    return multiply_out_plainly<T>(m, n, k, a, tau);
  const int lda = leading(m);
  int info = 0;
  if (m > 0 && n > 0)
    x.with_work([&](T* work, int size) { Lapack<T>::orgqr(&m, &n, &k, a, &lda, tau, work, &size, &info); });
}

template <typename T>
void qr_of_usual_size(const Item<T>& x, std::int64_t wide) {
  const Reflections<T> all = reflections(x, x.rows(0), x.columns(0));
  T* room = room_for_reflections(x, x.rows(0));
  systems<T>().factor_by_reflections(x.in(0), all, false, x.problem.out[1].rows, x.out(1), room);
  if (x.how.mode != 2 && x.out(0)) systems<T>().multiply_out(all, wide, x.out(0), room);
}

}  // namespace

template <typename T>
void qr(const Item<T>& x) {
  const int m = x.rows(0), n = x.columns(0), k = std::min(m, n);
  const int wide = x.how.mode == 1 ? m : k;  // columns of Q
  if (has_usual_size(x.in(0), x.size(0))) return qr_of_usual_size(x, wide);
  T* a = x.by_columns(0, std::int64_t{m} * std::max(m, n));
  T* tau = x.scratch.template take<T>(k);
  factor_qr(x, m, n, a, tau);
  if (T* r = x.out(1))
    for (std::int64_t i = 0; i < x.problem.out[1].rows; ++i)
      for (std::int64_t j = 0; j < n; ++j) r[i * n + j] = i > j || i >= m ? T(0) : a[j * m + i];
  if (x.how.mode == 2 || !x.out(0)) return;
  multiply_out(x, m, wide, k, a, tau);
  x.give(0, a);
}

template <typename T>
void geqrf(const Item<T>& x) {
  const int m = x.rows(0), n = x.columns(0);
  if (has_usual_size(x.in(0), x.size(0))) {
    const Reflections<T> all = reflections(x, m, n, x.out(1));
    return systems<T>().factor_by_reflections(x.in(0), all, true, m, x.out(0), room_for_reflections(x, m));
  }
  T* a = x.by_columns(0);
  factor_qr(x, m, n, a, x.own_or_scratch(1, std::min(m, n)));
  x.give(0, a);
}

template <typename T>
void householder_product(const Item<T>& x) {
  T* a = x.by_columns(0);
  multiply_out(x, x.rows(0), x.columns(0), static_cast<int>(x.size(1)), a, x.in(1));
  x.give(0, a);
}

template <typename T>
void ormqr(const Item<T>& x) {
  const int m = x.rows(2), n = x.columns(2), k = static_cast<int>(x.size(1));
  const int lda = leading(x.rows(0)), ldc = leading(m);
  const char side = x.how.left ? 'L' : 'R', trans = x.how.adjoint ? 'T' : 'N';
  T *a = x.by_columns(0), *c = x.by_columns(2);
  int info = 0;
  if (m > 0 && n > 0 && k > 0)
    x.with_work([&](T* work, int size) {
      Lapack<T>::ormqr(&side, &trans, &m, &n, &k, a, &lda, x.in(1), c, &ldc, work, &size, &info, 1, 1);
    });
  x.give(0, c);
}

template void qr(const Item<float>&);
template void qr(const Item<double>&);
template void geqrf(const Item<float>&);
template void geqrf(const Item<double>&);
template void householder_product(const Item<float>&);
template void householder_product(const Item<double>&);
template void ormqr(const Item<float>&);
template void ormqr(const Item<double>&);

}  // namespace dycl::backends::linear_algebra
