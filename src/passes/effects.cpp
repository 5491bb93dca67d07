// SPDX-License-Identifier: Apache-2.0
#include "passes/effects.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace dycl::passes {
namespace {

using Names = std::string_view;

template <std::size_t N>
bool contains(const std::array<Names, N>& sorted, Names name) {
  return std::binary_search(sorted.begin(), sorted.end(), name);
}

// Host ops that never raise, whatever their operands. Sorted.
constexpr std::array kNeverRaise = std::to_array<Names>({
    "bool.and",     "bool.eq",         "bool.not",      "bool.or",        "bool.to_float",
    "bool.to_int",  "bool.xor",        "call",          "const",          "float.abs",
    "float.add",    "float.atan",      "float.atan2",   "float.copysign", "float.eq",
    "float.erf",    "float.ge",        "float.gt",      "float.isfinite", "float.isinf",
    "float.isnan",  "float.le",        "float.lt",      "float.max",      "float.min",
    "float.mul",    "float.ne",        "float.neg",     "float.sub",      "float.tanh",
    "float.to_bool", "float.to_f32",   "int.and",       "int.eq",         "int.ge",
    "int.gt",       "int.le",          "int.lt",        "int.max",        "int.min",
    "int.ne",       "int.not",         "int.or",        "int.to_bool",    "int.to_float",
    "int.xor",      "list.append",     "list.concat",   "list.insert",    "list.len",
    "list.new",     "list.slice",      "opt.is_some",   "opt.none",       "opt.some",
    "select",       "size",            "weight",
});

// Host ops that may raise but have no effect. Sorted.
constexpr std::array kMayRaise = std::to_array<Names>({
    "dim",         "float.acos",      "float.asin",     "float.ceil",    "float.cos",
    "float.cosh",  "float.exp",       "float.expm1",    "float.floor",   "float.floordiv",
    "float.fmod",  "float.hypot",     "float.log",      "float.log10",   "float.log1p",
    "float.log2",  "float.mod",       "float.pow",      "float.round",   "float.sin",
    "float.sinh",  "float.sqrt",      "float.tan",      "float.to_int",  "float.truediv",
    "int.abs",     "int.add",         "int.floordiv",   "int.mod",       "int.mul",
    "int.neg",     "int.pow",         "int.shl",        "int.shr",       "int.sub",
    "int.truediv", "item",            "list.cat",       "list.from_tensor", "list.get",
    "list.pop",    "list.set",        "list.stack",     "list.to_tensor", "opt.get",
    "to_tensor",
});

// Tensor ops whose result is defined only for some values of their operands (not
// only for some shapes). Sorted.
constexpr std::array kPartialTensorOps = std::to_array<Names>({
    "BitShift",   "CenterCropPad", "Compress",       "ConstantOfShape", "Expand",
    "Gather",     "GatherElements", "GatherND",      "MaxUnpool",       "OneHot",
    "Pad",        "Range",         "Reshape",        "Resize",          "ReverseSequence",
    "ScatterElements", "ScatterND", "Split",         "SplitToSequence", "TensorScatter",
    "Tile",       "TopK",          "Upsample",
});

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

}  // namespace

bool has_one_element(const ir::Type& type) {
  if (!type.is_tensor() || !type.shape) return false;
  return std::ranges::all_of(*type.shape, [](const ir::Dim& dim) { return dim.value == 1; });
}

bool is_constant(const ir::Op& op) { return op.name == "const" || op.name == "weight"; }

bool has_effect(const ir::Op& op) {
  if (op.is_tensor_op()) return false;
  return !contains(kNeverRaise, op.name) && !contains(kMayRaise, op.name);
}

bool may_raise(const ir::Function& function, const ir::Op& op) {
  if (op.is_tensor_op() || contains(kNeverRaise, op.name)) return false;
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

bool is_ordered(const ir::Function& function, const ir::Op& op) {
  return has_effect(op) || may_raise(function, op);
}

bool is_speculatable(const ir::Function& function, const ir::Op& op) {
  if (is_ordered(function, op) || op.name == "call") return false;
  if (!op.is_tensor_op()) return true;
  if (op.name.find('.') != std::string::npos) return false;  // another domain's op: unknown to us
  return !contains(kPartialTensorOps, op.name) && !integer_division(function, op);
}

}  // namespace dycl::passes
