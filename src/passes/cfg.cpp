// SPDX-License-Identifier: Apache-2.0
#include "passes/cfg.h"

#include <algorithm>
#include <numeric>

#include "support/result.h"

namespace dycl::passes {
namespace {

using Node = std::uint32_t;
using Adjacency = std::vector<std::vector<Node>>;

// Nodes reachable from `root` in reverse post-order; successors are taken in order.
std::vector<Node> reverse_post_order(const Adjacency& successors, Node root) {
  std::vector<Node> order;
  std::vector<bool> seen(successors.size());
  std::vector<std::pair<Node, std::size_t>> stack{{root, successors[root].size()}};
  seen[root] = true;
  // The last successor is walked first, so that the first one comes first in the order.
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    if (next == 0) {
      order.push_back(node);
      stack.pop_back();
      continue;
    }
    const Node to = successors[node][--next];
    if (seen[to]) continue;
    seen[to] = true;
    stack.emplace_back(to, successors[to].size());
  }
  std::ranges::reverse(order);
  return order;
}

// Lengauer and Tarjan's algorithm with path compression, over nodes numbered in
// depth-first preorder (`vertex`), with their depth-first tree in `tree`.
class LengauerTarjan {
 public:
  LengauerTarjan(const Adjacency& successors, const Adjacency& preds, Node root)
      : preds_(preds), number_(successors.size(), kNone) {
    number_depth_first(successors, root);
    const std::size_t count = vertex_.size();
    semi_.resize(count);
    std::iota(semi_.begin(), semi_.end(), 0U);
    best_ = semi_;
    ancestor_.assign(count, kNone);
    idom_.assign(count, 0);
  }

  // Immediate dominators by original node; kNone for the root and what it does not reach.
  std::vector<Node> run() {
    const Node count = static_cast<Node>(vertex_.size());
    std::vector<std::vector<Node>> bucket(count);
    for (Node w = count; w-- > 1;) {
      for (const Node pred : preds_[vertex_[w]]) {
        if (number_[pred] == kNone) continue;
        semi_[w] = std::min(semi_[w], semi_[evaluate(number_[pred])]);
      }
      bucket[semi_[w]].push_back(w);
      ancestor_[w] = tree_[w];
      for (const Node v : bucket[tree_[w]]) {
        const Node u = evaluate(v);
        idom_[v] = semi_[u] < semi_[v] ? u : tree_[w];
      }
      bucket[tree_[w]].clear();
    }
    std::vector<Node> result(number_.size(), kNone);
    for (Node w = 1; w < count; ++w) {
      if (idom_[w] != semi_[w]) idom_[w] = idom_[idom_[w]];
      result[vertex_[w]] = vertex_[idom_[w]];
    }
    return result;
  }

 private:
  void number_depth_first(const Adjacency& successors, Node root) {
    std::vector<std::pair<Node, std::size_t>> stack;
    const auto enter = [&](Node node, Node from) {
      number_[node] = static_cast<Node>(vertex_.size());
      vertex_.push_back(node);
      tree_.push_back(from);
      stack.emplace_back(node, 0);
    };
    enter(root, kNone);
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next == successors[node].size()) {
        stack.pop_back();
        continue;
      }
      const Node to = successors[node][next++];
      if (number_[to] == kNone) enter(to, number_[node]);
    }
  }

  Node evaluate(Node v) {
    if (ancestor_[v] == kNone) return v;
    path_.clear();
    for (Node u = v; ancestor_[ancestor_[u]] != kNone; u = ancestor_[u]) path_.push_back(u);
    for (std::size_t i = path_.size(); i-- > 0;) {
      const Node u = path_[i];
      const Node above = ancestor_[u];
      if (semi_[best_[above]] < semi_[best_[u]]) best_[u] = best_[above];
      ancestor_[u] = ancestor_[above];
    }
    return best_[v];
  }

  const Adjacency& preds_;
  std::vector<Node> number_, vertex_, tree_, semi_, best_, ancestor_, idom_, path_;
};

// Fills depth and the walk's times from `parent`.
void finish(Dominators& tree, Node root) {
  const std::size_t count = tree.parent.size();
  Adjacency children(count);
  for (Node node = 0; node < count; ++node)
    if (tree.parent[node] != kNone) children[tree.parent[node]].push_back(node);
  tree.depth.assign(count, 0);
  tree.enter.assign(count, kNone);
  tree.leave.assign(count, kNone);
  Node time = 0;
  std::vector<std::pair<Node, std::size_t>> stack{{root, 0}};
  tree.enter[root] = time++;
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    if (next == children[node].size()) {
      tree.leave[node] = time++;
      stack.pop_back();
      continue;
    }
    const Node child = children[node][next++];
    tree.depth[child] = tree.depth[node] + 1;
    tree.enter[child] = time++;
    stack.emplace_back(child, 0);
  }
}

Dominators dominators_over(const Adjacency& successors, const Adjacency& preds, Node root) {
  Dominators tree;
  tree.parent = LengauerTarjan(successors, preds, root).run();
  finish(tree, root);
  return tree;
}

Adjacency successors_of(const Cfg& cfg) {
  Adjacency result(cfg.preds.size());
  for (const Node block : cfg.order)
    for (const Node pred : cfg.preds[block]) result[pred].push_back(block);
  return result;
}

}  // namespace

Cfg cfg_of(const ir::Function& function) {
  const std::size_t count = function.blocks.size();
  Adjacency successors(count);
  for (std::size_t i = 0; i < count; ++i)
    for_each_edge(function.blocks[i].exit, [&](const ir::Edge& edge) { successors[i].push_back(edge.target.index); });
  Cfg cfg;
  cfg.order = reverse_post_order(successors, 0);
  cfg.position.assign(count, kNone);
  cfg.preds.resize(count);
  for (Node i = 0; i < cfg.order.size(); ++i) {
    cfg.position[cfg.order[i]] = i;
    for (const Node to : successors[cfg.order[i]]) cfg.preds[to].push_back(cfg.order[i]);
  }
  return cfg;
}

std::vector<std::uint32_t> Dominators::preorder() const {
  std::vector<std::pair<Node, Node>> timed;
  for (Node node = 0; node < enter.size(); ++node)
    if (enter[node] != kNone) timed.emplace_back(enter[node], node);
  std::ranges::sort(timed);
  std::vector<Node> nodes;
  nodes.reserve(timed.size());
  for (const auto& [time, node] : timed) nodes.push_back(node);
  return nodes;
}

Dominators dominators_of(const Cfg& cfg) { return dominators_over(successors_of(cfg), cfg.preds, 0); }

Dominators post_dominators_of(const ir::Function& function, const Cfg& cfg) {
  const Node root = static_cast<Node>(function.blocks.size());
  Adjacency forward = successors_of(cfg);
  Adjacency backward = cfg.preds;
  forward.emplace_back();
  backward.emplace_back();
  for (const Node block : cfg.order) {
    if (!std::holds_alternative<ir::Return>(function.blocks[block].exit)) continue;
    forward[block].push_back(root);
    backward[root].push_back(block);
  }
  return dominators_over(backward, forward, root);
}

Loops loops_of(const Cfg& cfg, const Dominators& dominators) {
  const std::size_t count = cfg.preds.size();
  Loops loops{std::vector<Node>(count, kNone), std::vector<Node>(count, kNone), std::vector<bool>(count)};
  // `top[b]`: the outermost loop known to hold b, found by path halving over `around`.
  std::vector<Node> top(count);
  std::iota(top.begin(), top.end(), 0U);
  const auto find = [&](Node node) {
    while (top[node] != node) node = top[node] = top[top[node]];
    return node;
  };
  // Inner loops first: their headers come later in reverse post-order.
  for (std::size_t i = cfg.order.size(); i-- > 0;) {
    const Node header = cfg.order[i];
    std::vector<Node> work;
    for (const Node pred : cfg.preds[header]) {
      if (!dominators.dominates(header, pred)) continue;
      loops.is_header[header] = true;
      work.push_back(pred);
    }
    while (!work.empty()) {
      const Node node = find(work.back());
      work.pop_back();
      if (node == header) continue;
      (loops.is_header[node] ? loops.around[node] : loops.innermost[node]) = header;
      top[node] = header;
      for (const Node pred : cfg.preds[node])
        if (dominators.dominates(header, pred)) work.push_back(pred);
    }
    if (loops.is_header[header]) loops.innermost[header] = header;
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
