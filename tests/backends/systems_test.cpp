// SPDX-License-Identifier: Apache-2.0
// Triangular systems and LU of every instruction set that this processor has, against plain loops.
#include "backends/kernels/linear_algebra/systems.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace dycl::backends::linear_algebra {
namespace {

using Index = std::int64_t;

// Of exactly as many elements as are said, so that a sanitizer sees what lies beyond.
template <typename T>
struct Array {
  explicit Array(Index count, T value = T(0)) : size(count), data(new T[static_cast<std::size_t>(count)]) {
    for (Index i = 0; i < count; ++i) data[i] = value;
  }
  Array(const Array& other) : Array(other.size) {
    for (Index i = 0; i < size; ++i) data[i] = other.data[i];
  }
  T& operator[](Index i) { return data[i]; }
  T* get() { return data.get(); }

  Index size;
  std::unique_ptr<T[]> data;
};

template <typename T>
class SystemsTest : public ::testing::Test {
 protected:
  static std::vector<const Systems<T>*> all() {
    std::size_t count = 0;
    const Systems<T>* const* tables = available_systems<T>(&count);
    return {tables, tables + count};
  }
  Array<T> random(Index count) {
    Array<T> made(count);
    std::uniform_real_distribution<T> value(-1, 1);
    for (Index i = 0; i < count; ++i) made[i] = value(generator_);
    return made;
  }
  // With a diagonal that keeps all answers about as large as what is asked.
  Array<T> regular(Index n) {
    Array<T> a = random(n * n);
    for (Index i = 0; i < n * n; ++i) a[i] /= static_cast<T>(n);
    for (Index i = 0; i < n; ++i) a[i * n + i] += 2;
    return a;
  }
  static T near(T factor) { return factor * 64 * std::numeric_limits<T>::epsilon(); }

 private:
  std::mt19937 generator_{7};
};

using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SystemsTest, Types);

const Index kSizes[] = {1, 2, 3, 4, 7, 8, 12, 13, 16, 17, 31, 33, 48, 65, 100};
const Index kCounts[] = {1, 2, 5, 16, 17, 33, 70};

// Row i of M times column j of x.
template <typename T>
double product(Index n, const Triangle<T>& m, const Matrix<T>& x, Index i, Index j) {
  double sum = 0;
  for (Index k = m.upper ? i : 0; k < (m.upper ? n : i + 1); ++k) {
    const double a = k == i && m.unit ? 1 : static_cast<double>(m.of.data[i * m.of.row + k * m.of.column]);
    sum += a * static_cast<double>(x.data[k * x.row + j * x.column]);
  }
  return sum;
}

template <typename T>
T farthest(Index n, Index count, const Triangle<T>& m, const Matrix<T>& x, const Matrix<T>& b) {
  double most = 0;
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < count; ++j)
      most = std::max(most, std::fabs(product(n, m, x, i, j) - static_cast<double>(b.data[i * b.row + j * b.column])));
  return static_cast<T>(most);
}

TYPED_TEST(SystemsTest, SolvesTrianglesOfEitherOrder) {
  using T = TypeParam;
  for (const auto* own : this->all())
    for (const Index n : kSizes)
      for (const Index count : kCounts)
        for (int how = 0; how < 16; ++how) {
          Array<T> a = this->regular(n), b = this->random(n * count), x = b, room(own->room_for(n));
          const Matrix<const T> rows{a.get(), n, 1};
          const Triangle<T> m{how & 1 ? rows.turned() : rows, (how & 2) != 0, (how & 4) != 0};
          const auto lies = [&](Array<T>& of) {
            return how & 8 ? Matrix<T>{of.get(), 1, n} : Matrix<T>{of.get(), count, 1};
          };
          own->solve(n, m, count, lies(x), room.get());
          EXPECT_LE(farthest(n, count, m, lies(x), lies(b)), this->near(1)) << own->name << n << "," << count << how;
        }
}

// Its triangle lies apart from other columns: any two distances.
TYPED_TEST(SystemsTest, SolvesATriangleWithGaps) {
  using T = TypeParam;
  for (const auto* own : this->all()) {
    Array<T> a = this->regular(40), b = this->random(20), x = b, room(own->room_for(20));
    for (Index i = 0; i < 20; ++i) a[i * 82] = 2;  // rows and columns are 2 apart
    const Triangle<T> m{{a.get(), 80, 2}, true};
    own->solve(20, m, 1, {x.get(), 1, 1}, room.get());
    EXPECT_LE(farthest<T>(20, 1, m, {x.get(), 1, 1}, {b.get(), 1, 1}), this->near(1)) << own->name;
  }
}

// LAPACK's getf2, column after column.
int factor_plainly(Index m, Index n, double* a, int* pivots) {
  int info = 0;
  for (Index k = 0; k < std::min(m, n); ++k) {
    Index p = k;
    for (Index i = k + 1; i < m; ++i)
      if (std::fabs(a[i * n + k]) > std::fabs(a[p * n + k])) p = i;
    pivots[k] = static_cast<int>(p) + 1;
    for (Index j = 0; j < n; ++j) std::swap(a[k * n + j], a[p * n + j]);
    if (a[k * n + k] == 0) {
      if (info == 0) info = static_cast<int>(k) + 1;
      continue;
    }
    for (Index i = k + 1; i < m; ++i) {
      a[i * n + k] /= a[k * n + k];
      for (Index j = k + 1; j < n; ++j) a[i * n + j] -= a[i * n + k] * a[k * n + j];
    }
  }
  return info;
}

TYPED_TEST(SystemsTest, FactorsWithLapacksPivots) {
  using T = TypeParam;
  for (const auto* own : this->all())
    for (const Index m : kSizes)
      for (const Index n : kSizes) {
        Array<T> a = this->random(m * n), room(own->room_for(m));
        Array<double> wanted(m * n);
        for (Index i = 0; i < m * n; ++i) wanted[i] = static_cast<double>(a[i]);
        Array<int> pivots(std::min(m, n)), of_wanted(std::min(m, n));
        EXPECT_EQ(factor_plainly(m, n, wanted.get(), of_wanted.get()),
                  own->factor(m, n, {}, a.get(), pivots.get(), room.get()));
        const T bound = this->near(static_cast<T>(std::min(m, n)));
        for (Index i = 0; i < m * n; ++i)
          ASSERT_NEAR(static_cast<double>(a[i]), wanted[i], static_cast<double>(bound) * (1 + std::fabs(wanted[i])))
              << own->name << m << "," << n << "," << i;
        for (Index i = 0; i < std::min(m, n); ++i) ASSERT_EQ(pivots[i], of_wanted[i]) << own->name;
      }
}

// The first column that is 0 is named, the rest is factored all the same.
TYPED_TEST(SystemsTest, SaysWhereAMatrixIsSingular) {
  using T = TypeParam;
  for (const auto* own : this->all())
    for (const Index zero : {0, 1, 15, 16, 32, 39}) {
      Array<T> a = this->regular(40), room(own->room_for(40));
      for (Index i = 0; i < 40; ++i) a[i * 40 + zero] = 0;
      Array<int> pivots(40);
      EXPECT_EQ(own->factor(40, 40, {}, a.get(), pivots.get(), room.get()), zero + 1) << own->name;
      for (Index i = 0; i < 40; ++i) EXPECT_TRUE(pivots[i] > i && pivots[i] <= 40);
      EXPECT_NE(a[39 * 40 + 39] == 0, zero != 39) << own->name;
    }
}

TYPED_TEST(SystemsTest, PivotsThatAreDenormalDivide) {
  using T = TypeParam;
  const T tiny = std::numeric_limits<T>::denorm_min() * 64;
  for (const auto* own : this->all()) {
    Array<T> a(4), room(own->room_for(2));
    a[0] = tiny, a[1] = 1, a[2] = tiny / 2, a[3] = 1;
    Array<int> pivots(2);
    EXPECT_EQ(own->factor(2, 2, {}, a.get(), pivots.get(), room.get()), 0);
    EXPECT_EQ(a[2], T(0.5)) << own->name;
    EXPECT_EQ(a[3], T(0.5)) << own->name;
  }
}

// Rounded as it is said, to the last bit, where one strip holds the matrix.
TYPED_TEST(SystemsTest, RoundsAsItIsTold) {
  using T = TypeParam;
  for (const auto* own : this->all())
    for (const bool divides : {false, true}) {
      const Index n = own->lanes;
      Array<T> a = this->random(n * n), wanted = a, room(own->room_for(n));
      Array<int> pivots(n);
      own->factor(n, n, {.fused = false, .divides = divides}, a.get(), pivots.get(), room.get());
      for (Index k = 0; k < n; ++k) {
        for (Index j = 0; j < n; ++j) std::swap(wanted[k * n + j], wanted[(pivots[k] - 1) * n + j]);
        const volatile T reciprocal = T(1) / wanted[k * n + k];
        for (Index i = k + 1; i < n; ++i) {
          wanted[i * n + k] = divides ? wanted[i * n + k] / wanted[k * n + k] : wanted[i * n + k] * reciprocal;
          for (Index j = k + 1; j < n; ++j) {
            const volatile T product = wanted[i * n + k] * wanted[k * n + j];
            wanted[i * n + j] -= product;
          }
        }
      }
      for (Index i = 0; i < n * n; ++i) EXPECT_EQ(a[i], wanted[i]) << own->name << divides << i;
    }
}

// A product with 0 counts: what meets a NaN is NaN.
TYPED_TEST(SystemsTest, NanGoesWhereTheFormulasLetIt) {
  using T = TypeParam;
  for (const auto* own : this->all())
    for (const Index count : {1, 20}) {
      Array<T> a = this->regular(30), b(30 * count), room(own->room_for(30));
      for (Index j = 0; j < 20; ++j) a[20 * 30 + j] = j == 5 ? std::numeric_limits<T>::quiet_NaN() : T(0);
      own->solve(30, {{a.get(), 30, 1}, false, false}, count, {b.get(), count, 1}, room.get());
      for (Index i = 0; i < 30 * count; ++i) EXPECT_EQ(std::isnan(b[i]), i / count >= 20) << own->name << i;
    }
}

TYPED_TEST(SystemsTest, APivotThatIsNanLeavesWhatIsDone) {
  using T = TypeParam;
  for (const auto* own : this->all())
    for (const Index at : {1, 17, 39}) {
      Array<T> a(40 * 40), room(own->room_for(40));
      for (Index i = 0; i < 40; ++i) a[i * 41] = i == at ? std::numeric_limits<T>::quiet_NaN() : T(1);
      Array<int> pivots(40);
      EXPECT_EQ(own->factor(40, 40, {}, a.get(), pivots.get(), room.get()), 0);
      for (Index i = 0; i < 40; ++i)
        for (Index j = 0; j < 40; ++j)
          EXPECT_EQ(std::isnan(a[i * 40 + j]), (i == at && j == at) || (i > at && j >= at)) << own->name << i << j;
    }
}

TYPED_TEST(SystemsTest, Inverts) {
  using T = TypeParam;
  for (const auto* own : this->all())
    for (const Index n : kSizes) {
      Array<T> a = this->regular(n), inverse(n * n), room(own->room_for(n));
      const Triangle<T> lower{{a.get(), n, 1}, false, true}, upper{{a.get(), n, 1}, true, false};
      own->invert(n, a.get(), inverse.get(), room.get());
      Array<T> back(n * n);  // L U times it
      for (Index j = 0; j < n; ++j) {
        Array<T> column(n);
        for (Index i = 0; i < n; ++i) column[i] = static_cast<T>(product<T>(n, upper, {inverse.get(), n, 1}, i, j));
        const Matrix<T> x{column.get(), 1, 1};
        for (Index i = 0; i < n; ++i) back[i * n + j] = static_cast<T>(product<T>(n, lower, x, i, 0));
      }
      for (Index i = 0; i < n * n; ++i)
        EXPECT_NEAR(back[i], i / n == i % n ? 1 : 0, this->near(1)) << own->name << n << "," << i;
    }
}

TYPED_TEST(SystemsTest, InvertsASquare) {
  using T = TypeParam;
  for (const auto* own : this->all())
    for (const Index n : kSizes)
      for (const bool turned : {false, true}) {
        Array<T> a = this->regular(n), found(n * n), memory(n * n), room(own->room_for(n));
        const Matrix<const T> rows{a.get(), n, 1};
        const Triangle<T> m{turned ? rows.turned() : rows, true};
        own->invert_square(n, m, found.get(), memory.get(), room.get());
        for (Index j = 0; j < n; ++j) {
          Array<T> column(n);  // M' (M x)
          for (Index i = 0; i < n; ++i) column[i] = static_cast<T>(product<T>(n, m, {found.get(), n, 1}, i, j));
          for (Index i = 0; i < n; ++i)
            EXPECT_NEAR(product<T>(n, m.turned(), {column.get(), 1, 1}, i, 0), i == j ? 1 : 0, this->near(1))
                << own->name << n << turned;
        }
      }
}

}  // namespace
}  // namespace dycl::backends::linear_algebra
