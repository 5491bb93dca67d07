// SPDX-License-Identifier: Apache-2.0
#include "passes/forward_gotos.h"

#include <algorithm>

#include "passes/cfg.h"

namespace dycl::passes {
namespace {

// Blocks whose parameters are read by nothing but their own exit.
std::vector<bool> keeps_params_to_itself(const ir::Function& function) {
  std::vector<std::uint32_t> owner(function.values.size(), kNone);
  for (std::uint32_t b = 0; b < function.blocks.size(); ++b)
    for (const ir::ValueId param : function.blocks[b].params) owner[param.index] = b;
  std::vector<bool> alone(function.blocks.size(), true);
  for (std::uint32_t b = 0; b < function.blocks.size(); ++b) {
    const auto read = [&](ir::ValueId value) {
      if (value.present() && owner[value.index] != kNone && owner[value.index] != b) alone[owner[value.index]] = false;
    };
    for (const ir::Op& op : function.blocks[b].body) std::ranges::for_each(op.operands, read);
    for_each_exit_use(function.blocks[b].exit, read);
  }
  return alone;
}

// The arguments of `edge` seen through the parameters of the block it leads to.
ir::Edge through(const ir::Block& block, const ir::Edge& edge) {
  ir::Edge next = std::get<ir::Goto>(block.exit).edge;
  for (ir::ValueId& arg : next.args) {
    const auto it = std::ranges::find(block.params, arg);
    if (it != block.params.end()) arg = edge.args[static_cast<std::size_t>(it - block.params.begin())];
  }
  return next;
}

int forward_gotos(ir::Function& function) {
  const Cfg cfg = cfg_of(function);
  const Loops loops = loops_of(cfg);
  std::vector<bool> skipped = keeps_params_to_itself(function);
  for (std::size_t b = 0; b < function.blocks.size(); ++b) {
    const ir::Block& block = function.blocks[b];
    const auto* jump = std::get_if<ir::Goto>(&block.exit);
    const bool only_jumps = b != 0 && block.body.empty() && jump && !loops.is_header[b] && cfg.position(b) != kNone;
    // An edge that goes back without its target being a header (irreducible) could lead round for ever.
    const auto goes_astray = [&](std::size_t target) {
      return cfg.position(target) <= cfg.position(b) && !loops.is_header[target];
    };
    if (!only_jumps || goes_astray(jump->edge.target.index)) skipped[b] = false;
  }
  int forwarded = 0;
  // Last blocks first, so that a skipped block's own edge is already final.
  for (std::size_t i = cfg.order().size(); i-- > 0;)
    for_each_edge(function.blocks[cfg.order()[i]].exit, [&](ir::Edge& edge) {
      while (skipped[edge.target.index]) {
        edge = through(function.blocks[edge.target.index], edge);
        ++forwarded;
      }
    });
  return forwarded;
}

}  // namespace

int forward_gotos(ir::Program& program) {
  int forwarded = 0;
  for (ir::Function& function : program.functions)
    if (function.kind == ir::FunctionKind::Host) forwarded += forward_gotos(function);
  return forwarded;
}

}  // namespace dycl::passes
