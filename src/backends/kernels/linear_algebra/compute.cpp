// SPDX-License-Identifier: Apache-2.0
#include "backends/kernels/linear_algebra/item.h"

// The one function of Fortran's runtime library that the routines call: a // b, cut or padded to `size`.
extern "C" __attribute__((visibility("hidden"))) void _gfortran_concat_string(std::size_t size, char* to,
                                                                              std::size_t a_size, const char* a,
                                                                              std::size_t b_size, const char* b) {
  const std::size_t first = std::min(size, a_size), second = std::min(size - first, b_size);
  std::copy_n(a, first, to);
  std::copy_n(b, second, to + first);
  std::fill(to + first + second, to + size, ' ');
}

namespace dycl::backends::linear_algebra {
namespace {

template <typename T>
void compute_one(const Item<T>& x) {
  switch (x.problem.op) {
    case Op::LuFactor: return lu_factor(x);
    case Op::LuUnpack: return lu_unpack(x);
    case Op::LuSolve: return lu_solve(x);
    case Op::Solve: return solve(x);
    case Op::Inverse: return inverse(x);
    case Op::Det: return det(x);
    case Op::SolveTriangular: return solve_triangular(x);
    case Op::Cholesky: return cholesky(x);
    case Op::CholeskySolve: return cholesky_solve(x);
    case Op::CholeskyInverse: return cholesky_inverse(x);
    case Op::Qr: return qr(x);
    case Op::Geqrf: return geqrf(x);
    case Op::HouseholderProduct: return householder_product(x);
    case Op::Ormqr: return ormqr(x);
    case Op::Svd: return svd(x);
    case Op::Eigh: return eigh(x);
    case Op::Eig: return eig(x);
    case Op::LeastSquares: return least_squares(x);
    case Op::MatrixExp: return matrix_exp(x);
    case Op::LdlFactor: return ldl_factor(x);
    case Op::LdlSolve: return ldl_solve(x);
    case Op::FirstFailure: return;
  }
}

template <typename T>
void compute_all(const Problem& problem, std::int64_t first, std::int64_t last) {
  static thread_local Scratch scratch;
  for (std::int64_t at = first; at < last; ++at) {
    scratch.reset();
    compute_one(Item<T>{problem.how, problem, at, scratch});
  }
}

void first_failure(const Problem& problem) {
  const int* info = static_cast<const int*>(problem.in[0].data);
  const std::int64_t count = problem.in[0].rows;
  const std::int64_t at = std::find_if(info, info + count, [](int i) { return i != 0; }) - info;
  if (problem.out[0].data) *static_cast<std::int64_t*>(problem.out[0].data) = at < count ? at : 0;
  if (problem.out[1].data) *static_cast<std::int64_t*>(problem.out[1].data) = at < count ? info[at] : 0;
}

}  // namespace

double Problem::work() const {
  const auto m = static_cast<double>(in[0].rows), n = static_cast<double>(in[0].columns);
  return static_cast<double>(batch) * m * n * std::min(m, n);
}

void compute(const Problem& problem, std::int64_t first, std::int64_t last) {
  if (problem.op == Op::FirstFailure) return first_failure(problem);
  problem.is_double ? compute_all<double>(problem, first, last) : compute_all<float>(problem, first, last);
}

}  // namespace dycl::backends::linear_algebra
