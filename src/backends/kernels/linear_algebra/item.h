// SPDX-License-Identifier: Apache-2.0
// One matrix of a problem (linear_algebra.h) with the memory to work in, and the functions that compute an op of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include "backends/kernels/linear_algebra.h"
#include "backends/kernels/linear_algebra/lapack.h"
#include "backends/kernels/linear_algebra/systems.h"

namespace dycl::backends::linear_algebra {

inline constexpr int kNotFinite = -4;  // what LAPACK's gesdd says to an operand with NaN or infinity

// ---- working memory -------------------------------------------------------------------------------

// A thread's memory for one matrix at a time, handed out piece by piece. Grows to what the largest took.
class Scratch {
 public:
  void reset() {
    if (blocks_.size() > 1) {  // next time in one piece
      std::size_t total = 0;
      for (const Block& b : blocks_) total += b.size;
      blocks_.clear();
      add(total);
    }
    used_ = 0;
  }

  template <typename T>
  T* take(std::int64_t count) {
    constexpr std::size_t kLine = 64;
    const std::size_t size =
        (static_cast<std::size_t>(std::max<std::int64_t>(count, 1)) * sizeof(T) + kLine - 1) & ~(kLine - 1);
    if (blocks_.empty() || used_ + size > blocks_.back().size) {
      add(std::max(size, kLeast));
      used_ = 0;
    }
    void* at = blocks_.back().bytes.get() + used_;
    used_ += size;
    return static_cast<T*>(at);
  }

 private:
  static constexpr std::size_t kLeast = std::size_t{1} << 14;
  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
  };
  void add(std::size_t size) { blocks_.push_back({std::unique_ptr<std::byte[]>(new std::byte[size]), size}); }

  std::vector<Block> blocks_;
  std::size_t used_ = 0;
};

// ---- one matrix of a problem ------------------------------------------------------------------------

// `from`, rows x columns row by row, column by column: or the other way around, with the numbers exchanged.
template <typename T>
void turn(const T* from, std::int64_t rows, std::int64_t columns, T* to) {
  constexpr std::int64_t kTile = 16;
  for (std::int64_t i = 0; i < rows; i += kTile)
    for (std::int64_t j = 0; j < columns; j += kTile) {
      const std::int64_t i_end = std::min(rows, i + kTile), j_end = std::min(columns, j + kTile);
      for (std::int64_t r = i; r < i_end; ++r)
        for (std::int64_t c = j; c < j_end; ++c) to[c * rows + r] = from[r * columns + c];
    }
}

template <typename T>
struct Item {
  const Options& how;
  const Problem& problem;
  std::int64_t at;  // which one of the batch
  Scratch& scratch;

  int rows(std::size_t i) const { return static_cast<int>(problem.in[i].rows); }
  int columns(std::size_t i) const { return static_cast<int>(problem.in[i].columns); }
  std::int64_t size(std::size_t i) const { return problem.in[i].rows * problem.in[i].columns; }

  template <typename E = T>
  const E* in(std::size_t i) const {
    return static_cast<const E*>(problem.in[i].data) + at * problem.in[i].rows * problem.in[i].columns;
  }
  template <typename E = T>
  E* out(std::size_t i) const {
    const Problem::Part& part = problem.out[i];
    return part.data ? static_cast<E*>(part.data) + at * part.rows * part.columns : nullptr;
  }

  // A copy of operand i, column by column; in `room` elements, if that is more than it has.
  T* by_columns(std::size_t i, std::int64_t room = 0) const {
    T* copy = scratch.take<T>(std::max(size(i), room));
    turn(in(i), rows(i), columns(i), copy);
    return copy;
  }
  T* copy(std::size_t i) const {
    T* made = scratch.take<T>(size(i));
    std::copy_n(in(i), size(i), made);
    return made;
  }
  // Result i is the matrix that stands here column by column.
  void give(std::size_t i, const T* columns_of) const {
    if (T* to = out(i)) turn(columns_of, problem.out[i].columns, problem.out[i].rows, to);
  }
  void give_info(std::size_t i, int info) const {
    if (int* to = out<int>(i)) *to = info;
  }
  T* own_or_scratch(std::size_t i, std::int64_t count) const { return out(i) ? out(i) : scratch.take<T>(count); }

  // Calls a routine of LAPACK's twice: for the size of its working memory, then with it.
  template <typename Call>
  void with_work(Call&& call) const {
    T wanted = 0;
    call(&wanted, -1);
    // f32 cannot say every size exactly, and rounds down.
    const auto count = static_cast<std::int64_t>(std::nextafter(wanted, std::numeric_limits<T>::max())) + 1;
    if (count < 1 || count > std::numeric_limits<int>::max()) throw std::bad_alloc();  // it counts in 32 bits
    call(scratch.take<T>(count), static_cast<int>(count));
  }
};

inline int leading(int rows) { return std::max(rows, 1); }  // LAPACK wants at least 1

template <typename T>
bool any_nan(const T* a, std::int64_t count) {
  return std::any_of(a, a + count, [](T e) { return std::isnan(e); });
}

template <typename T>
bool all_finite(const T* a, std::int64_t count) {
  bool finite = true;  // of all, without an early end: so that the loop is one of vectors
  for (std::int64_t i = 0; i < count; ++i) finite &= std::fabs(a[i]) <= std::numeric_limits<T>::max();
  return finite;
}

// Whether reflections of our own (systems.h) may take it: no square or product of two elements overflows.
template <typename T>
bool has_usual_size(const T* a, std::int64_t count) {
  T most = 0;
  for (std::int64_t i = 0; i < count; ++i) most = std::fabs(a[i]) > most ? std::fabs(a[i]) : most;
  return all_finite(a, count) && (most == 0 || (most > T(1e-12) && most < T(1e15)));
}

// The half of n x n that is no result is 0. `upper`: row by row.
template <typename T>
void clear_other_half(T* a, std::int64_t n, bool upper) {
  for (std::int64_t i = 0; i < n; ++i) std::fill_n(a + i * n + (upper ? 0 : i + 1), upper ? i : n - i - 1, T(0));
}

// LU with pivots of m x n, row by row in place: LAPACK's info.
template <typename T>
int factor(const Item<T>& x, int m, int n, T* a, int* pivots);
// b := the solution of A b = b, or of A' b = b, for A as `factor` left it.
template <typename T>
void solve_factored(const Item<T>& x, bool transposed, int n, int count, const T* lu, const int* pivots,
                    const Matrix<T>& b);

// With memory for the reflections of m x n.
template <typename T>
Reflections<T> reflections(const Item<T>& x, std::int64_t m, std::int64_t n, T* tau = nullptr) {
  const Systems<T>& own = systems<T>();
  const std::int64_t k = std::min(m, n);
  return {m, n, tau ? tau : x.scratch.template take<T>(k), x.scratch.template take<T>(own.room_for_vectors(m, k)),
          x.scratch.template take<T>(own.room_for_triangles(k))};
}
template <typename T>
T* room_for_reflections(const Item<T>& x, std::int64_t m) {
  return x.scratch.template take<T>(systems<T>().room_for_reflections(m));
}

// b := M^-1 b, of n rows.
template <typename T>
void substitute(const Item<T>& x, int n, const Triangle<T>& m, int count, const Matrix<T>& b);

// The ops, for float and double.
template <typename T>
void lu_factor(const Item<T>& x);
template <typename T>
void lu_unpack(const Item<T>& x);
template <typename T>
void lu_solve(const Item<T>& x);
template <typename T>
void solve(const Item<T>& x);
template <typename T>
void inverse(const Item<T>& x);
template <typename T>
void det(const Item<T>& x);
template <typename T>
void solve_triangular(const Item<T>& x);
template <typename T>
void cholesky(const Item<T>& x);
template <typename T>
void cholesky_solve(const Item<T>& x);
template <typename T>
void cholesky_inverse(const Item<T>& x);
template <typename T>
void qr(const Item<T>& x);
template <typename T>
void geqrf(const Item<T>& x);
template <typename T>
void householder_product(const Item<T>& x);
template <typename T>
void ormqr(const Item<T>& x);
template <typename T>
void svd(const Item<T>& x);
template <typename T>
void eigh(const Item<T>& x);
template <typename T>
void eig(const Item<T>& x);
template <typename T>
void least_squares(const Item<T>& x);
template <typename T>
void matrix_exp(const Item<T>& x);
template <typename T>
void ldl_factor(const Item<T>& x);
template <typename T>
void ldl_solve(const Item<T>& x);

}  // namespace dycl::backends::linear_algebra
