// SPDX-License-Identifier: Apache-2.0
// Structure recovery: walking the tree meets the same blocks and edges as walking the graph, whatever
// the decisions; nothing appears twice; reducible graphs need no dispatcher.
#include "emit/structure/structure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "generate/generate.h"
#include "ir/edges.h"
#include "ir/interpret.h"
#include "ir/parse.h"
#include "support/random.h"

namespace dycl::emit {
namespace {

using Kind = Step::Kind;
using Events = std::vector<std::string>;

// Decides for the n-th time that something is decided.
using Decide = std::function<std::uint32_t(std::uint32_t arms)>;

std::vector<const ir::Edge*> edges_of(const ir::Function& f, std::uint32_t block) {
  std::vector<const ir::Edge*> edges;
  ir::for_each_edge(f.blocks[block].exit, [&](const ir::Edge& e) { edges.push_back(&e); });
  return edges;
}

// What a run of the graph meets, up to `limit` events.
Events walk_graph(const ir::Function& f, const Decide& decide, std::size_t limit) {
  Events events;
  for (std::uint32_t b = 0; events.size() < limit;) {
    events.push_back("block " + std::to_string(b));
    const auto edges = edges_of(f, b);
    if (edges.empty()) {
      events.push_back("end " + std::to_string(b));
      return events;
    }
    // A branch's first edge is the true one.
    std::uint32_t arm = edges.size() == 1 ? 0 : decide(static_cast<std::uint32_t>(edges.size()));
    events.push_back("edge " + std::to_string(b) + "." + std::to_string(arm));
    b = edges[arm]->target.index;
  }
  events.resize(limit);
  return events;
}

class TreeWalk {
 public:
  TreeWalk(const ir::Function& f, const Structure& s, Style style, Decide decide, std::size_t limit)
      : f_(f), style_(style), decide_(std::move(decide)), limit_(limit), flags_(s.flags), targets_(s.dispatchers) {}

  Events run(const Sequence& body) {
    walk(body);
    if (events.size() > limit_) events.resize(limit_);
    return events;
  }

  Events events;

 private:
  enum class Way { On, Break, Continue, End };

  Way walk(const Sequence& steps) {
    for (const Step& s : steps) {
      if (events.size() >= limit_) return Way::End;
      const Way way = one(s);
      if (way != Way::On) return way;
    }
    return Way::On;
  }

  Way one(const Step& s) {
    switch (s.kind) {
      case Kind::Ops: event("block " + std::to_string(s.block)); return Way::On;
      case Kind::Edge: event("edge " + std::to_string(s.block) + "." + std::to_string(s.arm)); return Way::On;
      case Kind::If: return walk(s.parts[decide_(2)]);
      case Kind::Switch:
        return walk(s.parts[s.parts.size() == 1 ? 0 : decide_(static_cast<std::uint32_t>(s.parts.size()))]);
      case Kind::Loop: return loop(s);
      case Kind::Once: {
        EXPECT_EQ(style_, Style::Leaps);
        const Way way = walk(s.parts[0]);
        return way == Way::Break ? Way::On : way;
      }
      case Kind::Break: EXPECT_EQ(style_, Style::Leaps); return Way::Break;
      case Kind::Continue: EXPECT_EQ(style_, Style::Leaps); return Way::Continue;
      case Kind::Return:
      case Kind::Raise: event("end " + std::to_string(s.block)); return style_ == Style::Leaps ? Way::End : Way::On;
      case Kind::Flag: flags_[s.number] = false; return Way::On;
      case Kind::SetFlag: flags_[s.number] = true; return Way::On;
      case Kind::When: return flags_[s.number] ? walk(s.parts[0]) : Way::On;
      case Kind::Unless:
        for (std::uint32_t f : s.flags)
          if (flags_[f]) return Way::On;
        return walk(s.parts[0]);
      case Kind::SetTarget: targets_[s.number] = s.arm; return Way::On;
      case Kind::Dispatch: return walk(s.parts.at(targets_[s.number]));
    }
    return Way::End;
  }

  Way loop(const Step& s) {
    for (;;) {
      const Way way = walk(s.parts[0]);
      if (way == Way::End) return way;
      if (way == Way::Break) return Way::On;
      if (std::any_of(s.flags.begin(), s.flags.end(), [&](std::uint32_t f) { return flags_[f]; })) return Way::On;
      if (events.size() >= limit_ || ++rounds_ > 100000) return Way::End;
    }
  }

  void event(std::string text) {
    EXPECT_FALSE(ended_) << text << " after the end";
    ended_ = text.starts_with("end");
    events.push_back(std::move(text));
  }

  const ir::Function& f_;
  Style style_;
  Decide decide_;
  std::size_t limit_;
  std::vector<bool> flags_;
  std::vector<std::uint32_t> targets_;
  std::size_t rounds_ = 0;
  bool ended_ = false;
};

struct Counts {
  std::map<std::uint32_t, int> ops, ends;
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> edges;
  int flags = 0, depth = 0;
};

void count(const Sequence& steps, Counts& c, int depth) {
  c.depth = std::max(c.depth, depth);
  for (const Step& s : steps) {
    if (s.kind == Kind::Ops) ++c.ops[s.block];
    if (s.kind == Kind::Return || s.kind == Kind::Raise) ++c.ends[s.block];
    if (s.kind == Kind::Edge) ++c.edges[{s.block, s.arm}];
    if (s.kind == Kind::Flag) ++c.flags;
    for (const Sequence& part : s.parts) count(part, c, depth + 1);
  }
}

void check_once(const ir::Function& f, const Structure& s) {
  Counts c;
  count(s.body, c, 0);
  const ir::Dominators dominators(f);
  for (std::uint32_t b : dominators.order()) {
    EXPECT_EQ(c.ops[b], f.blocks[b].body.empty() ? 0 : 1) << b;
    const auto edges = edges_of(f, b);
    EXPECT_EQ(c.ends[b], edges.empty() ? 1 : 0) << b;
    for (std::uint32_t arm = 0; arm < edges.size(); ++arm) EXPECT_EQ((c.edges[{b, arm}]), 1) << b << "." << arm;
  }
  EXPECT_LE(c.ops.size(), dominators.order().size());
}

// A branch's arm 0 is the true one in the tree as in the graph.
void compare(const ir::Function& f, std::uint64_t seed) {
  for (const Style style : {Style::Leaps, Style::Strict}) {
    for (const int nesting : {2, 12}) {
      const Structure s = structure_of(f, {style, nesting});
      check_once(f, s);
      for (std::uint64_t round = 0; round < 8 && !::testing::Test::HasFailure(); ++round) {
        Random a(seed * 100 + round), b(seed * 100 + round);
        const Events expected = walk_graph(
            f, [&](std::uint32_t arms) { return static_cast<std::uint32_t>(a.integer(0, arms)); }, 300);
        TreeWalk walk(
            f, s, style, [&](std::uint32_t arms) { return static_cast<std::uint32_t>(b.integer(0, arms)); }, 300);
        EXPECT_EQ(walk.run(s.body), expected) << to_string(s, f);
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// Any graph whatever: n blocks, each with some exit. Few of them are reducible.
ir::Function random_graph(std::uint64_t seed, bool forward_mostly) {
  Random random(seed);
  ir::Function f;
  f.name = "main";
  const auto n = static_cast<std::uint32_t>(random.integer(1, 14));
  f.blocks.resize(n);
  const auto target = [&](std::uint32_t from) {
    if (n == 1) return ir::Edge{{0}, {}};
    if (forward_mostly && from + 1 < n && random.integer(0, 5) > 0)
      return ir::Edge{{static_cast<std::uint32_t>(random.integer(from + 1, std::min(n, from + 4)))}, {}};
    return ir::Edge{{static_cast<std::uint32_t>(random.integer(1, n))}, {}};
  };
  for (std::uint32_t b = 0; b < n; ++b) {
    ir::Block& block = f.blocks[b];
    block.name = std::to_string(b);
    block.body.resize(1);  // so that it shows
    const auto kind = n == 1 ? 0 : random.integer(0, 8);
    if (kind == 0 || (b + 1 == n && kind < 5))
      block.exit = ir::Return{};
    else if (kind < 3)
      block.exit = ir::Goto{target(b)};
    else if (kind < 7)
      block.exit = ir::Branch{{}, target(b), target(b)};
    else
      block.exit = ir::Switch{{}, {0, 1}, {target(b), target(b)}, target(b)};
  }
  return f;
}

TEST(Structure, AnyGraphAtAll) {
  int with_dispatchers = 0;
  for (std::uint64_t seed = 1; seed <= 2500 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const ir::Function f = random_graph(seed, seed % 2 == 0);
    compare(f, seed);
    with_dispatchers += structure_of(f).dispatchers > 0 ? 1 : 0;
  }
  EXPECT_GT(with_dispatchers, 200);  // the hard case did occur
}

TEST(Structure, GeneratedPrograms) {
  for (std::uint64_t seed = 1; seed <= 400 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    generate::GenerateOptions options;
    options.failures = seed % 3 == 0;
    options.depth = 4;
    const ir::Program program = generate::generate_program(seed, options);
    EXPECT_EQ(structure_of(program.main()).dispatchers, 0U);
    ir::Function f = program.main();
    for (ir::Block& block : f.blocks) block.body.resize(1);
    compare(f, seed);
  }
}

ir::Program parsed(const std::string& text) {
  auto program = ir::parse(text, "test.dyir");
  EXPECT_TRUE(program) << program.error().message;
  return std::move(program).value();
}

std::string leaps(const std::string& text) {
  const ir::Program program = parsed(text);
  return to_string(structure_of(program.main()), program.main());
}

TEST(Structure, EarlyReturnsStayFlat) {
  std::string text = "func @main(%c: bool) -> (int) {\n^b0:\n  %v = const 1\n  branch %c, ^r0, ^b1\n";
  const int exits = 20000;
  for (int i = 1; i <= exits; ++i) {
    const std::string n = std::to_string(i);
    text += "^r" + std::to_string(i - 1) + ":\n  return %v\n^b" + n + ":\n  branch %c, ^r" + n + ", ^b" +
            std::to_string(i + 1) + "\n";
  }
  text += "^r" + std::to_string(exits) + ":\n  return %v\n^b" + std::to_string(exits + 1) + ":\n  return %v\n}\n";
  const ir::Program program = parsed(text);
  for (const Style style : {Style::Leaps, Style::Strict}) {
    const Structure s = structure_of(program.main(), {style, 12});
    Counts c;
    count(s.body, c, 0);
    EXPECT_LE(c.depth, style == Style::Leaps ? 1 : 14);
    EXPECT_LE(c.flags, 1);
  }
}

// Branches within branches whose other arms go on behind all of them, each at a place of its own.
std::string nested_diamonds(int depth) {
  std::string text = "func @main(%c: bool) -> (int) {\n^b0:\n  %v = const 1\n  branch %c, ^b1, ^j0\n";
  for (int i = 1; i < depth; ++i) {
    const std::string n = std::to_string(i);
    text += "^b" + n + ":\n  %v" + n + " = const 1\n  branch %c, ^b" + std::to_string(i + 1) + ", ^j" + n + "\n";
  }
  const std::string last = std::to_string(depth);
  text += "^b" + last + ":\n  goto ^j" + std::to_string(depth - 1) + "\n";
  for (int i = depth - 1; i > 0; --i) text += "^j" + std::to_string(i) + ":\n  goto ^j" + std::to_string(i - 1) + "\n";
  return text + "^j0:\n  return %v\n}\n";
}

// The same steps twice, after a first decision, whose exits meet pair by pair.
std::string twin_chains(int exits) {
  std::string text = "func @main(%c: bool) -> (int) {\n^b0:\n  %v = const 1\n  branch %c, ^l0, ^r0\n";
  for (int i = 0; i < exits; ++i) {
    const std::string n = std::to_string(i), next = std::to_string(i + 1);
    for (const char* side : {"l", "r"})
      text += "^" + std::string(side) + n + ":\n  branch %c, ^out" + n + ", ^" + side + next + "\n";
  }
  const std::string last = std::to_string(exits);
  text += "^l" + last + ":\n  goto ^out" + last + "\n^r" + last + ":\n  goto ^out" + last + "\n";
  for (int i = 0; i <= exits; ++i) text += "^out" + std::to_string(i) + ":\n  return %v\n";
  return text + "}\n";
}

TEST(Structure, StrictTreesStayShallow) {
  for (const std::string& text : {nested_diamonds(300), twin_chains(300)}) {
    ir::Program program = parsed(text);
    ir::Function f = program.main();
    for (ir::Block& block : f.blocks) block.body.resize(1);
    compare(f, 7);
    Counts c;
    count(structure_of(f, {Style::Strict, 8}).body, c, 0);
    EXPECT_LE(c.depth, 12);
  }
}

// Decisions whether to go on, as an unrolled loop with a `break` has them: `open` of them ask the other way round.
std::string unrolled(int steps, int open) {
  std::string text = "func @main(%c: bool) -> (int) {\n";
  for (int i = 0; i < steps; ++i) {
    const std::string n = std::to_string(i), next = "^b" + std::to_string(i + 1), out = "^x" + n;
    text += "^b" + n + ":\n  %v" + n + " = const 1\n  branch %c, " +
            (i < open ? next + ", " + out : out + ", " + next) + "\n^x" + n + ":\n  %w" + n +
            " = const 2\n  goto ^after\n";
  }
  return text + "^b" + std::to_string(steps) + ":\n  goto ^after\n^after:\n  %r = const 3\n  return %r\n}\n";
}

TEST(Structure, ChainsAreLeftEarly) {
  for (const int steps : {3, 4, 60}) {
    const ir::Program program = parsed(unrolled(steps, steps / 2));
    Counts c;
    count(structure_of(program.main()).body, c, 0);
    EXPECT_EQ(c.depth, steps < 4 ? steps : 2) << to_string(structure_of(program.main()), program.main());
    ir::Function f = program.main();
    for (ir::Block& block : f.blocks) block.body.resize(1);
    compare(f, 11);
  }
}

TEST(Structure, WhileWithBreakAndReturn) {
  EXPECT_EQ(leaps(R"(func @main(%a: bool, %b: bool, %c: bool) -> (int) {
^entry:
  %v = const 1
  goto ^head
^head:
  branch %a, ^body, ^after
^body:
  branch %b, ^found, ^more
^found:
  return %v
^more:
  branch %c, ^after, ^head
^after:
  return %v
}
)"),
            R"(ops ^entry
edge ^entry 0
loop ^head
  if ^head
  else
    edge ^head 1
    break
  edge ^head 0
  if ^body
    edge ^body 0
    return ^found
  edge ^body 1
  if ^more
    edge ^more 0
    break
  edge ^more 1
return ^after
)");
}

}  // namespace
}  // namespace dycl::emit
