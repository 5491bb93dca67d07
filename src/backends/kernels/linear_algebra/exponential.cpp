// SPDX-License-Identifier: Apache-2.0
#include "backends/kernels/linear_algebra/item.h"

#include <span>
#include <utility>

namespace dycl::backends::linear_algebra {

namespace {

template <typename T>
void product(int n, const T* a, const T* b, T* to) {
  const T one = 1, zero = 0;
  Lapack<T>::gemm("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, to, &n, 1, 1);
}

// to += f a, elementwise; on the diagonal d more.
template <typename T>
void add(T* to, T f, const T* a, std::int64_t n, T d = 0) {
  for (std::int64_t i = 0; i < n * n; ++i) to[i] += f * a[i];
  for (std::int64_t i = 0; i < n && d != 0; ++i) to[i * (n + 1)] += d;
}

// Higham's approximants: numerator p(A) and denominator p(-A) of odd degree, up to which 1-norm each is exact enough.
constexpr double kPade3[] = {120, 60, 12, 1};
constexpr double kPade5[] = {30240, 15120, 3360, 420, 30, 1};
constexpr double kPade7[] = {17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1};
constexpr double kPade9[] = {17643225600, 8821612800, 2075673600, 302702400, 30270240, 2162160, 110880, 3960, 90, 1};
constexpr double kPade13[] = {64764752532480000.,
                              32382376266240000.,
                              7771770303897600.,
                              1187353796428800.,
                              129060195264000.,
                              10559470521600.,
                              670442572800.,
                              33522128640.,
                              1323241920.,
                              40840800.,
                              960960.,
                              16380.,
                              182.,
                              1.};

struct Approximant {
  std::span<const double> p;
  double greatest;  // norm
};
template <typename T>
std::span<const Approximant> approximants() {
  static const Approximant single[] = {
      {kPade3, 4.258730016922831e-1}, {kPade5, 1.880152677804762}, {kPade7, 3.925724783138660}};
  static const Approximant wide[] = {{kPade3, 1.495585217958292e-2},
                                     {kPade5, 2.539398330063230e-1},
                                     {kPade7, 9.504178996162932e-1},
                                     {kPade9, 2.097847961257068},
                                     {kPade13, 5.371920351148152}};
  if constexpr (sizeof(T) == 4) return single;
  return wide;
}

// a := the exponential of a, whose norm is at most the approximant's.
template <typename T>
void exponential_of_small(const Item<T>& x, int n, T* a, std::span<const double> p) {
  const std::int64_t count = std::int64_t{n} * n;
  const std::size_t half = (p.size() - 1) / 2;  // even powers that are needed
  const auto c = [&](std::size_t i) { return static_cast<T>(p[i] / p.back()); };
  std::vector<T*> even;  // a^2, a^4, a^6 (and a^8)
  for (std::size_t i = 0; i < std::min<std::size_t>(half, p.size() == 14 ? 3 : 4); ++i) {
    even.push_back(x.scratch.template take<T>(count));
    product(n, i == 0 ? a : even[0], i == 0 ? a : even[i - 1], even[i]);
  }
  T *odd = x.scratch.template take<T>(count), *v = x.scratch.template take<T>(count);
  T* u = x.scratch.template take<T>(count);
  const auto sum = [&](std::size_t from, T* to) {  // c[from] + c[from + 2] a^2 + ...
    std::fill_n(to, count, T(0));
    for (std::size_t i = 0; i < even.size() && from + 2 * (i + 1) < p.size(); ++i)
      add(to, c(from + 2 * (i + 1)), even[i], n);
    for (std::int64_t i = 0; i < n; ++i) to[i * (n + 1)] += c(from);
  };
  if (p.size() == 14) {  // a^6 times the higher half, plus the lower one
    const auto both = [&](std::size_t parity, T* to) {
      std::fill_n(u, count, T(0));
      for (std::size_t i = 0; i < 3; ++i) add(u, c(8 + parity + 2 * i), even[i], n);
      product(n, even[2], u, to);
      for (std::size_t i = 0; i < 3; ++i) add(to, c(2 + parity + 2 * i), even[i], n, i == 0 ? c(parity) : T(0));
    };
    both(1, odd), both(0, v);
  } else {
    sum(1, odd), sum(0, v);
  }
  product(n, a, odd, u);
  for (std::int64_t i = 0; i < count; ++i) a[i] = v[i] + u[i], v[i] -= u[i];
  int* pivots = x.scratch.template take<int>(n);
  factor(x, n, n, v, pivots);
  solve_factored<T>(x, false, n, n, v, pivots, {a, n, 1});
}

}  // namespace

template <typename T>
void matrix_exp(const Item<T>& x) {
  const int n = x.rows(0);
  const std::int64_t count = x.size(0);
  T* a = x.copy(0);  // to the library it is the transpose, whose powers are the powers' transposes
  T norm = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    T sum = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += std::fabs(a[i * n + j]);
    if (!(sum <= norm)) norm = sum;
  }
  T* to = x.out(0);
  if (!to) return;
  if (!std::isfinite(norm)) return static_cast<void>(std::fill_n(to, count, std::numeric_limits<T>::quiet_NaN()));
  const auto all = approximants<T>();
  const auto fits = std::find_if(all.begin(), all.end(), [&](const Approximant& f) { return norm <= f.greatest; });
  const Approximant& chosen = fits == all.end() ? all.back() : *fits;
  int halvings = 0;
  if (fits == all.end()) halvings = std::max(0, static_cast<int>(std::ceil(std::log2(norm / chosen.greatest))));
  for (std::int64_t i = 0; i < count; ++i) a[i] = std::ldexp(a[i], -halvings);
  exponential_of_small(x, n, a, chosen.p);
  T* other = x.scratch.template take<T>(count);
  for (; halvings > 0; --halvings, std::swap(a, other)) product(n, a, a, other);
  std::copy_n(a, count, to);
}

template void matrix_exp(const Item<float>&);
template void matrix_exp(const Item<double>&);

}  // namespace dycl::backends::linear_algebra
