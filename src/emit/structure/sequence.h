// SPDX-License-Identifier: Apache-2.0
// What follows what: the blocks of a reducible graph as a tree in which every sequence still ends in an explicit jump.
// Each block stands where its only predecessor jumps to it, or after the block or loop that dominates it.
#pragma once

#include <cstdint>
#include <vector>

#include "emit/structure/graph.h"
#include "emit/structure/structure.h"

namespace dycl::emit::recovery {

// A Chain's parts follow one another; its labels name the nodes at the start of parts 1, 2, ... and right after it.
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

// A branch nested deeper than `max_nesting` is hoisted: its smaller arm stays in the If, the other one follows it.
RawSequence sequence_of(const ir::Function& function, const Graph& graph, int max_nesting);

}  // namespace dycl::emit::recovery
