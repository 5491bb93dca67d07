// SPDX-License-Identifier: Apache-2.0
// Which values that own memory (tensors, lists, optionals) are needed where: the base
// of buffer reuse. Constants and weights live for ever and are left out, as are scalars unless all are tracked.
// A snapshot of one function; unreachable blocks have empty sets. Time is linear in the
// total length of live ranges.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/dominators.h"
#include "ir/function.h"

namespace dycl::package {

struct Liveness {
  enum class Track : std::uint8_t { Owning, All };
  std::vector<bool> tracked;                        // by value
  std::vector<std::vector<std::uint32_t>> live_in;  // by block, ascending: needed at its start; no parameters

  Liveness(const ir::Function& function, const ir::Dominators& dominators, Track track = Track::Owning);
};

// True for ops whose results are there before the program starts.
bool is_constant_op(const ir::Op& op);

}  // namespace dycl::package
