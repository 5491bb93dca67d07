// SPDX-License-Identifier: Apache-2.0
// The graph that structure recovery works on: a node per block and, where loops are entered at several places, a
// dispatcher in front of each such loop. Edges keep naming the block's edge they stand for, so that what is made of
// the graph still speaks of the function. Nodes are indices: blocks first, dispatchers after them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "emit/structure/structure.h"

namespace dycl::emit::recovery {

using Node = std::uint32_t;

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

Graph graph_of(const ir::Function& function);

// A function with the same edges and nothing else, for the analyses that take functions.
ir::Function shadow_of(const Graph& graph);

// Gives components with several entries one: a dispatcher that all edges to the entries lead to.
void make_reducible(Graph& graph);

}  // namespace dycl::emit::recovery
