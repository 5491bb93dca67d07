// SPDX-License-Identifier: Apache-2.0
#include "passes/shape_values.h"

#include <algorithm>

#include "ir/host_ops.h"
#include "passes/definitions.h"

namespace dycl::passes {
namespace {

constexpr std::size_t kMostElements = 64;  // shapes are short

using Known = std::optional<Contents>;

class Reader {
 public:
  Reader(const ShapeValues& values, const ir::Function& function, const ir::Op& op)
      : values_(values), function_(function), op_(op) {}

  Known read() const {
    if (op_.results.size() != 1) return std::nullopt;
    const ir::Type& type = function_.type_of(op_.results[0]);
    if (type.is_tensor()) {
      const bool integral = type.dtype == DType::I64 || type.dtype == DType::I32;
      if (!integral) return std::nullopt;
      return op_.is_tensor_op() ? tensor_op() : host_tensor();
    }
    if (type.kind == ir::Type::Kind::Int) return host_int();
    if (op_.name == "list.new" && type.element[0].kind == ir::Type::Kind::Int) return joined(op_.operands);
    return std::nullopt;
  }

 private:
  const Contents* operand(std::size_t i) const {
    return i < op_.operands.size() ? values_.of(op_.operands[i]) : nullptr;
  }
  const ir::Type& type(std::size_t i) const { return function_.type_of(op_.operands[i]); }
  bool is_flat(std::size_t i) const { return type(i).shape && type(i).shape->size() <= 1; }

  Known copied(std::size_t i) const { return operand(i) ? Known(*operand(i)) : std::nullopt; }

  Known joined(const std::vector<ir::ValueId>& parts) const {
    Contents all;
    for (const ir::ValueId part : parts) {
      const Contents* known = values_.of(part);
      if (!known) return std::nullopt;
      all.insert(all.end(), known->begin(), known->end());
    }
    return all.size() <= kMostElements ? Known(all) : std::nullopt;
  }

  // ---- the host ------------------------------------------------------------------------

  Known host_tensor() const {
    if (op_.name == "const") {
      const auto* literal = ir::attr_as<ir::TensorLiteral>(op_, "value");
      const auto integers = literal && literal->shape.size() <= 1 ? integers_of(*literal) : std::nullopt;
      if (!integers || integers->size() > kMostElements) return std::nullopt;
      Contents contents;
      for (const std::int64_t value : *integers) contents.push_back(ir::constant_dim(value));
      return contents;
    }
    if (op_.name == "to_tensor" || op_.name == "list.to_tensor") return copied(0);
    return std::nullopt;
  }

  Known host_int() const {
    const auto one = [](ir::Dim dim) { return Known(Contents{std::move(dim)}); };
    if (op_.name == "const") return one(ir::constant_dim(std::get<std::int64_t>(*op_.attr("value"))));
    if (op_.name == "dim") {
      const auto& shape = type(0).shape;
      const auto axis = static_cast<std::size_t>(std::get<std::int64_t>(*op_.attr("axis")));
      return shape && axis < shape->size() ? one((*shape)[axis]) : std::nullopt;
    }
    if (op_.name == "size") return type(0).shape ? one(product(*type(0).shape)) : std::nullopt;
    if (op_.name == "item") return operand(0) && operand(0)->size() == 1 ? copied(0) : std::nullopt;
    if (op_.operands.size() != 2 || !operand(0) || !operand(1)) return std::nullopt;
    if (operand(0)->size() != 1 || operand(1)->size() != 1) return std::nullopt;
    const ir::Dim &a = operand(0)->front(), &b = operand(1)->front();
    if (op_.name == "int.add") return one(a + b);
    if (op_.name == "int.sub") return one(a - b);
    if (op_.name == "int.mul") return one(a * b);
    if (op_.name == "int.floordiv") return one(floordiv(a, b));
    if (op_.name == "int.mod") return one(mod(a, b));
    if (op_.name == "int.min") return one(dim_min(a, b));
    if (op_.name == "int.max") return one(dim_max(a, b));
    return std::nullopt;
  }

  static ir::Dim product(const std::vector<ir::Dim>& dims) {
    ir::Dim all = ir::Dim::of(1);
    for (const ir::Dim& dim : dims) all = all * dim;
    return all;
  }

  // ---- tensors --------------------------------------------------------------------------

  Known tensor_op() const {
    const std::string& name = op_.name;
    if (name == "Shape") return shape_op();
    if (name == "Size") return type(0).shape ? Known(Contents{product(*type(0).shape)}) : std::nullopt;
    if (name == "Constant") return constant_op();
    if (name == "Gather") return gather();
    if (name == "Slice") return slice();
    if (name == "Identity") return copied(0);
    if (function_.type_of(op_.results[0]).dtype != DType::I64) return std::nullopt;  // narrower ones may wrap
    if (name == "Cast") return copied(0);
    if (name == "Squeeze" || name == "Unsqueeze" || name == "Reshape" || name == "Flatten") return reshaped();
    if (name == "Concat") return flat_concat();
    if (name == "Add" || name == "Sub" || name == "Mul" || name == "Min" || name == "Max") return arithmetic();
    return std::nullopt;
  }

  Known reshaped() const {
    const auto& shape = function_.type_of(op_.results[0]).shape;
    return shape && shape->size() <= 1 ? copied(0) : std::nullopt;
  }

  Known shape_op() const {
    if (!type(0).shape) return std::nullopt;
    const auto rank = static_cast<std::int64_t>(type(0).shape->size());
    const auto bound = [&](const char* key, std::int64_t otherwise) {
      const auto* value = ir::attr_as<std::int64_t>(op_, key);
      const std::int64_t at = value ? *value : otherwise;
      return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
    };
    const std::int64_t start = bound("start", 0), end = bound("end", rank);
    if (start >= end) return Contents{};
    return Contents(type(0).shape->begin() + start, type(0).shape->begin() + end);
  }

  Known constant_op() const {
    if (const auto* integer = ir::attr_as<std::int64_t>(op_, "value_int")) return Contents{ir::constant_dim(*integer)};
    std::optional<std::vector<std::int64_t>> integers;
    if (const auto* list = ir::attr_as<std::vector<std::int64_t>>(op_, "value_ints")) integers = *list;
    if (const auto* literal = ir::attr_as<ir::TensorLiteral>(op_, "value"); literal && literal->shape.size() <= 1)
      integers = integers_of(*literal);
    if (!integers || integers->size() > kMostElements) return std::nullopt;
    Contents contents;
    for (const std::int64_t value : *integers) contents.push_back(ir::constant_dim(value));
    return contents;
  }

  Known gather() const {
    if (!operand(0) || !operand(1) || !is_flat(1)) return std::nullopt;
    const auto indices = constants_of(*operand(1));
    const auto count = static_cast<std::int64_t>(operand(0)->size());
    if (!indices) return std::nullopt;
    Contents picked;
    for (const std::int64_t index : *indices) {
      if (index < -count || index >= count) return std::nullopt;
      picked.push_back((*operand(0))[static_cast<std::size_t>(index < 0 ? index + count : index)]);
    }
    return picked;
  }

  Known slice() const {
    if (!operand(0) || op_.operands.size() < 3) return std::nullopt;
    const auto one = [&](std::size_t i, std::int64_t otherwise) -> std::optional<std::int64_t> {
      if (i >= op_.operands.size() || !op_.operands[i].present()) return otherwise;
      const auto values = operand(i) ? constants_of(*operand(i)) : std::nullopt;
      return values && values->size() == 1 ? std::optional(values->front()) : std::nullopt;
    };
    const auto start = one(1, 0), end = one(2, 0), axis = one(3, 0), step = one(4, 1);
    if (!start || !end || !axis || !step || *step != 1 || (*axis != 0 && *axis != -1)) return std::nullopt;
    const auto count = static_cast<std::int64_t>(operand(0)->size());
    const auto place = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + count : at, 0, count); };
    const std::int64_t first = place(*start), last = std::max(place(*end), first);
    return Contents(operand(0)->begin() + first, operand(0)->begin() + last);
  }

  Known flat_concat() const {
    for (std::size_t i = 0; i < op_.operands.size(); ++i)
      if (!is_flat(i)) return std::nullopt;
    return joined(op_.operands);
  }

  Known arithmetic() const {
    if (op_.operands.size() != 2 || !operand(0) || !operand(1) || !is_flat(0) || !is_flat(1)) return std::nullopt;
    const Contents &a = *operand(0), &b = *operand(1);
    if (a.empty() || b.empty() || (a.size() != b.size() && a.size() != 1 && b.size() != 1)) return std::nullopt;
    Contents result;
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      const ir::Dim &x = a[a.size() == 1 ? 0 : i], &y = b[b.size() == 1 ? 0 : i];
      if (op_.name == "Add") result.push_back(x + y);
      if (op_.name == "Sub") result.push_back(x - y);
      if (op_.name == "Mul") result.push_back(x * y);
      if (op_.name == "Min") result.push_back(dim_min(x, y));
      if (op_.name == "Max") result.push_back(dim_max(x, y));
    }
    return result;
  }

  const ShapeValues& values_;
  const ir::Function& function_;
  const ir::Op& op_;
};

}  // namespace

void ShapeValues::visit(const ir::Function& function, const ir::Op& op) {
  if (op.results.size() == 1 && op.results[0].present())
    known_[op.results[0].index] = Reader(*this, function, op).read();
}

std::optional<std::int64_t> constant_of(const ir::Dim& dim) {
  if (dim.is_known()) return dim.value;
  if (dim.is_opaque() || !ir::symbols_of(dim).empty()) return std::nullopt;
  return ir::evaluate(dim, {});
}

std::optional<std::vector<std::int64_t>> constants_of(const Contents& contents) {
  std::vector<std::int64_t> constants;
  for (const ir::Dim& dim : contents) {
    const auto value = constant_of(dim);
    if (!value) return std::nullopt;
    constants.push_back(*value);
  }
  return constants;
}

}  // namespace dycl::passes
