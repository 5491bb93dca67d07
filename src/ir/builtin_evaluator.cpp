// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>

#include "ir/builtin_ops.h"
#include "ir/host_ops.h"

namespace dycl::ir {

namespace builtin {

Error unsupported(const Call& call, const std::string& what) {
  return {ErrorKind::Unsupported,
          "the built-in evaluator does not know " + call.op.name + " " + what,
          "evaluate with ONNX Runtime",
          call.op.span,
          {}};
}

Error bad_operand(const Call& call, const std::string& what) {
  return {ErrorKind::RuntimeFailure, call.op.name + ": " + what, {}, call.op.span, "RuntimeError"};
}

Result<void> expect(const Call& call, std::size_t least, std::size_t most,
                    std::initializer_list<std::string_view> attributes) {
  if (call.in.size() < least || call.in.size() > most)
    return bad_operand(call, "takes " + std::to_string(least) + " to " + std::to_string(most) + " operands, got " +
                                 std::to_string(call.in.size()));
  for (std::size_t i = 0; i < least; ++i)
    if (!call.in[i]) return bad_operand(call, "operand " + std::to_string(i + 1) + " is left out");
  for (const auto& [key, value] : call.op.attrs)
    if (std::find(attributes.begin(), attributes.end(), key) == attributes.end())
      return unsupported(call, "with attribute " + key);
  return {};
}

std::int64_t int_attr(const Call& call, const char* key, std::int64_t otherwise) {
  const auto* value = attr_as<std::int64_t>(call.op, key);
  return value ? *value : otherwise;
}

double float_attr(const Call& call, const char* key, double otherwise) {
  const auto* value = attr_as<double>(call.op, key);
  return value ? *value : otherwise;
}

Result<std::vector<std::int64_t>> int_operand(const Call& call, std::size_t i) {
  const Tensor& tensor = call.operand(i);
  std::vector<std::int64_t> out;
  if (tensor.dtype == DType::I64)
    out.assign(tensor.data<std::int64_t>(), tensor.data<std::int64_t>() + tensor.count());
  else if (tensor.dtype == DType::I32)
    out.assign(tensor.data<std::int32_t>(), tensor.data<std::int32_t>() + tensor.count());
  else
    return bad_operand(call, "operand " + std::to_string(i + 1) + " must hold integers");
  return out;
}

Result<std::size_t> axis_in(const Call& call, std::int64_t axis, std::int64_t rank) {
  if (axis < -rank || axis >= rank)
    return bad_operand(call, "axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(rank));
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

Result<Shape> broadcast_shape(const Call& call, const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1)
      return bad_operand(call, "shapes " + shape_text(a) + " and " + shape_text(b) + " do not broadcast");
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

std::vector<std::int64_t> broadcast_places(const Shape& from, const Shape& out) {
  std::vector<std::int64_t> strides(out.size(), 0);
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::int64_t extent = from[from.size() - 1 - i];
    strides[out.size() - 1 - i] = extent == 1 ? 0 : stride;
    stride *= extent;
  }
  std::vector<std::int64_t> places(static_cast<std::size_t>(element_count(out)));
  Shape index(out.size(), 0);
  std::int64_t place = 0;
  for (std::int64_t& p : places) {
    p = place;
    for (std::size_t i = out.size(); i-- > 0;) {
      place += strides[i];
      if (++index[i] < out[i]) break;
      place -= strides[i] * out[i];
      index[i] = 0;
    }
  }
  return places;
}

}  // namespace builtin

namespace {

class BuiltinEvaluator : public TensorEvaluator {
 public:
  BuiltinEvaluator() {
    for (const auto ops : {builtin::elementwise_ops(), builtin::layout_ops(), builtin::reduction_ops()})
      for (const builtin::OpEntry& entry : ops) table_.emplace(entry.name, entry.run);
  }

  Result<std::vector<Tensor>> evaluate(const Op& op, std::span<const Tensor* const> operands,
                                       std::span<const Type> types) override {
    const builtin::Call call{op, operands, types};
    auto it = table_.find(op.name);
    if (it == table_.end()) return builtin::unsupported(call, "");
    return it->second(call);
  }

 private:
  std::unordered_map<std::string_view, builtin::OpFunction> table_;
};

}  // namespace

std::unique_ptr<TensorEvaluator> make_builtin_evaluator() { return std::make_unique<BuiltinEvaluator>(); }

}  // namespace dycl::ir
