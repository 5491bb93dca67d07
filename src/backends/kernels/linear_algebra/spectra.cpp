// SPDX-License-Identifier: Apache-2.0
#include "backends/kernels/linear_algebra/item.h"

namespace dycl::backends::linear_algebra {

// ---- spectra --------------------------------------------------------------------------------------------

namespace {

template <typename T>
void identity(T* a, std::int64_t n) {
  if (!a) return;
  std::fill_n(a, n * n, T(0));
  for (std::int64_t i = 0; i < n; ++i) a[i * n + i] = T(1);
}

}  // namespace

namespace {

// All results are NaN. The library would try to converge, or leave out what an infinity touches.
template <typename T>
void give_nan(const Item<T>& x, int info) {
  for (std::size_t i = 0; i < 3; ++i)
    if (T* to = i < 2 || x.problem.op == Op::Svd ? x.out(i) : nullptr)
      std::fill_n(to, x.problem.out[i].rows * x.problem.out[i].columns, std::numeric_limits<T>::quiet_NaN());
  x.give_info(x.problem.op == Op::Svd ? 3 : 2, info);
}

}  // namespace

template <typename T>
void svd(const Item<T>& x) {
  const int m = x.rows(0), n = x.columns(0), k = std::min(m, n);
  if (k == 0) {
    if (x.how.vectors == 2) identity(x.out(0), m), identity(x.out(2), n);
    return x.give_info(3, 0);
  }
  const int of_u = x.how.vectors == 2 ? m : k, of_v = x.how.vectors == 2 ? n : k;
  const bool vectors = x.how.vectors != 0 && (x.out(0) || x.out(2));  // those that nobody reads are not computed
  const char job = vectors ? "NSA"[x.how.vectors] : 'N';
  T* a = x.by_columns(0);
  if (!all_finite(a, x.size(0))) return give_nan(x, any_nan(a, x.size(0)) ? kNotFinite : 0);
  T* s = x.own_or_scratch(1, k);
  T* u = x.scratch.template take<T>(vectors ? std::int64_t{m} * of_u : 1);
  T* v = x.scratch.template take<T>(vectors ? std::int64_t{n} * of_v : 1);
  int* iwork = x.scratch.template take<int>(8 * std::int64_t{k});
  int info = 0;
  x.with_work([&](T* work, int size) {
    Lapack<T>::gesdd(&job, &m, &n, a, &m, s, u, &m, v, &of_v, work, &size, iwork, &info, 1);
  });
  if (vectors) x.give(0, u), x.give(2, v);
  x.give_info(3, info);
}

namespace {

constexpr int kReducedAtOnce = 256;  // rows; from there on the library's blocks are as fast

// By tridiagonalization of our own. False where it is not for such a matrix, or does not converge: nothing is given.
template <typename T>
bool eigh_of_usual_size(const Item<T>& x, bool vectors) {
  const int n = x.rows(0);
  if (n < 2 || n > kReducedAtOnce || x.how.upper || !has_usual_size(x.in(0), x.size(0))) return false;
  const Systems<T>& own = systems<T>();
  T *d = x.scratch.template take<T>(n), *e = x.scratch.template take<T>(n), *tau = x.scratch.template take<T>(n);
  Reflections<T> all;
  if (vectors) all = reflections(x, n - 1, n - 1, tau);
  T* room = x.scratch.template take<T>(own.room_for_symmetric(n));
  if (!own.reduce_symmetric(n, x.in(0), vectors ? &all : nullptr, tau, d, e, room)) return false;
  int info = 0;
  if (vectors) {
    const char job = 'I';
    const int size = 1 + 4 * n + n * n, isize = 3 + 5 * n;
    T *z = x.scratch.template take<T>(x.size(0)), *work = x.scratch.template take<T>(size);
    Lapack<T>::stedc(&job, &n, d, e, z, &n, work, &size, x.scratch.template take<int>(isize), &isize, &info, 1);
    if (info == 0) own.multiply_by_reflections(all, z, x.out(1), room_for_reflections(x, n));
  } else {
    Lapack<T>::sterf(&n, d, e, &info);
  }
  if (info != 0) return false;
  if (T* w = x.out(0)) std::copy_n(d, n, w);
  x.give_info(2, 0);
  return true;
}

}  // namespace

template <typename T>
void eigh(const Item<T>& x) {
  const int n = x.rows(0);
  const bool vectors = x.how.vectors != 0 && x.out(1);
  if (eigh_of_usual_size(x, vectors)) return;
  const char job = vectors ? 'V' : 'N', uplo = x.how.upper ? 'U' : 'L';
  T* a = x.by_columns(0);
  if (!all_finite(a, x.size(0))) {
    clear_other_half(a, n, uplo == 'L');  // what is not looked at may hold anything
    // Eager's library does not converge from 3 x 3 on, where there is a NaN.
    if (!all_finite(a, x.size(0))) return give_nan(x, n > 2 && any_nan(a, x.size(0)) ? n - (vectors ? 1 : 2) : 0);
  }
  T* w = x.own_or_scratch(0, n);
  int info = 0, isize = 0;
  int* iwork = &isize;
  if (n > 0)
    x.with_work([&](T* work, int size) {
      const int given = size < 0 ? -1 : isize;
      if (size >= 0) iwork = x.scratch.template take<int>(isize);
      Lapack<T>::syevd(&job, &uplo, &n, a, &n, w, work, &size, iwork, &given, &info, 1, 1);
    });
  if (vectors) x.give(1, a);
  x.give_info(2, info);
}

namespace {

// The vectors of LAPACK's: real ones as they are, pairs of complex ones as (real part, imaginary part).
template <typename T>
void give_complex_vectors(const Item<T>& x, std::int64_t n, const T* imaginary, const T* v) {
  T* to = x.out(1);
  if (!to) return;
  for (std::int64_t j = 0; j < n; ++j) {
    const bool first = imaginary[j] > 0 && j + 1 < n, second = imaginary[j] < 0 && j > 0;
    for (std::int64_t i = 0; i < n; ++i) {
      T* pair = to + (i * n + j) * 2;
      pair[0] = second ? v[(j - 1) * n + i] : v[j * n + i];
      pair[1] = first ? v[(j + 1) * n + i] : second ? -v[j * n + i] : T(0);
    }
  }
}

}  // namespace

template <typename T>
void eig(const Item<T>& x) {
  const int n = x.rows(0);
  T* a = x.by_columns(0);
  if (!std::all_of(a, a + x.size(0), [](T e) { return std::isfinite(e); })) return give_nan(x, kNotFinite);
  const bool vectors = x.how.vectors != 0 && x.out(1);
  const char left = 'N', right = vectors ? 'V' : 'N';
  T *real = x.scratch.template take<T>(n), *imaginary = x.scratch.template take<T>(n);
  T* v = x.scratch.template take<T>(vectors ? x.size(0) : 1);
  std::fill_n(real, n, T(0)), std::fill_n(imaginary, n, T(0));  // those that do not converge stay so
  int info = 0;
  const int one = 1;
  if (n > 0)
    x.with_work([&](T* work, int size) {
      Lapack<T>::geev(&left, &right, &n, a, &n, real, imaginary, nullptr, &one, v, &n, work, &size, &info, 1, 1);
    });
  if (T* w = x.out(0))
    for (std::int64_t i = 0; i < n; ++i) w[2 * i] = real[i], w[2 * i + 1] = imaginary[i];
  if (vectors) give_complex_vectors(x, n, imaginary, v);
  x.give_info(2, info);
}

template void svd(const Item<float>&);
template void svd(const Item<double>&);
template void eigh(const Item<float>&);
template void eigh(const Item<double>&);
template void eig(const Item<float>&);
template void eig(const Item<double>&);

}  // namespace dycl::backends::linear_algebra
