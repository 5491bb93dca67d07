// SPDX-License-Identifier: Apache-2.0
#include "ir/dominators.h"

#include <algorithm>

#include "ir/edges.h"

namespace dycl::ir {

namespace {

constexpr std::uint32_t kNone = Dominators::kNone;

// Adjacency in one array: the neighbours of i are items[start[i] .. start[i+1]).
struct Adjacency {
  std::vector<std::uint32_t> start, items;
};

Adjacency successors_of(const Function& function) {
  Adjacency out;
  out.start.push_back(0);
  for (const Block& block : function.blocks) {
    for_each_edge(block.exit, [&](const Edge& edge) {
      if (edge.target.index < function.blocks.size()) out.items.push_back(edge.target.index);
    });
    out.start.push_back(static_cast<std::uint32_t>(out.items.size()));
  }
  return out;
}

Adjacency reversed(const Adjacency& forward) {
  const std::size_t count = forward.start.size() - 1;
  Adjacency out;
  out.start.assign(count + 1, 0);
  for (std::uint32_t to : forward.items) ++out.start[to + 1];
  for (std::size_t i = 0; i < count; ++i) out.start[i + 1] += out.start[i];
  out.items.resize(forward.items.size());
  std::vector<std::uint32_t> next(out.start.begin(), out.start.end() - 1);
  for (std::uint32_t from = 0; from < count; ++from)
    for (std::uint32_t i = forward.start[from]; i < forward.start[from + 1]; ++i)
      out.items[next[forward.items[i]]++] = from;
  return out;
}

struct DepthFirst {
  std::vector<std::uint32_t> number;     // block -> preorder number
  std::vector<std::uint32_t> vertex;     // preorder number -> block
  std::vector<std::uint32_t> parent;     // by preorder number
  std::vector<std::uint32_t> postorder;  // blocks
};

DepthFirst walk(const Adjacency& graph) {
  const std::size_t count = graph.start.size() - 1;
  DepthFirst out;
  out.number.assign(count, kNone);
  if (count == 0) return out;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> stack;  // block, next edge
  const auto visit = [&](std::uint32_t block, std::uint32_t parent) {
    out.number[block] = static_cast<std::uint32_t>(out.vertex.size());
    out.vertex.push_back(block);
    out.parent.push_back(parent);
    stack.emplace_back(block, graph.start[block]);
  };
  visit(0, kNone);
  while (!stack.empty()) {
    auto& [block, next] = stack.back();
    if (next == graph.start[block + 1]) {
      out.postorder.push_back(block);
      stack.pop_back();
      continue;
    }
    const std::uint32_t to = graph.items[next++];
    if (out.number[to] == kNone) visit(to, out.number[block]);
  }
  return out;
}

// The forest of Lengauer and Tarjan; everything by preorder number.
class Forest {
 public:
  explicit Forest(std::size_t count) : ancestor_(count, kNone), label_(count), semi_(count) {
    for (std::size_t i = 0; i < count; ++i) label_[i] = semi_[i] = static_cast<std::uint32_t>(i);
  }
  std::uint32_t& semi(std::uint32_t v) { return semi_[v]; }
  void link(std::uint32_t parent, std::uint32_t v) { ancestor_[v] = parent; }

  // The vertex of least semidominator on the path from v up to (not including) its tree's root.
  std::uint32_t eval(std::uint32_t v) {
    if (ancestor_[v] == kNone) return v;
    compress(v);
    return label_[v];
  }

 private:
  void compress(std::uint32_t v) {
    path_.clear();
    for (; ancestor_[ancestor_[v]] != kNone; v = ancestor_[v]) path_.push_back(v);
    for (std::size_t i = path_.size(); i-- > 0;) {
      const std::uint32_t w = path_[i], up = ancestor_[w];
      if (semi_[label_[up]] < semi_[label_[w]]) label_[w] = label_[up];
      ancestor_[w] = ancestor_[up];
    }
  }

  std::vector<std::uint32_t> ancestor_, label_, semi_, path_;
};

// Immediate dominators by preorder number; the root's is itself.
std::vector<std::uint32_t> immediate_dominators(const DepthFirst& tree, const Adjacency& predecessors) {
  const auto count = static_cast<std::uint32_t>(tree.vertex.size());
  std::vector<std::uint32_t> idom(count, 0);
  Forest forest(count);
  std::vector<std::uint32_t> bucket_head(count, kNone), bucket_next(count, kNone);
  for (std::uint32_t w = count; w-- > 1;) {
    const std::uint32_t block = tree.vertex[w];
    for (std::uint32_t i = predecessors.start[block]; i < predecessors.start[block + 1]; ++i) {
      const std::uint32_t v = tree.number[predecessors.items[i]];
      if (v == kNone) continue;
      forest.semi(w) = std::min(forest.semi(w), forest.semi(forest.eval(v)));
    }
    const std::uint32_t semi = forest.semi(w), parent = tree.parent[w];
    bucket_next[w] = bucket_head[semi];
    bucket_head[semi] = w;
    forest.link(parent, w);
    for (std::uint32_t v = bucket_head[parent]; v != kNone; v = bucket_next[v]) {
      const std::uint32_t u = forest.eval(v);
      idom[v] = forest.semi(u) < forest.semi(v) ? u : parent;
    }
    bucket_head[parent] = kNone;
  }
  for (std::uint32_t w = 1; w < count; ++w)
    if (idom[w] != forest.semi(w)) idom[w] = idom[idom[w]];
  return idom;
}

}  // namespace

Dominators::Dominators(const Function& function) {
  const std::size_t count = function.blocks.size();
  const Adjacency successors = successors_of(function);
  const DepthFirst tree = walk(successors);
  const std::vector<std::uint32_t> idom = immediate_dominators(tree, reversed(successors));

  parent_.assign(count, kNone);
  enter_.assign(count, kNone);
  leave_.assign(count, kNone);
  position_.assign(count, kNone);
  order_.assign(tree.postorder.rbegin(), tree.postorder.rend());
  for (std::uint32_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
  for (std::uint32_t w = 1; w < tree.vertex.size(); ++w) parent_[tree.vertex[w]] = tree.vertex[idom[w]];

  // Numbers the tree by subtree sizes: a parent precedes its children in order_.
  std::vector<std::uint32_t> size(count, 1), next(count, 0);
  for (std::size_t i = order_.size(); i-- > 1;) size[parent_[order_[i]]] += size[order_[i]];
  for (std::uint32_t block : order_) {
    if (parent_[block] == kNone) {
      enter_[block] = 0;
    } else {
      enter_[block] = next[parent_[block]];
      next[parent_[block]] += size[block];
    }
    next[block] = enter_[block] + 1;
    leave_[block] = enter_[block] + size[block];
  }
}

}  // namespace dycl::ir
