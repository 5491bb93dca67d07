// SPDX-License-Identifier: Apache-2.0
#include "emit/structure/graph.h"

#include <algorithm>
#include <set>

#include "ir/dominators.h"
#include "ir/edges.h"
#include "support/result.h"

namespace dycl::emit::recovery {
namespace {

// Strongly connected components of the nodes with group[n] == id, edges into `skipped` left out.
class Components {
 public:
  Components(const Graph& graph, const std::vector<std::uint32_t>& group) : graph_(graph), group_(group) {
    const std::size_t count = graph.arcs.size();
    index_.assign(count, 0);
    low_.assign(count, 0);
    on_stack_.assign(count, false);
  }

  std::vector<std::vector<Node>> of(const std::vector<Node>& nodes, std::uint32_t id, const std::set<Node>& skipped) {
    std::vector<std::vector<Node>> found;
    for (Node n : nodes) index_[n] = 0;
    for (Node n : nodes)
      if (index_[n] == 0 && !skipped.count(n)) visit(n, id, skipped, found);
    return found;
  }

 private:
  struct Frame {
    Node node;
    std::size_t next = 0;
  };

  void open(Node n) {
    index_[n] = low_[n] = ++counter_;
    stack_.push_back(n);
    on_stack_[n] = true;
    frames_.push_back({n});
  }

  void visit(Node root, std::uint32_t id, const std::set<Node>& skipped, std::vector<std::vector<Node>>& found) {
    open(root);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      const Node n = frame.node;
      if (frame.next < graph_.arcs[n].size()) {
        const Node to = graph_.arcs[n][frame.next++].target;
        if (group_[to] != id || skipped.count(to)) continue;
        if (index_[to] == 0)
          open(to);
        else if (on_stack_[to])
          low_[n] = std::min(low_[n], index_[to]);
        continue;
      }
      frames_.pop_back();
      if (!frames_.empty()) low_[frames_.back().node] = std::min(low_[frames_.back().node], low_[n]);
      if (low_[n] == index_[n]) close(n, found);
    }
  }

  void close(Node n, std::vector<std::vector<Node>>& found) {
    std::vector<Node> members;
    Node m;
    do {
      m = stack_.back();
      stack_.pop_back();
      on_stack_[m] = false;
      members.push_back(m);
    } while (m != n);
    const bool loops = members.size() > 1 || std::any_of(graph_.arcs[n].begin(), graph_.arcs[n].end(),
                                                         [&](const Arc& a) { return a.target == n; });
    if (loops) found.push_back(std::move(members));
  }

  const Graph& graph_;
  const std::vector<std::uint32_t>& group_;
  std::vector<std::uint32_t> index_, low_;
  std::vector<bool> on_stack_;
  std::vector<Node> stack_;
  std::vector<Frame> frames_;
  std::uint32_t counter_ = 0;
};

bool is_reducible(const ir::Function& shadow) {
  const ir::Dominators dominators(shadow);
  bool good = true;
  for (Node n : dominators.order()) {
    ir::for_each_edge(shadow.blocks[n].exit, [&](const ir::Edge& e) {
      const bool retreats = dominators.position(e.target) <= dominators.position({n});
      if (retreats && !dominators.dominates(e.target, {n})) good = false;
    });
  }
  return good;
}

// The nodes at which a component is entered from outside it.
std::vector<Node> entries_of(const Graph& graph, const std::vector<Node>& component,
                             const std::vector<bool>& reachable) {
  const std::set<Node> members(component.begin(), component.end());
  std::set<Node> entries;
  if (members.count(0)) entries.insert(0);
  for (Node n = 0; n < graph.arcs.size(); ++n) {
    if (members.count(n) || !reachable[n]) continue;
    for (const Arc& a : graph.arcs[n])
      if (members.count(a.target)) entries.insert(a.target);
  }
  return {entries.begin(), entries.end()};
}

// Finds a component with several entries, loops inside loops included; empty if there is none.
std::vector<Node> entries_of_irreducible(const Graph& graph, const std::vector<bool>& reachable) {
  struct Part {
    std::vector<Node> nodes;
    std::set<Node> headers;
  };
  std::vector<std::uint32_t> group(graph.arcs.size(), 0);
  std::uint32_t groups = 1;
  Part all;
  for (Node n = 0; n < graph.arcs.size(); ++n) {
    if (!reachable[n]) continue;
    all.nodes.push_back(n);
    group[n] = groups;
  }
  std::vector<Part> work = {std::move(all)};
  while (!work.empty()) {
    const Part part = std::move(work.back());
    work.pop_back();
    const std::uint32_t id = group[part.nodes.front()];
    Components components(graph, group);
    for (std::vector<Node>& component : components.of(part.nodes, id, part.headers)) {
      // Edges from headers that were left out count as entries too: they come from outside the component.
      std::vector<Node> entries = entries_of(graph, component, reachable);
      if (entries.size() > 1) return entries;
      ++groups;
      for (Node n : component) group[n] = groups;
      if (component.size() > 1) work.push_back({std::move(component), {entries.begin(), entries.end()}});
    }
  }
  return {};
}

}  // namespace

Graph graph_of(const ir::Function& function) {
  Graph graph;
  graph.blocks = static_cast<std::uint32_t>(function.blocks.size());
  graph.arcs.resize(graph.blocks);
  for (Node b = 0; b < graph.blocks; ++b) {
    std::uint32_t arm = 0;
    ir::for_each_edge(function.blocks[b].exit, [&](const ir::Edge& e) {
      graph.arcs[b].push_back({e.target.index, b, arm++, {}});
    });
  }
  return graph;
}

ir::Function shadow_of(const Graph& graph) {
  ir::Function shadow;
  shadow.blocks.resize(graph.arcs.size());
  for (Node n = 0; n < graph.arcs.size(); ++n) {
    if (graph.arcs[n].empty()) {
      shadow.blocks[n].exit = ir::Return{};
      continue;
    }
    ir::Switch choice;
    for (const Arc& a : graph.arcs[n]) choice.targets.push_back({{a.target}, {}});
    choice.otherwise = choice.targets.back();
    choice.targets.pop_back();
    shadow.blocks[n].exit = std::move(choice);
  }
  return shadow;
}

void make_reducible(Graph& graph) {
  for (;;) {
    const ir::Function shadow = shadow_of(graph);
    if (is_reducible(shadow)) return;
    const ir::Dominators dominators(shadow);
    std::vector<bool> reachable(graph.arcs.size());
    for (Node n : dominators.order()) reachable[n] = true;
    const std::vector<Node> entries = entries_of_irreducible(graph, reachable);
    DYCL_CHECK(entries.size() > 1, "a graph that is not reducible has a loop with several entries");
    const auto dispatcher = static_cast<Node>(graph.arcs.size());
    for (auto& arcs : graph.arcs) {
      for (Arc& a : arcs) {
        const auto place = std::find(entries.begin(), entries.end(), a.target);
        if (place == entries.end()) continue;
        a.aims.emplace_back(graph.dispatcher_of(dispatcher), static_cast<std::uint32_t>(place - entries.begin()));
        a.target = dispatcher;
      }
    }
    std::vector<Arc> choices;
    choices.reserve(entries.size());
    for (Node n : entries) choices.push_back({n, Step::kNoBlock, 0, {}});
    graph.arcs.push_back(std::move(choices));
  }
}

}  // namespace dycl::emit::recovery
