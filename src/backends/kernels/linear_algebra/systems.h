// SPDX-License-Identifier: Apache-2.0
// Triangular systems and LU of our own, in blocks of vectors: the library's (OpenBLAS's) take up to twice the time of
// those that eager calls. A matrix lies at any two distances, so that its transpose and either order are the same to
// them; no product is left out, so a NaN or an infinity goes where the formulas let it go.
//
// Compiled for several instruction sets; `systems` picks one for the process.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dycl::backends::linear_algebra {

template <typename T>
struct Matrix {
  T* data = nullptr;
  std::int64_t row = 0, column = 1;  // distances of neighbours

  Matrix turned() const { return {data, column, row}; }
};

// The triangle of a matrix whose other half is not looked at; `unit`: its diagonal is 1.
template <typename T>
struct Triangle {
  Matrix<const T> of;
  bool upper = false, unit = false;

  Triangle turned() const { return {of.turned(), !upper, unit}; }
};

// How a matrix is factored to the last bit. Whether one whose rows depend on each other is singular is decided by that,
// so small ones are rounded as by eager's library (MKL), which fuses products and sums on Intel's processors alone.
struct Rounding {
  bool fused = true;
  bool divides = false;  // by the pivot, instead of multiplying by its reciprocal
};
Rounding rounding_of_eager(std::int64_t rows, std::int64_t columns);

// Of a matrix of `rows` x `columns` its QR: as many reflections as the lesser of both, in panels as `Systems` has them.
template <typename T>
struct Reflections {
  std::int64_t rows = 0, columns = 0;
  T *tau = nullptr, *vectors = nullptr, *triangles = nullptr;  // memory: one each, and as Systems says
};

template <typename T>
struct Systems {
  const char* name;
  std::int64_t lanes;  // elements of a vector
  // b := M^-1 b, of n rows. Its columns are solved in strips, in `room` (elements: `room_for`).
  void (*solve)(std::int64_t n, const Triangle<T>& m, std::int64_t count, const Matrix<T>& b, T* room);
  // LU with pivots of m x n, row by row in place: LAPACK's pivots, from 1, and its info.
  int (*factor)(std::int64_t m, std::int64_t n, const Rounding& how, T* a, int* pivots, T* room);
  // The inverse of L U, both in `lu` as `factor` leaves them, before columns are exchanged; into `to`, row by row.
  void (*invert)(std::int64_t n, const T* lu, T* to, T* room);
  // The inverse of M' M for the upper triangle m, row by row; `inverse`: memory of n x n.
  void (*invert_square)(std::int64_t n, const Triangle<T>& m, T* to, T* inverse, T* room);
  // QR of a, row by row, with LAPACK's signs, for numbers whose squares are finite. `r`, if it is anything: the first
  // `rows_of_r` rows of R, with the vectors below the diagonal or with 0.
  void (*factor_by_reflections)(const T* a, const Reflections<T>& to, bool keeps_vectors, std::int64_t rows_of_r, T* r,
                                T* room);
  // The first `wide` columns of Q.
  void (*multiply_out)(const Reflections<T>& from, std::int64_t wide, T* to, T* room);
  // QR of a with its columns in another `order`, as LAPACK's geqp3 has them, for as many rows as columns or more. R row
  // by row, of `row_of(columns)` elements each, somewhere in `r` (`room_for_pivoted`); null: numbers are too small.
  T* (*factor_pivoted)(const T* a, const Reflections<T>& to, T* r, std::int64_t* order, T* room);
  // b := Q' b, for what `factor_pivoted` made.
  void (*reflect_pivoted)(const Reflections<T>& from, std::int64_t count, const Matrix<T>& b, T* room);
  // The symmetric matrix whose lower triangle is a's, row by row, made tridiagonal: Q' A Q. Reflections of n - 1 rows
  // and columns, all rows but the first, are kept in `to`, if it is anything. False where numbers are too small.
  bool (*reduce_symmetric)(std::int64_t n, const T* a, const Reflections<T>* to, T* tau, T* diagonal, T* beside,
                           T* room);
  // to := Q b, row by row; b column by column.
  void (*multiply_by_reflections)(const Reflections<T>& from, const T* b, T* to, T* room);

  std::int64_t room_for(std::int64_t rows) const { return (rows + 1) * 2 * lanes; }
  std::int64_t row_of(std::int64_t columns) const { return ((columns + lanes - 1) / lanes | 1) * lanes; }
  std::int64_t room_for_pivoted(std::int64_t rows, std::int64_t columns) const {
    return rows * row_of(columns) + lanes;
  }
  std::int64_t room_for_norms(std::int64_t rows, std::int64_t columns) const {
    return 4 * row_of(columns) + 2 * row_of(rows) + lanes;
  }
  std::int64_t room_for_symmetric(std::int64_t n) const { return (n + 4) * row_of(n) + lanes; }
  std::int64_t room_for_reflections(std::int64_t rows) const { return room_for(rows) + room_for(2 * lanes); }
  std::int64_t room_for_vectors(std::int64_t rows, std::int64_t columns) const {
    return rows * (columns + 2 * lanes) + lanes;
  }
  std::int64_t room_for_triangles(std::int64_t count) const { return room_for(count + 2 * lanes); }
};

template <typename T>
const Systems<T>& systems();

// All that this processor can run, the best first; for tests.
template <typename T>
const Systems<T>* const* available_systems(std::size_t* count);

}  // namespace dycl::backends::linear_algebra
