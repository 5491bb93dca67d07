// SPDX-License-Identifier: Apache-2.0
#include "backends/ort/small_lower.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "backends/ort/small_format.h"

namespace dycl::backends::ort::small {
namespace {

using Dims = std::vector<std::int64_t>;

struct Located {
  Place place = Place::None;
  std::int64_t index = 0;
  DType dtype = DType::F32;
  Dims dims;
  bool blocked = false;

  std::int64_t count() const {
    std::int64_t n = 1;
    for (const std::int64_t d : dims) n *= d;
    return n;
  }
};

// Thrown inside this file when an op is not for us; caught in `lower`.
struct NotSmall {};

void require(bool condition) {
  if (!condition) throw NotSmall{};
}

Dims dims_of(const ir::Type& type) {
  require(type.is_tensor() && type.shape.has_value());
  Dims dims;
  for (const ir::Dim& dim : *type.shape) {
    require(dim.is_known() && dim.value < (1 << 24));
    dims.push_back(dim.value);
  }
  require(dims.size() <= 16);
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) require((count *= dim) <= kMaxCount);
  return dims;
}

std::int64_t bits_of(double value) {
  std::int64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

class Lowering {
 public:
  Lowering(const ir::Program& program, const ir::Function& function, const std::vector<bool>& blocked, int block)
      : program_(program), function_(function), block_(block) {
    for (std::size_t i = 0; i < function.params.size(); ++i) {
      Located in = located(function.params[i].value);
      in.place = Place::Input;
      in.index = static_cast<std::int64_t>(i);
      in.blocked = i < blocked.size() && blocked[i];
      values_[function.params[i].value.index] = in;
    }
  }

  Lowered run();

 private:
  Located located(ir::ValueId value) const {
    const ir::Type& type = function_.type_of(value);
    require(type.is_tensor() && (type.dtype == DType::F32 || type.dtype == DType::F64 || type.dtype == DType::I64 ||
                                 type.dtype == DType::I32 || type.dtype == DType::Bool));
    return {Place::None, 0, type.dtype, dims_of(type), false};
  }
  const Located& operand(const ir::Op& op, std::size_t i, bool may_be_blocked = false) {
    require(i < op.operands.size() && op.operands[i].present());
    const auto it = value_of(op.operands[i]);
    require(it != values_.end() && (may_be_blocked || !it->second.blocked));
    return it->second;
  }
  // The value, computed now if that was put off.
  std::map<std::uint32_t, Located>::iterator value_of(ir::ValueId value) {
    if (const auto put_off = transposed_.find(value.index); put_off != transposed_.end()) {
      const ir::Op& op = *put_off->second;
      transposed_.erase(put_off);
      permute(op);
    }
    return values_.find(value.index);
  }
  static std::int64_t int_attr(const ir::Op& op, const char* key, std::int64_t otherwise) {
    const ir::Attr* attr = op.attr(key);
    if (!attr) return otherwise;
    const auto* value = std::get_if<std::int64_t>(attr);
    require(value != nullptr);
    return *value;
  }
  static double float_attr(const ir::Op& op, const char* key, double otherwise) {
    const ir::Attr* attr = op.attr(key);
    if (!attr) return otherwise;
    const auto* value = std::get_if<double>(attr);
    require(value != nullptr);
    return *value;
  }

  // The place of the op's only result: an output where the value is nothing else.
  Located result(const ir::Op& op);
  Located result_of(ir::ValueId value);
  Dims constant_ints(const ir::Op& op, std::size_t i) const;
  void emit(Opcode opcode, const std::vector<std::int64_t>& numbers, std::initializer_list<const Located*> places,
            std::int64_t work);

  void constant(const ir::Op& op);
  void weight(const ir::Op& op);
  void op(const ir::Op& op);
  bool unary(const ir::Op& op);
  bool binary(const ir::Op& op);
  void gemm(const ir::Op& op);
  void matmul(const ir::Op& op);
  void reduce(const ir::Op& op, ReduceFunction function);
  void pool(const ir::Op& op);
  void mean_of_blocked(const ir::Op& op, const Located& in);
  void arg_max(const ir::Op& op);
  void softmax(const ir::Op& op);
  void alias(const ir::Op& op);
  void average_pool(const ir::Op& op);
  void pointwise_conv(const ir::Op& op);
  void gather(const ir::Op& op);
  void pick(const ir::Op& op, std::int64_t which);
  void gather_elements(const ir::Op& op);
  void move(const Located& in, const Dims& dims, const Dims& from, std::int64_t first_in, const Located& out,
            const Dims& to, std::int64_t first_out);
  void part(const Located& in, ir::ValueId value, const Dims& starts, const Dims& steps);
  void split(const ir::Op& op);
  void slice(const ir::Op& op);
  void concat(const ir::Op& op);
  void expand(const ir::Op& op);
  void transpose(const ir::Op& op);
  void permute(const ir::Op& op);
  void where(const ir::Op& op);
  void layer_norm(const ir::Op& op);
  void top_k(const ir::Op& op);
  void batched_matmul(const ir::Op& op);
  void product(const Located& a, const Located& b, const Located* bias, const Located& out,
               const std::vector<std::int64_t>& numbers);
  void lstm(const ir::Op& op);
  std::vector<float> constant_floats(ir::ValueId value) const;
  Located literal_of(const std::vector<float>& elements);
  Located scratch_of(std::int64_t floats);
  void cast(const ir::Op& op);
  std::vector<std::int64_t> axes_of(const ir::Op& op, std::size_t rank) const;
  void count_uses();
  void finish();

  const ir::Program& program_;
  const ir::Function& function_;
  int block_;
  std::map<std::uint32_t, Located> values_;
  std::map<std::uint32_t, const ir::Op*>
      transposed_;  // of the last two dims, not computed: a product may take the source
  std::map<std::uint32_t, const ir::TensorLiteral*> literal_of_;
  std::map<std::uint32_t, std::string> weight_of_;
  std::map<std::uint32_t, int> uses_, returns_;
  std::map<std::string, std::int64_t> weight_index_;
  std::vector<std::string> weights_;
  std::vector<std::uint8_t> literals_;
  std::vector<std::int64_t> words_;
  std::int64_t steps_ = 0, scratch_ = 0, work_ = 0;
};

void Lowering::count_uses() {
  for (const ir::Op& each : function_.blocks[0].body)
    for (const ir::ValueId v : each.operands)
      if (v.present()) ++uses_[v.index];
  for (const ir::ValueId v : std::get<ir::Return>(function_.blocks[0].exit).values) ++returns_[v.index];
}

Located Lowering::result(const ir::Op& op) {
  require(op.results.size() == 1 && op.results[0].present());
  return result_of(op.results[0]);
}

Located Lowering::result_of(ir::ValueId value) {
  Located out = located(value);
  if (returns_[value.index] == 1 && uses_[value.index] == 0) {
    const auto& values = std::get<ir::Return>(function_.blocks[0].exit).values;
    out.place = Place::Output;
    out.index = std::find(values.begin(), values.end(), value) - values.begin();
  } else {
    out.place = Place::Scratch;
    out.index = scratch_;
    scratch_ += (out.count() * static_cast<std::int64_t>(size_of(out.dtype)) + 63) / 64 * 64;
  }
  values_[value.index] = out;
  return out;
}

void Lowering::emit(Opcode opcode, const std::vector<std::int64_t>& numbers,
                    std::initializer_list<const Located*> places, std::int64_t work) {
  words_.push_back(static_cast<std::int64_t>(opcode));
  words_.insert(words_.end(), numbers.begin(), numbers.end());
  for (const Located* place : places) {
    words_.push_back(static_cast<std::int64_t>(place ? place->place : Place::None));
    words_.push_back(place ? place->index : 0);
  }
  ++steps_;
  work_ += work;
  require(work_ <= kMaxWork);
}

void Lowering::constant(const ir::Op& op) {
  const ir::Attr* attr = op.attr("value");
  const auto* literal = attr ? std::get_if<ir::TensorLiteral>(attr) : nullptr;
  require(literal && op.results.size() == 1);
  Located value = located(op.results[0]);
  require(literal->shape == value.dims && literal->dtype == value.dtype);
  value.place = Place::Literal;
  literals_.resize((literals_.size() + 7) / 8 * 8);
  value.index = static_cast<std::int64_t>(literals_.size());
  literals_.insert(literals_.end(), literal->bytes.begin(), literal->bytes.end());
  values_[op.results[0].index] = value;
  literal_of_[op.results[0].index] = literal;
}

void Lowering::weight(const ir::Op& op) {
  const ir::Attr* attr = op.attr("name");
  const auto* name = attr ? std::get_if<std::string>(attr) : nullptr;
  require(name && program_.weights.count(*name) && op.results.size() == 1);
  Located value = located(op.results[0]);
  require(dims_of(program_.weights.at(*name).type) == value.dims &&
          program_.weights.at(*name).type.dtype == value.dtype);
  const auto [it, is_new] = weight_index_.try_emplace(*name, static_cast<std::int64_t>(weights_.size()));
  if (is_new) weights_.push_back(*name);
  value.place = Place::Weight;
  value.index = it->second;
  values_[op.results[0].index] = value;
  weight_of_[op.results[0].index] = *name;
}

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

void Lowering::gemm(const ir::Op& op) {
  for (const auto& [key, value] : op.attrs)
    require(key == "transA" || key == "transB" || key == "alpha" || key == "beta");
  require(int_attr(op, "transA", 0) == 0);
  const bool transposed = int_attr(op, "transB", 0) != 0;
  const Located a = operand(op, 0), b = operand(op, 1);
  const bool has_bias = op.operands.size() > 2 && op.operands[2].present();
  const Located c = has_bias ? operand(op, 2) : Located{};
  const Located out = result(op);
  require(a.dtype == DType::F32 && b.dtype == DType::F32 && out.dtype == DType::F32 && a.dims.size() == 2 &&
          b.dims.size() == 2);
  const std::int64_t m = a.dims[0], k = a.dims[1], n = b.dims[transposed ? 0 : 1];
  require(b.dims[transposed ? 1 : 0] == k && out.dims == Dims({m, n}) && m > 0 && n > 0 && k > 0);
  std::int64_t bias = 0;
  if (has_bias) {
    require(c.dtype == DType::F32);
    if (c.count() == 1)
      bias = 1;
    else if (c.dims == Dims{n} || c.dims == Dims({1, n}))
      bias = 2;
    else if (c.dims == Dims({m, n}))
      bias = 3;
    else
      throw NotSmall{};
  }
  product(
      a, b, has_bias ? &c : nullptr, out,
      {m, n, k, transposed ? 1 : 0, bias, bits_of(float_attr(op, "alpha", 1.0)), bits_of(float_attr(op, "beta", 1.0))});
}

// With a weight: what it costs is reading the weight, which no engine can spare.
void Lowering::product(const Located& a, const Located& b, const Located* bias, const Located& out,
                       const std::vector<std::int64_t>& numbers) {
  const std::int64_t m = numbers[0], n = numbers[1], k = numbers[2];
  const bool with_weight = b.place == Place::Weight && n >= 16 && m <= kMaxRows;
  require(m * k <= kMaxCount && n * k <= kMaxCount && (with_weight || m * n <= kMaxWork / k * 16));
  emit(Opcode::Gemm, numbers, {&a, &b, bias, &out}, with_weight ? m * n / 16 : m * n * k / 8 + m * n);
}

void Lowering::matmul(const ir::Op& op) {
  require(op.operands.size() == 2 && op.operands[1].present());
  const auto put_off = transposed_.find(op.operands[1].index);
  const bool transposed = put_off != transposed_.end();
  const Located b = transposed ? operand(*put_off->second, 0) : operand(op, 1);
  if (b.dims.size() != 2) return batched_matmul(op);
  const Located a = operand(op, 0), out = result(op);
  require(a.dtype == DType::F32 && b.dtype == DType::F32 && a.dims.size() >= 2);
  const std::int64_t k = a.dims.back(), n = b.dims[transposed ? 0 : 1];
  Dims expected = a.dims;
  expected.back() = n;
  require(b.dims[transposed ? 1 : 0] == k && out.dims == expected && out.count() > 0 && k > 0);
  product(a, b, nullptr, out, {out.count() / n, n, k, transposed ? 1 : 0, 0, bits_of(1.0), bits_of(1.0)});
}

// Of activations, as attention has them. Batches are equal or one of both operands has one alone.
void Lowering::batched_matmul(const ir::Op& op) {
  const auto put_off = transposed_.find(op.operands[1].index);
  const bool transposed = put_off != transposed_.end();
  const Located b = transposed ? operand(*put_off->second, 0) : operand(op, 1);
  const Located a = operand(op, 0), out = result(op);
  require(a.dtype == DType::F32 && b.dtype == DType::F32 && a.dims.size() >= 2 && b.dims.size() >= 2);
  const std::int64_t m = a.dims[a.dims.size() - 2], k = a.dims.back();
  const std::int64_t n = b.dims[b.dims.size() - (transposed ? 2 : 1)];
  require(k > 0 && m > 0 && n > 0 && b.dims[b.dims.size() - (transposed ? 1 : 2)] == k);
  const Dims of_a(a.dims.begin(), a.dims.end() - 2), of_b(b.dims.begin(), b.dims.end() - 2);
  const std::int64_t batches_a = a.count() / (m * k), batches_b = b.count() / (n * k);
  require(of_a == of_b || batches_a == 1 || batches_b == 1);
  const std::int64_t batches = std::max(batches_a, batches_b);
  require(batches_a > 0 && batches_b > 0 && out.count() == batches * m * n);
  require(batches * m * n <= kMaxWork / k * 16);
  emit(Opcode::MatMul, {batches, m, n, k, batches_a == 1 ? 0 : m * k, batches_b == 1 ? 0 : n * k, transposed ? 1 : 0},
       {&a, &b, &out}, batches * m * (n * k / 8 + n + 32));
}

// Sorted, non-negative; all of them where none are given.
std::vector<std::int64_t> Lowering::axes_of(const ir::Op& op, std::size_t rank) const {
  std::vector<std::int64_t> axes;
  if (op.operands.size() > 1 && op.operands[1].present()) {
    const auto it = literal_of_.find(op.operands[1].index);
    require(it != literal_of_.end() && it->second->dtype == DType::I64);
    axes.resize(it->second->bytes.size() / 8);
    if (!axes.empty()) std::memcpy(axes.data(), it->second->bytes.data(), it->second->bytes.size());
  }
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

// A convolution with a 1x1 kernel of a 1x1 image is a product.
void Lowering::pointwise_conv(const ir::Op& op) {
  const Located in = operand(op, 0), weights = operand(op, 1);
  require(in.dims.size() == 4 && in.dims[2] == 1 && in.dims[3] == 1 && weights.dims.size() == 4);
  require(int_attr(op, "group", 1) == 1 && weights.dims[1] == in.dims[1] && weights.dims[2] == 1 &&
          weights.dims[3] == 1);
  for (const auto& [key, value] : op.attrs) {
    const auto* ints = std::get_if<std::vector<std::int64_t>>(&value);
    if (key == "pads")
      require(ints && std::ranges::all_of(*ints, [](std::int64_t pad) { return pad == 0; }));
    else
      require(key == "kernel_shape" || key == "strides" || key == "dilations" || key == "group");
  }
  const bool has_bias = op.operands.size() > 2 && op.operands[2].present();
  const Located bias = has_bias ? operand(op, 2) : Located{};
  const Located out = result(op);
  const std::int64_t m = in.dims[0], n = weights.dims[0], k = in.dims[1];
  require(in.dtype == DType::F32 && weights.dtype == DType::F32 && out.dims == Dims({m, n, 1, 1}) && m * n * k > 0);
  require(!has_bias || (bias.dtype == DType::F32 && bias.dims == Dims{n}));
  emit(Opcode::Gemm, {m, n, k, 1, has_bias ? 2 : 0, bits_of(1.0), bits_of(1.0)},
       {&in, &weights, has_bias ? &bias : nullptr, &out}, m * n * k / 8 + m * n);
}

// One element of an axis, known now or not, or several.
void Lowering::gather(const ir::Op& op) {
  require(op.operands.size() == 2 && op.operands[1].present());
  const auto known = literal_of_.find(op.operands[1].index);
  if (known != literal_of_.end() && known->second->dtype == DType::I64 && known->second->bytes.size() == 8) {
    std::int64_t which = 0;
    std::memcpy(&which, known->second->bytes.data(), sizeof which);
    return pick(op, which);
  }
  const Located in = operand(op, 0), indices = operand(op, 1), out = result(op);
  require(indices.dtype == DType::I64 || indices.dtype == DType::I32);
  std::int64_t axis = int_attr(op, "axis", 0);
  const auto rank = static_cast<std::int64_t>(in.dims.size());
  if (axis < 0) axis += rank;
  require(axis >= 0 && axis < rank);
  std::int64_t outer = 1, inner = 1;
  for (std::int64_t d = 0; d < axis; ++d) outer *= in.dims[static_cast<std::size_t>(d)];
  for (std::int64_t d = axis + 1; d < rank; ++d) inner *= in.dims[static_cast<std::size_t>(d)];
  require(out.dtype == in.dtype && out.count() == outer * inner * indices.count());
  const auto size = static_cast<std::int64_t>(size_of(in.dtype));
  emit(Opcode::Take,
       {size, outer, in.dims[static_cast<std::size_t>(axis)], inner, indices.count(),
        static_cast<std::int64_t>(indices.dtype)},
       {&in, &indices, &out}, out.count() * size / 16 + outer * indices.count() * 16);
}

void Lowering::pick(const ir::Op& op, std::int64_t which) {
  const Located in = operand(op, 0);
  std::int64_t axis = int_attr(op, "axis", 0);
  const auto rank = static_cast<std::int64_t>(in.dims.size());
  if (axis < 0) axis += rank;
  require(axis >= 0 && axis < rank);
  std::int64_t outer = 1, inner = 1;
  for (std::int64_t d = 0; d < axis; ++d) outer *= in.dims[static_cast<std::size_t>(d)];
  for (std::int64_t d = axis + 1; d < rank; ++d) inner *= in.dims[static_cast<std::size_t>(d)];
  const std::int64_t middle = in.dims[static_cast<std::size_t>(axis)];
  if (which < 0) which += middle;
  const Located out = result(op);
  require(which >= 0 && which < middle && out.dtype == in.dtype && out.count() == outer * inner);
  const auto size = static_cast<std::int64_t>(size_of(in.dtype));
  emit(Opcode::Pick, {size, outer, middle, inner, which}, {&in, &out}, out.count() * size / 16 + outer * 8);
}

void Lowering::gather_elements(const ir::Op& op) {
  const Located in = operand(op, 0), indices = operand(op, 1), out = result(op);
  std::int64_t axis = int_attr(op, "axis", 0), outer = 1, inner = 1;
  const auto rank = static_cast<std::int64_t>(in.dims.size());
  if (axis < 0) axis += rank;
  require(axis >= 0 && axis < rank && indices.dtype == DType::I64 && indices.dims == out.dims &&
          out.dtype == in.dtype && indices.dims.size() == in.dims.size());
  for (std::int64_t d = 0; d < rank; ++d) {
    const auto at = static_cast<std::size_t>(d);
    require(d == axis || in.dims[at] == indices.dims[at]);
    if (d < axis) outer *= in.dims[at];
    if (d > axis) inner *= in.dims[at];
  }
  const auto at = static_cast<std::size_t>(axis);
  emit(Opcode::Pluck, {static_cast<std::int64_t>(size_of(in.dtype)), outer, in.dims[at], inner, indices.dims[at]},
       {&in, &indices, &out}, out.count() * 8);
}

// ---- parts, permutations and repetitions ------------------------------------------------

Dims dense_strides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t d = dims.size(); d-- > 1;) strides[d - 1] = strides[d] * std::max<std::int64_t>(dims[d], 1);
  return strides;
}

Dims Lowering::constant_ints(const ir::Op& op, std::size_t i) const {
  require(i < op.operands.size() && op.operands[i].present());
  const auto it = literal_of_.find(op.operands[i].index);
  require(it != literal_of_.end() && it->second->dtype == DType::I64);
  Dims out(it->second->bytes.size() / 8);
  if (!out.empty()) std::memcpy(out.data(), it->second->bytes.data(), it->second->bytes.size());
  return out;
}

// Neighbouring dims that lie in one line on both sides become one.
void Lowering::move(const Located& in, const Dims& dims, const Dims& from, std::int64_t first_in, const Located& out,
                    const Dims& to, std::int64_t first_out) {
  Dims d, f, t;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    if (!d.empty() && f.back() == from[i] * dims[i] && t.back() == to[i] * dims[i]) {
      d.back() *= dims[i];
      f.back() = from[i];
      t.back() = to[i];
      continue;
    }
    d.push_back(dims[i]);
    f.push_back(from[i]);
    t.push_back(to[i]);
  }
  require(d.size() <= kMaxRank);
  std::int64_t count = 1;
  for (const std::int64_t dim : d) count *= dim;
  const auto size = static_cast<std::int64_t>(size_of(in.dtype));
  require(size == 1 || size == 4 || size == 8);
  const bool in_lines = d.empty() || (f.back() == 1 && t.back() == 1);
  const std::int64_t line = d.empty() || d.back() == 0 ? 1 : d.back();
  std::vector<std::int64_t> numbers = {size, static_cast<std::int64_t>(d.size())};
  for (const Dims& list : {d, f, t}) numbers.insert(numbers.end(), list.begin(), list.end());
  numbers.push_back(first_in);
  numbers.push_back(first_out);
  emit(Opcode::Move, numbers, {&in, &out}, in_lines ? count * size / 64 + count / line * 16 : count * 3);
}

// `value` is the elements of `in` from `starts` on in `steps`: in place where they lie in one piece of our own memory.
void Lowering::part(const Located& in, ir::ValueId value, const Dims& starts, const Dims& steps) {
  const Dims strides = dense_strides(in.dims);
  Located out = located(value);
  require(out.dtype == in.dtype && out.dims.size() == in.dims.size());
  std::int64_t first = 0;
  bool one_piece = true;
  std::int64_t before = 1;  // of the result, over the dims so far
  Dims from(strides.size());
  for (std::size_t d = 0; d < in.dims.size(); ++d) {
    const std::int64_t last = starts[d] + (out.dims[d] - 1) * steps[d];
    require(starts[d] >= 0 && steps[d] > 0 && (out.dims[d] == 0 || last < in.dims[d]));
    first += starts[d] * strides[d];
    from[d] = strides[d] * steps[d];
    if (out.dims[d] != in.dims[d]) one_piece = one_piece && before == 1 && (steps[d] == 1 || out.dims[d] == 1);
    before *= out.dims[d];
  }
  const bool returned = returns_[value.index] > 0;
  if (one_piece && !returned && out.count() > 0 && (in.place == Place::Scratch || in.place == Place::Literal)) {
    out.place = in.place;
    out.index = in.index + first * static_cast<std::int64_t>(size_of(in.dtype));
    values_[value.index] = out;
    return;
  }
  out = result_of(value);
  move(in, out.dims, from, out.count() > 0 ? first : 0, out, dense_strides(out.dims), 0);
}

void Lowering::split(const ir::Op& op) {
  const Located in = operand(op, 0);
  std::int64_t axis = int_attr(op, "axis", 0), at = 0;
  const auto rank = static_cast<std::int64_t>(in.dims.size());
  if (axis < 0) axis += rank;
  require(axis >= 0 && axis < rank);
  for (const ir::ValueId value : op.results) {
    require(value.present());
    Dims starts(in.dims.size(), 0);
    starts[static_cast<std::size_t>(axis)] = at;
    const Dims dims = located(value).dims;
    require(dims.size() == in.dims.size());
    for (std::size_t d = 0; d < dims.size(); ++d)
      require(static_cast<std::int64_t>(d) == axis || dims[d] == in.dims[d]);
    part(in, value, starts, Dims(in.dims.size(), 1));
    at += dims[static_cast<std::size_t>(axis)];
  }
  require(at == in.dims[static_cast<std::size_t>(axis)]);
}

void Lowering::slice(const ir::Op& op) {
  const Located in = operand(op, 0);
  require(op.results.size() == 1 && op.attrs.empty());
  const Dims starts = constant_ints(op, 1), ends = constant_ints(op, 2);
  const auto rank = static_cast<std::int64_t>(in.dims.size());
  Dims axes;
  for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (op.operands.size() > 3 && op.operands[3].present()) axes = constant_ints(op, 3);
  Dims steps(starts.size(), 1);
  if (op.operands.size() > 4 && op.operands[4].present()) steps = constant_ints(op, 4);
  require(ends.size() == starts.size() && axes.size() == starts.size() && steps.size() == starts.size());
  Dims first(in.dims.size(), 0), step(in.dims.size(), 1), extent = in.dims;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    require(axis >= 0 && axis < rank && steps[i] > 0);
    const auto d = static_cast<std::size_t>(axis);
    const auto inside = [&](std::int64_t v) {
      return std::clamp<std::int64_t>(v < 0 ? v + in.dims[d] : v, 0, in.dims[d]);
    };
    first[d] = inside(starts[i]);
    step[d] = steps[i];
    extent[d] = std::max<std::int64_t>((inside(ends[i]) - first[d] + steps[i] - 1) / steps[i], 0);
  }
  require(located(op.results[0]).dims == extent);
  part(in, op.results[0], first, step);
}

void Lowering::concat(const ir::Op& op) {
  const Located out = result(op);
  std::int64_t axis = int_attr(op, "axis", 0), at = 0;
  const auto rank = static_cast<std::int64_t>(out.dims.size());
  if (axis < 0) axis += rank;
  require(axis >= 0 && axis < rank);
  const auto along = static_cast<std::size_t>(axis);
  const Dims to = dense_strides(out.dims);
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const Located in = operand(op, i);
    require(in.dtype == out.dtype && in.dims.size() == out.dims.size());
    for (std::size_t d = 0; d < in.dims.size(); ++d) require(d == along || in.dims[d] == out.dims[d]);
    if (in.count() > 0) move(in, in.dims, dense_strides(in.dims), 0, out, to, at * to[along]);
    at += in.dims[along];
  }
  require(at == out.dims[along]);
}

void Lowering::expand(const ir::Op& op) {
  const Located in = operand(op, 0);
  require(op.results.size() == 1);
  if (located(op.results[0]).count() == in.count()) return alias(op);
  const Located out = result(op);
  require(out.dtype == in.dtype && out.dims.size() <= kMaxRank);
  move(in, out.dims, broadcast_strides(in.dims, out.dims), 0, out, dense_strides(out.dims), 0);
}

Dims perm_of(const ir::Op& op, std::size_t rank) {
  Dims perm;
  for (std::size_t d = rank; d-- > 0;) perm.push_back(static_cast<std::int64_t>(d));
  if (const ir::Attr* attr = op.attr("perm")) {
    const auto* given = std::get_if<std::vector<std::int64_t>>(attr);
    require(given != nullptr && given->size() == rank);
    perm = *given;
  }
  Dims sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t d = 0; d < rank; ++d) require(sorted[d] == static_cast<std::int64_t>(d));
  return perm;
}

void Lowering::transpose(const ir::Op& op) {
  const Located in = operand(op, 0);
  require(op.results.size() == 1);
  const Dims perm = perm_of(op, in.dims.size());
  Dims moved;  // the dims of more than one element, in their new order
  for (const std::int64_t d : perm)
    if (in.dims[static_cast<std::size_t>(d)] != 1) moved.push_back(d);
  if (std::is_sorted(moved.begin(), moved.end())) return alias(op);
  const std::size_t rank = perm.size();
  bool swaps_last = rank >= 2;
  for (std::size_t d = 0; d < rank && swaps_last; ++d) {
    const std::size_t other = d + 2 < rank ? d : 2 * rank - 3 - d;
    swaps_last = perm[d] == static_cast<std::int64_t>(other);
  }
  if (swaps_last && returns_[op.results[0].index] == 0) {
    transposed_[op.results[0].index] = &op;
    return;
  }
  permute(op);
}

void Lowering::permute(const ir::Op& op) {
  const Located in = operand(op, 0);
  const Dims perm = perm_of(op, in.dims.size()), strides = dense_strides(in.dims);
  const Located out = result(op);
  require(out.dtype == in.dtype && out.dims.size() == in.dims.size());
  Dims from;
  for (std::size_t d = 0; d < perm.size(); ++d) {
    require(out.dims[d] == in.dims[static_cast<std::size_t>(perm[d])]);
    from.push_back(strides[static_cast<std::size_t>(perm[d])]);
  }
  move(in, out.dims, from, 0, out, dense_strides(out.dims), 0);
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

void Lowering::layer_norm(const ir::Op& op) {
  for (const auto& [key, value] : op.attrs) require(key == "axis" || key == "epsilon" || key == "stash_type");
  const Located in = operand(op, 0), scale = operand(op, 1);
  const bool has_bias = op.operands.size() > 2 && op.operands[2].present();
  const Located bias = has_bias ? operand(op, 2) : Located{};
  for (std::size_t i = 1; i < op.results.size(); ++i) require(!op.results[i].present());
  require(!op.results.empty() && op.results[0].present() && int_attr(op, "stash_type", 1) == 1);
  const Located out = result_of(op.results[0]);
  std::int64_t axis = int_attr(op, "axis", -1), columns = 1;
  const auto rank = static_cast<std::int64_t>(in.dims.size());
  if (axis < 0) axis += rank;
  require(axis >= 0 && axis < rank && in.dims == out.dims);
  const Dims normed(in.dims.begin() + axis, in.dims.end());
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

std::vector<float> Lowering::constant_floats(ir::ValueId value) const {
  const std::uint8_t* data = nullptr;
  std::size_t size = 0;
  if (const auto literal = literal_of_.find(value.index); literal != literal_of_.end()) {
    data = literal->second->bytes.data();
    size = literal->second->bytes.size();
  } else if (const auto weight = weight_of_.find(value.index); weight != weight_of_.end()) {
    data = program_.weights.at(weight->second).bytes.data;
    size = program_.weights.at(weight->second).bytes.size;
  }
  require(data != nullptr);
  std::vector<float> floats(size / sizeof(float));
  std::memcpy(floats.data(), data, floats.size() * sizeof(float));
  return floats;
}

Located Lowering::literal_of(const std::vector<float>& elements) {
  literals_.resize((literals_.size() + 7) / 8 * 8);
  Located out{Place::Literal,
              static_cast<std::int64_t>(literals_.size()),
              DType::F32,
              {static_cast<std::int64_t>(elements.size())},
              false};
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(elements.data());
  literals_.insert(literals_.end(), bytes, bytes + elements.size() * sizeof(float));
  return out;
}

Located Lowering::scratch_of(std::int64_t floats) {
  const Located out{Place::Scratch, scratch_, DType::F32, {floats}, false};
  scratch_ += (floats * 4 + 63) / 64 * 64;
  return out;
}

// One step of one sequence. The two biases are added to each other first, as engines do.
void Lowering::lstm(const ir::Op& op) {
  const auto has = [&](std::size_t i) { return i < op.operands.size() && op.operands[i].present(); };
  for (const auto& [key, value] : op.attrs)
    require(key == "hidden_size" ||
            (key == "direction" && std::get_if<std::string>(&value) && std::get<std::string>(value) == "forward"));
  const Located x = operand(op, 0), w = operand(op, 1), r = operand(op, 2);
  const std::int64_t hidden = int_attr(op, "hidden_size", 0);
  require(hidden > 0 && !has(4) && !has(7) && x.dims.size() == 3 && x.dims[0] == 1 && x.dims[1] == 1);
  const std::int64_t inputs = x.dims[2];
  require(inputs > 0 && w.dims == Dims({1, 4 * hidden, inputs}) && r.dims == Dims({1, 4 * hidden, hidden}));
  require(x.dtype == DType::F32 && w.dtype == DType::F32 && r.dtype == DType::F32);
  const Dims state = {1, 1, hidden};
  for (const std::size_t i : {5, 6})
    require(!has(i) || (operand(op, i).dims == state && operand(op, i).dtype == DType::F32));

  std::vector<float> bias(static_cast<std::size_t>(4 * hidden), 0.0F);
  if (has(3)) {
    const std::vector<float> both = constant_floats(op.operands[3]);
    require(both.size() == 2 * bias.size());
    for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = both[i] + both[bias.size() + i];
  }
  const Located sum = literal_of(bias);
  Located gates = scratch_of(4 * hidden);
  emit(Opcode::Gemm, {1, 4 * hidden, inputs, 1, 2, bits_of(1.0), bits_of(1.0)}, {&x, &w, &sum, &gates}, hidden / 4);
  if (has(5)) {
    const Located h = operand(op, 5), all = scratch_of(4 * hidden);
    emit(Opcode::Gemm, {1, 4 * hidden, hidden, 1, 2, bits_of(1.0), bits_of(1.0)}, {&h, &r, &gates, &all}, hidden / 4);
    gates = all;
  }
  const Located cell = has(6) ? operand(op, 6) : literal_of(std::vector<float>(static_cast<std::size_t>(hidden), 0.0F));
  const Located both = scratch_of(2 * hidden);
  emit(Opcode::LstmCell, {hidden}, {&gates, &cell, &both}, 16 * hidden);
  for (std::size_t i = 0; i < op.results.size(); ++i) {
    if (!op.results[i].present()) continue;
    Located out = located(op.results[i]);
    require(out.dtype == DType::F32 && out.count() == hidden);
    out.place = Place::Scratch;
    out.index = both.index + (i == 2 ? hidden * 4 : 0);
    values_[op.results[i].index] = out;
  }
}

void Lowering::softmax(const ir::Op& op) {
  const Located in = operand(op, 0), out = result(op);
  require(in.dtype == DType::F32 && !in.dims.empty() && in.dims == out.dims && in.dims.back() > 0);
  const auto rank = static_cast<std::int64_t>(in.dims.size()), axis = int_attr(op, "axis", -1);
  require(axis == -1 || axis == rank - 1);
  emit(Opcode::Softmax, {op.name == "LogSoftmax" ? 1 : 0, in.count() / in.dims.back(), in.dims.back()}, {&in, &out},
       in.count() * 2 + in.count() / in.dims.back() * 64);
}

void Lowering::arg_max(const ir::Op& op) {
  const Located in = operand(op, 0), out = result(op);
  std::int64_t axis = int_attr(op, "axis", 0);
  const auto rank = static_cast<std::int64_t>(in.dims.size());
  if (axis < 0) axis += rank;
  require(in.dtype == DType::F32 && out.dtype == DType::I64 && axis >= 0 && axis < rank);
  std::int64_t outer = 1, inner = 1;
  for (std::int64_t d = 0; d < rank; ++d) {
    if (d < axis) outer *= in.dims[static_cast<std::size_t>(d)];
    if (d > axis) inner *= in.dims[static_cast<std::size_t>(d)];
  }
  const std::int64_t middle = in.dims[static_cast<std::size_t>(axis)];
  require(middle > 0 && out.count() == outer * inner);
  emit(Opcode::ArgMax, {outer, middle, inner, int_attr(op, "select_last_index", 0) != 0 ? 1 : 0}, {&in, &out},
       in.count() * 4);
}

// The same elements under another shape.
void Lowering::alias(const ir::Op& op) {
  const Located in = operand(op, 0);
  require(op.results.size() == 1);
  Located out = located(op.results[0]);
  require(out.dtype == in.dtype && out.count() == in.count());
  out.place = in.place;
  out.index = in.index;
  require(in.place != Place::Output);
  values_[op.results[0].index] = out;
}

void Lowering::cast(const ir::Op& op) {
  const Located in = operand(op, 0), out = result(op);
  require(in.dims == out.dims && int_attr(op, "to", 0) == static_cast<std::int64_t>(out.dtype));
  require(in.dtype != DType::I32 && out.dtype != DType::I32);
  emit(Opcode::Cast, {static_cast<std::int64_t>(in.dtype), static_cast<std::int64_t>(out.dtype), in.count()},
       {&in, &out}, in.count());
}

void Lowering::op(const ir::Op& op) {
  const std::string& name = op.name;
  if (name == "const") return constant(op);
  if (name == "weight") return weight(op);
  if (unary(op) || binary(op)) return;
  if (name == "Gemm") return gemm(op);
  if (name == "MatMul") return matmul(op);
  if (name == "GlobalAveragePool") return pool(op);
  if (name == "AveragePool") return average_pool(op);
  if (name == "Conv") return pointwise_conv(op);
  if (name == "Gather") return gather(op);
  if (name == "GatherElements") return gather_elements(op);
  if (name == "Split") return split(op);
  if (name == "Slice") return slice(op);
  if (name == "Concat") return concat(op);
  if (name == "Expand") return expand(op);
  if (name == "Transpose") return transpose(op);
  if (name == "Where") return where(op);
  if (name == "LayerNormalization") return layer_norm(op);
  if (name == "TopK") return top_k(op);
  if (name == "LSTM") return lstm(op);
  if (name == "ReduceSum") return reduce(op, ReduceFunction::Sum);
  if (name == "ReduceMean") return reduce(op, ReduceFunction::Mean);
  if (name == "ReduceMax") return reduce(op, ReduceFunction::Max);
  if (name == "ReduceMin") return reduce(op, ReduceFunction::Min);
  if (name == "Softmax" || name == "LogSoftmax") return softmax(op);
  if (name == "ArgMax") return arg_max(op);
  if (name == "Cast") return cast(op);
  if (name == "Flatten" || name == "Reshape" || name == "Squeeze" || name == "Unsqueeze" || name == "Identity")
    return alias(op);
  throw NotSmall{};
}

// Results that no step wrote in place.
void Lowering::finish() {
  const auto& values = std::get<ir::Return>(function_.blocks[0].exit).values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto it = value_of(values[i]);
    require(it != values_.end() && !it->second.blocked);
    const Located value = it->second;
    require(dims_of(function_.results[i].type) == value.dims && function_.results[i].type.dtype == value.dtype);
    if (value.place == Place::Output) continue;
    Located out = value;
    out.place = Place::Output;
    out.index = static_cast<std::int64_t>(i);
    const std::int64_t bytes = value.count() * static_cast<std::int64_t>(size_of(value.dtype));
    emit(Opcode::Copy, {bytes}, {&value, &out}, bytes / 16);
  }
}

Lowered Lowering::run() {
  require(function_.blocks.size() == 1 && std::holds_alternative<ir::Return>(function_.blocks[0].exit));
  count_uses();
  for (const ir::Op& each : function_.blocks[0].body) op(each);
  finish();
  Lowered out;
  out.weights = weights_;
  auto append = [&](const void* data, std::size_t size) {
    const auto* bytes = static_cast<const std::uint8_t*>(data);
    out.bytes.insert(out.bytes.end(), bytes, bytes + size);
  };
  append(kMagic, sizeof kMagic);
  const std::int64_t header[3] = {scratch_, static_cast<std::int64_t>(literals_.size()), steps_};
  append(header, sizeof header);
  literals_.resize((literals_.size() + 7) / 8 * 8);
  append(literals_.data(), literals_.size());
  append(words_.data(), words_.size() * sizeof(std::int64_t));
  return out;
}

}  // namespace

std::optional<Lowered> lower(const ir::Program& program, const ir::Function& sub_dnn, const std::vector<bool>& blocked,
                             int block) {
  try {
    return Lowering(program, sub_dnn, blocked, block).run();
  } catch (const NotSmall&) {
    return std::nullopt;
  }
}

}  // namespace dycl::backends::ort::small
