// SPDX-License-Identifier: Apache-2.0
#include "passes/merge_blocks.h"

#include <iterator>

#include "passes/cfg.h"
#include "passes/substitution.h"

namespace dycl::passes {
namespace {

// The block that `block` always and alone leads to; kNone if there is none.
std::uint32_t sole_successor(const ir::Function& function, const Cfg& cfg, std::uint32_t block) {
  const auto* jump = std::get_if<ir::Goto>(&function.blocks[block].exit);
  if (!jump) return kNone;
  const std::uint32_t to = jump->edge.target.index;
  return to != 0 && to != block && cfg.preds[to].size() == 1 ? to : kNone;
}

void append(ir::Function& function, Substitution& reads_as, ir::Block& into, ir::Block& from) {
  const ir::Edge edge = std::get<ir::Goto>(into.exit).edge;
  for (std::size_t i = 0; i < from.params.size(); ++i) {
    ir::Value& argument = function.values[edge.args[i].index];
    if (argument.hint.empty()) argument.hint = function.values[from.params[i].index].hint;
    reads_as.replace(from.params[i], edge.args[i]);
  }
  into.body.insert(into.body.end(), std::make_move_iterator(from.body.begin()),
                   std::make_move_iterator(from.body.end()));
  into.exit = std::move(from.exit);
  into.exit_span = from.exit_span.known() ? from.exit_span : from.span;
}

int merge_blocks(ir::Function& function) {
  const Cfg cfg = cfg_of(function);
  Substitution reads_as(function);
  // Blocks out of reach go too: they may name a block that is joined to another.
  std::vector<bool> keep(function.blocks.size());
  for (const std::uint32_t block : cfg.order()) keep[block] = true;
  int merged = 0;
  for (const std::uint32_t block : cfg.order()) {
    if (!keep[block]) continue;
    for (;;) {
      const std::uint32_t next = sole_successor(function, cfg, block);
      if (next == kNone) break;
      append(function, reads_as, function.blocks[block], function.blocks[next]);
      keep[next] = false;
      ++merged;
    }
  }
  if (merged == 0) return 0;
  reads_as.apply(function);
  keep_blocks(function, keep);
  return merged;
}

}  // namespace

int merge_blocks(ir::Program& program) {
  int merged = 0;
  for (ir::Function& function : program.functions)
    if (function.kind == ir::FunctionKind::Host) merged += merge_blocks(function);
  return merged;
}

}  // namespace dycl::passes
