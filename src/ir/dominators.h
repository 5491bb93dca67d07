// SPDX-License-Identifier: Apache-2.0
// Which blocks every path from the entry to a block passes through. A snapshot:
// stale once blocks or edges change. Lengauer and Tarjan's algorithm with path
// compression, m log n in time, no recursion. Edges to blocks that do not exist
// are ignored, so that the verifier can ask about broken programs.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/function.h"

namespace dycl::ir {

class Dominators {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  explicit Dominators(const Function& function);

  bool reachable(BlockId b) const { return enter_[b.index] != kNone; }

  // True if every path from the entry to `b` passes `a` (a block dominates
  // itself). Both must be reachable.
  bool dominates(BlockId a, BlockId b) const {
    return enter_[a.index] <= enter_[b.index] && leave_[b.index] <= leave_[a.index];
  }

  // The last block before `b` that dominates it; kNone for the entry and for unreachable blocks.
  std::uint32_t immediate(BlockId b) const { return parent_[b.index]; }

  // Reachable blocks, each after the blocks that dominate it (a reverse post-order).
  const std::vector<std::uint32_t>& order() const { return order_; }
  // Place of a block in order(); kNone if unreachable.
  std::uint32_t position(BlockId b) const { return position_[b.index]; }

  // True for an edge from -> to that goes back in every order of the blocks or
  // closes a loop at its header: `to` dominates `from`.
  bool is_back_edge(BlockId from, BlockId to) const { return dominates(to, from); }

 private:
  std::vector<std::uint32_t> parent_, enter_, leave_, order_, position_;
};

}  // namespace dycl::ir
