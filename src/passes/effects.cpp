// SPDX-License-Identifier: Apache-2.0
#include "passes/effects.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "ir/host_ops.h"

namespace dycl::passes {
namespace {

// Tensor ops whose result is defined only for some values of their operands (not
// only for some shapes). Sorted.
// clang-format off
constexpr std::array kPartialTensorOps = std::to_array<std::string_view>({
    "BitShift",   "CenterCropPad", "Compress",       "ConstantOfShape", "Expand",
    "Gather",     "GatherElements", "GatherND",      "MaxUnpool",       "OneHot",
    "Pad",        "Range",         "Reshape",        "Resize",          "ReverseSequence",
    "ScatterElements", "ScatterND", "Split",         "SplitToSequence", "TensorScatter",
    "Tile",       "TopK",          "Upsample",       "torch.KthValue",  "torch.Mode",
    "torch.TopK",
});
// clang-format on
static_assert(std::ranges::is_sorted(kPartialTensorOps));

bool to_tensor_may_raise(const ir::Function& function, const ir::Op& op) {
  const auto kind = function.type_of(op.operands[0]).kind;
  const DType dtype = function.type_of(op.results[0]).dtype;
  if (kind == ir::Type::Kind::Bool) return false;
  if (kind == ir::Type::Kind::Int) return !(is_floating(dtype) || dtype == DType::I64 || dtype == DType::Bool);
  return !is_floating(dtype);
}

bool dim_may_raise(const ir::Function& function, const ir::Op& op) {
  const ir::Type& type = function.type_of(op.operands[0]);
  const ir::Attr* axis = op.attr("axis");
  const auto* at = axis ? std::get_if<std::int64_t>(axis) : nullptr;
  return !at || !type.shape || *at < 0 || *at >= static_cast<std::int64_t>(type.shape->size());
}

bool integer_division(const ir::Function& function, const ir::Op& op) {
  if (op.name != "Div" && op.name != "Mod") return false;
  return !is_floating(function.type_of(op.results[0]).dtype);
}

// True if the type says that a tensor has exactly one element.
bool has_one_element(const ir::Type& type) {
  if (!type.is_tensor() || !type.shape) return false;
  return std::ranges::all_of(*type.shape, [](const ir::Dim& dim) { return dim.value == 1; });
}

}  // namespace

bool is_constant(const ir::Op& op) { return op.name == "const" || op.name == "weight"; }

bool has_effect(const ir::Op& op) {
  if (op.is_tensor_op()) return false;
  const ir::HostOp* host = ir::host_op_named(op.name);
  return !host || host->has_effect;
}

bool may_raise(const ir::Function& function, const ir::Op& op) {
  if (op.is_tensor_op()) return false;
  const ir::HostOp* host = ir::host_op_named(op.name);
  if (host && !host->can_fail && op.name != "dim") return false;
  if (op.name == "item") {
    const ir::Type& type = function.type_of(op.operands[0]);
    return !has_one_element(type) || type.dtype == DType::U64;
  }
  if (op.name == "dim") return dim_may_raise(function, op);
  if (op.name == "to_tensor") return to_tensor_may_raise(function, op);
  if (op.name == "list.from_tensor") {
    const ir::Type& type = function.type_of(op.operands[0]);
    return !type.shape || type.shape->size() != 1 || type.dtype == DType::U64;
  }
  return true;
}

bool is_ordered(const ir::Function& function, const ir::Op& op) { return has_effect(op) || may_raise(function, op); }

bool is_speculatable(const ir::Function& function, const ir::Op& op) {
  if (is_ordered(function, op) || op.name == "call") return false;
  if (!op.is_tensor_op()) return true;
  if (op.name.find('.') != std::string::npos) return false;  // another domain's op: unknown to us
  return !std::ranges::binary_search(kPartialTensorOps, op.name) && !integer_division(function, op);
}

}  // namespace dycl::passes
