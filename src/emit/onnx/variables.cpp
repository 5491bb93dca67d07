// SPDX-License-Identifier: Apache-2.0
#include "emit/onnx/variables.h"

#include <algorithm>

#include "ir/edges.h"
#include "ir/host_ops.h"

namespace dycl::emit {

using Kind = Step::Kind;

StepAnalysis::StepAnalysis(const ir::Function& function, const Structure& structure, const OnnxVariables& vars)
    : function_(function),
      vars_(vars),
      first_(vars.count(), UINT32_MAX),
      last_(vars.count(), 0),
      used_(vars.values, false) {
  for (const ir::Block& block : function.blocks) {
    for (const ir::Op& op : block.body)
      for (ir::ValueId v : op.operands)
        if (v.present()) used_[v.index] = true;
    ir::for_each_exit_use(block.exit, [&](ir::ValueId v) { used_[v.index] = true; });
  }
  visit(structure.body);
  for (std::size_t i = 0; i < vars.results; ++i) use(vars.result(i));
  use(vars.alive());
}

bool StepAnalysis::fails_unseen(const ir::Op& op) const {
  const ir::HostOp* host = op.is_tensor_op() ? nullptr : ir::host_op_named(op.name);
  return host && host->can_fail && !host->has_effect && !op.results.empty() && op.name != "call" &&
         std::none_of(op.results.begin(), op.results.end(), [&](ir::ValueId v) { return used_[v.index]; });
}

void StepAnalysis::use(Var v) {
  first_[v] = std::min(first_[v], position_);
  last_[v] = std::max(last_[v], position_);
}

void StepAnalysis::use(ir::ValueId v) {
  if (v.present()) use(v.index);
}

std::vector<Var> StepAnalysis::visit(const Sequence& steps) {
  std::vector<Var> assigned;
  for (const Step& s : steps) {
    const std::vector<Var> inner = visit(s);
    assigned.insert(assigned.end(), inner.begin(), inner.end());
  }
  std::sort(assigned.begin(), assigned.end());
  assigned.erase(std::unique(assigned.begin(), assigned.end()), assigned.end());
  return assigned;
}

std::vector<Var> StepAnalysis::visit(const Step& s) {
  StepInfo info;
  info.begin = position_++;
  std::set<Var> set;
  reads_and_writes(s, set);
  for (const Sequence& part : s.parts) {
    const std::vector<Var> inner = visit(part);
    set.insert(inner.begin(), inner.end());
  }
  if (s.kind == Kind::Loop) {
    ++position_;  // the end of a round
    for (std::uint32_t f : s.flags) use(vars_.flag(f));
    if (s.block != Step::kNoBlock && function_.blocks[s.block].loop_limit > 0) set.insert(vars_.alive());
  }
  info.end = ++position_;
  info.assigned.assign(set.begin(), set.end());
  info_.emplace(&s, info);
  return info.assigned;
}

void StepAnalysis::reads_and_writes(const Step& s, std::set<Var>& set) {
  switch (s.kind) {
    case Kind::Ops:
      for (const ir::Op& op : block_of(function_, s).body) {
        for (ir::ValueId v : op.operands) use(v);
        for (ir::ValueId v : op.results)
          if (v.present()) set.insert(v.index);
        if (op.name == "check" || fails_unseen(op)) set.insert(vars_.alive());
      }
      break;
    case Kind::Edge: {
      const ir::Edge& edge = edge_of(block_of(function_, s), s.arm);
      for (ir::ValueId v : edge.args) use(v);
      for (ir::ValueId v : function_.block(edge.target).params) set.insert(v.index);
      break;
    }
    case Kind::If: use(std::get<ir::Branch>(block_of(function_, s).exit).condition); break;
    case Kind::Switch: use(std::get<ir::Switch>(block_of(function_, s).exit).selector); break;
    case Kind::Return: {
      const auto& values = std::get<ir::Return>(block_of(function_, s).exit).values;
      for (std::size_t i = 0; i < values.size(); ++i) {
        use(values[i]);
        set.insert(vars_.result(i));
      }
      break;
    }
    case Kind::Raise: set.insert(vars_.alive()); break;
    case Kind::Flag:
    case Kind::SetFlag: set.insert(vars_.flag(s.number)); break;
    case Kind::Unless:
      for (std::uint32_t f : s.flags) use(vars_.flag(f));
      break;
    case Kind::When: use(vars_.flag(s.number)); break;
    case Kind::SetTarget: set.insert(vars_.dispatcher(s.number)); break;
    case Kind::Dispatch: use(vars_.dispatcher(s.number)); break;
    default: break;
  }
}

}  // namespace dycl::emit
