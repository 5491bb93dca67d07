// SPDX-License-Identifier: Apache-2.0
#include "backends/tvm/takes.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string_view>

namespace dycl::backends::tvm {
namespace {

using Reason = std::string;  // empty: taken

// What is known about one op. All its shapes are known.
class Site {
 public:
  Site(const ir::Program& program, const ir::Function& function,
       const std::map<std::uint32_t, const ir::Op*>& constants, const ir::Op& op)
      : program_(program), function_(function), constants_(constants), op_(op) {}

  std::size_t count() const { return op_.operands.size(); }
  bool has(std::size_t i) const { return i < count() && op_.operands[i].present(); }
  bool is_constant(std::size_t i) const { return has(i) && constants_.count(op_.operands[i].index) != 0; }
  const ir::Type& type(std::size_t i) const { return function_.type_of(op_.operands[i]); }
  DType dtype(std::size_t i) const { return type(i).dtype; }
  std::size_t rank(std::size_t i) const { return type(i).shape->size(); }
  std::int64_t extent(std::size_t i, std::int64_t axis) const {
    const auto n = static_cast<std::int64_t>(rank(i));
    if (axis < 0) axis += n;
    return axis < 0 || axis >= n ? -1 : (*type(i).shape)[static_cast<std::size_t>(axis)].value;
  }
  const ir::Type& result() const { return function_.type_of(op_.results[0]); }
  std::size_t results() const {
    return static_cast<std::size_t>(
        std::count_if(op_.results.begin(), op_.results.end(), [](ir::ValueId v) { return v.present(); }));
  }

  std::int64_t integer(const std::string& key, std::int64_t otherwise) const {
    const ir::Attr* attr = op_.attr(key);
    if (attr)
      if (const auto* i = std::get_if<std::int64_t>(attr)) return *i;
    return otherwise;
  }
  std::vector<std::int64_t> integers(const std::string& key) const {
    const ir::Attr* attr = op_.attr(key);
    const auto* list = attr ? std::get_if<std::vector<std::int64_t>>(attr) : nullptr;
    return list ? *list : std::vector<std::int64_t>();
  }
  std::string text(const std::string& key, const std::string& otherwise) const {
    const ir::Attr* attr = op_.attr(key);
    const auto* value = attr ? std::get_if<std::string>(attr) : nullptr;
    return value ? *value : otherwise;
  }

  // The elements of a constant i64 operand.
  std::optional<std::vector<std::int64_t>> constant_integers(std::size_t i) const {
    if (!is_constant(i) || dtype(i) != DType::I64) return std::nullopt;
    const ir::Op& source = *constants_.at(op_.operands[i].index);
    const std::uint8_t* data = nullptr;
    std::size_t size = 0;
    if (const ir::Attr* value = source.attr("value")) {
      const auto* literal = std::get_if<ir::TensorLiteral>(value);
      if (!literal) return std::nullopt;
      data = literal->bytes.data();
      size = literal->bytes.size();
    } else {
      const auto weight = program_.weights.find(std::get<std::string>(source.attrs.at("name")));
      if (weight == program_.weights.end()) return std::nullopt;
      data = weight->second.bytes.data;
      size = weight->second.bytes.size;
    }
    std::vector<std::int64_t> elements(size / sizeof(std::int64_t));
    if (size > 0 && data) std::memcpy(elements.data(), data, size);
    return elements;
  }

 private:
  const ir::Program& program_;
  const ir::Function& function_;
  const std::map<std::uint32_t, const ir::Op*>& constants_;
  const ir::Op& op_;
};

using Rule = Reason (*)(const Site&);

Reason wrong_dtype() { return "it computes with elements that are neither f32 nor bool"; }

bool all_of_dtype(const Site& site, DType dtype, std::size_t first = 0) {
  for (std::size_t i = first; i < site.count(); ++i)
    if (site.has(i) && site.dtype(i) != dtype) return false;
  return true;
}

Reason floats(const Site& site) {
  if (site.results() != 1) return "it has further results";
  return all_of_dtype(site, DType::F32) ? Reason() : wrong_dtype();
}

Reason clip(const Site& site) {
  if (!site.has(1) || !site.has(2)) return "it has no bound on one side, where infinities become the largest number";
  return floats(site);
}

Reason bools(const Site& site) { return all_of_dtype(site, DType::Bool) ? Reason() : wrong_dtype(); }

bool moves(DType dtype) { return dtype == DType::F32 || dtype == DType::Bool || dtype == DType::I64; }

// Elements are moved; all operands but the first are constants.
Reason moved(const Site& site) {
  for (std::size_t i = 1; i < site.count(); ++i)
    if (site.has(i) && !site.is_constant(i)) return "where it moves elements is known only at run time";
  return moves(site.dtype(0)) ? Reason() : wrong_dtype();
}

Reason joined(const Site& site) {
  for (std::size_t i = 0; i < site.count(); ++i)
    if (!moves(site.dtype(i))) return wrong_dtype();
  return {};
}

Reason axes_known(const Site& site) {
  if (site.has(1) && !site.is_constant(1)) return "its axes are known only at run time";
  return site.integer("noop_with_empty_axes", 0) == 0 ? Reason() : "it may reduce nothing";
}

Reason reduced(const Site& site) { return site.dtype(0) == DType::F32 ? axes_known(site) : wrong_dtype(); }

// Of bools: whether any, or all, are true.
Reason extremum(const Site& site) { return site.dtype(0) == DType::Bool ? axes_known(site) : reduced(site); }

Reason arg_max(const Site& site) {
  if (site.integer("select_last_index", 0) != 0) return "it wants the last of equal elements";
  return floats(site);
}

Reason windowed(const Site& site) {
  if (site.text("auto_pad", "NOTSET") != "NOTSET") return "its padding is automatic";
  if (site.rank(0) != 4) return "it is over another number of axes than two";
  return floats(site);
}

Reason pooled(const Site& site) {
  if (site.integer("ceil_mode", 0) != 0) return "its windows may hang over";
  for (const std::int64_t dilation : site.integers("dilations"))
    if (dilation != 1) return "its windows are dilated";
  if (site.integer("storage_order", 0) != 0) return "it stores columns first";
  return windowed(site);
}

Reason chosen(const Site& site) {
  return site.dtype(0) == DType::Bool && all_of_dtype(site, DType::F32, 1) ? Reason() : wrong_dtype();
}

Reason cast(const Site& site) {
  const DType from = site.dtype(0), to = site.result().dtype;
  const bool same = from == to && moves(from);
  return same || (from == DType::Bool && to == DType::F32) ? Reason() : "it narrows or saturates what it casts";
}

Reason gathered(const Site& site) {
  if (!moves(site.dtype(0))) return wrong_dtype();
  const auto indices = site.constant_integers(1);
  if (!indices) return "its indices are known only at run time, and one out of range would go unnoticed";
  const std::int64_t extent = site.extent(0, site.integer("axis", 0));
  for (const std::int64_t index : *indices)
    if (extent < 0 || index < -extent || index >= extent) return "an index may be out of range";
  return {};
}

Reason padded(const Site& site) {
  const auto amounts = site.constant_integers(1);
  if (!amounts || std::any_of(amounts->begin(), amounts->end(), [](std::int64_t n) { return n < 0; }))
    return "its amounts are negative or known only at run time";
  if (site.text("mode", "constant") != "constant" || site.dtype(0) != DType::F32)
    return "it does not pad with a number";
  return moved(site);
}

const std::map<std::string_view, Rule>& table() {
  static const std::map<std::string_view, Rule> rules = [] {
    std::map<std::string_view, Rule> all;
    const auto add = [&](Rule rule, std::initializer_list<const char*> names) {
      for (const char* name : names) all[name] = rule;
    };
    add(floats, {"Add",
                 "Sub",
                 "Mul",
                 "Div",
                 "Pow",
                 "Max",
                 "Min",
                 "Sum",
                 "Mean",
                 "Equal",
                 "Less",
                 "LessOrEqual",
                 "Greater",
                 "GreaterOrEqual",
                 "IsNaN",
                 "Neg",
                 "Abs",
                 "Sqrt",
                 "Exp",
                 "Log",
                 "Erf",
                 "Floor",
                 "Ceil",
                 "Round",

                 "Reciprocal",
                 "Sigmoid",
                 "Tanh",
                 "Relu",
                 "LeakyRelu",
                 "PRelu",
                 "Elu",
                 "Selu",
                 "Softplus",
                 "Softsign",
                 "HardSigmoid",
                 "HardSwish",
                 "Gelu",
                 "Sin",
                 "MatMul",
                 "Gemm",
                 "BatchNormalization",
                 "LayerNormalization",
                 "InstanceNormalization",
                 "GroupNormalization",
                 "Softmax",
                 "LogSoftmax",
                 "GlobalAveragePool"});
    add(clip, {"Clip"});
    add(bools, {"And", "Or", "Not", "Xor"});
    add(windowed, {"Conv"});
    add(pooled, {"MaxPool", "AveragePool"});
    add(reduced, {"ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceProd"});
    add(extremum, {"ReduceMax", "ReduceMin"});
    add(moved,
        {"Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Identity", "Slice", "Expand", "Tile", "Split"});
    add(arg_max, {"ArgMax"});
    add(joined, {"Concat"});
    add(padded, {"Pad"});
    add(gathered, {"Gather"});
    add(chosen, {"Where"});
    add(cast, {"Cast"});
    return all;
  }();
  return rules;
}

// The first thing that is not known about a tensor's shape.
Reason open_shape(const ir::Type& type) {
  if (!type.shape) return "a tensor's rank is known only at run time";
  for (const ir::Dim& dim : *type.shape) {
    if (!dim.is_known()) return "a tensor's shape is known only at run time";
    if (dim.value == 0) return "a tensor has no elements";
  }
  return {};
}

Reason judge(const Site& site, const ir::Op& op, const ir::Function& function) {
  const auto rule = table().find(op.name);
  if (rule == table().end()) return "it is not among the ops that are compared with the reference";
  for (const auto* values : {&op.operands, &op.results})
    for (const ir::ValueId value : *values) {
      if (!value.present()) continue;
      if (Reason reason = open_shape(function.type_of(value)); !reason.empty()) return reason;
    }
  return rule->second(site);
}

}  // namespace

std::vector<Refusal> refusals(const ir::Program& program, const ir::Function& sub_dnn) {
  std::vector<Refusal> out;
  std::map<std::uint32_t, const ir::Op*> constants;
  for (const ir::Op& op : sub_dnn.blocks[0].body) {
    if (op.name == "const" || op.name == "weight") {
      constants[op.results[0].index] = &op;
      continue;
    }
    if (Reason reason = judge(Site(program, sub_dnn, constants, op), op, sub_dnn); !reason.empty())
      out.push_back({&op, std::move(reason)});
  }
  const auto check = [&](const ir::Type& type) {
    Reason reason = open_shape(type);
    if (reason.empty() && !moves(type.dtype)) reason = wrong_dtype();
    if (!reason.empty()) out.push_back({nullptr, std::move(reason)});
  };
  for (const ir::Param& param : sub_dnn.params) check(sub_dnn.type_of(param.value));
  for (const auto& result : sub_dnn.results) check(result.type);
  return out;
}

}  // namespace dycl::backends::tvm
