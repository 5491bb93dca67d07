// SPDX-License-Identifier: Apache-2.0
#include "passes/cfg.h"

#include <numeric>

#include "support/result.h"

namespace dycl::passes {
namespace {

using Node = std::uint32_t;

// The same blocks with every edge turned round, and a new entry (last index + 1
// of the original, but first here) that leads to every `return`: block b of the
// function is block b + 1 of this one.
ir::Function reversed(const ir::Function& function, const Cfg& cfg) {
  ir::Function result;
  result.blocks.resize(function.blocks.size() + 1);
  ir::Switch entry;
  for (const Node block : cfg.order())
    if (std::holds_alternative<ir::Return>(function.blocks[block].exit)) entry.targets.push_back({{block + 1}, {}});
  const auto close = [&](Node at, ir::Switch& choice) {
    if (choice.targets.empty()) return;
    choice.otherwise = choice.targets.back();
    result.blocks[at].exit = std::move(choice);
  };
  close(0, entry);
  for (const Node block : cfg.order()) {
    ir::Switch choice;
    for (const Node pred : cfg.preds[block]) choice.targets.push_back({{pred + 1}, {}});
    close(block + 1, choice);
  }
  return result;
}

}  // namespace

Cfg cfg_of(const ir::Function& function) {
  Cfg cfg{ir::Dominators(function), {}};
  cfg.preds.resize(function.blocks.size());
  for (const Node block : cfg.order())
    for_each_edge(function.blocks[block].exit,
                  [&](const ir::Edge& edge) { cfg.preds[edge.target.index].push_back(block); });
  return cfg;
}

std::vector<Node> dominator_preorder(const Cfg& cfg) {
  std::vector<std::vector<Node>> children(cfg.preds.size());
  for (const Node node : cfg.order())
    if (const Node parent = cfg.dominators.immediate({node}); parent != kNone) children[parent].push_back(node);
  std::vector<Node> order, stack{0};
  while (!stack.empty()) {
    const Node node = stack.back();
    stack.pop_back();
    order.push_back(node);
    stack.insert(stack.end(), children[node].rbegin(), children[node].rend());
  }
  return order;
}

// Each node knows its parent and one ancestor further up, at distances that make
// climbing to any depth take a logarithmic number of steps (Myers, 1983).
DominatorTree::DominatorTree(const Cfg& cfg)
    : parent_(cfg.preds.size(), 0), depth_(cfg.preds.size(), 0), jump_(cfg.preds.size(), 0) {
  for (const Node node : cfg.order()) {
    const Node parent = cfg.dominators.immediate({node});
    if (parent == kNone) {
      parent_[node] = jump_[node] = node;
      continue;
    }
    const Node far = jump_[parent];
    parent_[node] = parent;
    depth_[node] = depth_[parent] + 1;
    jump_[node] = depth_[parent] - depth_[far] == depth_[far] - depth_[jump_[far]] ? jump_[far] : parent;
  }
}

std::uint32_t DominatorTree::common(Node a, Node b) const {
  if (depth_[a] < depth_[b]) std::swap(a, b);
  while (depth_[a] > depth_[b]) a = depth_[jump_[a]] >= depth_[b] ? jump_[a] : parent_[a];
  while (a != b) {
    const bool far = jump_[a] != jump_[b];
    a = far ? jump_[a] : parent_[a];
    b = far ? jump_[b] : parent_[b];
  }
  return a;
}

PostDominators::PostDominators(const ir::Function& function, const Cfg& cfg) : reversed_(reversed(function, cfg)) {}

bool PostDominators::post_dominates(Node a, Node b) const {
  return reversed_.reachable({a + 1}) && reversed_.reachable({b + 1}) && reversed_.dominates({a + 1}, {b + 1});
}

Loops loops_of(const Cfg& cfg) {
  const std::size_t count = cfg.preds.size();
  Loops loops{std::vector<Node>(count, kNone), std::vector<Node>(count, kNone), std::vector<bool>(count)};
  // `top[b]` leads to the outermost loop found so far that holds b.
  std::vector<Node> top(count);
  std::iota(top.begin(), top.end(), 0U);
  const auto find = [&](Node node) {
    while (top[node] != node) node = top[node] = top[top[node]];
    return node;
  };
  // Inner loops first: their headers come later in reverse post-order.
  std::vector<Node> work;
  for (std::size_t i = cfg.order().size(); i-- > 0;) {
    const Node header = cfg.order()[i];
    for (const Node pred : cfg.preds[header])
      if (cfg.dominates(header, pred)) work.push_back(pred);
    if (work.empty()) continue;
    loops.is_header[header] = true;
    loops.innermost[header] = header;
    while (!work.empty()) {
      const Node node = find(work.back());
      work.pop_back();
      if (node == header) continue;
      (loops.is_header[node] ? loops.around[node] : loops.innermost[node]) = header;
      top[node] = header;
      for (const Node pred : cfg.preds[node])
        if (cfg.dominates(header, pred)) work.push_back(pred);
    }
  }
  return loops;
}

void keep_blocks(ir::Function& function, const std::vector<bool>& keep) {
  DYCL_CHECK(!keep.empty() && keep[0], "the entry block stays");
  std::vector<Node> renumbered(function.blocks.size(), kNone);
  Node next = 0;
  for (std::size_t i = 0; i < function.blocks.size(); ++i) {
    if (!keep[i]) continue;
    renumbered[i] = next;
    if (next != i) function.blocks[next] = std::move(function.blocks[i]);
    ++next;
  }
  function.blocks.resize(next);
  for (ir::Block& block : function.blocks)
    for_each_edge(block.exit, [&](ir::Edge& edge) { edge.target.index = renumbered[edge.target.index]; });
}

}  // namespace dycl::passes
