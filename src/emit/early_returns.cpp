// SPDX-License-Identifier: Apache-2.0
#include "emit/early_returns.h"

#include <algorithm>

#include "emit/liveness.h"
#include "ir/edges.h"

namespace dycl::emit {
namespace {

bool returns_only(const ir::Function& f, ir::BlockId b) {
  const ir::Block& block = f.block(b);
  return b.index != 0 && std::holds_alternative<ir::Return>(block.exit) &&
         std::all_of(block.body.begin(), block.body.end(), is_constant_op);
}

ir::Return return_along(const ir::Function& f, const ir::Edge& e) {
  const ir::Block& target = f.block(e.target);
  ir::Return made = std::get<ir::Return>(target.exit);
  for (ir::ValueId& v : made.values) {
    const auto place = std::find(target.params.begin(), target.params.end(), v);
    if (place != target.params.end()) v = e.args[static_cast<std::size_t>(place - target.params.begin())];
  }
  return made;
}

void return_from_arms(ir::Function& f, std::size_t b) {
  ir::Exit exit = f.blocks[b].exit;
  ir::for_each_edge(exit, [&](ir::Edge& e) {
    if (!returns_only(f, e.target) || e.args.empty()) return;
    ir::Block made;
    made.name = f.block(e.target).name;
    made.exit = return_along(f, e);
    made.span = f.block(e.target).span;
    made.exit_span = f.block(e.target).exit_span;
    e = {{static_cast<std::uint32_t>(f.blocks.size())}, {}};
    f.blocks.push_back(std::move(made));
  });
  f.blocks[b].exit = std::move(exit);
}

}  // namespace

ir::Function with_early_returns(ir::Function f) {
  for (std::size_t b = 0, count = f.blocks.size(); b < count; ++b) {
    const auto* jump = std::get_if<ir::Goto>(&f.blocks[b].exit);
    if (!jump) {
      return_from_arms(f, b);
      continue;
    }
    if (!returns_only(f, jump->edge.target)) continue;
    const ir::BlockId target = jump->edge.target;
    ir::Return made = return_along(f, jump->edge);
    f.blocks[b].exit = std::move(made);
    f.blocks[b].exit_span = f.block(target).exit_span;
  }
  return f;
}

}  // namespace dycl::emit
