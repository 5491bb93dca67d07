// SPDX-License-Identifier: Apache-2.0
// Linear algebra as torch's CPU kernels do it: the same routines of LAPACK (here OpenBLAS's) on the same operands, so
// that signs, pivots, orders and the numbers of errors are those of eager execution.
//
// A problem is a batch of independent matrices of f32 or f64, one after the other, each row by row. What fails is said
// by `info`, LAPACK's: 0, or the number of the row, column or step where it could not go on. Nothing throws but the
// lack of memory. Threads may compute different matrices of one problem, or different problems; the library beneath
// starts no thread of its own. Working memory is the thread's own and stays with it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace dycl::backends::linear_algebra {

// What an op is given and gives, by the letters of `OpForm`: T are the elements' dtype, i is i32, l is i64.
enum class Op : std::int64_t {
  LuFactor = 0,        // A[m,n] -> LU[m,n], pivots i[k], info i[]
  LuUnpack,            // LU[m,n], pivots i[k] -> P[m,m], L[m,k], U[k,n]
  LuSolve,             // LU[n,n], pivots i[n], B -> X                {left, adjoint}
  Solve,               // A[n,n], B -> X, info i[]                    {left}
  Inverse,             // A[n,n] -> X[n,n], info i[]
  Det,                 // A[n,n] -> det[], sign[], logarithm[]        {adjoint: A' is factored}
  SolveTriangular,     // A[n,n], B -> X                              {left, upper, unit}
  Cholesky,            // A[n,n] -> L[n,n], info i[]                  {upper}
  CholeskySolve,       // B[n,r], L[n,n] -> X[n,r]                    {upper}
  CholeskyInverse,     // L[n,n] -> X[n,n], info i[]                  {upper}
  Qr,                  // A[m,n] -> Q, R                              {mode}
  Geqrf,               // A[m,n] -> A[m,n], tau[k]
  HouseholderProduct,  // A[m,n], tau[t] -> Q[m,n]
  Ormqr,               // A[.,t], tau[t], C[m,n] -> C[m,n]            {left, adjoint}
  Svd,                 // A[m,n] -> U, S[k], Vh, info i[]             {vectors: 0 none, 1 reduced, 2 full}
  Eigh,                // A[n,n] -> W[n], V[n,n], info i[]            {upper, vectors}
  Eig,                 // A[n,n] -> W[n,2], V[n,n,2], info i[]        {vectors}
  LeastSquares,        // A[m,n], B[m,r], rcond[1] -> X[n,r], rest[r], rank l[], S[k], info i[]  {driver}
  MatrixExp,           // A[n,n] -> E[n,n]
  LdlFactor,           // A[n,n] -> LD[n,n], pivots i[n], info i[]
  LdlSolve,            // LD[n,n], pivots i[n], B[n,r] -> X[n,r]
  FirstFailure,        // info i[] -> its place l[], info l[] of the first of the whole batch that is not 0, or 0
};
inline constexpr std::int64_t kOps = 22;

enum class Driver : std::int64_t { Gels = 0, Gelsy = 1, Gelsd = 2, Gelss = 3 };

struct Options {
  std::int64_t left = 1, adjoint = 0, upper = 0, unit = 0, vectors = 1;
  std::int64_t mode = 0;    // Qr: 0 reduced, 1 complete, 2 R alone
  std::int64_t driver = 1;  // LeastSquares
};

inline constexpr std::pair<const char*, std::int64_t Options::*> kOptions[] = {
    {"left", &Options::left},     {"adjoint", &Options::adjoint}, {"upper", &Options::upper},
    {"unit", &Options::unit},     {"vectors", &Options::vectors}, {"mode", &Options::mode},
    {"driver", &Options::driver},
};

using Dims = std::vector<std::int64_t>;

struct OpForm {
  const char* name;
  std::string_view in, out;  // a letter for each operand and result
};
const OpForm& form_of(Op op);

// The shapes of the results; empty where the operands' do not fit the op.
std::vector<Dims> result_shapes(Op op, const Options& how, std::span<const Dims> operands);

struct Problem {
  Op op{};
  Options how;
  bool is_double = false;
  std::int64_t batch = 1;  // matrices
  struct Part {
    void* data = nullptr;                // of a result: null if nobody reads it
    std::int64_t rows = 1, columns = 1;  // of one matrix
  };
  std::array<Part, 3> in;
  std::array<Part, 5> out;

  double work() const;  // about how many operations
};

// The operands' and results' parts; their data are the caller's to fill in.
Problem problem_of(Op op, const Options& how, bool is_double, std::span<const Dims> operands,
                   std::span<const Dims> results);

// Matrices first .. last - 1 of the batch.
void compute(const Problem& problem, std::int64_t first, std::int64_t last);

}  // namespace dycl::backends::linear_algebra
