// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/supported_ops.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "backends/op_rules.h"

namespace dycl::backends::openvino {
namespace {

// At run time OpenVINO does not compare extents that must agree, it computes with what it finds; so they
// must be known to: the same number, or the same expression over the program's symbols.
bool agree(const ir::Dim& a, const ir::Dim& b) { return a == b && !a.is_opaque(); }
Reason may_disagree() { return "extents that must agree are known only at run time"; }

const ir::Dim* dim_of(const ir::Type& type, std::int64_t axis) {
  if (!type.shape) return nullptr;
  const auto rank = static_cast<std::int64_t>(type.shape->size());
  if (axis < 0) axis += rank;
  return axis < 0 || axis >= rank ? nullptr : &(*type.shape)[static_cast<std::size_t>(axis)];
}
bool agree(const ir::Dim* a, const ir::Dim* b) { return a && b && agree(*a, *b); }
// Aligned from the last dim, each pair agrees or one is 1.
Reason broadcast(const OpSite& site) {
  for (std::size_t i = 1; i < site.count(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const auto ranks = std::min(site.type(i).shape->size(), site.type(j).shape->size());
      for (std::int64_t d = -1; d >= -static_cast<std::int64_t>(ranks); --d) {
        const ir::Dim &a = *dim_of(site.type(i), d), &b = *dim_of(site.type(j), d);
        if (a.value != 1 && b.value != 1 && !agree(a, b)) return may_disagree();
      }
    }
  return {};
}

bool is_taken(DType dtype) { return dtype == DType::F32 || dtype == DType::Bool; }
Reason wrong_dtype() { return "it computes with another dtype than f32 and bool"; }

Reason floats(const OpSite& site) { return all_of_dtype(site, DType::F32) ? Reason() : wrong_dtype(); }
Reason bools(const OpSite& site) { return all_of_dtype(site, DType::Bool) ? Reason() : wrong_dtype(); }
Reason floats_or_bools(const OpSite& site) {
  return all_of_dtype(site, DType::F32) || all_of_dtype(site, DType::Bool) ? Reason() : wrong_dtype();
}

// The first operand is data, the others say where or how far: constants.
Reason rearranged(const OpSite& site) {
  if (!is_taken(site.dtype(0))) return wrong_dtype();
  for (std::size_t i = 1; i < site.count(); ++i)
    if (site.has(i) && !site.is_constant(i)) return "where it moves elements is known only at run time";
  return {};
}

Reason float_rearranged(const OpSite& site) {
  if (site.dtype(0) != DType::F32) return wrong_dtype();
  return rearranged(site);
}

// ONNX Runtime clips to the largest finite number where a bound is left out; that is not ours to copy.
Reason clip(const OpSite& site) { return site.has(1) && site.has(2) ? float_rearranged(site) : "a bound is left out"; }

Reason two_floats(const OpSite& site) {
  if (Reason reason = broadcast(site); !reason.empty()) return reason;
  return site.count() == 2 ? floats(site) : "it has more than two operands";
}

Reason elementwise_floats(const OpSite& site) {
  if (Reason reason = broadcast(site); !reason.empty()) return reason;
  return floats(site);
}

Reason elementwise_bools(const OpSite& site) {
  if (Reason reason = broadcast(site); !reason.empty()) return reason;
  return bools(site);
}

Reason equal(const OpSite& site) {
  if (Reason reason = broadcast(site); !reason.empty()) return reason;
  return floats_or_bools(site);
}

Reason concat(const OpSite& site) {
  const auto rank = static_cast<std::int64_t>(site.type(0).shape->size());
  const std::int64_t axis = site.integer("axis", 0) + (site.integer("axis", 0) < 0 ? rank : 0);
  for (std::size_t i = 1; i < site.count(); ++i)
    for (std::int64_t d = 0; d < rank; ++d)
      if (d != axis && !agree(dim_of(site.type(0), d), dim_of(site.type(i), d))) return may_disagree();
  return floats_or_bools(site);
}

// The elements are as many before as after: all extents known, or one that takes the rest.
Reason reshape(const OpSite& site) {
  const auto wanted = site.constant_integers(1);
  if (!wanted || site.integer("allowzero", 0) != 0) return "where it moves elements is known only at run time";
  std::int64_t before = 1, after = 1, open_before = 0, open_after = 0;
  for (const ir::Dim& dim : *site.type(0).shape) dim.is_known() ? before *= dim.value : ++open_before;
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    const std::int64_t n = (*wanted)[i];
    const ir::Dim* kept = n == 0 ? dim_of(site.type(0), static_cast<std::int64_t>(i)) : nullptr;
    if (n < 0 || (kept && !kept->is_known()))
      ++open_after;
    else
      after *= kept ? kept->value : n;
  }
  const bool fits = open_before == 0 && open_after == 0 ? before == after
                    : open_after == 1                   ? after != 0 && before % after == 0
                                                        : false;
  if (!fits || (open_before > 0 && before != after)) return may_disagree();
  return rearranged(site);
}

Reason squeeze(const OpSite& site) {
  const auto axes = site.has(1) ? site.constant_integers(1) : std::nullopt;
  if (!axes) return "its axes are not stated";
  for (const std::int64_t axis : *axes)
    if (const ir::Dim* dim = dim_of(site.type(0), axis); !dim || dim->value != 1) return may_disagree();
  return rearranged(site);
}

Reason expand(const OpSite& site) {
  const auto wanted = site.constant_integers(1);
  if (!wanted) return "where it moves elements is known only at run time";
  const std::size_t ranks = std::min(wanted->size(), site.type(0).shape->size());
  for (std::size_t i = 1; i <= ranks; ++i) {
    const std::int64_t n = (*wanted)[wanted->size() - i],
                       dim = dim_of(site.type(0), -static_cast<std::int64_t>(i))->value;
    if (n != 1 && dim != 1 && n != dim) return may_disagree();
  }
  return rearranged(site);
}

Reason split(const OpSite& site) {
  const ir::Dim* dim = dim_of(site.type(0), site.integer("axis", 0));
  return dim && dim->is_known() ? rearranged(site) : may_disagree();
}

Reason mat_mul(const OpSite& site) {
  if (site.count() != 2 || !site.type(0).shape || !site.type(1).shape) return "the rank of an operand is not known";
  const bool vector = site.type(1).shape->size() == 1;
  if (!agree(dim_of(site.type(0), -1), dim_of(site.type(1), vector ? 0 : -2))) return may_disagree();
  return floats(site);
}

Reason gemm(const OpSite& site) {
  const auto* a = dim_of(site.type(0), site.integer("transA", 0) != 0 ? 0 : 1);
  const auto* b = dim_of(site.type(1), site.integer("transB", 0) != 0 ? 1 : 0);
  return agree(a, b) ? floats(site) : may_disagree();
}

// Everything about these shapes must be known.
Reason of_known_shapes(const OpSite& site) {
  for (std::size_t i = 0; i < site.count(); ++i)
    for (std::int64_t d = 0;
         site.has(i) && site.type(i).shape && d < static_cast<std::int64_t>(site.type(i).shape->size()); ++d)
      if (!dim_of(site.type(i), d)->is_known()) return may_disagree();
  return floats(site);
}

// Per-channel constants: axis 1 of the data must be as long as they.
Reason by_channel(const OpSite& site) {
  const ir::Dim* channels = dim_of(site.type(0), 1);
  return channels && channels->is_known() ? floats(site) : may_disagree();
}

Reason one_result(const OpSite& site) { return site.results() == 1 ? floats(site) : "it has further results"; }

Reason chosen(const OpSite& site) {
  if (Reason reason = broadcast(site); !reason.empty()) return reason;
  return site.dtype(0) == DType::Bool && all_of_dtype(site, DType::F32, 1) ? Reason() : wrong_dtype();
}

Reason cast(const OpSite& site) { return casts_exactly(site, is_taken); }

Reason windowed(const OpSite& site) {
  if (site.text("auto_pad", "NOTSET") != "NOTSET") return "its padding is automatic";
  const ir::Dim* channels = dim_of(site.type(0), 1);
  if (!channels || !channels->is_known()) return may_disagree();
  return one_result(site);
}

Reason normalized(const OpSite& site) {
  if (site.results() != 1) return "it has further results";
  return by_channel(site);
}

Reason layer_normalized(const OpSite& site) {
  if (site.results() != 1) return "it has further results";
  const std::int64_t rank = site.type(0).shape ? static_cast<std::int64_t>(site.type(0).shape->size()) : 0;
  std::int64_t axis = site.integer("axis", -1);
  for (axis = axis < 0 ? axis + rank : axis; axis < rank; ++axis)
    if (!dim_of(site.type(0), axis)->is_known()) return may_disagree();
  return rank > 0 ? floats(site) : may_disagree();
}

Reason average_pool(const OpSite& site) {
  if (site.integer("ceil_mode", 0) != 0 && site.integer("count_include_pad", 0) != 0)
    return "it counts the padding of windows that hang over";
  return windowed(site);
}

Reason max_pool(const OpSite& site) {
  for (const std::int64_t dilation : site.integers("dilations"))
    if (dilation != 1) return "its windows are dilated";
  return site.integer("storage_order", 0) != 0 ? "it stores columns first" : windowed(site);
}

Reason axes_known(const OpSite& site) {
  if (site.has(1) && !site.is_constant(1)) return "its axes are known only at run time";
  return site.type(0).shape ? Reason() : "the rank of its operand is not known";
}

// Sums and the like; operand 1 or the attribute gives the axes.
Reason reduction(const OpSite& site) { return site.dtype(0) == DType::F32 ? axes_known(site) : wrong_dtype(); }

Reason is_never_empty(const OpSite& site) {
  if (!site.type(0).shape) return "the rank of its operand is not known";
  for (const ir::Dim& dim : *site.type(0).shape)
    if (dim.value <= 0) return "it may reduce no elements at all";
  return {};
}

Reason extremum(const OpSite& site) {
  if (Reason reason = site.dtype(0) == DType::Bool ? axes_known(site) : reduction(site); !reason.empty()) return reason;
  return is_never_empty(site);
}

// One step with constant weights and nothing but the usual gates. Longer sequences of several rows come out wrong
// in 2026.4.1.
Reason lstm(const OpSite& site) {
  for (const std::size_t i : {1U, 2U, 3U})
    if (site.has(i) && !site.is_constant(i)) return "its weights are known only at run time";
  if (site.has(4) || site.has(7)) return "it has lengths of sequences or peepholes";
  if (site.text("direction", "forward") != "forward" || site.integer("layout", 0) != 0 ||
      site.integer("input_forget", 0) != 0 || site.has_attribute("clip") || site.has_attribute("activations"))
    return "it is not of the plain kind";
  if (const ir::Dim* steps = dim_of(site.type(0), 0); !steps || steps->value != 1) return "it has several steps";
  return of_known_shapes(site);
}

Reason arg_max(const OpSite& site) {
  if (site.dtype(0) != DType::F32) return wrong_dtype();
  if (site.integer("select_last_index", 0) != 0) return "it wants the last of equal elements";
  return extremum(site);
}

Reason along_known_axis(const OpSite& site) {
  if (!site.type(0).shape) return "the rank of its operand is not known";
  return floats(site);
}

Reason gather(const OpSite& site) { return is_taken(site.dtype(0)) ? indices_in_range(site) : wrong_dtype(); }

Reason pad(const OpSite& site) {
  if (Reason reason = pads_outwards(site); !reason.empty()) return reason;
  const std::string mode = site.text("mode", "constant");
  return mode == "constant" || mode == "reflect" || mode == "edge" ? float_rearranged(site) : "its mode is " + mode;
}

Reason resize(const OpSite& site) {
  const std::string mode = site.text("mode", "nearest");
  const std::string place = site.text("coordinate_transformation_mode", "half_pixel");
  if ((mode != "nearest" && mode != "linear") || site.integer("antialias", 0) != 0 || site.has(1) ||
      (place != "half_pixel" && place != "asymmetric" && place != "align_corners"))
    return "it interpolates in a way that is not compared with the reference";
  return float_rearranged(site);
}

Reason shape_of(const OpSite& site) { return is_taken(site.dtype(0)) ? Reason() : wrong_dtype(); }

const std::map<std::string_view, Rule>& table() {
  static const std::map<std::string_view, Rule> rules = [] {
    std::map<std::string_view, Rule> all;
    const auto add = [&](Rule rule, std::initializer_list<const char*> names) {
      for (const char* name : names) all[name] = rule;
    };
    add(floats, {"Abs",       "Neg",
                 "Floor",     "Ceil",
                 "Round",     "Sign",
                 "Sqrt",      "Log",
                 "Erf",       "Sigmoid",
                 "Tanh",      "Softplus",
                 "Softsign",  "Reciprocal",
                 "HardSwish", "LeakyRelu",
                 "Elu",       "Selu",
                 "Sin",       "Cos",
                 "Relu",      "Exp",
                 "Gelu",      "HardSigmoid",
                 "IsNaN",     "GlobalAveragePool"});
    add(mat_mul, {"MatMul"});
    add(gemm, {"Gemm"});
    add(of_known_shapes, {"Einsum", "PRelu"});
    add(normalized, {"BatchNormalization", "InstanceNormalization", "GroupNormalization"});
    add(layer_normalized, {"LayerNormalization"});
    add(two_floats,
        {"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"});
    add(floats_or_bools, {"Identity"});
    add(concat, {"Concat"});
    add(equal, {"Equal"});
    add(elementwise_bools, {"And", "Or", "Xor", "Not"});
    add(elementwise_floats, {"Sum", "Mean"});
    add(reshape, {"Reshape"});
    add(squeeze, {"Squeeze"});
    add(expand, {"Expand"});
    add(split, {"Split"});
    add(chosen, {"Where"});
    add(cast, {"Cast"});
    add(windowed, {"Conv", "ConvTranspose"});
    add(max_pool, {"MaxPool"});
    add(average_pool, {"AveragePool"});
    add(along_known_axis, {"Softmax", "LogSoftmax"});
    add(reduction, {"ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceProd"});
    add(extremum, {"ReduceMax", "ReduceMin"});
    add(arg_max, {"ArgMax"});
    add(lstm, {"LSTM"});
    add(rearranged, {"Transpose", "Flatten", "Unsqueeze", "Slice", "Tile"});
    add(clip, {"Clip"});
    add(float_rearranged, {"DepthToSpace", "SpaceToDepth", "Trilu", "CumSum"});
    add(gather, {"Gather"});
    add(pad, {"Pad"});
    add(resize, {"Resize"});
    add(shape_of, {"Shape"});
    return all;
  }();
  return rules;
}

bool is_index(const std::string& op) { return op == "ArgMax" || op == "Shape"; }

Reason judge(const OpSite& site, const ir::Op& op, const ir::Function& function) {
  const auto rule = table().find(op.name);
  if (rule == table().end()) return "it is not among the ops that are compared with the reference";
  for (std::size_t i = 0; i < site.count(); ++i) {
    if (site.is_empty_constant(i)) return "a constant has no elements";
    if (site.has_open_shape(i)) return "the shape of an operand is known only at run time";
    if (!site.has(i) || site.is_constant(i)) continue;
    if (!is_taken(site.dtype(i))) return wrong_dtype();
  }
  for (const ir::ValueId result : op.results) {
    if (!result.present()) continue;
    const DType dtype = function.type_of(result).dtype;
    if (!is_taken(dtype) && !is_index(op.name)) return wrong_dtype();
  }
  return rule->second(site);
}

}  // namespace

std::vector<Refusal> refusals(const ir::Program& program, const ir::Function& sub_dnn) {
  std::vector<Refusal> out;
  std::map<std::uint32_t, const ir::Op*> constants;
  std::set<std::uint32_t> computed, used;
  for (const ir::Op& op : sub_dnn.blocks[0].body) {
    if (op.name == "const" || op.name == "weight") {
      constants[op.results[0].index] = &op;
      continue;
    }
    for (const ir::ValueId v : op.results)
      if (v.present()) computed.insert(v.index);
    for (const ir::ValueId v : op.operands)
      if (v.present()) used.insert(v.index);
    if (Reason reason = judge(OpSite(program, sub_dnn, constants, op), op, sub_dnn); !reason.empty())
      out.push_back({&op, std::move(reason)});
  }
  if (const auto* exit = std::get_if<ir::Return>(&sub_dnn.blocks[0].exit))
    for (const ir::ValueId v : exit->values) {
      used.insert(v.index);
      const DType dtype = sub_dnn.type_of(v).dtype;
      if (!computed.count(v.index) && !is_taken(dtype))
        out.push_back({nullptr, "a result that it hands through is neither f32 nor bool"});
    }
  for (const ir::Param& param : sub_dnn.params) {
    const DType dtype = sub_dnn.type_of(param.value).dtype;
    if (!is_taken(dtype)) out.push_back({nullptr, "a parameter is neither f32 nor bool"});
    if (!used.count(param.value.index)) out.push_back({nullptr, "a parameter is not used"});
  }
  return out;
}

}  // namespace dycl::backends::openvino
