// SPDX-License-Identifier: Apache-2.0
#include "emit/onnx/selection.h"

#include <limits>

namespace dycl::emit {
namespace {

using Names = OnnxGraph::Names;

std::int64_t integer(const OnnxGraph::Attributes& attributes, const char* name, std::int64_t otherwise) {
  for (const onnx::Attribute& a : attributes)
    if (a.name == name && a.kind == onnx::Attribute::Kind::Int) return a.i;
  return otherwise;
}

// What TopK orders as torch orders `x`: NaN is the greatest.
std::string key_of(OnnxGraph& g, const std::string& x, std::int64_t elements) {
  const auto dtype = dtype_of_code(static_cast<int>(elements));
  if (dtype == DType::Bool) return g.cast(x, DType::U8);
  if (!dtype || !is_floating(*dtype)) return x;
  const std::string key = dtype == DType::F64 || dtype == DType::F32 ? x : g.cast(x, DType::F32);
  const std::string nan = g.node("IsNaN", {key});
  auto number = [&](double most, double infinity) {
    const float small[] = {static_cast<float>(most), static_cast<float>(infinity)};
    const double large[] = {most, infinity};
    const bool wide = dtype == DType::F64;
    const auto at = [&](std::size_t i) { return wide ? static_cast<const void*>(large + i) : small + i; };
    const std::size_t size = wide ? sizeof(double) : sizeof(float);
    const DType of = wide ? DType::F64 : DType::F32;
    return std::pair(g.constant(of, {}, at(0), size), g.constant(of, {}, at(1), size));
  };
  const auto [most, infinity] =
      number(dtype == DType::F64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max(),
             std::numeric_limits<double>::infinity());
  return g.node("Where", {nan, infinity, g.node("Min", {key, most})});
}

}  // namespace

bool is_selection(const std::string& op) {
  return op == "torch.TopK" || op == "torch.Sort" || op == "torch.KthValue" || op == "torch.Mode";
}

Result<Names> write_selection(OnnxGraph& g, const std::string& op, const Names& operands,
                              const OnnxGraph::Attributes& attributes) {
  if (op == "torch.Mode" || (op == "torch.TopK" && integer(attributes, "sorted", 1) == 0)) {
    return Error{ErrorKind::Unsupported,
                 op == "torch.Mode" ? "torch.mode has no ONNX form"
                                    : "the order that torch.topk(sorted=False) leaves has no ONNX form",
                 op == "torch.Mode" ? "run the package with DyCL's runtime" : "ask for sorted=True",
                 {},
                 {}};
  }
  const std::string& x = operands[0];
  const std::int64_t axis = integer(attributes, "axis", -1);
  const onnx::Attribute along = onnx::int_attribute("axis", axis);
  std::string k;
  if (op == "torch.Sort") {
    const auto extents = g.node("Shape", {x});
    k = g.node("Gather", {extents, g.integers({axis})});
  } else {
    k = operands[1];
  }
  const bool largest = op == "torch.TopK"   ? integer(attributes, "largest", 1) != 0
                       : op == "torch.Sort" ? integer(attributes, "descending", 0) != 0
                                            : false;
  Names ordered = g.node("TopK", {key_of(g, x, integer(attributes, "elements", 0)), k}, 2,
                         {along, onnx::int_attribute("largest", largest ? 1 : 0)});
  std::string at = ordered[1];
  if (op == "torch.KthValue") at = g.node("Gather", {at, g.node("Sub", {k, g.integers({1})})}, {along});
  return Names{g.node("GatherElements", {x, at}, {along}), at};
}

}  // namespace dycl::emit
