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
    require(type.is_tensor() && (type.dtype == DType::F32 || type.dtype == DType::I64 || type.dtype == DType::Bool));
    return {Place::None, 0, type.dtype, dims_of(type), false};
  }
  const Located& operand(const ir::Op& op, std::size_t i, bool may_be_blocked = false) const {
    require(i < op.operands.size() && op.operands[i].present());
    const auto it = values_.find(op.operands[i].index);
    require(it != values_.end() && (may_be_blocked || !it->second.blocked));
    return it->second;
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
  const ir::ValueId value = op.results[0];
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
  static const std::map<std::string, std::pair<UnaryFunction, std::int64_t>> table = {
      {"Relu", {UnaryFunction::Relu, 1}},  {"Sigmoid", {UnaryFunction::Sigmoid, 12}},
      {"Tanh", {UnaryFunction::Tanh, 16}}, {"Exp", {UnaryFunction::Exp, 8}},
      {"Log", {UnaryFunction::Log, 8}},    {"Neg", {UnaryFunction::Neg, 1}},
      {"Abs", {UnaryFunction::Abs, 1}},    {"Sqrt", {UnaryFunction::Sqrt, 2}},
      {"Not", {UnaryFunction::Not, 1}}};
  const auto it = table.find(op.name);
  if (it == table.end()) return false;
  require(op.operands.size() == 1 && op.attrs.empty());
  const Located in = operand(op, 0), out = result(op);
  const DType expected = op.name == "Not" ? DType::Bool : DType::F32;
  require(in.dtype == expected && out.dtype == expected && in.dims == out.dims);
  emit(Opcode::Unary, {static_cast<std::int64_t>(it->second.first), in.count()}, {&in, &out},
       in.count() * it->second.second);
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
  static const std::map<std::string, BinaryFunction> table = {
      {"Add", BinaryFunction::Add},         {"Sub", BinaryFunction::Sub},
      {"Mul", BinaryFunction::Mul},         {"Div", BinaryFunction::Div},
      {"Max", BinaryFunction::Max},         {"Min", BinaryFunction::Min},
      {"Greater", BinaryFunction::Greater}, {"GreaterOrEqual", BinaryFunction::GreaterOrEqual},
      {"Less", BinaryFunction::Less},       {"LessOrEqual", BinaryFunction::LessOrEqual},
      {"Equal", BinaryFunction::Equal},     {"And", BinaryFunction::And},
      {"Or", BinaryFunction::Or},           {"Xor", BinaryFunction::Xor}};
  const auto it = table.find(op.name);
  if (it == table.end()) return false;
  require(op.operands.size() == 2 && op.attrs.empty());
  const Located a = operand(op, 0), b = operand(op, 1), out = result(op);
  const BinaryFunction function = it->second;
  const bool compares = function >= BinaryFunction::Greater;
  require(a.dtype == b.dtype && out.dtype == (compares ? DType::Bool : a.dtype));
  require(a.dtype == DType::Bool ? function >= BinaryFunction::Equal : function < BinaryFunction::And);
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
  emit(Opcode::Binary, numbers, {&a, &b, &out}, out.count() * 2);
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
  emit(Opcode::Gemm,
       {m, n, k, transposed ? 1 : 0, bias, bits_of(float_attr(op, "alpha", 1.0)), bits_of(float_attr(op, "beta", 1.0))},
       {&a, &b, has_bias ? &c : nullptr, &out}, m * n * k / 2 + m * n);
}

void Lowering::matmul(const ir::Op& op) {
  const Located a = operand(op, 0), b = operand(op, 1), out = result(op);
  require(a.dtype == DType::F32 && b.dtype == DType::F32 && a.dims.size() >= 2 && b.dims.size() == 2);
  const std::int64_t k = a.dims.back(), n = b.dims[1];
  Dims expected = a.dims;
  expected.back() = n;
  require(b.dims[0] == k && out.dims == expected && out.count() > 0 && k > 0);
  const std::int64_t m = out.count() / n;
  emit(Opcode::Gemm, {m, n, k, 0, 0, bits_of(1.0), bits_of(1.0)}, {&a, &b, nullptr, &out}, m * n * k / 2 + m * n);
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
  require(in.dtype == DType::F32 && out.dtype == DType::F32 && middle > 0 && out.count() == outer * inner);
  emit(Opcode::Reduce, {static_cast<std::int64_t>(function), outer, middle, inner}, {&in, &out},
       inner == 1 ? in.count() / 4 + out.count() : in.count());
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
       {&in, &weights, has_bias ? &bias : nullptr, &out}, m * n * k / 2 + m * n);
}

// One element of an axis, known now.
void Lowering::gather(const ir::Op& op) {
  const Located in = operand(op, 0);
  require(op.operands.size() == 2 && op.operands[1].present());
  const auto index = literal_of_.find(op.operands[1].index);
  require(index != literal_of_.end() && index->second->dtype == DType::I64 && index->second->bytes.size() == 8);
  std::int64_t which = 0, axis = int_attr(op, "axis", 0);
  std::memcpy(&which, index->second->bytes.data(), sizeof which);
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
  emit(Opcode::Pick, {static_cast<std::int64_t>(size_of(in.dtype)), outer, middle, inner, which}, {&in, &out},
       out.count());
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
  emit(Opcode::Gemm, {1, 4 * hidden, inputs, 1, 2, bits_of(1.0), bits_of(1.0)}, {&x, &w, &sum, &gates},
       2 * hidden * inputs);
  if (has(5)) {
    const Located h = operand(op, 5), all = scratch_of(4 * hidden);
    emit(Opcode::Gemm, {1, 4 * hidden, hidden, 1, 2, bits_of(1.0), bits_of(1.0)}, {&h, &r, &gates, &all},
         2 * hidden * hidden);
    gates = all;
  }
  const Located cell = has(6) ? operand(op, 6) : literal_of(std::vector<float>(static_cast<std::size_t>(hidden), 0.0F));
  const Located both = scratch_of(2 * hidden);
  emit(Opcode::LstmCell, {hidden}, {&gates, &cell, &both}, 64 * hidden);
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
       in.count() * 16);
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
       in.count() * 2);
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
    const auto it = values_.find(values[i].index);
    require(it != values_.end() && !it->second.blocked);
    const Located& value = it->second;
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
