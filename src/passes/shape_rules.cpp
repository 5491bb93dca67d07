// SPDX-License-Identifier: Apache-2.0
// The queries, broadcasting, and the rules of ops that compute elementwise, move,
// compare and reduce.
#include "passes/shape_rules.h"

#include <algorithm>
#include <numeric>

#include "ir/host_ops.h"

namespace dycl::passes {
namespace {

using ir::Dim;
using Shapes = std::vector<Shape>;

Shapes same_as_first(const ShapeQuery& q) { return {q.shape(0)}; }

// Both results (Dropout's mask) have the operand's shape.
Shapes all_as_first(const ShapeQuery& q) { return Shapes(q.op.results.size(), q.shape(0)); }

Shapes broadcast_all(const ShapeQuery& q) {
  Shape result = Dims{};
  for (std::size_t i = 0; i < q.op.operands.size(); ++i) result = broadcast(q.program, result, q.shape(i));
  return {result};
}

// ---- reductions -----------------------------------------------------------------------

Shape reduced(const Shape& shape, const std::vector<std::int64_t>& axes, bool all, bool keep) {
  if (!shape) return std::nullopt;
  std::vector<bool> gone(shape->size(), all);
  for (const std::int64_t axis : axes) {
    const auto at = axis_of(axis, shape->size());
    if (!at) return std::nullopt;
    gone[*at] = true;
  }
  Dims result;
  for (std::size_t i = 0; i < shape->size(); ++i) {
    if (!gone[i])
      result.push_back((*shape)[i]);
    else if (keep)
      result.push_back(Dim::of(1));
  }
  return result;
}

Shapes reduce(const ShapeQuery& q) {
  const bool keep = q.integer("keepdims", 1) != 0;
  auto axes = q.integers("axes");
  if (!axes && q.has(1)) {
    axes = q.constants(1);
    // Unknown axes that are kept leave at least the rank.
    if (!axes) return {keep && q.shape(0) ? Shape(Dims(q.shape(0)->size())) : std::nullopt};
  }
  if (!axes || axes->empty()) {
    if (q.integer("noop_with_empty_axes", 0) != 0) return {q.shape(0)};
    return {reduced(q.shape(0), {}, true, keep)};
  }
  return {reduced(q.shape(0), *axes, false, keep)};
}

Shapes arg_reduce(const ShapeQuery& q) {
  return {reduced(q.shape(0), {q.integer("axis", 0)}, false, q.integer("keepdims", 1) != 0)};
}

Shapes top_k(const ShapeQuery& q) {
  Shape shape = q.shape(0);
  const auto axis = shape ? axis_of(q.integer("axis", -1), shape->size()) : std::nullopt;
  if (!axis) return {std::nullopt, std::nullopt};
  const Contents* k = q.contents(1);
  (*shape)[*axis] = k && k->size() == 1 ? k->front() : Dim::opaque();
  return {shape, shape};
}

Shapes one_of_axis(const ShapeQuery& q) {
  Shape shape = q.shape(0);
  const auto axis = shape ? axis_of(q.integer("axis", -1), shape->size()) : std::nullopt;
  if (!axis) return {std::nullopt, std::nullopt};
  (*shape)[*axis] = Dim::of(1);
  return {shape, shape};
}

// ---- reshaping ---------------------------------------------------------------------------

Dim product(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), Dim::of(1), [](const Dim& a, const Dim& b) { return a * b; });
}

// The extent that -1 stands for: what the others leave. Factors on both sides
// cancel, so that symbols need no division.
Dim leftover(const Dims& from, const Dims& to, std::size_t open) {
  std::vector<Dim> have = from, want;
  for (std::size_t i = 0; i < to.size(); ++i)
    if (i != open) want.push_back(to[i]);
  for (auto it = want.begin(); it != want.end();) {
    const auto twin = it->is_opaque() ? have.end() : std::ranges::find(have, *it);
    if (twin == have.end() || it->value == 0) {
      ++it;
      continue;
    }
    have.erase(twin);
    it = want.erase(it);
  }
  const Dim divisor = product(want);
  if (divisor.value == 0) return Dim::opaque();
  return divisor.value == 1 ? product(have) : floordiv(product(have), divisor);
}

Shapes reshape(const ShapeQuery& q) {
  const Shape from = q.shape(0);
  const Contents* target = q.contents(1);
  if (!target) {
    const Shape rank = q.shape(1);  // the target's length is the rank
    const bool known = rank && rank->size() == 1 && (*rank)[0].is_known() && (*rank)[0].value < 64;
    return {known ? Shape(Dims(static_cast<std::size_t>((*rank)[0].value))) : std::nullopt};
  }
  Dims to;
  std::size_t open = target->size();
  for (std::size_t i = 0; i < target->size(); ++i) {
    const auto value = constant_of((*target)[i]);
    if (value == -1) {
      open = i;
      to.push_back(Dim::opaque());
    } else if (value == 0 && q.integer("allowzero", 0) == 0) {
      to.push_back(from && i < from->size() ? (*from)[i] : Dim::opaque());
    } else {
      // An expression that is 0 at run time would copy the input's extent: no matter if that is the same.
      const bool copies_itself = from && i < from->size() && (*from)[i] == (*target)[i];
      const bool sure = value ? *value >= 0 : copies_itself || ir::bounds((*target)[i], q.program.symbols).min > 0;
      to.push_back(sure ? (*target)[i] : Dim::opaque());
    }
  }
  if (open < to.size() && from) to[open] = leftover(*from, to, open);
  return {to};
}

Shapes flatten(const ShapeQuery& q) {
  const Shape shape = q.shape(0);
  const std::int64_t axis = q.integer("axis", 1);
  if (!shape) return {Dims(2)};
  const auto rank = static_cast<std::int64_t>(shape->size());
  if (axis < -rank || axis > rank) return {std::nullopt};
  const auto at = shape->begin() + (axis < 0 ? axis + rank : axis);
  return {Dims{product(Dims(shape->begin(), at)), product(Dims(at, shape->end()))}};
}

Shapes transpose(const ShapeQuery& q) {
  const Shape shape = q.shape(0);
  if (!shape) return {std::nullopt};
  auto order = q.integers("perm");
  if (!order) {
    order.emplace(shape->size());
    std::iota(order->rbegin(), order->rend(), 0);
  }
  if (order->size() != shape->size()) return {std::nullopt};
  Dims result;
  for (const std::int64_t axis : *order) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(shape->size())) return {std::nullopt};
    result.push_back((*shape)[static_cast<std::size_t>(axis)]);
  }
  return {result};
}

Shapes unsqueeze(const ShapeQuery& q) {
  const Shape shape = q.shape(0);
  const auto axes = q.constants(1);
  if (!shape || !axes) return {std::nullopt};
  const std::size_t rank = shape->size() + axes->size();
  std::vector<bool> is_new(rank);
  for (const std::int64_t axis : *axes) {
    const auto at = axis_of(axis, rank);
    if (!at || is_new[*at]) return {std::nullopt};
    is_new[*at] = true;
  }
  Dims result;
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) result.push_back(is_new[i] ? Dim::of(1) : (*shape)[next++]);
  return {result};
}

Shapes squeeze(const ShapeQuery& q) {
  const Shape shape = q.shape(0);
  if (!shape) return {std::nullopt};
  if (!q.has(1)) {
    const bool all_known = std::ranges::all_of(*shape, [](const Dim& dim) { return dim.is_known(); });
    if (!all_known) return {std::nullopt};
    Dims result = *shape;
    std::erase(result, Dim::of(1));
    return {result};
  }
  const auto axes = q.constants(1);
  return {axes ? reduced(shape, *axes, false, false) : std::nullopt};
}

Shapes expand(const ShapeQuery& q) {
  const Contents* target = q.contents(1);
  if (!target) return {std::nullopt};
  Dims to;
  for (const Dim& dim : *target) {
    const bool sure = dim.is_known() || ir::bounds(dim, q.program.symbols).min > 0;
    to.push_back(sure ? dim : Dim::opaque());
  }
  return {broadcast(q.program, q.shape(0), to)};
}

Shapes tile(const ShapeQuery& q) {
  Shape shape = q.shape(0);
  const Contents* repeats = q.contents(1);
  if (!shape || !repeats || repeats->size() != shape->size())
    return {shape ? Shape(Dims(shape->size())) : std::nullopt};
  for (std::size_t i = 0; i < shape->size(); ++i) (*shape)[i] = (*shape)[i] * (*repeats)[i];
  return {shape};
}

// ---- joining and cutting -------------------------------------------------------------------

// For a dim that several operands must share: the most precise one.
Dim agreed(const Dim& a, const Dim& b) {
  if (a.is_known()) return a;
  if (b.is_known()) return b;
  return a.is_opaque() ? b : a;
}

Shapes concat(const ShapeQuery& q) {
  Shape result = q.shape(0);
  const auto axis = result ? axis_of(q.integer("axis", 0), result->size()) : std::nullopt;
  if (!axis) return {std::nullopt};
  for (std::size_t i = 1; i < q.op.operands.size(); ++i) {
    const Shape part = q.shape(i);
    if (part && part->size() != result->size()) return {std::nullopt};
    for (std::size_t d = 0; d < result->size(); ++d) {
      const Dim dim = part ? (*part)[d] : Dim::opaque();
      (*result)[d] = d == *axis ? (*result)[d] + dim : agreed((*result)[d], dim);
    }
  }
  return {result};
}

Shapes split(const ShapeQuery& q) {
  const std::size_t count = q.op.results.size();
  const Shape shape = q.shape(0);
  const auto axis = shape ? axis_of(q.integer("axis", 0), shape->size()) : std::nullopt;
  if (!axis) return Shapes(count);
  const Contents* sizes = q.contents(1);
  const Dim& extent = (*shape)[*axis];
  const auto parts = static_cast<std::int64_t>(count);
  Shapes results;
  for (std::size_t i = 0; i < count; ++i) {
    Dims part = *shape;
    part[*axis] = Dim::opaque();
    if (sizes && sizes->size() == count)
      part[*axis] = (*sizes)[i];
    else if (!q.has(1) && extent.is_known()) {
      const std::int64_t each = (extent.value + parts - 1) / parts;
      const std::int64_t left = extent.value - each * (parts - 1);
      if (left >= 0) part[*axis] = Dim::of(i + 1 == count ? left : each);
    }
    results.push_back(std::move(part));
  }
  return results;
}

// The extent of dim[start:end:step]; opaque where bounds are not constants.
Dim sliced(const ir::Program& program, const Dim& extent, std::int64_t start, std::int64_t end, std::int64_t step) {
  constexpr std::int64_t kFar = std::int64_t{1} << 40;  // "to the end"
  if (step == 0) return Dim::opaque();
  if (extent.value == 0) return extent;
  if (extent.is_known()) {
    const std::int64_t n = extent.value;
    const auto place = [&](std::int64_t at, std::int64_t low, std::int64_t high) {
      return std::clamp(at < 0 ? at + n : at, low, high);
    };
    if (start < -kFar) start = -n - 1;
    if (end < -kFar) end = -n - 1;
    const std::int64_t first = step > 0 ? place(start, 0, n) : place(start, 0, n - 1);
    const std::int64_t last = step > 0 ? place(end, 0, n) : place(end, -1, n - 1);
    const std::int64_t length = step > 0 ? (last - first + step - 1) / step : (first - last - step - 1) / -step;
    return Dim::of(std::max<std::int64_t>(0, length));
  }
  if (step != 1 || extent.is_opaque()) return Dim::opaque();
  const std::int64_t least = ir::bounds(extent, program.symbols).min;
  const auto within = [&](std::int64_t at) { return at >= 0 ? at <= least : -at <= least; };
  const bool to_end = end >= kFar;
  if (!within(start) || (!to_end && !within(end))) return Dim::opaque();
  const Dim first = start >= 0 ? Dim::of(start) : extent + ir::constant_dim(start);
  const Dim last = to_end ? extent : end >= 0 ? Dim::of(end) : extent + ir::constant_dim(end);
  const Dim length = last - first;
  return length.is_known() || ir::bounds(length, program.symbols).min >= 0 ? length : Dim::opaque();
}

Shapes slice(const ShapeQuery& q) {
  Shape shape = q.shape(0);
  if (!shape) return {std::nullopt};
  const auto starts = q.constants(1), ends = q.constants(2), steps = q.constants(4);
  auto axes = q.constants(3);
  if (!q.has(3) && q.shape(1) && q.shape(1)->size() == 1 && (*q.shape(1))[0].is_known()) {
    axes.emplace(static_cast<std::size_t>((*q.shape(1))[0].value));
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (!axes) return {Dims(shape->size())};
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto at = axis_of((*axes)[i], shape->size());
    if (!at) return {std::nullopt};
    const bool known =
        starts && ends && i < starts->size() && i < ends->size() && (!q.has(4) || (steps && i < steps->size()));
    (*shape)[*at] =
        known ? sliced(q.program, (*shape)[*at], (*starts)[i], (*ends)[i], q.has(4) ? (*steps)[i] : 1) : Dim::opaque();
  }
  return {shape};
}

Shapes gather(const ShapeQuery& q) {
  const Shape data = q.shape(0), indices = q.shape(1);
  const auto axis = data ? axis_of(q.integer("axis", 0), data->size()) : std::nullopt;
  if (!axis || !indices) return {std::nullopt};
  Dims result(data->begin(), data->begin() + static_cast<std::ptrdiff_t>(*axis));
  result.insert(result.end(), indices->begin(), indices->end());
  result.insert(result.end(), data->begin() + static_cast<std::ptrdiff_t>(*axis) + 1, data->end());
  return {result};
}

Shapes gather_elements(const ShapeQuery& q) { return {q.shape(1)}; }

Shapes gather_nd(const ShapeQuery& q) {
  const Shape data = q.shape(0), indices = q.shape(1);
  const auto batch = q.integer("batch_dims", 0);
  if (!data || !indices || indices->empty() || !indices->back().is_known() || batch < 0) return {std::nullopt};
  const std::int64_t used = indices->back().value + batch;
  if (used > static_cast<std::int64_t>(data->size())) return {std::nullopt};
  Dims result(indices->begin(), indices->end() - 1);
  result.insert(result.end(), data->begin() + used, data->end());
  return {result};
}

Shapes pad(const ShapeQuery& q) {
  Shape shape = q.shape(0);
  if (!shape) return {std::nullopt};
  const Contents* pads = q.contents(1);
  std::vector<std::int64_t> axes(shape->size());
  std::iota(axes.begin(), axes.end(), 0);
  if (q.has(3)) {
    const auto chosen = q.constants(3);
    if (!chosen) return {Dims(shape->size())};
    axes = *chosen;
  }
  if (!pads || pads->size() != 2 * axes.size()) return {Dims(shape->size())};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto at = axis_of(axes[i], shape->size());
    if (!at) return {std::nullopt};
    (*shape)[*at] = (*shape)[*at] + (*pads)[i] + (*pads)[axes.size() + i];
  }
  return {shape};
}

// ---- shapes and constants ----------------------------------------------------------------------

Shapes shape_op(const ShapeQuery& q) {
  if (q.op.attr("start") || q.op.attr("end")) return {Dims(1)};
  const Shape shape = q.shape(0);
  return {Dims{shape ? Dim::of(static_cast<std::int64_t>(shape->size())) : Dim::opaque()}};
}

Shapes scalar(const ShapeQuery&) { return {Dims{}}; }

Shapes constant_of_shape(const ShapeQuery& q) {
  const Contents* target = q.contents(0);
  if (!target) return {std::nullopt};
  Dims dims;
  for (const Dim& dim : *target)
    dims.push_back(dim.is_known() || ir::bounds(dim, q.program.symbols).min >= 0 ? dim : Dim::opaque());
  return {dims};
}

Shapes constant(const ShapeQuery& q) {
  if (const auto* literal = ir::attr_as<ir::TensorLiteral>(q.op, "value")) return {ir::type_of(*literal).shape};
  return {std::nullopt};
}

Shapes one_dim(const ShapeQuery&) { return {Dims(1)}; }

Shapes non_zero(const ShapeQuery& q) {
  const Shape shape = q.shape(0);
  return {Dims{shape ? Dim::of(static_cast<std::int64_t>(shape->size())) : Dim::opaque(), Dim::opaque()}};
}

Shapes one_hot(const ShapeQuery& q) {
  const Shape indices = q.shape(0);
  if (!indices) return {std::nullopt};
  const auto axis = axis_of(q.integer("axis", -1), indices->size() + 1);
  if (!axis) return {std::nullopt};
  const Contents* depth = q.contents(1);
  Dims result = *indices;
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(*axis),
                depth && depth->size() == 1 ? depth->front() : Dim::opaque());
  return {result};
}

// One extent of a broadcast.
Dim broadcast_dim(const ir::Program& program, const Dim& a, const Dim& b) {
  if (a == b && !a.is_opaque()) return a;
  if (a.value == 1) return b;
  if (b.value == 1) return a;
  if (a.is_known() && b.is_known()) return Dim::opaque();  // the op fails; not ours to say
  if (a.is_known()) return a;                              // not 1, so the other is 1 or the same
  if (b.is_known()) return b;
  if (a.is_symbolic() && ir::bounds(a, program.symbols).min > 1) return a;
  if (b.is_symbolic() && ir::bounds(b, program.symbols).min > 1) return b;
  return Dim::opaque();
}

}  // namespace

Shape broadcast(const ir::Program& program, const Shape& a, const Shape& b) {
  if (!a || !b) return std::nullopt;
  const Dims& longer = a->size() >= b->size() ? *a : *b;
  const Dims& shorter = a->size() >= b->size() ? *b : *a;
  Dims result = longer;
  const std::size_t offset = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i)
    result[offset + i] = broadcast_dim(program, longer[offset + i], shorter[i]);
  return result;
}

std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

Shape ShapeQuery::shape(std::size_t i) const { return has(i) ? function.type_of(op.operands[i]).shape : std::nullopt; }

const Contents* ShapeQuery::contents(std::size_t i) const { return has(i) ? values.of(op.operands[i]) : nullptr; }

std::optional<std::vector<std::int64_t>> ShapeQuery::constants(std::size_t i) const {
  const Contents* known = contents(i);
  return known ? constants_of(*known) : std::nullopt;
}

std::int64_t ShapeQuery::integer(const char* attr, std::int64_t otherwise) const {
  const auto* value = ir::attr_as<std::int64_t>(op, attr);
  return value ? *value : otherwise;
}

std::string ShapeQuery::text(const char* attr, const char* otherwise) const {
  const auto* value = ir::attr_as<std::string>(op, attr);
  return value ? *value : otherwise;
}

std::optional<std::vector<std::int64_t>> ShapeQuery::integers(const char* attr) const {
  const auto* value = ir::attr_as<std::vector<std::int64_t>>(op, attr);
  return value ? std::optional(*value) : std::nullopt;
}

// clang-format off
void add_basic_rules(ShapeRules& rules) {
  for (const char* name :
       {"Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BitwiseNot", "Cast", "CastLike", "Ceil", "Celu", "Clip",
        "Cos", "Cosh", "CumSum", "DequantizeLinear", "Elu", "Erf", "Exp", "EyeLike", "Floor", "Gelu", "HardSigmoid",
        "HardSwish", "Hardmax", "Identity", "IsInf", "IsNaN", "LRN", "LeakyRelu", "Log", "LogSoftmax", "LpNormalization",
        "MeanVarianceNormalization", "Mish", "Neg", "Not", "PRelu", "QuantizeLinear", "Reciprocal", "Relu",
        "ReverseSequence", "Round", "ScatterElements", "ScatterND", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh",
        "Softmax", "Softplus", "Softsign", "Sqrt", "Swish", "Tan", "Tanh", "TensorScatter", "ThresholdedRelu", "Trilu"})
    rules[name] = same_as_first;
  for (const char* name : {"Add", "And", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal", "Greater",
                           "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Mean", "Min", "Mod", "Mul", "Or", "Pow",
                           "Sub", "Sum", "Where", "Xor"})
    rules[name] = broadcast_all;
  for (const char* name : {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
                           "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"})
    rules[name] = reduce;
  rules.insert({{"ArgMax", arg_reduce}, {"ArgMin", arg_reduce}, {"Concat", concat}, {"Constant", constant},
                {"ConstantOfShape", constant_of_shape}, {"Dropout", all_as_first}, {"Expand", expand},
                {"Flatten", flatten}, {"Gather", gather}, {"GatherElements", gather_elements}, {"GatherND", gather_nd},
                {"NonZero", non_zero}, {"OneHot", one_hot}, {"Pad", pad}, {"Range", one_dim}, {"Reshape", reshape},
                {"Shape", shape_op}, {"Size", scalar}, {"Slice", slice}, {"Split", split}, {"Squeeze", squeeze},
                {"Tile", tile}, {"TopK", top_k}, {"Transpose", transpose}, {"Unsqueeze", unsqueeze},
                {"torch.KthValue", one_of_axis}, {"torch.Mode", one_of_axis}, {"torch.Sort", all_as_first},
                {"torch.TopK", top_k}});
}
// clang-format on

std::vector<Shape> result_shapes(const ShapeQuery& query) {
  static const ShapeRules rules = [] {
    ShapeRules made;
    add_basic_rules(made);
    add_network_rules(made);
    add_linear_algebra_rules(made);
    return made;
  }();
  const auto it = rules.find(query.op.name);
  std::vector<Shape> shapes;
  if (it != rules.end()) shapes = it->second(query);
  shapes.resize(query.op.results.size());
  return shapes;
}

}  // namespace dycl::passes
