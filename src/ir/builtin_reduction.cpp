// SPDX-License-Identifier: Apache-2.0
// Ops that add up: reductions, softmax, products of matrices. Floats accumulate in
// double and are rounded once, so that the order of a sum hardly shows.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ir/builtin_ops.h"
#include "ir/host_ops.h"

namespace dycl::ir::builtin {

namespace {

using Results = Result<std::vector<Tensor>>;

template <typename T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, double,
                                std::make_unsigned_t<std::conditional_t<std::is_floating_point_v<T>, int, T>>>;

// ---- reductions --------------------------------------------------------------------

struct Reduction {
  Shape kept_shape;  // with reduced dims as 1
  Shape result_shape;
  std::vector<std::int64_t> targets;  // element of the operand -> element of the result
  std::int64_t group = 1;             // operand elements per result element
};

Result<Reduction> plan_reduction(const Call& call, const std::vector<std::int64_t>& axes, bool keep_dims) {
  const Tensor& in = call.operand(0);
  Reduction plan;
  std::vector<bool> reduced(in.shape.size(), axes.empty());
  for (std::int64_t axis : axes) {
    DYCL_ASSIGN(const std::size_t place, axis_in(call, axis, in.rank()));
    reduced[place] = true;
  }
  for (std::size_t i = 0; i < in.shape.size(); ++i) {
    plan.kept_shape.push_back(reduced[i] ? 1 : in.shape[i]);
    if (!reduced[i] || keep_dims) plan.result_shape.push_back(plan.kept_shape.back());
    if (reduced[i]) plan.group *= in.shape[i];
  }
  plan.targets = broadcast_places(plan.kept_shape, in.shape);
  return plan;
}

Result<Reduction> plan_reduction(const Call& call) {
  DYCL_TRY(expect(call, 1, 2, {"keepdims", "noop_with_empty_axes"}));
  std::vector<std::int64_t> axes;
  if (call.has(1)) {
    DYCL_ASSIGN(axes, int_operand(call, 1));
  }
  if (axes.empty() && int_attr(call, "noop_with_empty_axes", 0) != 0)
    return unsupported(call, "with noop_with_empty_axes and no axes");
  return plan_reduction(call, axes, int_attr(call, "keepdims", 1) != 0);
}

// Folds each group with f from `start`, in Acc, and finishes it with g.
template <typename Acc, typename T, typename F, typename G>
Tensor fold(const Tensor& in, const Reduction& plan, Acc start, F f, G g) {
  std::vector<Acc> sums(static_cast<std::size_t>(element_count(plan.kept_shape)), start);
  for (std::size_t i = 0; i < plan.targets.size(); ++i) {
    Acc& sum = sums[static_cast<std::size_t>(plan.targets[i])];
    sum = f(sum, static_cast<Acc>(in.data<T>()[i]));
  }
  Tensor out = Tensor::zeros(in.dtype, plan.result_shape);
  for (std::size_t i = 0; i < sums.size(); ++i) out.data<T>()[i] = static_cast<T>(g(sums[i]));
  return out;
}

enum class Fold { Sum, Mean, Prod, SumSquare, L2, Max, Min };

template <typename T>
Tensor run_fold(const Tensor& in, const Reduction& plan, Fold kind) {
  using W = Wide<T>;
  const auto same = [](W v) { return v; };
  const auto sum = [](W a, W b) { return static_cast<W>(a + b); };
  const auto square = [](W a, W b) { return static_cast<W>(a + b * b); };
  switch (kind) {
    case Fold::Sum: return fold<W, T>(in, plan, W{0}, sum, same);
    case Fold::Mean:
      return fold<W, T>(in, plan, W{0}, sum, [&](W v) {
        // Integers: of the wrapped sum, read as signed.
        return static_cast<T>(v) / static_cast<std::conditional_t<std::is_floating_point_v<T>, double, T>>(plan.group);
      });
    case Fold::Prod:
      return fold<W, T>(
          in, plan, W{1}, [](W a, W b) { return static_cast<W>(a * b); }, same);
    case Fold::SumSquare: return fold<W, T>(in, plan, W{0}, square, same);
    case Fold::L2: return fold<W, T>(in, plan, W{0}, square, [](W v) { return std::sqrt(static_cast<double>(v)); });
    case Fold::Max:
    case Fold::Min: break;
  }
  const bool want_max = kind == Fold::Max;
  const T worst = std::is_floating_point_v<T>
                      ? static_cast<T>(want_max ? -INFINITY : INFINITY)
                      : (want_max ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max());
  return fold<T, T>(
      in, plan, worst, [want_max](T a, T b) { return a != a   ? a
                                                     : b != b ? b
                                                              : ((want_max ? b > a : b < a) ? b : a); },
      [](T v) { return v; });
}

Results reduce(const Call& call, Fold kind) {
  DYCL_ASSIGN(const Reduction plan, plan_reduction(call));
  const Tensor& in = call.operand(0);
  const bool needs_elements = kind == Fold::Max || kind == Fold::Min || kind == Fold::Mean;
  if (needs_elements && plan.group == 0) return bad_operand(call, "nothing to reduce");
  if ((kind == Fold::L2) && !is_floating(in.dtype)) return unsupported(call, "of integers");
  Tensor out;
  const bool known = with_number(in.dtype, [&](auto type) { out = run_fold<decltype(type)>(in, plan, kind); });
  return known ? only(std::move(out)) : Results(unsupported(call, "of " + std::string(name_of(in.dtype))));
}
Results reduce_sum(const Call& call) { return reduce(call, Fold::Sum); }
Results reduce_mean(const Call& call) { return reduce(call, Fold::Mean); }
Results reduce_prod(const Call& call) { return reduce(call, Fold::Prod); }
Results reduce_sum_square(const Call& call) { return reduce(call, Fold::SumSquare); }
Results reduce_l2(const Call& call) { return reduce(call, Fold::L2); }
Results reduce_max(const Call& call) { return reduce(call, Fold::Max); }
Results reduce_min(const Call& call) { return reduce(call, Fold::Min); }

Results arg_extremum(const Call& call, bool want_max) {
  DYCL_TRY(expect(call, 1, 1, {"axis", "keepdims", "select_last_index"}));
  const Tensor& in = call.operand(0);
  DYCL_ASSIGN(const std::size_t axis, axis_in(call, int_attr(call, "axis", 0), in.rank()));
  DYCL_ASSIGN(const Reduction plan,
              plan_reduction(call, {static_cast<std::int64_t>(axis)}, int_attr(call, "keepdims", 1) != 0));
  if (plan.group == 0) return bad_operand(call, "nothing to search");
  const bool last = int_attr(call, "select_last_index", 0) != 0;
  const std::int64_t inner = element_count(std::span(in.shape).subspan(axis + 1));
  Tensor out = Tensor::zeros(DType::I64, plan.result_shape);
  const bool known = with_number(in.dtype, [&](auto type) {
    using T = decltype(type);
    std::vector<std::int64_t> best(static_cast<std::size_t>(out.count()), -1);
    const T* data = in.data<T>();
    for (std::size_t i = 0; i < plan.targets.size(); ++i) {
      std::int64_t& place = best[static_cast<std::size_t>(plan.targets[i])];
      const T value = data[i];
      const bool better =
          place < 0 || (want_max ? value > data[place] : value < data[place]) || (last && value == data[place]);
      if (better) place = static_cast<std::int64_t>(i);
    }
    for (std::size_t i = 0; i < best.size(); ++i) out.data<std::int64_t>()[i] = best[i] / inner % in.shape[axis];
  });
  return known ? only(std::move(out)) : Results(unsupported(call, "of " + std::string(name_of(in.dtype))));
}
Results arg_max(const Call& call) { return arg_extremum(call, true); }
Results arg_min(const Call& call) { return arg_extremum(call, false); }

Results softmax_of(const Call& call, bool logarithm) {
  DYCL_TRY(expect(call, 1, 1, {"axis"}));
  const Tensor& in = call.operand(0);
  if (in.dtype != DType::F32 && in.dtype != DType::F64)
    return unsupported(call, "of " + std::string(name_of(in.dtype)));
  DYCL_ASSIGN(const std::size_t axis, axis_in(call, int_attr(call, "axis", -1), in.rank()));
  DYCL_ASSIGN(const Reduction plan, plan_reduction(call, {static_cast<std::int64_t>(axis)}, true));
  Tensor out = Tensor::zeros(in.dtype, in.shape);
  with_number(in.dtype, [&](auto type) {
    using T = decltype(type);
    std::vector<double> greatest(static_cast<std::size_t>(element_count(plan.kept_shape)),
                                 -std::numeric_limits<double>::infinity()),
        sum(greatest.size(), 0);
    const auto at = [&](std::size_t i) { return static_cast<std::size_t>(plan.targets[i]); };
    const auto value = [&](std::size_t i) { return static_cast<double>(in.data<T>()[i]); };
    for (std::size_t i = 0; i < plan.targets.size(); ++i) greatest[at(i)] = std::max(greatest[at(i)], value(i));
    for (std::size_t i = 0; i < plan.targets.size(); ++i) sum[at(i)] += std::exp(value(i) - greatest[at(i)]);
    for (std::size_t i = 0; i < plan.targets.size(); ++i) {
      const double shifted = value(i) - greatest[at(i)];
      out.data<T>()[i] = static_cast<T>(logarithm ? shifted - std::log(sum[at(i)]) : std::exp(shifted) / sum[at(i)]);
    }
  });
  return only(std::move(out));
}
Results softmax(const Call& call) { return softmax_of(call, false); }
Results log_softmax(const Call& call) { return softmax_of(call, true); }

// ---- products ----------------------------------------------------------------------

// c[m,n] = alpha * a[m,k] . b[k,n] for strided operands; Wide accumulation.
template <typename T>
void multiply(const T* a, std::int64_t a_row, std::int64_t a_column, const T* b, std::int64_t b_row,
              std::int64_t b_column, T* c, std::int64_t m, std::int64_t k, std::int64_t n) {
  std::vector<Wide<T>> row(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < m; ++i) {
    std::fill(row.begin(), row.end(), Wide<T>{0});
    for (std::int64_t j = 0; j < k; ++j) {
      const auto x = static_cast<Wide<T>>(a[i * a_row + j * a_column]);
      for (std::int64_t l = 0; l < n; ++l)
        row[static_cast<std::size_t>(l)] += x * static_cast<Wide<T>>(b[j * b_row + l * b_column]);
    }
    for (std::int64_t l = 0; l < n; ++l) c[i * n + l] = static_cast<T>(row[static_cast<std::size_t>(l)]);
  }
}

Results mat_mul(const Call& call) {
  DYCL_TRY(expect(call, 2, 2, {}));
  Shape a = call.operand(0).shape, b = call.operand(1).shape;
  if (a.empty() || b.empty() || call.operand(0).dtype != call.operand(1).dtype)
    return bad_operand(call, "takes two tensors of one dtype and at least one dim");
  const bool row_vector = a.size() == 1, column_vector = b.size() == 1;
  if (row_vector) a.insert(a.begin(), 1);
  if (column_vector) b.push_back(1);
  const std::int64_t m = a[a.size() - 2], k = a.back(), n = b.back();
  if (b[b.size() - 2] != k)
    return bad_operand(call, "shapes " + shape_text(call.operand(0).shape) + " and " +
                                 shape_text(call.operand(1).shape) + " do not multiply");
  const Shape batch_a(a.begin(), a.end() - 2), batch_b(b.begin(), b.end() - 2);
  DYCL_ASSIGN(const Shape batch, broadcast_shape(call, batch_a, batch_b));
  const auto places_a = broadcast_places(batch_a, batch), places_b = broadcast_places(batch_b, batch);
  Shape shape = batch;
  if (!row_vector) shape.push_back(m);
  if (!column_vector) shape.push_back(n);
  Tensor out = Tensor::zeros(call.operand(0).dtype, std::move(shape));
  const bool known = with_number(out.dtype, [&](auto type) {
    using T = decltype(type);
    for (std::size_t i = 0; i < places_a.size(); ++i)
      multiply(call.operand(0).data<T>() + places_a[i] * m * k, k, 1, call.operand(1).data<T>() + places_b[i] * k * n,
               n, 1, out.data<T>() + static_cast<std::int64_t>(i) * m * n, m, k, n);
  });
  return known ? only(std::move(out)) : Results(unsupported(call, "of " + std::string(name_of(out.dtype))));
}

Results gemm(const Call& call) {
  DYCL_TRY(expect(call, 2, 3, {"alpha", "beta", "transA", "transB"}));
  const Tensor &a = call.operand(0), &b = call.operand(1);
  if (a.rank() != 2 || b.rank() != 2 || a.dtype != b.dtype) return bad_operand(call, "takes two matrices of one dtype");
  const bool ta = int_attr(call, "transA", 0) != 0, tb = int_attr(call, "transB", 0) != 0;
  const std::int64_t m = a.shape[ta ? 1 : 0], k = a.shape[ta ? 0 : 1], n = b.shape[tb ? 0 : 1];
  if (b.shape[tb ? 1 : 0] != k)
    return bad_operand(call, "shapes " + shape_text(a.shape) + " and " + shape_text(b.shape) + " do not multiply");
  const double alpha = float_attr(call, "alpha", 1), beta = float_attr(call, "beta", 1);
  std::vector<std::int64_t> places;
  if (call.has(2)) {
    DYCL_ASSIGN(const Shape broadcast, broadcast_shape(call, call.operand(2).shape, {m, n}));
    if (broadcast != Shape{m, n} || call.operand(2).dtype != a.dtype)
      return bad_operand(call, "the third operand does not broadcast to " + shape_text(Shape{m, n}));
    places = broadcast_places(call.operand(2).shape, broadcast);
  }
  Tensor out = Tensor::zeros(a.dtype, {m, n});
  const bool known =
      is_floating(a.dtype) && with_number(a.dtype, [&](auto type) {
        using T = decltype(type);
        multiply(a.data<T>(), ta ? 1 : k, ta ? m : 1, b.data<T>(), tb ? 1 : n, tb ? k : 1, out.data<T>(), m, k, n);
        for (std::size_t i = 0; i < static_cast<std::size_t>(m * n); ++i) {
          const double bias = places.empty() ? 0.0 : beta * static_cast<double>(call.operand(2).data<T>()[places[i]]);
          out.data<T>()[i] = static_cast<T>(alpha * static_cast<double>(out.data<T>()[i]) + bias);
        }
      });
  return known ? only(std::move(out)) : Results(unsupported(call, "of " + std::string(name_of(a.dtype))));
}

constexpr OpEntry kOps[] = {
    {"ReduceSum", reduce_sum},
    {"ReduceMean", reduce_mean},
    {"ReduceProd", reduce_prod},
    {"ReduceSumSquare", reduce_sum_square},
    {"ReduceL2", reduce_l2},
    {"ReduceMax", reduce_max},
    {"ReduceMin", reduce_min},
    {"ArgMax", arg_max},
    {"ArgMin", arg_min},
    {"Softmax", softmax},
    {"LogSoftmax", log_softmax},
    {"MatMul", mat_mul},
    {"Gemm", gemm},
};

}  // namespace

std::span<const OpEntry> reduction_ops() { return kOps; }

}  // namespace dycl::ir::builtin
