// SPDX-License-Identifier: Apache-2.0
// Shapes of the results of the domain "linalg", whose ops say there what they are given and give
// (backends/kernels/linear_algebra.h).
#include <cstddef>

#include "passes/shape_rules.h"

namespace dycl::passes {
namespace {

using ir::Dim;
using Shapes = std::vector<Shape>;

// A batch of matrices: its dims, and m x n with the smaller of them.
struct Batch {
  Dims outer;
  Dim m = Dim::opaque(), n = Dim::opaque(), k = Dim::opaque();

  Shape with(const Dims& inner) const {
    Dims dims = outer;
    dims.insert(dims.end(), inner.begin(), inner.end());
    return dims;
  }
};

std::optional<Batch> batch_of(const ShapeQuery& q) {
  const Shape shape = q.shape(0);
  if (!shape || shape->size() < 2) return std::nullopt;
  Batch b;
  b.outer.assign(shape->begin(), shape->end() - 2);
  b.m = shape->end()[-2], b.n = shape->end()[-1];
  if (b.m == b.n && !b.m.is_opaque()) b.k = b.m;
  if (b.m.is_known() && b.n.is_known()) b.k = Dim::of(std::min(b.m.value, b.n.value));
  return b;
}

// A rule that is told the matrices of its first operand.
template <Shapes (*rule)(const ShapeQuery&, const Batch&)>
Shapes of_batch(const ShapeQuery& q) {
  const auto b = batch_of(q);
  return b ? rule(q, *b) : Shapes();
}

template <std::size_t operand>
Shapes as_operand(const ShapeQuery& q, const Batch& b) {
  return {q.shape(operand), b.with({})};
}

Shapes lu_factor(const ShapeQuery&, const Batch& b) { return {b.with({b.m, b.n}), b.with({b.k}), b.with({})}; }
Shapes lu_unpack(const ShapeQuery&, const Batch& b) {
  return {b.with({b.m, b.m}), b.with({b.m, b.k}), b.with({b.k, b.n})};
}
Shapes matrix_and_info(const ShapeQuery&, const Batch& b) { return {b.with({b.m, b.n}), b.with({})}; }
Shapes three_numbers(const ShapeQuery&, const Batch& b) { return {b.with({}), b.with({}), b.with({})}; }
Shapes matrix_and_tau(const ShapeQuery&, const Batch& b) { return {b.with({b.m, b.n}), b.with({b.k})}; }

Shapes qr(const ShapeQuery& q, const Batch& b) {
  const std::int64_t mode = q.integer("mode", 0);
  const Dim wide = mode == 1 ? b.m : b.k;
  return {mode == 2 ? Shape(Dims{Dim::of(0)}) : b.with({b.m, wide}), b.with({wide, b.n})};
}

Shapes svd(const ShapeQuery& q, const Batch& b) {
  const std::int64_t vectors = q.integer("vectors", 1);
  const Shape none = Dims{Dim::of(0)};
  if (vectors == 0) return {none, b.with({b.k}), none, b.with({})};
  return {b.with({b.m, vectors == 2 ? b.m : b.k}), b.with({b.k}), b.with({vectors == 2 ? b.n : b.k, b.n}), b.with({})};
}

Shapes eigh(const ShapeQuery& q, const Batch& b) {
  return {b.with({b.n}), q.integer("vectors", 1) ? b.with({b.n, b.n}) : Shape(Dims{Dim::of(0)}), b.with({})};
}

Shapes eig(const ShapeQuery& q, const Batch& b) {
  const Dim two = Dim::of(2);
  return {b.with({b.n, two}), q.integer("vectors", 1) ? b.with({b.n, b.n, two}) : Shape(Dims{Dim::of(0)}), b.with({})};
}

Shapes least_squares(const ShapeQuery& q, const Batch& b) {
  const Shape right = q.shape(1);
  const Dim count = right && !right->empty() ? right->back() : Dim::opaque();
  return {b.with({b.n, count}), b.with({count}), b.with({}), b.with({b.k}), b.with({})};
}

Shapes ldl_factor(const ShapeQuery&, const Batch& b) { return {b.with({b.m, b.n}), b.with({b.n}), b.with({})}; }
Shapes two_numbers(const ShapeQuery&) { return {Dims{}, Dims{}}; }

}  // namespace

void add_linear_algebra_rules(ShapeRules& rules) {
  rules.insert({{"linalg.LuFactor", of_batch<lu_factor>},
                {"linalg.LuUnpack", of_batch<lu_unpack>},
                {"linalg.LuSolve", of_batch<as_operand<2>>},
                {"linalg.Solve", of_batch<as_operand<1>>},
                {"linalg.Inverse", of_batch<matrix_and_info>},
                {"linalg.Det", of_batch<three_numbers>},
                {"linalg.SolveTriangular", of_batch<as_operand<1>>},
                {"linalg.Cholesky", of_batch<matrix_and_info>},
                {"linalg.CholeskySolve", of_batch<as_operand<0>>},
                {"linalg.CholeskyInverse", of_batch<matrix_and_info>},
                {"linalg.Qr", of_batch<qr>},
                {"linalg.Geqrf", of_batch<matrix_and_tau>},
                {"linalg.HouseholderProduct", of_batch<as_operand<0>>},
                {"linalg.Ormqr", of_batch<as_operand<2>>},
                {"linalg.Svd", of_batch<svd>},
                {"linalg.Eigh", of_batch<eigh>},
                {"linalg.Eig", of_batch<eig>},
                {"linalg.LeastSquares", of_batch<least_squares>},
                {"linalg.MatrixExp", of_batch<as_operand<0>>},
                {"linalg.LdlFactor", of_batch<ldl_factor>},
                {"linalg.LdlSolve", of_batch<as_operand<2>>},
                {"linalg.FirstFailure", two_numbers}});
}

}  // namespace dycl::passes
