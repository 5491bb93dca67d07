// SPDX-License-Identifier: Apache-2.0
// Ops along dims: sums, means, extrema, softmax, norms, the largest few.
#include <algorithm>
#include <vector>

#include "backends/kernels/selection.h"
#include "backends/kernels/small/lowering.h"

namespace dycl::backends::small {

// Sorted, non-negative; all of them where none are given.
std::vector<std::int64_t> Lowering::axes_of(const ir::Op& op, std::size_t rank) const {
  std::vector<std::int64_t> axes;
  if (op.operands.size() > 1 && op.operands[1].present()) axes = constant_ints(op, 1);
  if (axes.empty()) {
    require(int_attr(op, "noop_with_empty_axes", 0) == 0);
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  for (std::int64_t& axis : axes) {
    if (axis < 0) axis += static_cast<std::int64_t>(rank);
    require(axis >= 0 && axis < static_cast<std::int64_t>(rank));
  }
  std::sort(axes.begin(), axes.end());
  for (std::size_t i = 1; i < axes.size(); ++i) require(axes[i] == axes[i - 1] + 1);
  return axes;
}

void Lowering::mean_of_blocked(const ir::Op& op, const Located& in) {
  const Located out = result(op);
  require(in.dims.size() == 4 && in.dtype == DType::F32 && out.dtype == DType::F32);
  const std::int64_t spatial = in.dims[2] * in.dims[3];
  require(in.dims[0] > 0 && in.dims[1] > 0 && in.dims[1] % block_ == 0 && spatial > 0 &&
          out.count() == in.dims[0] * in.dims[1]);
  emit(Opcode::BlockedMean, {in.dims[0], in.dims[1], spatial, block_}, {&in, &out}, in.count() / 4);
}

void Lowering::reduce(const ir::Op& op, ReduceFunction function) {
  for (const auto& [key, value] : op.attrs) require(key == "keepdims" || key == "noop_with_empty_axes");
  const Located in = operand(op, 0, true);
  const std::vector<std::int64_t> axes = axes_of(op, in.dims.size());
  if (in.blocked) {
    require(function == ReduceFunction::Mean && axes == std::vector<std::int64_t>({2, 3}));
    return mean_of_blocked(op, in);
  }
  const Located out = result(op);
  std::int64_t outer = 1, middle = 1, inner = 1;
  for (std::size_t d = 0; d < in.dims.size(); ++d) {
    const auto axis = static_cast<std::int64_t>(d);
    (axes.empty() || axis < axes.front() ? outer : axis > axes.back() ? inner : middle) *= in.dims[d];
  }
  require(in.dtype == out.dtype && middle > 0 && out.count() == outer * inner);
  if (in.dtype == DType::Bool) {
    require(function == ReduceFunction::Max || function == ReduceFunction::Min);
    function = function == ReduceFunction::Max ? ReduceFunction::Any : ReduceFunction::All;
  } else {
    require(in.dtype == DType::F32);
  }
  const bool in_lanes = inner == 1 && (function == ReduceFunction::Sum || function == ReduceFunction::Mean);
  emit(Opcode::Reduce, {static_cast<std::int64_t>(function), outer, middle, inner}, {&in, &out},
       in_lanes ? in.count() / 4 + out.count() : in.count() * 2);
}

void Lowering::pool(const ir::Op& op) {
  const Located in = operand(op, 0, true);
  if (in.blocked) return mean_of_blocked(op, in);
  const Located out = result(op);
  require(in.dtype == DType::F32 && in.dims.size() >= 3);
  const std::int64_t outer = in.dims[0] * in.dims[1];
  require(outer > 0 && in.count() > 0 && out.count() == outer);
  emit(Opcode::Reduce, {static_cast<std::int64_t>(ReduceFunction::Mean), outer, in.count() / outer, 1}, {&in, &out},
       in.count() / 4 + outer);
}

// One window that covers everything is the mean.
void Lowering::average_pool(const ir::Op& op) {
  const Located& in = operand(op, 0, true);
  require(op.operands.size() == 1 && in.dims.size() == 4 && op.results.size() == 1);
  for (const auto& [key, value] : op.attrs) {
    const auto* ints = std::get_if<std::vector<std::int64_t>>(&value);
    if (key == "kernel_shape")
      require(ints && *ints == Dims({in.dims[2], in.dims[3]}));
    else if (key == "pads")
      require(ints && std::ranges::all_of(*ints, [](std::int64_t pad) { return pad == 0; }));
    else if (key == "dilations")
      require(ints && std::ranges::all_of(*ints, [](std::int64_t d) { return d == 1; }));
    else
      require(key == "strides" || key == "count_include_pad" || key == "ceil_mode");
  }
  require(op.attr("kernel_shape") != nullptr && located(op.results[0]).dims == Dims({in.dims[0], in.dims[1], 1, 1}));
  pool(op);
}

void Lowering::arg_max(const ir::Op& op) {
  const Located in = operand(op, 0), out = result(op);
  require(in.dtype == DType::F32 && out.dtype == DType::I64);
  const Around around(in.dims, axis_of(op, in.dims.size(), 0));
  require(around.middle > 0 && out.count() == around.outer * around.inner);
  emit(Opcode::ArgMax, {around.outer, around.middle, around.inner, int_attr(op, "select_last_index", 0) != 0 ? 1 : 0},
       {&in, &out}, in.count() * 4);
}

void Lowering::softmax(const ir::Op& op) {
  const Located in = operand(op, 0), out = result(op);
  require(in.dtype == DType::F32 && !in.dims.empty() && in.dims == out.dims && in.dims.back() > 0);
  const auto rank = static_cast<std::int64_t>(in.dims.size()), axis = int_attr(op, "axis", -1);
  require(axis == -1 || axis == rank - 1);
  emit(Opcode::Softmax, {op.name == "LogSoftmax" ? 1 : 0, in.count() / in.dims.back(), in.dims.back()}, {&in, &out},
       in.count() * 2 + in.count() / in.dims.back() * 64);
}

void Lowering::layer_norm(const ir::Op& op) {
  for (const auto& [key, value] : op.attrs) require(key == "axis" || key == "epsilon" || key == "stash_type");
  const Located in = operand(op, 0), scale = operand(op, 1);
  const bool has_bias = op.operands.size() > 2 && op.operands[2].present();
  const Located bias = has_bias ? operand(op, 2) : Located{};
  for (std::size_t i = 1; i < op.results.size(); ++i) require(!op.results[i].present());
  require(!op.results.empty() && op.results[0].present() && int_attr(op, "stash_type", 1) == 1);
  const Located out = result_of(op.results[0]);
  require(in.dims == out.dims);
  const Dims normed(in.dims.begin() + static_cast<std::ptrdiff_t>(axis_of(op, in.dims.size(), -1)), in.dims.end());
  std::int64_t columns = 1;
  for (const std::int64_t dim : normed) columns *= dim;
  require(columns > 0 && scale.dims == normed && (!has_bias || bias.dims == normed));
  require(in.dtype == DType::F32 && scale.dtype == DType::F32 && out.dtype == DType::F32 &&
          (!has_bias || bias.dtype == DType::F32));
  emit(Opcode::Norm, {in.count() / columns, columns, bits_of(float_attr(op, "epsilon", 1e-5)), 1, has_bias ? 1 : 0},
       {&in, &scale, has_bias ? &bias : nullptr, &out}, in.count() + in.count() / columns * 32);
}

void Lowering::top_k(const ir::Op& op) {
  for (const auto& [key, value] : op.attrs) require(key == "axis" || key == "largest" || key == "sorted");
  const Located in = operand(op, 0);
  const Dims wanted = constant_ints(op, 1);
  require(wanted.size() == 1 && op.results.size() == 2 && op.results[0].present() && op.results[1].present());
  const auto rank = static_cast<std::int64_t>(in.dims.size()), axis = int_attr(op, "axis", -1), k = wanted[0];
  require(in.dtype == DType::F32 && rank > 0 && (axis == -1 || axis == rank - 1));
  const std::int64_t columns = in.dims.back();
  require(k >= 1 && k <= columns);
  const Located values = result_of(op.results[0]), indices = result_of(op.results[1]);
  const std::int64_t rows = in.count() / columns;
  require(values.dtype == DType::F32 && indices.dtype == DType::I64 && values.count() == rows * k &&
          indices.count() == rows * k);
  emit(Opcode::TopK, {rows, columns, k, int_attr(op, "largest", 1) != 0 ? 1 : 0}, {&in, &values, &indices},
       in.count() * k * 4);
}

void Lowering::select(const ir::Op& op) {
  using selection::Kind;
  const Located in = operand(op, 0);
  require(op.results.size() == 2 && op.results[0].present() && op.results[1].present() && selection::takes(in.dtype));
  selection::Selection how;
  how.kind = op.name == "torch.TopK"       ? Kind::TopK
             : op.name == "torch.Sort"     ? Kind::Sort
             : op.name == "torch.KthValue" ? Kind::KthValue
                                           : Kind::Mode;
  const bool top = how.kind == Kind::TopK;
  how.descending = int_attr(op, top ? "largest" : "descending", top ? 1 : 0) != 0;
  how.sorted = int_attr(op, "sorted", 1) != 0;
  how.stable = int_attr(op, "stable", 0) != 0;
  how.flat = in.dims.size() == 1;
  if (top || how.kind == Kind::KthValue) {
    const Dims k = constant_ints(op, 1);
    require(k.size() == 1);
    how.k = k[0];
  }
  const auto rank = static_cast<std::int64_t>(in.dims.size()), given = int_attr(op, "axis", -1);
  const std::int64_t axis = given < 0 ? given + rank : given;
  require(axis >= 0 && axis < rank);
  std::int64_t outer = 1, inner = 1;
  for (std::int64_t d = 0; d < rank; ++d)
    if (d != axis) (d < axis ? outer : inner) *= in.dims[static_cast<std::size_t>(d)];
  const std::int64_t extent = in.dims[static_cast<std::size_t>(axis)];
  require(extent > 0 && !selection::refuses(how, extent));
  const std::int64_t chosen = selection::count_of(how, extent) * outer * inner;
  const Located values = result_of(op.results[0]), indices = result_of(op.results[1]);
  require(values.dtype == in.dtype && indices.dtype == DType::I64 && values.count() == chosen &&
          indices.count() == chosen);
  emit(Opcode::Select,
       {static_cast<std::int64_t>(how.kind), how.descending, how.sorted, how.stable, how.flat, how.k,
        static_cast<std::int64_t>(in.dtype), outer, extent, inner},
       {&in, &values, &indices}, in.count() * 8);
}

}  // namespace dycl::backends::small
