// SPDX-License-Identifier: Apache-2.0
// Ops on elements, one by one, with broadcasting.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "backends/kernels/small/lowering.h"

namespace dycl::backends::small {

bool Lowering::unary(const ir::Op& op) {
  struct Row {
    UnaryFunction function;
    std::int64_t work;  // of 4 elements
  };
  static const std::map<std::string, Row> table = {
      {"Relu", {UnaryFunction::Relu, 1}},  {"Sigmoid", {UnaryFunction::Sigmoid, 8}},
      {"Tanh", {UnaryFunction::Tanh, 12}}, {"Exp", {UnaryFunction::Exp, 6}},
      {"Log", {UnaryFunction::Log, 8}},    {"Neg", {UnaryFunction::Neg, 1}},
      {"Abs", {UnaryFunction::Abs, 1}},    {"Sqrt", {UnaryFunction::Sqrt, 3}},
      {"Not", {UnaryFunction::Not, 1}},    {"Gelu", {UnaryFunction::Gelu, 16}},
      {"Erf", {UnaryFunction::Erf, 14}},   {"IsNaN", {UnaryFunction::IsNaN, 1}}};
  const auto it = table.find(op.name);
  if (it == table.end()) return false;
  for (const auto& [key, value] : op.attrs)  // Gelu's other form is not ours
    require(key == "approximate" && std::get_if<std::string>(&value) && std::get<std::string>(value) == "none");
  require(op.operands.size() == 1);
  const Located in = operand(op, 0), out = result(op);
  const DType from = op.name == "Not" ? DType::Bool : DType::F32, to = op.name == "IsNaN" ? DType::Bool : from;
  require(in.dtype == from && out.dtype == to && in.dims == out.dims);
  emit(Opcode::Unary, {static_cast<std::int64_t>(it->second.function), in.count()}, {&in, &out},
       in.count() * it->second.work / 4);
  return true;
}

// Strides of `from` broadcast to `to`, 0 along broadcast dims.
Dims broadcast_strides(const Dims& from, const Dims& to) {
  require(from.size() <= to.size());
  Dims strides(to.size(), 0);
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::size_t d = from.size() - 1 - i, t = to.size() - 1 - i;
    require(from[d] == to[t] || from[d] == 1);
    strides[t] = from[d] == 1 ? 0 : stride;
    stride *= from[d];
  }
  return strides;
}

bool Lowering::binary(const ir::Op& op) {
  static const std::map<std::string, BinaryFunction> table = {{"Add", BinaryFunction::Add},
                                                              {"Sub", BinaryFunction::Sub},
                                                              {"Mul", BinaryFunction::Mul},
                                                              {"Div", BinaryFunction::Div},
                                                              {"Max", BinaryFunction::Max},
                                                              {"Min", BinaryFunction::Min},
                                                              {"Greater", BinaryFunction::Greater},
                                                              {"GreaterOrEqual", BinaryFunction::GreaterOrEqual},
                                                              {"Less", BinaryFunction::Less},
                                                              {"LessOrEqual", BinaryFunction::LessOrEqual},
                                                              {"Equal", BinaryFunction::Equal},
                                                              {"And", BinaryFunction::And},
                                                              {"Or", BinaryFunction::Or},
                                                              {"Xor", BinaryFunction::Xor},
                                                              {"BitwiseAnd", BinaryFunction::BitAnd},
                                                              {"BitwiseOr", BinaryFunction::BitOr},
                                                              {"BitwiseXor", BinaryFunction::BitXor}};
  const auto it = table.find(op.name);
  if (it == table.end()) return false;
  require(op.operands.size() == 2 && op.attrs.empty());
  const Located a = operand(op, 0), b = operand(op, 1), out = result(op);
  const BinaryFunction function = it->second;
  const bool of_bits = function >= BinaryFunction::BitAnd, of_bool = function >= BinaryFunction::And && !of_bits;
  const bool compares = function >= BinaryFunction::Greater && !of_bits;
  require(a.dtype == b.dtype && out.dtype == (compares ? DType::Bool : a.dtype));
  require(a.dtype == DType::F32 || a.dtype == DType::I64 || a.dtype == DType::Bool);
  require(a.dtype == DType::Bool ? of_bool || function == BinaryFunction::Equal : !of_bool);
  require(!of_bits || a.dtype == DType::I64);
  require(!(a.dtype == DType::I64 && function == BinaryFunction::Div));
  const std::size_t rank = std::max(a.dims.size(), b.dims.size());
  require(rank == out.dims.size() && rank <= kMaxRank);
  for (std::size_t d = 0; d < rank; ++d) {  // the declared shape is the one that broadcasting gives
    const std::int64_t x = d + a.dims.size() < rank ? 1 : a.dims[d + a.dims.size() - rank];
    const std::int64_t y = d + b.dims.size() < rank ? 1 : b.dims[d + b.dims.size() - rank];
    require((x == y || x == 1 || y == 1) && out.dims[d] == (x == 1 ? y : x));
  }
  std::vector<std::int64_t> numbers = {static_cast<std::int64_t>(function), static_cast<std::int64_t>(a.dtype),
                                       static_cast<std::int64_t>(rank)};
  for (const Dims& list : {out.dims, broadcast_strides(a.dims, out.dims), broadcast_strides(b.dims, out.dims)})
    numbers.insert(numbers.end(), list.begin(), list.end());
  const std::int64_t line = out.dims.empty() || out.dims.back() == 0 ? 1 : out.dims.back();
  emit(Opcode::Binary, numbers, {&a, &b, &out}, out.count() / (compares ? 1 : 4) + out.count() / line * 32);
  return true;
}

void Lowering::where(const ir::Op& op) {
  const Located condition = operand(op, 0), a = operand(op, 1), b = operand(op, 2), out = result(op);
  const auto size = static_cast<std::int64_t>(size_of(out.dtype));
  require(condition.dtype == DType::Bool && a.dtype == out.dtype && b.dtype == out.dtype &&
          out.dims.size() <= kMaxRank);
  require(size == 1 || size == 4 || size == 8);
  for (std::size_t d = 0; d < out.dims.size(); ++d) {  // the declared shape is the one that broadcasting gives
    bool found = out.dims[d] == 1;
    for (const Located* each : {&condition, &a, &b}) {
      const std::size_t missing = out.dims.size() - std::min(each->dims.size(), out.dims.size());
      found = found || (d >= missing && each->dims[d - missing] == out.dims[d]);
    }
    require(found);
  }
  std::vector<std::int64_t> numbers = {size, static_cast<std::int64_t>(out.dims.size())};
  numbers.insert(numbers.end(), out.dims.begin(), out.dims.end());
  for (const Located* each : {&condition, &a, &b}) {
    const Dims strides = broadcast_strides(each->dims, out.dims);
    numbers.insert(numbers.end(), strides.begin(), strides.end());
  }
  emit(Opcode::Where, numbers, {&condition, &a, &b, &out}, out.count() * 2);
}

void Lowering::cast(const ir::Op& op) {
  const Located in = operand(op, 0), out = result(op);
  require(in.dims == out.dims && int_attr(op, "to", 0) == static_cast<std::int64_t>(out.dtype));
  require(in.dtype != DType::I32 && out.dtype != DType::I32);
  emit(Opcode::Cast, {static_cast<std::int64_t>(in.dtype), static_cast<std::int64_t>(out.dtype), in.count()},
       {&in, &out}, in.count());
}

}  // namespace dycl::backends::small
