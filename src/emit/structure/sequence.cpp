// SPDX-License-Identifier: Apache-2.0
#include "emit/structure/sequence.h"

#include <algorithm>

#include "passes/cfg.h"

namespace dycl::emit::recovery {
namespace {

using Kind = Step::Kind;
constexpr Node kNone = passes::kNone;

// How a sequence ends: whether by anything else than leaving for good.
struct Ending {
  bool only_leaps = true;  // returns, raises and breaks of the loop around it
  void operator|=(const Ending& other) { only_leaps = only_leaps && other.only_leaps; }
};

class SequenceBuilder {
 public:
  SequenceBuilder(const ir::Function& function, const Graph& graph, int max_nesting)
      : function_(function),
        graph_(graph),
        max_nesting_(max_nesting),
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
    return {false};
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
    ending |= {breaks};
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
    if (first.only_leaps || depth_ >= max_nesting_) {
      ending |= first;
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
  const int max_nesting_;
  const ir::Function shadow_;
  const passes::Cfg cfg_;
  const passes::Loops loops_;
  std::vector<std::vector<Node>> node_followers_, loop_followers_;
  std::vector<bool> is_follower_;
  std::vector<std::uint64_t> subtree_;
  std::vector<Node> open_loops_, after_loop_;
  int depth_ = 0;
};

}  // namespace

RawSequence sequence_of(const ir::Function& function, const Graph& graph, int max_nesting) {
  return SequenceBuilder(function, graph, max_nesting).run();
}

}  // namespace dycl::emit::recovery
