// SPDX-License-Identifier: Apache-2.0
#include "passes/fold_branches.h"

#include <algorithm>

#include "passes/definitions.h"

namespace dycl::passes {
namespace {

bool same_edge(const ir::Edge& a, const ir::Edge& b) { return a.target == b.target && a.args == b.args; }

bool fold(const Definitions& defs, ir::Block& block, ir::Branch& branch) {
  bool changed = false;
  for (const ir::Op* op = defs.of(branch.condition); op && op->name == "bool.not"; op = defs.of(branch.condition)) {
    branch.condition = op->operands[0];
    std::swap(branch.if_true, branch.if_false);
    changed = true;
  }
  const std::optional<bool> taken = defs.constant_bool(branch.condition);
  if (!taken && !same_edge(branch.if_true, branch.if_false)) return changed;
  ir::Edge edge = std::move(taken.value_or(true) ? branch.if_true : branch.if_false);
  block.exit = ir::Goto{std::move(edge)};
  return true;
}

bool fold(const Definitions& defs, ir::Block& block, ir::Switch& choice) {
  if (const std::optional<std::int64_t> known = defs.constant_int(choice.selector)) {
    const auto it = std::ranges::find(choice.cases, *known);
    const auto place = static_cast<std::size_t>(it - choice.cases.begin());
    ir::Edge edge = std::move(it == choice.cases.end() ? choice.otherwise : choice.targets[place]);
    block.exit = ir::Goto{std::move(edge)};
    return true;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < choice.cases.size(); ++i) {
    if (same_edge(choice.targets[i], choice.otherwise)) continue;
    if (kept != i) {
      choice.cases[kept] = choice.cases[i];
      choice.targets[kept] = std::move(choice.targets[i]);
    }
    ++kept;
  }
  const bool changed = kept != choice.cases.size();
  choice.cases.resize(kept);
  choice.targets.resize(kept);
  if (kept != 0) return changed;
  ir::Edge edge = std::move(choice.otherwise);
  block.exit = ir::Goto{std::move(edge)};
  return true;
}

}  // namespace

int fold_branches(ir::Program& program) {
  int folded = 0;
  for (ir::Function& function : program.functions) {
    if (function.kind != ir::FunctionKind::Host) continue;
    const Definitions defs = definitions_of(function);
    for (ir::Block& block : function.blocks) {
      if (auto* branch = std::get_if<ir::Branch>(&block.exit))
        folded += fold(defs, block, *branch);
      else if (auto* choice = std::get_if<ir::Switch>(&block.exit))
        folded += fold(defs, block, *choice);
    }
  }
  return folded;
}

}  // namespace dycl::passes
