// SPDX-License-Identifier: Apache-2.0
#include "passes/propagate_shapes.h"

#include <algorithm>

#include "ir/host_ops.h"
#include "passes/cfg.h"
#include "passes/shape_rules.h"

namespace dycl::passes {
namespace {

// After so many rounds a parameter that still changes takes its declared type.
constexpr int kPatientRounds = 4;

// `declared`, with what it leaves open filled in from `inferred`. Where they
// disagree the declaration stands.
ir::Type filled(const ir::Type& declared, const ir::Type& inferred) {
  if (!declared.is_tensor() || !inferred.is_tensor() || !inferred.shape || declared.dtype != inferred.dtype)
    return declared;
  ir::Type type = declared;
  if (!type.shape) type.shape.emplace(inferred.shape->size());
  if (type.shape->size() != inferred.shape->size()) return declared;
  for (std::size_t i = 0; i < type.shape->size(); ++i) {
    const ir::Dim& dim = (*inferred.shape)[i];
    const auto constant = constant_of(dim);
    if ((*type.shape)[i].is_opaque() && (!constant || *constant >= 0)) (*type.shape)[i] = dim;
  }
  return type;
}

class Propagator {
 public:
  Propagator(const ir::Program& program, ir::Function& function)
      : program_(program),
        function_(function),
        cfg_(cfg_of(function)),
        values_(function),
        seen_(function.values.size()) {
    for (const ir::Value& value : function.values) declared_.push_back(value.type);
    find_asked_axes();
    for (const ir::Param& param : function.params) seen_[param.value.index] = true;
    incoming_.resize(function.blocks.size());
    for (const std::uint32_t b : cfg_.order())
      for_each_edge(function.blocks[b].exit,
                    [&](const ir::Edge& edge) { incoming_[edge.target.index].push_back(&edge); });
  }

  int run() {
    bool changed = true;
    for (int round = 0; changed; ++round) {
      changed = false;
      for (const std::uint32_t b : cfg_.order()) {
        changed |= visit_params(b, round);
        for (const ir::Op& op : function_.blocks[b].body) visit(op);
      }
    }
    int improved = fill_results();
    for (std::size_t v = 0; v < declared_.size(); ++v) improved += function_.values[v].type != declared_[v];
    return improved;
  }

 private:
  // What every return gives.
  int fill_results() {
    int improved = 0;
    for (std::size_t i = 0; i < function_.results.size(); ++i) {
      std::optional<ir::Type> joined;
      bool agree = true;
      for (const std::uint32_t b : cfg_.order())
        if (const auto* exit = std::get_if<ir::Return>(&function_.blocks[b].exit); exit && agree) {
          joined = joined ? ir::join(*joined, type(exit->values[i])) : type(exit->values[i]);
          agree = joined.has_value();
        }
      if (!joined) continue;
      ir::Type next = filled(function_.results[i].type, *joined);
      improved += next != function_.results[i].type;
      function_.results[i].type = std::move(next);
    }
    return improved;
  }

  ir::Type& type(ir::ValueId value) { return function_.values[value.index].type; }

  // A `dim` of an axis that a value does not have fails where it is executed, not here: such a value keeps its rank
  // open.
  void find_asked_axes() {
    asked_rank_.resize(function_.values.size());
    for (const ir::Block& block : function_.blocks)
      for (const ir::Op& op : block.body)
        if (const ir::Attr* axis = op.name == "dim" ? op.attr("axis") : nullptr)
          if (const auto* at = std::get_if<std::int64_t>(axis); at && *at >= 0) {
            std::size_t& rank = asked_rank_[op.operands[0].index];
            rank = std::max(rank, static_cast<std::size_t>(*at) + 1);
          }
  }

  ir::Type next_type(ir::ValueId value, const ir::Type& inferred) const {
    const bool has_axes = !inferred.shape || inferred.shape->size() >= asked_rank_[value.index];
    return has_axes ? filled(declared_[value.index], inferred) : declared_[value.index];
  }

  // A parameter takes the join of the arguments seen so far; it only ever gives up
  // what it says, so rounds end.
  bool visit_params(std::uint32_t b, int round) {
    bool changed = false;
    const auto& params = function_.blocks[b].params;
    for (std::size_t i = 0; i < params.size(); ++i) {
      std::optional<ir::Type> joined;
      bool first_look = false;  // before a back edge has been seen: another round must check it
      if (seen_[params[i].index]) joined = type(params[i]);
      for (const ir::Edge* edge : incoming_[b]) {
        const ir::ValueId arg = edge->args[i];
        if (!seen_[arg.index]) {
          first_look = true;
          continue;
        }
        joined = joined ? ir::join(*joined, type(arg)) : std::optional(type(arg));
        if (!joined) break;
      }
      const ir::Type& declared = declared_[params[i].index];
      ir::Type next = joined ? next_type(params[i], *joined) : declared;
      if (seen_[params[i].index] && next != type(params[i]) && round >= kPatientRounds) next = declared;
      if (seen_[params[i].index] && next == type(params[i])) continue;
      changed = changed || first_look || seen_[params[i].index];
      seen_[params[i].index] = true;
      type(params[i]) = std::move(next);
    }
    return changed;
  }

  void visit(const ir::Op& op) {
    if (op.is_tensor_op()) {
      const auto shapes = result_shapes({program_, function_, op, values_});
      for (std::size_t i = 0; i < op.results.size(); ++i)
        if (op.results[i].present() && shapes[i])
          fill(op.results[i], ir::Type::tensor(type(op.results[i]).dtype, *shapes[i]));
        else if (op.results[i].present())
          fill(op.results[i], declared_[op.results[i].index]);
    } else if (op.name != "call") {
      if (const auto types = ir::infer_types(program_, function_, op))
        for (std::size_t i = 0; i < op.results.size() && i < types->size(); ++i) fill(op.results[i], (*types)[i]);
    }
    for (const ir::ValueId result : op.results)
      if (result.present()) seen_[result.index] = true;
    values_.visit(function_, op);
  }

  void fill(ir::ValueId result, const ir::Type& inferred) { type(result) = next_type(result, inferred); }

  const ir::Program& program_;
  ir::Function& function_;
  Cfg cfg_;
  ShapeValues values_;
  std::vector<bool> seen_;  // per value: visited, so that its type is no mere declaration
  std::vector<ir::Type> declared_;
  std::vector<std::size_t> asked_rank_;  // per value: the least that has every axis of which a `dim` asks
  std::vector<std::vector<const ir::Edge*>> incoming_;
};

}  // namespace

int propagate_shapes(ir::Program& program) {
  int improved = 0;
  for (ir::Function& function : program.functions) improved += Propagator(program, function).run();
  return improved;
}

}  // namespace dycl::passes
