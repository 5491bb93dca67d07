// SPDX-License-Identifier: Apache-2.0
#include "passes/tensor_arithmetic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "passes/definitions.h"
#include "support/result.h"

namespace dycl::passes {
namespace {

using Term = TensorArithmetic::Term;

// clang-format off
constexpr std::array kKnown = std::to_array<std::string_view>({
    "bool.and",    "bool.eq",   "bool.not",    "bool.or",     "bool.to_float", "bool.to_int", "bool.xor",
    "float.abs",   "float.add", "float.eq",    "float.ge",    "float.gt",      "float.isinf", "float.isnan",
    "float.le",    "float.lt",  "float.max",   "float.min",   "float.mul",     "float.ne",    "float.neg",
    "float.sub",   "float.to_bool", "float.to_f32", "float.truediv", "int.abs", "int.add",    "int.eq",
    "int.ge",      "int.gt",    "int.le",      "int.lt",      "int.max",       "int.min",     "int.mul",
    "int.ne",      "int.neg",   "int.sub",     "int.to_bool", "int.to_float",  "select",
});
// clang-format on
static_assert(std::ranges::is_sorted(kKnown));

bool is_constant(const Term& term) { return !term.tensor.present(); }

// The least f32 >= value and the greatest <= value (NaN: NaN).
float round_up(double value) {
  const float near = static_cast<float>(value);
  return static_cast<double>(near) < value ? std::nextafter(near, std::numeric_limits<float>::infinity()) : near;
}
float round_down(double value) {
  const float near = static_cast<float>(value);
  return static_cast<double>(near) > value ? std::nextafter(near, -std::numeric_limits<float>::infinity()) : near;
}
bool is_f32(double value) { return std::isnan(value) || static_cast<double>(static_cast<float>(value)) == value; }

bool fits_f32(const Term& term) { return is_constant(term) ? is_f32(term.constant.f) : term.dtype == DType::F32; }

// "ge" read from the right: a >= b is b <= a.
std::string mirrored(const std::string& relation) {
  if (relation == "lt") return "gt";
  if (relation == "le") return "ge";
  if (relation == "gt") return "lt";
  if (relation == "ge") return "le";
  return relation;
}

const char* onnx_relation(const std::string& relation) {
  if (relation == "lt") return "Less";
  if (relation == "le") return "LessOrEqual";
  if (relation == "gt") return "Greater";
  if (relation == "ge") return "GreaterOrEqual";
  return "Equal";
}

bool is_relation(const std::string& op) {
  return op == "eq" || op == "ne" || op == "lt" || op == "le" || op == "gt" || op == "ge";
}

}  // namespace

bool TensorArithmetic::knows(const std::string& host_op) { return std::ranges::binary_search(kKnown, host_op); }

Term TensorArithmetic::leaf(ir::ValueId tensor) {
  const DType dtype = function_.type_of(tensor).dtype;
  const Term term{tensor, dtype, {}};
  if (dtype == DType::Bool || dtype == DType::F32 || dtype == DType::F64 || dtype == DType::I64) return term;
  return cast(term, is_floating(dtype) ? DType::F32 : DType::I64);
}

Term TensorArithmetic::apply(const std::string& host_op, const std::vector<Term>& operands, SourceSpan span) {
  span_ = span;
  if (host_op == "select") return choose(operands[0], operands[1], operands[2]);
  const std::size_t dot = host_op.find('.');
  const std::string op = host_op.substr(dot + 1);
  if (host_op.starts_with("bool.")) return bool_op(op, operands);
  if (is_relation(op)) return compare(op, operands[0], operands[1]);
  return host_op.starts_with("int.") ? int_op(op, operands) : float_op(op, operands);
}

ir::ValueId TensorArithmetic::item(const Term& term, ir::ValueId result, SourceSpan span) {
  DYCL_CHECK(!is_constant(term), "a condition that reads a tensor is no constant");
  out_.push_back({"item", {term.tensor}, {result}, {}, span});
  return result;
}

// ---- the three kinds ------------------------------------------------------------------

Term TensorArithmetic::compare(const std::string& relation, Term a, Term b) {
  if (is_constant(a)) return compare(mirrored(relation), b, a);  // the caller has no two constants
  if (relation == "ne") return negated(compare("eq", a, b));
  if (a.dtype == DType::I64) return emit(onnx_relation(relation), {a, b}, DType::Bool);
  if (a.dtype == DType::F32 && is_constant(b) && (relation != "eq" || is_f32(b.constant.f))) {
    const bool up = relation == "ge" || relation == "lt";
    const float bound = up ? round_up(b.constant.f) : round_down(b.constant.f);
    b = literal(scalar::Scalar::of(static_cast<double>(bound)), DType::F32);
  }
  const DType dtype = a.dtype == DType::F32 && fits_f32(b) ? DType::F32 : DType::F64;
  return emit(onnx_relation(relation), {cast(a, dtype), cast(b, dtype)}, DType::Bool);
}

Term TensorArithmetic::float_op(const std::string& op, const std::vector<Term>& operands) {
  const Term& a = operands[0];
  if (op == "neg") return emit("Neg", {a}, a.dtype);
  if (op == "abs") return emit("Abs", {a}, a.dtype);
  if (op == "isnan") return emit("IsNaN", {a}, DType::Bool);
  if (op == "isinf") return emit("IsInf", {a}, DType::Bool);
  if (op == "to_bool") return negated(compare("eq", a, {{}, DType::F64, scalar::Scalar::of(0.0)}));
  if (op == "to_f32") return cast(a, DType::F32);
  if (op == "min") return pick("Less", a, operands[1]);
  if (op == "max") return pick("Greater", a, operands[1]);
  const char* name = op == "add" ? "Add" : op == "sub" ? "Sub" : op == "mul" ? "Mul" : "Div";
  return emit(name, {cast(a, DType::F64), cast(operands[1], DType::F64)}, DType::F64);
}

Term TensorArithmetic::int_op(const std::string& op, const std::vector<Term>& operands) {
  const Term& a = operands[0];
  if (op == "to_float") return cast(a, DType::F64);
  if (op == "to_bool") return negated(compare("eq", a, {{}, DType::I64, scalar::Scalar::of(std::int64_t{0})}));
  if (op == "neg") return emit("Neg", {a}, DType::I64);
  if (op == "abs") return emit("Abs", {a}, DType::I64);
  const char* name = op == "add" ? "Add" : op == "sub" ? "Sub" : op == "mul" ? "Mul" : op == "min" ? "Min" : "Max";
  return emit(name, operands, DType::I64);
}

Term TensorArithmetic::bool_op(const std::string& op, const std::vector<Term>& operands) {
  const Term& a = operands[0];
  if (op == "not") return negated(a);
  if (op == "to_int") return cast(a, DType::I64);
  if (op == "to_float") return cast(a, DType::F32);
  const char* name = op == "and" ? "And" : op == "or" ? "Or" : op == "xor" ? "Xor" : "Equal";
  return emit(name, operands, DType::Bool);
}

Term TensorArithmetic::choose(const Term& condition, const Term& a, const Term& b) {
  const auto kind = is_constant(a) ? a.constant.kind : scalar::Kind::Bool;
  const bool bools = is_constant(a) ? kind == scalar::Kind::Bool : a.dtype == DType::Bool;
  if (bools)  // few engines choose between bools
    return emit("Or", {emit("And", {condition, a}, DType::Bool), emit("And", {negated(condition), b}, DType::Bool)},
                DType::Bool);
  const bool ints = is_constant(a) ? kind == scalar::Kind::Int : a.dtype == DType::I64;
  const DType dtype = ints ? DType::I64 : fits_f32(a) && fits_f32(b) ? DType::F32 : DType::F64;
  return emit("Where", {cast(condition, DType::Bool), cast(a, dtype), cast(b, dtype)}, dtype);
}

// Python's min and max: the first unless the second is strictly less or greater.
Term TensorArithmetic::pick(const char* relation, const Term& a, const Term& b) {
  const DType dtype = fits_f32(a) && fits_f32(b) ? DType::F32 : DType::F64;
  const Term first = cast(a, dtype), second = cast(b, dtype);
  return emit("Where", {emit(relation, {second, first}, DType::Bool), second, first}, dtype);
}

// ---- ops ----------------------------------------------------------------------------------

Term TensorArithmetic::negated(const Term& term) { return emit("Not", {term}, DType::Bool); }

Term TensorArithmetic::cast(const Term& term, DType dtype) {
  if (is_constant(term)) return literal(term.constant, dtype);
  if (term.dtype == dtype) return term;
  const ir::ValueId result = function_.add_value(ir::Type::tensor(dtype, *function_.type_of(term.tensor).shape));
  out_.push_back({"Cast", {term.tensor}, {result}, {{"to", static_cast<std::int64_t>(dtype)}}, span_});
  return {result, dtype, {}};
}

Term TensorArithmetic::literal(const scalar::Scalar& value, DType dtype) {
  auto made = literal_of(value, dtype);
  DYCL_CHECK(made.has_value(), "a constant of a condition fits its dtype");
  const ir::ValueId result = function_.add_value(ir::Type::tensor(dtype, {}));
  out_.push_back({"const", {}, {result}, {{"value", std::move(*made)}}, span_});
  return {result, dtype, {}};
}

Term TensorArithmetic::emit(const char* name, std::vector<Term> operands, DType dtype) {
  std::vector<ir::ValueId> values;
  std::size_t rank = 0;
  for (Term& operand : operands) {
    if (is_constant(operand)) {
      const auto kind = operand.constant.kind;
      operand = literal(operand.constant, kind == scalar::Kind::Bool  ? DType::Bool
                                          : kind == scalar::Kind::Int ? DType::I64
                                                                      : DType::F64);
    }
    values.push_back(operand.tensor);
    rank = std::max(rank, function_.type_of(operand.tensor).shape->size());
  }
  const ir::ValueId result = function_.add_value(ir::Type::tensor(dtype, std::vector<ir::Dim>(rank, ir::Dim::of(1))));
  out_.push_back({name, std::move(values), {result}, {}, span_});
  return {result, dtype, {}};
}

}  // namespace dycl::passes
