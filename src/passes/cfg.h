// SPDX-License-Identifier: Apache-2.0
// The shape of a function's control flow: edges, orders, dominators, loops.
// Every analysis is a snapshot: it is stale once a pass moves blocks or edges.
// All take time linear in the function (dominators: n log n) and none recurses.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/function.h"

namespace dycl::passes {

inline constexpr std::uint32_t kNone = 0xffffffffU;

// Calls `visit(edge)` for each edge of an exit, in the order in which it prints.
template <typename AnyExit, typename Visit>
void for_each_edge(AnyExit& exit, Visit&& visit) {
  if (auto* jump = std::get_if<ir::Goto>(&exit)) {
    visit(jump->edge);
  } else if (auto* branch = std::get_if<ir::Branch>(&exit)) {
    visit(branch->if_true);
    visit(branch->if_false);
  } else if (auto* choice = std::get_if<ir::Switch>(&exit)) {
    for (auto& edge : choice->targets) visit(edge);
    visit(choice->otherwise);
  }
}

// Calls `visit(value)` for each value an exit reads but for the arguments of its edges.
template <typename AnyExit, typename Visit>
void for_each_exit_operand(AnyExit& exit, Visit&& visit) {
  if (auto* branch = std::get_if<ir::Branch>(&exit)) visit(branch->condition);
  if (auto* choice = std::get_if<ir::Switch>(&exit)) visit(choice->selector);
  if (auto* result = std::get_if<ir::Return>(&exit))
    for (auto& value : result->values) visit(value);
  if (auto* failure = std::get_if<ir::Raise>(&exit))
    for (auto& value : failure->args) visit(value);
}

// Both: every value an exit reads.
template <typename AnyExit, typename Visit>
void for_each_exit_use(AnyExit& exit, Visit&& visit) {
  for_each_exit_operand(exit, visit);
  for_each_edge(exit, [&](auto& edge) {
    for (auto& value : edge.args) visit(value);
  });
}

struct Cfg {
  std::vector<std::uint32_t> order;               // reachable blocks in reverse post-order; entry first
  std::vector<std::uint32_t> position;            // block -> place in `order`, kNone if unreachable
  std::vector<std::vector<std::uint32_t>> preds;  // reachable predecessors, one entry per edge
};
Cfg cfg_of(const ir::Function& function);

// A dominator tree over block indices; blocks out of reach have no parent.
struct Dominators {
  std::vector<std::uint32_t> parent;  // immediate dominator; kNone: root or unreachable
  std::vector<std::uint32_t> depth;
  std::vector<std::uint32_t> enter, leave;  // times of a walk of the tree

  bool dominates(std::uint32_t a, std::uint32_t b) const {
    return enter[a] != kNone && enter[b] != kNone && enter[a] <= enter[b] && leave[b] <= leave[a];
  }
  std::vector<std::uint32_t> preorder() const;  // the tree's nodes, parents first
};
Dominators dominators_of(const Cfg& cfg);

// Post-dominators among the blocks that can reach a `return`; a virtual node with
// index blocks.size() is the root. A block that can only raise or loop is left out.
Dominators post_dominators_of(const ir::Function& function, const Cfg& cfg);

// The innermost loop of each block, named by its header (kNone: in no loop), and
// the header of the loop around each header. A back edge is one whose target
// dominates its source; loops entered elsewhere (irreducible) are not listed.
struct Loops {
  std::vector<std::uint32_t> innermost;  // per block; a header is in its own loop
  std::vector<std::uint32_t> around;     // per block that is a header
  std::vector<bool> is_header;
};
Loops loops_of(const Cfg& cfg, const Dominators& dominators);

// Keeps the blocks marked true (the entry must be) and renumbers all edges.
void keep_blocks(ir::Function& function, const std::vector<bool>& keep);

}  // namespace dycl::passes
