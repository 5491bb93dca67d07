// SPDX-License-Identifier: Apache-2.0
#include "emit/structure.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/edges.h"
#include "passes/cfg.h"
#include "support/result.h"

namespace dycl::emit {
namespace {

using Node = std::uint32_t;
using Kind = Step::Kind;
constexpr Node kNone = passes::kNone;

// ---- the graph: blocks, and dispatchers where it is not reducible -----------------------------

struct Arc {
  Node target = 0;
  std::uint32_t block = Step::kNoBlock, arm = 0;  // the edge it stands for
  // Dispatchers on the way and what they are set to, the last one met first.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> aims;
};

struct Graph {
  std::vector<std::vector<Arc>> arcs;  // by node
  std::uint32_t blocks = 0;            // nodes beyond are dispatchers

  std::uint32_t dispatcher_of(Node n) const { return n - blocks; }
};

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

// A function with the same edges and nothing else, for the analyses that take functions.
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

// Gives components with several entries one: a dispatcher that all edges to the entries lead to.
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
    for (Node n : entries) choices.push_back({n, Step::kNoBlock, 0, {}});
    graph.arcs.push_back(std::move(choices));
  }
}

// ---- what follows what -------------------------------------------------------------------------

// A tree in which every sequence still ends in an explicit jump. A Chain's parts follow one
// another; its labels name the nodes at the start of parts 1, 2, ... and right after it.
struct Raw;
using RawSequence = std::vector<Raw>;
struct Raw {
  enum class What : std::uint8_t { Plain, Chain, Jump };
  What what = What::Plain;
  Step step;  // Plain; its parts are here below
  Node target = 0;
  bool hoisted = false;  // an If whose parts[open_arm] is empty: what follows it belongs there
  std::uint32_t open_arm = 0;
  std::vector<Node> labels;
  std::vector<RawSequence> parts;
};

// How a sequence ends: whether by anything else than leaving for good.
struct Ending {
  bool only_leaps = true;      // returns, raises and breaks of the loop around it
  bool only_continues = true;  // those and next rounds of it
  void operator|=(const Ending& other) {
    only_leaps = only_leaps && other.only_leaps;
    only_continues = only_continues && other.only_continues;
  }
};

class Planner {
 public:
  Planner(const ir::Function& function, const Graph& graph)
      : function_(function),
        graph_(graph),
        shadow_(shadow_of(graph)),
        cfg_(passes::cfg_of(shadow_)),
        loops_(passes::loops_of(cfg_)),
        node_followers_(graph.arcs.size()),
        loop_followers_(graph.arcs.size()),
        is_follower_(graph.arcs.size()),
        subtree_(graph.arcs.size(), 1) {
    place();
  }

  RawSequence run() {
    RawSequence body;
    write(0, body);
    return body;
  }

 private:
  static constexpr int kDeep = 200;  // beyond it `continue` is preferred to nesting

  bool is_back(Node from, Node to) const { return cfg_.dominates(to, from); }

  bool in_loop(Node n, Node header) const {
    for (Node l = loops_.innermost[n]; l != kNone; l = loops_.around[l])
      if (l == header) return true;
    return false;
  }

  // The outermost loop around `from` that does not hold `to`.
  Node loop_left(Node from, Node to) const {
    Node left = kNone;
    for (Node l = loops_.innermost[from]; l != kNone && !in_loop(to, l); l = loops_.around[l]) left = l;
    return left;
  }

  // Decides for each block whether it stands where its only predecessor jumps, or after a block or loop.
  void place() {
    const auto& order = cfg_.order();
    for (std::size_t i = order.size(); i-- > 1;) subtree_[cfg_.dominators.immediate({order[i]})] += subtree_[order[i]];
    std::vector<std::vector<Node>> single(graph_.arcs.size());  // by loop: exits with one edge
    for (std::size_t i = 1; i < order.size(); ++i) {
      const Node n = order[i], dominator = cfg_.dominators.immediate({n});
      const Node left = loop_left(dominator, n);
      if (forward_edges(n) > 1) {
        (left == kNone ? node_followers_[dominator] : loop_followers_[left]).push_back(n);
        is_follower_[n] = true;
      } else if (left != kNone && left == loops_.innermost[dominator]) {
        single[left].push_back(n);
      }
    }
    for (Node header : order) {
      if (!loop_followers_[header].empty() || single[header].empty()) continue;
      const auto better = [&](Node a, Node b) {
        if (subtree_[a] != subtree_[b]) return subtree_[a] < subtree_[b];
        return cfg_.dominators.immediate({b}) == header && cfg_.dominators.immediate({a}) != header;
      };
      const Node main = *std::max_element(single[header].begin(), single[header].end(), better);
      loop_followers_[header].push_back(main);
      is_follower_[main] = true;
    }
  }

  std::size_t forward_edges(Node n) const {
    return static_cast<std::size_t>(
        std::count_if(cfg_.preds[n].begin(), cfg_.preds[n].end(), [&](Node pred) { return !is_back(pred, n); }));
  }

  // Appends node `n` and all that stands with it, up to explicit jumps.
  Ending write(Node n, RawSequence& out) {
    Ending ending;
    for (;;) {
      const bool loop = loops_.is_header[n] && !written_loop(n);
      const std::vector<Node>& followers = loop ? loop_followers_[n] : node_followers_[n];
      if (followers.empty()) {
        if (loop) return ending |= write_loop(n, out, kNone), ending;
        const Node next = write_node(n, out, ending);
        if (next == kNone) return ending;
        n = next;
        continue;
      }
      Raw chain;
      chain.what = Raw::What::Chain;
      chain.labels = followers;
      chain.parts.resize(followers.size());
      if (loop)
        ending |= write_loop(n, chain.parts[0], followers[0]);
      else
        ending |= write(n, chain.parts[0], /*alone=*/true);
      for (std::size_t i = 0; i + 1 < followers.size(); ++i) ending |= write(followers[i], chain.parts[i + 1]);
      out.push_back(std::move(chain));
      n = followers.back();
    }
  }

  // The node without its followers, which the caller places.
  Ending write(Node n, RawSequence& out, bool) {
    Ending ending;
    const Node next = write_node(n, out, ending);
    if (next != kNone) ending |= write(next, out);
    return ending;
  }

  bool written_loop(Node header) const { return !open_loops_.empty() && open_loops_.back() == header; }

  Ending write_loop(Node header, RawSequence& out, Node after) {
    open_loops_.push_back(header);
    after_loop_.push_back(after);
    Raw loop;
    loop.step.kind = Kind::Loop;
    loop.step.block = header < graph_.blocks ? header : Step::kNoBlock;
    loop.target = header;
    loop.parts.resize(1);
    write(header, loop.parts[0]);
    out.push_back(std::move(loop));
    open_loops_.pop_back();
    after_loop_.pop_back();
    return {false, false};
  }

  static Raw plain(Kind kind, std::uint32_t block) {
    Raw raw;
    raw.step.kind = kind;
    raw.step.block = block;
    return raw;
  }

  // Ops and exit of a node. Returns the node to go on with in the same sequence, if there is one.
  Node write_node(Node n, RawSequence& out, Ending& ending) {
    if (n >= graph_.blocks) return write_choice(n, out, ending);
    if (!function_.blocks[n].body.empty()) out.push_back(plain(Kind::Ops, n));
    const ir::Exit& exit = function_.blocks[n].exit;
    if (std::holds_alternative<ir::Return>(exit)) return out.push_back(plain(Kind::Return, n)), kNone;
    if (std::holds_alternative<ir::Raise>(exit)) return out.push_back(plain(Kind::Raise, n)), kNone;
    if (std::holds_alternative<ir::Goto>(exit)) return write_arc(n, graph_.arcs[n][0], out, ending);
    if (std::holds_alternative<ir::Branch>(exit)) return write_branch(n, out, ending);
    return write_choice(n, out, ending);
  }

  // The edge's moves, then the target if it stands here, else a jump.
  Node write_arc(Node from, const Arc& arc, RawSequence& out, Ending& ending) {
    if (arc.block != Step::kNoBlock) {
      Raw edge = plain(Kind::Edge, arc.block);
      edge.step.arm = arc.arm;
      out.push_back(std::move(edge));
    }
    for (const auto& [dispatcher, value] : arc.aims) {
      Raw aim = plain(Kind::SetTarget, Step::kNoBlock);
      aim.step.number = dispatcher;
      aim.step.arm = value;
      out.push_back(std::move(aim));
    }
    if (!is_back(from, arc.target) && !is_follower_[arc.target]) return arc.target;
    Raw jump;
    jump.what = Raw::What::Jump;
    jump.target = arc.target;
    out.push_back(std::move(jump));
    const bool breaks = !after_loop_.empty() && after_loop_.back() == arc.target;
    const bool goes_round = !open_loops_.empty() && open_loops_.back() == arc.target;
    ending |= {breaks, breaks || goes_round};
    return kNone;
  }

  Ending write_arm(Node from, const Arc& arc, RawSequence& out) {
    Ending ending;
    const Node next = write_arc(from, arc, out, ending);
    if (next != kNone) ending |= write(next, out);
    return ending;
  }

  std::uint64_t weight_of(const Arc& arc) const {
    return is_follower_[arc.target] || !arc.aims.empty() ? 0 : subtree_[arc.target];
  }

  Node write_branch(Node n, RawSequence& out, Ending& ending) {
    const auto& arcs = graph_.arcs[n];
    const std::uint32_t small = weight_of(arcs[0]) <= weight_of(arcs[1]) ? 0 : 1;
    Raw choice = plain(Kind::If, n);
    choice.parts.resize(2);
    ++depth_;
    const Ending first = write_arm(n, arcs[small], choice.parts[small]);
    --depth_;
    if (first.only_leaps || (first.only_continues && depth_ > kDeep)) {
      choice.hoisted = true;
      choice.open_arm = 1 - small;
      out.push_back(std::move(choice));
      return write_arc(n, arcs[1 - small], out, ending);
    }
    ++depth_;
    Ending second = write_arm(n, arcs[1 - small], choice.parts[1 - small]);
    --depth_;
    if (second.only_leaps) {  // the larger one ends: the smaller may go on after it
      choice.hoisted = true;
      choice.open_arm = small;
      RawSequence rest = std::move(choice.parts[small]);
      choice.parts[small].clear();
      out.push_back(std::move(choice));
      for (Raw& raw : rest) out.push_back(std::move(raw));
      ending |= first;
      return kNone;
    }
    ending |= first;
    ending |= second;
    out.push_back(std::move(choice));
    return kNone;
  }

  Node write_choice(Node n, RawSequence& out, Ending& ending) {
    const bool dispatcher = n >= graph_.blocks;
    Raw choice = plain(dispatcher ? Kind::Dispatch : Kind::Switch, dispatcher ? Step::kNoBlock : n);
    if (dispatcher) choice.step.number = graph_.dispatcher_of(n);
    ++depth_;
    for (const Arc& arc : graph_.arcs[n]) {
      choice.parts.emplace_back();
      ending |= write_arm(n, arc, choice.parts.back());
    }
    --depth_;
    out.push_back(std::move(choice));
    return kNone;
  }

  const ir::Function& function_;
  const Graph& graph_;
  const ir::Function shadow_;
  const passes::Cfg cfg_;
  const passes::Loops loops_;
  std::vector<std::vector<Node>> node_followers_, loop_followers_;
  std::vector<bool> is_follower_;
  std::vector<std::uint64_t> subtree_;
  std::vector<Node> open_loops_, after_loop_;
  int depth_ = 0;
};

// ---- jumps become falling through, break, continue, flags -----------------------------------------

class Resolver {
 public:
  Resolver(const StructureOptions& options, Structure& out) : options_(options), out_(out) {}

  void run(RawSequence raw) {
    Place place;
    place.target = kExit;
    places_.push_back(std::move(place));
    places_.back().natural = true;
    sequence(std::move(raw), out_.body, true);
    declare(places_.back(), out_.body, 0);
    places_.pop_back();
  }

 private:
  static constexpr Node kExit = 0xfffffffeU;
  using Flags = std::set<std::uint32_t>;

  // Something that jumps lead to, from the inside: the end of a loop's body (next round), a label, the exit.
  struct Place {
    Node target = 0;
    bool loop = false;       // the body of a loop with this header
    bool natural = false;    // falling off what is being written leads here
    std::int64_t flag = -1;  // once it is needed
    Flags escaped;           // loop: flags with which it was left
  };

  bool strict() const { return options_.style == Style::Strict; }

  static void declare(const Place& place, Sequence& out, std::size_t at) {
    if (place.flag < 0) return;
    Step step;
    step.kind = Kind::Flag;
    step.number = static_cast<std::uint32_t>(place.flag);
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(at), std::move(step));
  }

  std::uint32_t flag_of(Place& place) {
    if (place.flag < 0) place.flag = out_.flags++;
    owner_[static_cast<std::uint32_t>(place.flag)] = place.target;
    return static_cast<std::uint32_t>(place.flag);
  }

  static Step simple(Kind kind) {
    Step step;
    step.kind = kind;
    return step;
  }

  // Index of the place a jump to `target` leads to; places are searched from the inside.
  std::size_t find(Node target) const {
    for (std::size_t i = places_.size(); i-- > 0;)
      if (places_[i].target == target) return i;
    throw InternalError("a jump to a block that is not around it");
  }
  std::size_t innermost_loop() const {
    for (std::size_t i = places_.size(); i-- > 0;)
      if (places_[i].loop) return i;
    return SIZE_MAX;
  }

  // Writes how to get from here to places_[index]. `falls`: nothing of this sequence follows. What is
  // returned must be skipped after this point.
  Flags leap(std::size_t index, Sequence& out, bool falls) {
    Place& place = places_[index];
    const std::size_t loop = innermost_loop();
    const bool crosses = loop != SIZE_MAX && loop > index;
    if (!crosses && falls && place.natural) return {};
    if (!strict()) {
      if (loop == index) return out.push_back(simple(Kind::Continue)), Flags{};
      if (crosses && leaves_to(loop, index)) return out.push_back(simple(Kind::Break)), Flags{};
    }
    Step set = simple(Kind::SetFlag);
    set.number = flag_of(place);
    out.push_back(set);
    if (!crosses) return {set.number};
    for (std::size_t i = index + 1; i < places_.size(); ++i)
      if (places_[i].loop) places_[i].escaped.insert(set.number);
    if (strict()) return {set.number};
    out.push_back(simple(Kind::Break));
    return {};
  }

  // Whether a break of this loop falls to that place.
  bool leaves_to(std::size_t loop, std::size_t index) const { return after_loop_.at(loop_number(loop)) == index; }
  std::size_t loop_number(std::size_t place) const {
    std::size_t number = 0;
    for (std::size_t i = 0; i < place; ++i) number += places_[i].loop ? 1 : 0;
    return number;
  }

  // Where control is when a flag that was set inside a step is looked at after it.
  void settle(Flags& pending, Sequence& out, bool falls) {
    if (strict() || pending.empty()) return;
    for (auto it = pending.begin(); it != pending.end();) {
      const std::size_t index = find(owner_.at(*it));
      const std::size_t loop = innermost_loop();
      const bool crosses = loop != SIZE_MAX && loop > index;
      if (!crosses && loop != index) {
        ++it;
        continue;
      }
      if (loop == index && falls && places_[index].natural) {
        it = pending.erase(it);
        continue;
      }
      Step when = simple(Kind::When);
      when.number = *it;
      when.parts.resize(1);
      when.parts[0].push_back(simple(loop == index ? Kind::Continue : Kind::Break));
      out.push_back(std::move(when));
      it = pending.erase(it);
    }
  }

  // Appends `steps`, around which nothing of `pending` may be set.
  static void guarded(Sequence steps, const Flags& pending, Sequence& out) {
    if (steps.empty()) return;
    if (pending.empty()) {
      for (Step& s : steps) out.push_back(std::move(s));
      return;
    }
    Step unless = simple(Kind::Unless);
    unless.flags.assign(pending.begin(), pending.end());
    unless.parts.push_back(std::move(steps));
    out.push_back(std::move(unless));
  }

  // Writes a sequence. `falls`: its end is the end of what encloses it. Returns the flags that may be
  // set when control falls off it, whose places lie further out.
  Flags sequence(RawSequence raw, Sequence& out, bool falls) {
    Flags pending;
    Sequence group;  // steps under the same pending flags
    for (std::size_t i = 0; i < raw.size(); ++i) {
      const bool last = i + 1 == raw.size();
      if (strict() && raw[i].hoisted && !last && depth_ < options_.max_nesting) {
        RawSequence& arm = raw[i].parts[raw[i].open_arm];
        for (std::size_t k = i + 1; k < raw.size(); ++k) arm.push_back(std::move(raw[k]));
        raw.resize(i + 1);
        raw[i].hoisted = false;
        --i;
        continue;
      }
      Sequence made;
      Flags fresh = step(std::move(raw[i]), made, falls && last);
      for (Step& s : made) group.push_back(std::move(s));
      settle(fresh, group, falls && last);
      if (fresh.empty()) continue;
      guarded(std::move(group), pending, out);
      group.clear();
      pending.insert(fresh.begin(), fresh.end());
    }
    guarded(std::move(group), pending, out);
    return pending;
  }

  Flags step(Raw raw, Sequence& out, bool falls) {
    if (raw.what == Raw::What::Jump) return leap(find(raw.target), out, falls);
    if (raw.what == Raw::What::Chain) return chain(std::move(raw), out);
    Step& made = raw.step;
    if (made.kind == Kind::Loop) return loop(std::move(raw), out, falls);
    if (raw.parts.empty()) {
      const bool ends = made.kind == Kind::Return || made.kind == Kind::Raise;
      out.push_back(std::move(made));
      return ends && strict() ? leap(find(kExit), out, falls) : Flags{};
    }
    Flags pending;
    ++depth_;
    made.parts.resize(raw.parts.size());
    for (std::size_t i = 0; i < raw.parts.size(); ++i) {
      const Flags set = sequence(std::move(raw.parts[i]), made.parts[i], falls);
      pending.insert(set.begin(), set.end());
    }
    --depth_;
    out.push_back(std::move(made));
    return pending;
  }

  // Parts one after another; a part starts where the jumps to its label arrive.
  Flags chain(Raw raw, Sequence& out) {
    const std::size_t base = places_.size();
    const std::size_t begin = out.size();
    // Outermost is the last label.
    for (std::size_t i = raw.labels.size(); i-- > 0;) {
      Place place;
      place.target = raw.labels[i];
      places_.push_back(std::move(place));
    }
    const std::vector<bool> hidden = hide_natural(base);
    Flags pending;
    for (std::size_t i = 0; i < raw.parts.size(); ++i) {
      const std::size_t here = base + raw.labels.size() - 1 - i;
      places_[here].natural = true;
      Sequence part;
      Flags set = sequence(std::move(raw.parts[i]), part, true);
      places_[here].natural = false;
      guarded(std::move(part), pending, out);
      pending.insert(set.begin(), set.end());
      if (places_[here].flag >= 0) pending.erase(static_cast<std::uint32_t>(places_[here].flag));
    }
    restore_natural(hidden);
    for (std::size_t i = base; i < places_.size(); ++i) declare(places_[i], out, begin);
    places_.resize(base);
    return pending;
  }

  // More follows a chain, so falling off its parts leads nowhere further out.
  std::vector<bool> hide_natural(std::size_t until) {
    std::vector<bool> hidden(until);
    for (std::size_t i = 0; i < until; ++i) {
      hidden[i] = places_[i].natural;
      places_[i].natural = false;
    }
    return hidden;
  }
  void restore_natural(const std::vector<bool>& hidden) {
    for (std::size_t i = 0; i < hidden.size(); ++i) places_[i].natural = hidden[i];
  }

  Flags loop(Raw raw, Sequence& out, bool falls) {
    // A break falls to the innermost place that is natural here.
    std::size_t after = SIZE_MAX;
    if (falls)
      for (std::size_t i = places_.size(); i-- > 0 && after == SIZE_MAX;)
        if (places_[i].natural) after = i;
    const std::vector<bool> hidden = hide_natural(places_.size());
    Place place;
    place.target = raw.target;
    place.loop = true;
    place.natural = true;
    places_.push_back(std::move(place));
    after_loop_.push_back(after);
    ++depth_;
    Step made = std::move(raw.step);
    made.parts.resize(1);
    const Flags left = sequence(std::move(raw.parts[0]), made.parts[0], true);
    --depth_;
    Place done = std::move(places_.back());
    places_.pop_back();
    after_loop_.pop_back();
    restore_natural(hidden);
    declare(done, made.parts[0], 0);
    made.flags.assign(done.escaped.begin(), done.escaped.end());
    if (!strict()) made.flags.clear();
    out.push_back(std::move(made));
    Flags pending = done.escaped;
    if (falls) drop_natural(pending);
    return pending;
  }

  // Flags whose place is where control falls to anyway.
  void drop_natural(Flags& pending) const {
    for (auto it = pending.begin(); it != pending.end();)
      it = places_[find(owner_.at(*it))].natural ? pending.erase(it) : std::next(it);
  }

  const StructureOptions& options_;
  Structure& out_;
  std::vector<Place> places_;
  std::vector<std::size_t> after_loop_;  // by open loop: the place a break falls to
  std::map<std::uint32_t, Node> owner_;  // flag -> where it leads
  int depth_ = 0;
};

// ---- text ---------------------------------------------------------------------------------------------

void print(const Sequence& steps, const ir::Function& function, int indent, std::string& text);

void print_part(const char* word, const Sequence& part, const ir::Function& function, int indent, std::string& text) {
  text += std::string(static_cast<std::size_t>(indent), ' ') + word + "\n";
  print(part, function, indent + 2, text);
}

void print(const Sequence& steps, const ir::Function& function, int indent, std::string& text) {
  static constexpr const char* kWords[] = {"ops",     "edge",     "if",     "switch",    "loop",
                                           "break",   "continue", "return", "raise",     "flag",
                                           "setflag", "when",     "unless", "settarget", "dispatch"};
  for (const Step& step : steps) {
    text += std::string(static_cast<std::size_t>(indent), ' ') + kWords[static_cast<int>(step.kind)];
    if (step.block != Step::kNoBlock) text += " ^" + function.blocks[step.block].name;
    if (step.kind == Kind::Edge) text += " " + std::to_string(step.arm);
    if (step.kind == Kind::SetTarget) text += " " + std::to_string(step.number) + " to " + std::to_string(step.arm);
    if (step.kind == Kind::Flag || step.kind == Kind::SetFlag || step.kind == Kind::When || step.kind == Kind::Dispatch)
      text += " " + std::to_string(step.number);
    for (std::uint32_t f : step.flags) text += " " + std::to_string(f);
    text += "\n";
    for (std::size_t i = 0; i < step.parts.size(); ++i) {
      if (step.kind == Kind::If && i == 1) {
        if (!step.parts[1].empty()) print_part("else", step.parts[1], function, indent, text);
      } else if (step.parts.size() > 1 && step.kind != Kind::If) {
        print_part(("case " + std::to_string(i)).c_str(), step.parts[i], function, indent, text);
      } else {
        print(step.parts[i], function, indent + 2, text);
      }
    }
  }
}

}  // namespace

const ir::Edge& edge_of(const ir::Block& block, std::uint32_t arm) {
  const ir::Edge* found = nullptr;
  std::uint32_t i = 0;
  ir::for_each_edge(block.exit, [&](const ir::Edge& e) {
    if (i++ == arm) found = &e;
  });
  return *found;
}

Structure structure_of(const ir::Function& function, const StructureOptions& options) {
  Graph graph = graph_of(function);
  make_reducible(graph);
  Structure out;
  out.dispatchers = static_cast<std::uint32_t>(graph.arcs.size()) - graph.blocks;
  Resolver(options, out).run(Planner(function, graph).run());
  return out;
}

std::string to_string(const Structure& structure, const ir::Function& function) {
  std::string text;
  print(structure.body, function, 0, text);
  return text;
}

}  // namespace dycl::emit
