// SPDX-License-Identifier: Apache-2.0
#include "backends/choose/compare.h"

#include <cmath>
#include <cstdio>
#include <map>

namespace dycl::backends {
namespace {

constexpr double kAbsolute = 1e-4, kRelative = 1e-3;  // of the largest magnitude; of the element

}  // namespace

Result<std::vector<ir::Tensor>> reference(const ir::Program& program, const ir::Function& function,
                                          const std::vector<ir::Tensor>& operands, ir::TensorEvaluator& evaluator) {
  std::map<std::uint32_t, ir::Tensor> values;
  for (std::size_t i = 0; i < operands.size(); ++i)
    values.insert_or_assign(function.params[i].value.index, operands[i]);
  for (const ir::Op& op : function.blocks[0].body) {
    if (op.name == "const") {
      values.insert_or_assign(op.results[0].index, ir::Tensor::of(std::get<ir::TensorLiteral>(op.attrs.at("value"))));
      continue;
    }
    if (op.name == "weight") {
      const ir::Weight& weight = program.weights.at(std::get<std::string>(op.attrs.at("name")));
      ir::Tensor tensor{weight.type.dtype, {}, {weight.bytes.data, weight.bytes.data + weight.bytes.size}};
      for (const ir::Dim& dim : *weight.type.shape) tensor.shape.push_back(dim.value);
      values.insert_or_assign(op.results[0].index, std::move(tensor));
      continue;
    }
    std::vector<const ir::Tensor*> in;
    for (const ir::ValueId v : op.operands) in.push_back(v.present() ? &values.at(v.index) : nullptr);
    std::vector<ir::Type> types;
    for (const ir::ValueId v : op.results)
      types.push_back(v.present() ? function.type_of(v) : ir::Type::tensor_of_unknown_rank(DType::F32));
    DYCL_ASSIGN(std::vector<ir::Tensor> out, evaluator.evaluate(op, in, types));
    for (std::size_t i = 0; i < op.results.size() && i < out.size(); ++i)
      if (op.results[i].present()) values.insert_or_assign(op.results[i].index, std::move(out[i]));
  }
  std::vector<ir::Tensor> results;
  for (const ir::ValueId v : std::get<ir::Return>(function.blocks[0].exit).values)
    results.push_back(values.at(v.index));
  return results;
}

std::string difference(const ir::Tensor& actual, const ir::Tensor& expected) {
  if (actual.dtype != expected.dtype || actual.shape != expected.shape) return "a result of another shape";
  if (expected.dtype != DType::F32) return actual.bytes == expected.bytes ? "" : "other elements";
  const float *a = actual.data<float>(), *e = expected.data<float>();
  double scale = 1;
  for (std::int64_t i = 0; i < expected.count(); ++i)
    if (std::isfinite(e[i])) scale = std::max(scale, std::abs(double{e[i]}));
  for (std::int64_t i = 0; i < expected.count(); ++i) {
    if (a[i] == e[i] || (std::isnan(a[i]) && std::isnan(e[i]))) continue;
    const double apart = std::abs(double{a[i]} - double{e[i]});
    if (apart <= kAbsolute * scale + kRelative * std::abs(double{e[i]})) continue;
    char text[96];
    std::snprintf(text, sizeof text, "%g where the reference has %g", double{a[i]}, double{e[i]});
    return text;
  }
  return {};
}

}  // namespace dycl::backends
