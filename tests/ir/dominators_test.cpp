// SPDX-License-Identifier: Apache-2.0
#include "ir/dominators.h"

#include <gtest/gtest.h>

#include "support/random.h"

namespace dycl::ir {
namespace {

Function random_graph(Random& random, std::uint32_t count) {
  Function f;
  f.blocks.resize(count);
  const auto target = [&] { return Edge{{static_cast<std::uint32_t>(random.integer(1, count))}, {}}; };
  for (Block& block : f.blocks) {
    if (random.integer(0, 5) == 0)
      block.exit = Return{};
    else if (random.integer(0, 3) == 0)
      block.exit = Goto{target()};
    else
      block.exit = Branch{{}, target(), target()};
  }
  return f;
}

// Blocks reached from the entry without passing `without`.
std::vector<bool> reached(const Function& f, std::uint32_t without) {
  std::vector<bool> seen(f.blocks.size(), false);
  std::vector<std::uint32_t> work;
  const auto visit = [&](std::uint32_t b) {
    if (b == without || seen[b]) return;
    seen[b] = true;
    work.push_back(b);
  };
  visit(0);
  while (!work.empty()) {
    const Block& block = f.blocks[work.back()];
    work.pop_back();
    if (const auto* jump = std::get_if<Goto>(&block.exit)) visit(jump->edge.target.index);
    if (const auto* branch = std::get_if<Branch>(&block.exit)) {
      visit(branch->if_true.target.index);
      visit(branch->if_false.target.index);
    }
  }
  return seen;
}

TEST(Dominators, AgreeWithTheDefinition) {
  Random random(3);
  for (int round = 0; round < 400; ++round) {
    const auto count = static_cast<std::uint32_t>(random.integer(2, 24));
    const Function f = random_graph(random, count);
    const Dominators dominators(f);
    const auto all = reached(f, count);
    for (std::uint32_t b = 0; b < count; ++b) ASSERT_EQ(dominators.reachable({b}), all[b]);
    for (std::uint32_t a = 0; a < count; ++a) {
      const auto without = reached(f, a);
      for (std::uint32_t b = 0; b < count; ++b)
        if (all[a] && all[b]) {
          ASSERT_EQ(dominators.dominates({a}, {b}), a == b || !without[b])
              << "round " << round << ": " << a << ", " << b;
        }
    }
    for (std::uint32_t b = 1; b < count; ++b) {
      if (!all[b]) continue;
      const std::uint32_t parent = dominators.immediate({b});
      for (std::uint32_t a = 0; a < count; ++a)
        if (all[a] && a != b && dominators.dominates({a}, {b})) {
          ASSERT_TRUE(dominators.dominates({a}, {parent}));
        }
    }
  }
}

TEST(Dominators, TakeDeepGraphs) {
  Function f;
  constexpr std::uint32_t kCount = 200000;
  f.blocks.resize(kCount);
  for (std::uint32_t b = 0; b + 1 < kCount; ++b) f.blocks[b].exit = Branch{{}, {{b + 1}, {}}, {{b / 2 + 1}, {}}};
  f.blocks[kCount - 1].exit = Return{};
  const Dominators dominators(f);
  EXPECT_TRUE(dominators.dominates({0}, {kCount - 1}));
  EXPECT_TRUE(dominators.dominates({kCount - 2}, {kCount - 1}));
}

TEST(Dominators, IgnoreEdgesToNowhere) {
  Function f;
  f.blocks.resize(1);
  f.blocks[0].exit = Goto{{{7}, {}}};
  EXPECT_TRUE(Dominators(f).reachable({0}));
  EXPECT_TRUE(Dominators(Function{}).order().empty());
}

}  // namespace
}  // namespace dycl::ir
