// SPDX-License-Identifier: Apache-2.0
#include "emit/structure/early_returns.h"

#include <algorithm>
#include <map>

#include "ir/edges.h"
#include "package/liveness.h"

namespace dycl::emit {
namespace {

constexpr std::size_t kMostCopied = 32;  // ops

// Puts results together and computes nothing.
bool gathers(const ir::Op& op) {
  return package::is_constant_op(op) || op.name == "list.new" || op.name == "opt.some" || op.name == "opt.none";
}

bool returns_only(const ir::Function& f, ir::BlockId b) {
  const ir::Block& block = f.block(b);
  return b.index != 0 && std::holds_alternative<ir::Return>(block.exit) && block.body.size() <= kMostCopied &&
         std::all_of(block.body.begin(), block.body.end(), gathers);
}

// What the edge's target does, for arguments in the place of parameters, at the end of `block`.
void return_along(ir::Function& f, const ir::Edge& e, ir::Block& block) {
  const ir::Block target = f.block(e.target);
  std::map<std::uint32_t, ir::ValueId> known;
  for (std::size_t i = 0; i < target.params.size(); ++i) known[target.params[i].index] = e.args[i];
  const auto renamed = [&](ir::ValueId& v) {
    if (const auto found = known.find(v.index); v.present() && found != known.end()) v = found->second;
  };
  for (ir::Op op : target.body) {
    if (package::is_constant_op(op)) continue;
    for (ir::ValueId& v : op.operands) renamed(v);
    for (ir::ValueId& v : op.results) {
      const ir::ValueId copy{static_cast<std::uint32_t>(f.values.size())};
      f.values.push_back(f.values[v.index]);
      known[v.index] = copy;
      v = copy;
    }
    block.body.push_back(std::move(op));
  }
  ir::Return made = std::get<ir::Return>(target.exit);
  for (ir::ValueId& v : made.values) renamed(v);
  block.exit = std::move(made);
  block.exit_span = target.exit_span;
}

// A jump that is a return now may make one of a jump to it: those further down come first.
bool return_from_jumps(ir::Function& f) {
  bool changed = false;
  for (std::size_t b = f.blocks.size(); b-- > 0;) {
    const auto* jump = std::get_if<ir::Goto>(&f.blocks[b].exit);
    if (!jump || !returns_only(f, jump->edge.target)) continue;
    const ir::Edge edge = jump->edge;
    ir::Block block = std::move(f.blocks[b]);
    return_along(f, edge, block);
    f.blocks[b] = std::move(block);
    changed = true;
  }
  return changed;
}

void return_from_arms(ir::Function& f, std::size_t b) {
  ir::Exit exit = f.blocks[b].exit;
  ir::for_each_edge(exit, [&](ir::Edge& e) {
    if (!returns_only(f, e.target) || e.args.empty()) return;
    ir::Block made;
    made.name = f.block(e.target).name;
    made.span = f.block(e.target).span;
    return_along(f, e, made);
    e = {{static_cast<std::uint32_t>(f.blocks.size())}, {}};
    f.blocks.push_back(std::move(made));
  });
  f.blocks[b].exit = std::move(exit);
}

}  // namespace

ir::Function with_early_returns(ir::Function f) {
  while (return_from_jumps(f)) {
  }
  for (std::size_t b = 0, count = f.blocks.size(); b < count; ++b)
    if (!std::holds_alternative<ir::Goto>(f.blocks[b].exit)) return_from_arms(f, b);
  return f;
}

}  // namespace dycl::emit
