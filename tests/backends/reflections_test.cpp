// SPDX-License-Identifier: Apache-2.0
// QR, with columns exchanged or not, and tridiagonal matrices by reflections, of every instruction set that this
// processor has: what they make is multiplied out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "backends/kernels/linear_algebra/systems.h"

namespace dycl::backends::linear_algebra {
namespace {

using Index = std::int64_t;

// Row by row, of exactly as many elements as are said, so that a sanitizer sees what lies beyond.
template <typename T>
struct Rows {
  Rows(Index m, Index n) : rows(m), columns(n), data(static_cast<std::size_t>(m * n)) { data.shrink_to_fit(); }
  T& operator()(Index i, Index j) { return data[static_cast<std::size_t>(i * columns + j)]; }
  const T& operator()(Index i, Index j) const { return data[static_cast<std::size_t>(i * columns + j)]; }
  Rows turned() const {
    Rows made(columns, rows);
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < columns; ++j) made(j, i) = (*this)(i, j);
    return made;
  }

  Index rows, columns;
  std::vector<T> data;
};

template <typename T>
std::vector<T> memory(Index count) {
  return std::vector<T>(static_cast<std::size_t>(count), std::numeric_limits<T>::quiet_NaN());
}

template <typename T>
Rows<T> product(const Rows<T>& a, const Rows<T>& b) {
  Rows<T> made(a.rows, b.columns);
  for (Index i = 0; i < a.rows; ++i)
    for (Index j = 0; j < b.columns; ++j) {
      double sum = 0;
      for (Index k = 0; k < a.columns; ++k) sum += static_cast<double>(a(i, k)) * static_cast<double>(b(k, j));
      made(i, j) = static_cast<T>(sum);
    }
  return made;
}

template <typename T>
Rows<T> identity(Index n) {
  Rows<T> made(n, n);
  for (Index i = 0; i < n; ++i) made(i, i) = 1;
  return made;
}

// How far apart, measured by each column's greatest element of b.
template <typename T>
T distance(const Rows<T>& a, const Rows<T>& b) {
  T most = 0;
  for (Index j = 0; j < b.columns; ++j) {
    T greatest = 0, apart = 0;
    for (Index i = 0; i < b.rows; ++i) {
      greatest = std::max(greatest, std::fabs(b(i, j)));
      const T d = std::fabs(a(i, j) - b(i, j));
      apart = d <= apart ? apart : d;  // NaN is far
    }
    most = std::max(most, std::isnan(apart) ? T(1) : greatest == 0 ? apart : apart / greatest);
  }
  return most;
}

template <typename T>
struct Made {  // the memory of reflections
  Made(const Systems<T>& own, Index m, Index n)
      : tau(memory<T>(std::min(m, n))),
        vectors(memory<T>(own.room_for_vectors(m, std::min(m, n)))),
        triangles(memory<T>(own.room_for_triangles(std::min(m, n)))),
        all{m, n, tau.data(), vectors.data(), triangles.data()} {}

  std::vector<T> tau, vectors, triangles;
  Reflections<T> all;
};

template <typename T>
class ReflectionsTest : public ::testing::Test {
 protected:
  static std::vector<const Systems<T>*> all() {
    std::size_t count = 0;
    const Systems<T>* const* tables = available_systems<T>(&count);
    return {tables, tables + count};
  }
  Rows<T> random(Index m, Index n) {
    Rows<T> made(m, n);
    std::uniform_real_distribution<T> value(-1, 1);
    for (T& x : made.data) x = value(generator_);
    return made;
  }
  static constexpr T kNear = 64 * std::numeric_limits<T>::epsilon();

  // Q and R of a, by these kernels.
  static std::pair<Rows<T>, Rows<T>> factors(const Systems<T>& own, const Rows<T>& a, Index wide) {
    Made<T> made(own, a.rows, a.columns);
    std::vector<T> room = memory<T>(own.room_for_reflections(a.rows));
    Rows<T> q(a.rows, wide), r(wide, a.columns);
    own.factor_by_reflections(a.data.data(), made.all, false, wide, r.data.data(), room.data());
    own.multiply_out(made.all, wide, q.data.data(), room.data());
    return {q, r};
  }

 private:
  std::mt19937 generator_{11};
};

using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ReflectionsTest, Types);

const std::pair<Index, Index> kShapes[] = {{1, 1},   {2, 2},   {3, 5},   {5, 3},   {16, 16},
                                           {17, 15}, {15, 17}, {33, 33}, {40, 10}, {10, 40},
                                           {64, 31}, {31, 64}, {70, 70}, {50, 1},  {1, 50}};

TYPED_TEST(ReflectionsTest, QAndRMakeUpTheMatrix) {
  using T = TypeParam;
  for (const auto* own : this->all())
    for (const auto& [m, n] : kShapes)
      for (const Index wide : {std::min(m, n), m}) {
        const Rows<T> a = this->random(m, n);
        const auto [q, r] = this->factors(*own, a, wide);
        EXPECT_LE(distance(product(q, r), a), this->kNear) << own->name << m << "x" << n;
        EXPECT_LE(distance(product(q.turned(), q), identity<T>(wide)), this->kNear) << own->name << m << "x" << n;
        for (Index i = 0; i < wide; ++i)
          for (Index j = 0; j < std::min(i, n); ++j) EXPECT_EQ(r(i, j), 0);
        if (m > 1) {
          EXPECT_EQ(std::signbit(r(0, 0)), !std::signbit(a(0, 0))) << "the sign is not LAPACK's";
        }
      }
}

TYPED_TEST(ReflectionsTest, SmallColumnsAreAsExactAsGreatOnes) {
  using T = TypeParam;
  for (const auto* own : this->all()) {
    Rows<T> a = this->random(40, 35);
    for (Index j = 0; j < 35; ++j) {
      const Index digits = j % 5 == 4 ? (sizeof(T) == 4 ? 25 : 200) : j % 5;
      for (Index i = 0; i < 40; ++i) a(i, j) *= std::pow(T(10), -static_cast<T>(digits));
    }
    const auto [q, r] = this->factors(*own, a, 35);
    EXPECT_LE(distance(product(q, r), a), this->kNear) << own->name;
    EXPECT_LE(distance(product(q.turned(), q), identity<T>(35)), this->kNear) << own->name;
  }
}

TYPED_TEST(ReflectionsTest, AColumnOfZerosIsNotReflected) {
  using T = TypeParam;
  for (const auto* own : this->all()) {
    Rows<T> a = this->random(6, 6);
    for (Index i = 0; i < 6; ++i) a(i, 2) = 0, a(i, 4) = a(i, 1);
    const auto [q, r] = this->factors(*own, a, 6);
    EXPECT_LE(distance(product(q, r), a), this->kNear) << own->name;
    EXPECT_EQ(r(2, 2), 0);
  }
}

// Below the diagonal stand the vectors: what geqrf gives, from which Q can be made with tau.
TYPED_TEST(ReflectionsTest, VectorsAreLeftBelowTheDiagonal) {
  using T = TypeParam;
  for (const auto* own : this->all()) {
    const Rows<T> a = this->random(20, 18);
    Made<T> made(*own, 20, 18);
    std::vector<T> room = memory<T>(own->room_for_reflections(20));
    Rows<T> found(20, 18);
    own->factor_by_reflections(a.data.data(), made.all, true, 20, found.data.data(), room.data());
    Rows<T> q = identity<T>(20);
    for (Index k = 17; k >= 0; --k) {
      Rows<T> v(20, 1);
      v(k, 0) = 1;
      for (Index i = k + 1; i < 20; ++i) v(i, 0) = found(i, k);
      const Rows<T> taken = product(v, product(v.turned(), q));
      for (Index i = 0; i < 20; ++i)
        for (Index j = 0; j < 20; ++j) q(i, j) -= made.tau[static_cast<std::size_t>(k)] * taken(i, j);
      for (Index i = k + 1; i < 20; ++i) found(i, k) = 0;
    }
    EXPECT_LE(distance(product(q, found), a), this->kNear) << own->name;
  }
}

TYPED_TEST(ReflectionsTest, ColumnsComeBySize) {
  using T = TypeParam;
  for (const auto* own : this->all())
    for (const auto& [m, n] : kShapes) {
      if (m < n) continue;
      const Rows<T> a = this->random(m, n);
      Made<T> made(*own, m, n);
      std::vector<T> kept = memory<T>(own->room_for_pivoted(m, n)), norms = memory<T>(own->room_for_norms(m, n));
      std::vector<T> room = memory<T>(own->room_for_reflections(m));
      std::vector<Index> order(static_cast<std::size_t>(n));
      const T* r = own->factor_pivoted(a.data.data(), made.all, kept.data(), order.data(), norms.data());
      ASSERT_TRUE(r);
      Rows<T> reflected(m, n), wanted(m, n);  // Q' of the columns in that order is R
      for (Index i = 0; i < m; ++i)
        for (Index j = 0; j < n; ++j) {
          reflected(i, j) = a(i, order[static_cast<std::size_t>(j)]);
          wanted(i, j) = i <= j ? r[i * own->row_of(n) + j] : T(0);
        }
      own->reflect_pivoted(made.all, n, {reflected.data.data(), n, 1}, room.data());
      EXPECT_LE(distance(reflected, wanted), this->kNear) << own->name << m << "x" << n;
      for (Index k = 0; k + 1 < n; ++k)
        EXPECT_GE(std::fabs(wanted(k, k)) * (1 + this->kNear), std::fabs(wanted(k + 1, k + 1))) << own->name;
    }
}

TYPED_TEST(ReflectionsTest, NumbersTooSmallToBeSquaredAreLeftToLapack) {
  using T = TypeParam;
  for (const auto* own : this->all()) {
    Rows<T> a = this->random(5, 5);
    for (Index i = 0; i < 5; ++i) a(i, 3) = std::numeric_limits<T>::min() * a(i, 3);
    Made<T> made(*own, 5, 5);
    std::vector<T> kept = memory<T>(own->room_for_pivoted(5, 5)), norms = memory<T>(own->room_for_norms(5, 5));
    std::vector<Index> order(5);
    EXPECT_EQ(own->factor_pivoted(a.data.data(), made.all, kept.data(), order.data(), norms.data()), nullptr);
    std::vector<T> d = memory<T>(5), e = memory<T>(5), room = memory<T>(own->room_for_symmetric(5));
    for (T& x : a.data) x = std::numeric_limits<T>::min();
    EXPECT_FALSE(own->reduce_symmetric(5, a.data.data(), nullptr, made.tau.data(), d.data(), e.data(), room.data()));
  }
}

TYPED_TEST(ReflectionsTest, ASymmetricMatrixIsItsTridiagonalOne) {
  using T = TypeParam;
  for (const auto* own : this->all())
    for (const Index n : {2, 3, 4, 9, 16, 17, 33, 34, 65, 100}) {
      const Rows<T> a = this->random(n, n);  // its upper triangle is not looked at
      Rows<T> whole(n, n), tridiagonal(n, n);
      for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j) whole(i, j) = i >= j ? a(i, j) : a(j, i);
      Made<T> made(*own, n - 1, n - 1);
      std::vector<T> d = memory<T>(n), e = memory<T>(n - 1), room = memory<T>(own->room_for_symmetric(n));
      ASSERT_TRUE(own->reduce_symmetric(n, a.data.data(), &made.all, made.tau.data(), d.data(), e.data(), room.data()));
      for (Index i = 0; i < n; ++i) {
        tridiagonal(i, i) = d[static_cast<std::size_t>(i)];
        if (i + 1 < n) tridiagonal(i, i + 1) = tridiagonal(i + 1, i) = e[static_cast<std::size_t>(i)];
      }
      const Rows<T> one = identity<T>(n);
      Rows<T> q(n, n);
      std::vector<T> working = memory<T>(own->room_for_reflections(n));
      own->multiply_by_reflections(made.all, one.data.data(), q.data.data(), working.data());
      EXPECT_LE(distance(product(q.turned(), q), identity<T>(n)), this->kNear) << own->name << n;
      EXPECT_LE(distance(product(product(q, tridiagonal), q.turned()), whole), 4 * this->kNear) << own->name << n;
    }
}

}  // namespace
}  // namespace dycl::backends::linear_algebra
