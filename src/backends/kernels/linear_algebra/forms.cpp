// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>

#include "backends/kernels/linear_algebra.h"

namespace dycl::backends::linear_algebra {

// clang-format off
constexpr OpForm kForms[] = {
    {"LuFactor", "T", "Tii"},        {"LuUnpack", "Ti", "TTT"},    {"LuSolve", "TiT", "T"},
    {"Solve", "TT", "Ti"},           {"Inverse", "T", "Ti"},       {"Det", "T", "TTT"},
    {"SolveTriangular", "TT", "T"},  {"Cholesky", "T", "Ti"},      {"CholeskySolve", "TT", "T"},
    {"CholeskyInverse", "T", "Ti"},  {"Qr", "T", "TT"},            {"Geqrf", "T", "TT"},
    {"HouseholderProduct", "TT", "T"}, {"Ormqr", "TTT", "T"},      {"Svd", "T", "TTTi"},
    {"Eigh", "T", "TTi"},            {"Eig", "T", "TTi"},          {"LeastSquares", "TTT", "TTlTi"},
    {"MatrixExp", "T", "T"},         {"LdlFactor", "T", "Tii"},    {"LdlSolve", "TiT", "T"},
    {"FirstFailure", "i", "ll"},
};
// clang-format on
static_assert(std::size(kForms) == kOps);

const OpForm& form_of(Op op) { return kForms[static_cast<std::size_t>(op)]; }

namespace {

// How many of an operand's dims belong to one matrix.
std::size_t inner_rank(Op op, std::size_t operand) {
  const bool vector = (operand == 1 && (op == Op::LuUnpack || op == Op::LuSolve || op == Op::HouseholderProduct ||
                                        op == Op::Ormqr || op == Op::LdlSolve)) ||
                      (operand == 2 && op == Op::LeastSquares);
  return vector ? 1 : 2;
}

bool is_square(Op op) {
  switch (op) {
    case Op::LuFactor:
    case Op::LuUnpack:
    case Op::Qr:
    case Op::Geqrf:
    case Op::HouseholderProduct:
    case Op::Ormqr:
    case Op::Svd:
    case Op::LeastSquares:
    case Op::CholeskySolve:
    case Op::FirstFailure: return false;
    default: return true;
  }
}

// Whether the op has these options.
bool knows(Op op, const Options& how) {
  switch (op) {
    case Op::Qr: return how.mode >= 0 && how.mode <= 2;
    case Op::Svd: return how.vectors >= 0 && how.vectors <= 2;
    case Op::LeastSquares: return how.driver >= 0 && how.driver <= static_cast<std::int64_t>(Driver::Gelss);
    default: return true;
  }
}

// LAPACK counts in 32 bits.
bool are_countable(std::span<const Dims> operands) {
  return std::all_of(operands.begin(), operands.end(), [](const Dims& dims) {
    return std::all_of(dims.end() - std::min<std::ptrdiff_t>(2, std::ssize(dims)), dims.end(),
                       [](std::int64_t d) { return d <= std::numeric_limits<int>::max(); });
  });
}

std::optional<std::int64_t> product(std::span<const std::int64_t> dims) {
  std::int64_t n = 1;
  for (const std::int64_t d : dims)
    if (__builtin_mul_overflow(n, d, &n)) return std::nullopt;
  return n;
}

// Whether the extents of single matrices agree: what LAPACK would read beyond.
bool fits(Op op, const Options& how, std::span<const Dims> in) {
  const auto dim = [&](std::size_t i, int from_end) {
    return in[i][in[i].size() - static_cast<std::size_t>(from_end)];
  };
  if (is_square(op) && dim(0, 1) != dim(0, 2)) return false;
  const std::int64_t m = dim(0, 2), n = dim(0, 1);
  switch (op) {
    case Op::LuUnpack: return dim(1, 1) == std::min(m, n);
    case Op::LuSolve: return dim(1, 1) == n && dim(2, how.left ? 2 : 1) == n;
    case Op::LdlSolve: return dim(1, 1) == n && dim(2, 2) == n;
    case Op::Solve:
    case Op::SolveTriangular: return dim(1, how.left ? 2 : 1) == n;
    case Op::CholeskySolve: return dim(1, 1) == dim(1, 2) && dim(1, 1) == m;
    case Op::HouseholderProduct: return m >= n && dim(1, 1) <= n;
    case Op::Ormqr: return dim(2, how.left ? 2 : 1) == m && dim(1, 1) <= std::min(m, n);
    case Op::LeastSquares: return dim(1, 2) == m && in[2].size() == 1 && dim(2, 1) == 1;
    default: return true;
  }
}

std::vector<Dims> inner_shapes(Op op, const Options& how, std::int64_t m, std::int64_t n, std::span<const Dims> in) {
  const std::int64_t k = std::min(m, n);
  const auto last = [&](std::size_t i) { return Dims(in[i].end() - 2, in[i].end()); };
  switch (op) {
    case Op::LuFactor: return {{m, n}, {k}, {}};
    case Op::LuUnpack: return {{m, m}, {m, k}, {k, n}};
    case Op::LuSolve:
    case Op::Ormqr:
    case Op::LdlSolve: return {last(2)};
    case Op::Solve: return {last(1), {}};
    case Op::SolveTriangular: return {last(1)};
    case Op::Inverse:
    case Op::Cholesky:
    case Op::CholeskyInverse: return {{m, n}, {}};
    case Op::Det: return {{}, {}, {}};
    case Op::CholeskySolve:
    case Op::HouseholderProduct:
    case Op::MatrixExp: return {{m, n}};
    case Op::Qr: {
      const std::int64_t wide = how.mode == 1 ? m : k;
      return {how.mode == 2 ? Dims{0} : Dims{m, wide}, {wide, n}};
    }
    case Op::Geqrf: return {{m, n}, {k}};
    case Op::Svd:
      if (how.vectors == 0) return {{0}, {k}, {0}, {}};
      return {{m, how.vectors == 2 ? m : k}, {k}, {how.vectors == 2 ? n : k, n}, {}};
    case Op::Eigh: return {{n}, how.vectors ? Dims{n, n} : Dims{0}, {}};
    case Op::Eig: return {{n, 2}, how.vectors ? Dims{n, n, 2} : Dims{0}, {}};
    case Op::LeastSquares: return {{n, in[1].back()}, {in[1].back()}, {}, {k}, {}};
    case Op::LdlFactor: return {{m, n}, {n}, {}};
    case Op::FirstFailure: return {};
  }
  return {};
}

// A result without a part in each matrix of the batch: nobody asked for it.
bool is_left_out(Op op, const Options& how, std::size_t result) {
  return (op == Op::Qr && how.mode == 2 && result == 0) ||
         (how.vectors == 0 &&
          ((op == Op::Svd && result % 2 == 0) || ((op == Op::Eigh || op == Op::Eig) && result == 1)));
}

}  // namespace

std::vector<Dims> result_shapes(Op op, const Options& how, std::span<const Dims> operands) {
  const OpForm& form = form_of(op);
  if (operands.size() != form.in.size()) return {};
  if (op == Op::FirstFailure) return product(operands[0]) ? std::vector<Dims>{{}, {}} : std::vector<Dims>{};
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (operands[i].size() < inner_rank(op, i)) return {};
  const Dims batch(operands[0].begin(), operands[0].end() - 2);
  for (std::size_t i = 1; i < operands.size(); ++i) {
    const Dims other(operands[i].begin(), operands[i].end() - static_cast<std::ptrdiff_t>(inner_rank(op, i)));
    if (other != batch && !(op == Op::LeastSquares && i == 2)) return {};
  }
  if (!product(batch) || !knows(op, how) || !are_countable(operands) || !fits(op, how, operands)) return {};
  const std::int64_t m = operands[0].end()[-2], n = operands[0].back();
  std::vector<Dims> shapes = inner_shapes(op, how, m, n, operands);
  for (std::size_t i = 0; i < shapes.size(); ++i)
    if (!is_left_out(op, how, i)) shapes[i].insert(shapes[i].begin(), batch.begin(), batch.end());
  return shapes;
}

Problem problem_of(Op op, const Options& how, bool is_double, std::span<const Dims> operands,
                   std::span<const Dims> results) {
  Problem problem;
  problem.op = op;
  problem.how = how;
  problem.is_double = is_double;
  if (op == Op::FirstFailure) {
    for (const std::int64_t d : operands[0]) problem.in[0].rows *= d;
    return problem;
  }
  const std::size_t outer = operands[0].size() - 2;
  for (std::size_t i = 0; i < outer; ++i) problem.batch *= operands[0][i];
  const auto part = [](const Dims& dims, std::size_t inner) {
    Problem::Part made;
    if (inner > 0) made.columns = dims.back();
    if (inner > 1) made.rows = dims[dims.size() - 2];
    return made;
  };
  for (std::size_t i = 0; i < operands.size(); ++i) problem.in[i] = part(operands[i], inner_rank(op, i));
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (is_left_out(op, how, i)) continue;
    problem.out[i] = part(results[i], results[i].size() - outer);
    if (op == Op::Eig && results[i].size() - outer == 3) problem.out[i].rows *= results[i][outer];
  }
  return problem;
}

}  // namespace dycl::backends::linear_algebra
