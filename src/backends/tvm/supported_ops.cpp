// SPDX-License-Identifier: Apache-2.0
#include "backends/tvm/supported_ops.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "backends/op_rules.h"

namespace dycl::backends::tvm {
namespace {

Reason wrong_dtype() { return "it computes with elements that are neither f32 nor bool"; }

Reason floats(const OpSite& site) {
  if (site.results() != 1) return "it has further results";
  return all_of_dtype(site, DType::F32) ? Reason() : wrong_dtype();
}

Reason clip(const OpSite& site) {
  if (!site.has(1) || !site.has(2)) return "it has no bound on one side, where infinities become the largest number";
  return floats(site);
}

Reason bools(const OpSite& site) { return all_of_dtype(site, DType::Bool) ? Reason() : wrong_dtype(); }

bool moves(DType dtype) { return dtype == DType::F32 || dtype == DType::Bool || dtype == DType::I64; }

// Elements are moved; all operands but the first are constants.
Reason moved(const OpSite& site) {
  for (std::size_t i = 1; i < site.count(); ++i)
    if (site.has(i) && !site.is_constant(i)) return "where it moves elements is known only at run time";
  return moves(site.dtype(0)) ? Reason() : wrong_dtype();
}

Reason joined(const OpSite& site) {
  for (std::size_t i = 0; i < site.count(); ++i)
    if (!moves(site.dtype(i))) return wrong_dtype();
  return {};
}

Reason axes_known(const OpSite& site) {
  if (site.has(1) && !site.is_constant(1)) return "its axes are known only at run time";
  return site.integer("noop_with_empty_axes", 0) == 0 ? Reason() : "it may reduce nothing";
}

Reason reduced(const OpSite& site) { return site.dtype(0) == DType::F32 ? axes_known(site) : wrong_dtype(); }

// Of bools: whether any, or all, are true.
Reason extremum(const OpSite& site) { return site.dtype(0) == DType::Bool ? axes_known(site) : reduced(site); }

Reason arg_max(const OpSite& site) {
  if (site.integer("select_last_index", 0) != 0) return "it wants the last of equal elements";
  return floats(site);
}

Reason windowed(const OpSite& site) {
  if (site.text("auto_pad", "NOTSET") != "NOTSET") return "its padding is automatic";
  if (site.rank(0) != 4) return "it is over another number of axes than two";
  return floats(site);
}

Reason pooled(const OpSite& site) {
  if (site.integer("ceil_mode", 0) != 0) return "its windows may hang over";
  for (const std::int64_t dilation : site.integers("dilations"))
    if (dilation != 1) return "its windows are dilated";
  if (site.integer("storage_order", 0) != 0) return "it stores columns first";
  return windowed(site);
}

Reason chosen(const OpSite& site) {
  return site.dtype(0) == DType::Bool && all_of_dtype(site, DType::F32, 1) ? Reason() : wrong_dtype();
}

Reason cast(const OpSite& site) { return casts_exactly(site, moves); }

Reason gathered(const OpSite& site) { return moves(site.dtype(0)) ? indices_in_range(site) : wrong_dtype(); }

Reason padded(const OpSite& site) {
  if (Reason reason = pads_outwards(site); !reason.empty()) return reason;
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

Reason judge(const OpSite& site, const ir::Op& op, const ir::Function& function) {
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
    if (Reason reason = judge(OpSite(program, sub_dnn, constants, op), op, sub_dnn); !reason.empty())
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
