// SPDX-License-Identifier: Apache-2.0
// The shape of a function's control flow: edges, orders, dominators, loops.
// Every analysis is a snapshot: it is stale once a pass moves blocks or edges.
// All take time linear in the function (dominators: n log n) and none recurses.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/dominators.h"
#include "ir/edges.h"
#include "ir/function.h"

namespace dycl::passes {

using ir::for_each_edge;
using ir::for_each_exit_use;

inline constexpr std::uint32_t kNone = ir::Dominators::kNone;

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

// Reachable blocks, their order and dominators (ir/dominators.h), and predecessors.
struct Cfg {
  ir::Dominators dominators;
  std::vector<std::vector<std::uint32_t>> preds;  // reachable ones, one entry per edge

  const std::vector<std::uint32_t>& order() const { return dominators.order(); }
  std::uint32_t position(std::uint32_t b) const { return dominators.position({b}); }
  bool dominates(std::uint32_t a, std::uint32_t b) const { return dominators.dominates({a}, {b}); }
};
Cfg cfg_of(const ir::Function& function);

// Reachable blocks in a preorder of the dominator tree: if a block does not dominate one that comes later, it dominates
// none after that either.
std::vector<std::uint32_t> dominator_preorder(const Cfg& cfg);

// Answers "the last block that dominates all of these" in log n.
class DominatorTree {
 public:
  explicit DominatorTree(const Cfg& cfg);
  std::uint32_t common(std::uint32_t a, std::uint32_t b) const;

 private:
  std::vector<std::uint32_t> parent_, depth_, jump_;
};

// Which blocks every path from a block to a `return` passes. Blocks that can only
// raise or loop for ever are left out, and post-dominate nothing.
class PostDominators {
 public:
  PostDominators(const ir::Function& function, const Cfg& cfg);
  bool post_dominates(std::uint32_t a, std::uint32_t b) const;

 private:
  ir::Dominators reversed_;
};

// The innermost loop of each block, named by its header (kNone: in no loop), and
// the header of the loop around each header. A back edge is one whose target
// dominates its source; loops entered elsewhere (irreducible) are not listed.
struct Loops {
  std::vector<std::uint32_t> innermost;  // per block; a header is in its own loop
  std::vector<std::uint32_t> around;     // per block that is a header
  std::vector<bool> is_header;
};
Loops loops_of(const Cfg& cfg);

// Keeps the blocks marked true (the entry must be) and renumbers all edges.
void keep_blocks(ir::Function& function, const std::vector<bool>& keep);

}  // namespace dycl::passes
