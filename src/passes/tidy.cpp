// SPDX-License-Identifier: Apache-2.0
#include "passes/tidy.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "passes/cfg.h"

namespace dycl::passes {
namespace {

// A reverse post-order in which an exit's first edge comes first: the arm that is
// written first, a loop's body before what follows it. Blocks out of reach come last.
std::vector<std::uint32_t> reading_order(const ir::Function& function) {
  std::vector<std::vector<std::uint32_t>> successors(function.blocks.size());
  for (std::size_t b = 0; b < function.blocks.size(); ++b)
    for_each_edge(function.blocks[b].exit, [&](const ir::Edge& edge) { successors[b].push_back(edge.target.index); });
  std::vector<bool> seen(function.blocks.size());
  std::vector<std::uint32_t> order, stack{0};
  seen[0] = true;
  while (!stack.empty()) {
    auto& left = successors[stack.back()];
    if (left.empty()) {
      order.push_back(stack.back());
      stack.pop_back();
      continue;
    }
    const std::uint32_t next = left.back();
    left.pop_back();
    if (!seen[next]) stack.push_back(next);
    seen[next] = true;
  }
  std::ranges::reverse(order);
  for (std::uint32_t b = 0; b < function.blocks.size(); ++b)
    if (!seen[b]) order.push_back(b);
  return order;
}

int order_blocks(ir::Function& function) {
  const std::vector<std::uint32_t> order = reading_order(function);
  if (std::ranges::is_sorted(order)) return 0;
  std::vector<std::uint32_t> place(order.size());
  std::vector<ir::Block> blocks;
  int moved = 0;
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    moved += order[i] != i;
    blocks.push_back(std::move(function.blocks[order[i]]));
  }
  for (ir::Block& block : blocks)
    for_each_edge(block.exit, [&](ir::Edge& edge) { edge.target.index = place[edge.target.index]; });
  function.blocks = std::move(blocks);
  return moved;
}

void compact_values(ir::Function& function) {
  std::vector<ir::ValueId> now(function.values.size());
  std::vector<ir::Value> values;
  const auto define = [&](ir::ValueId& value) {
    if (!value.present()) return;
    now[value.index] = {static_cast<std::uint32_t>(values.size())};
    values.push_back(std::move(function.values[value.index]));
    value = now[value.index];
  };
  for (ir::Param& param : function.params) define(param.value);
  for (ir::Block& block : function.blocks) {
    std::ranges::for_each(block.params, define);
    for (ir::Op& op : block.body) std::ranges::for_each(op.results, define);
  }
  const auto use = [&](ir::ValueId& value) {
    if (value.present()) value = now[value.index];
  };
  for (ir::Block& block : function.blocks) {
    for (ir::Op& op : block.body) std::ranges::for_each(op.operands, use);
    for_each_exit_use(block.exit, use);
  }
  function.values = std::move(values);
}

template <typename Visit>
void for_each_call(ir::Program& program, Visit&& visit) {
  for (ir::Function& function : program.functions)
    for (ir::Block& block : function.blocks)
      for (ir::Op& op : block.body)
        if (op.name == "call") visit(std::get<std::string>(op.attrs.at("callee")));
}

// Host functions keep their places at the front; sub-DNNs nobody calls come last.
int order_functions(ir::Program& program) {
  std::unordered_map<std::string, std::size_t> place;
  for_each_call(program, [&](const std::string& callee) { place.emplace(callee, place.size()); });
  for (const ir::Function& function : program.functions)
    if (function.kind == ir::FunctionKind::SubDnn) place.emplace(function.name, place.size());
  std::unordered_map<std::string, bool> taken;  // by host functions
  for (const ir::Function& function : program.functions)
    if (function.kind == ir::FunctionKind::Host) taken[function.name] = true;
  std::vector<std::string> names;
  for (std::size_t n = 0; names.size() < place.size(); ++n)
    if (!taken.contains("s" + std::to_string(n))) names.push_back("s" + std::to_string(n));

  const auto rank = [&](const ir::Function& f) { return f.kind == ir::FunctionKind::Host ? 0 : place.at(f.name) + 1; };
  int changed = 0;
  if (!std::ranges::is_sorted(program.functions, {}, rank)) {
    std::ranges::stable_sort(program.functions, {}, rank);
    ++changed;
  }
  for_each_call(program, [&](std::string& callee) { callee = names[place.at(callee)]; });
  for (ir::Function& function : program.functions) {
    if (function.kind != ir::FunctionKind::SubDnn) continue;
    std::string name = names[place.at(function.name)];
    changed += name != function.name;
    function.name = std::move(name);
  }
  return changed;
}

}  // namespace

int tidy(ir::Program& program) {
  int changed = 0;
  for (ir::Function& function : program.functions) {
    changed += order_blocks(function);
    compact_values(function);
  }
  return changed + order_functions(program);
}

}  // namespace dycl::passes
