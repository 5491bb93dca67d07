// SPDX-License-Identifier: Apache-2.0
// Which values that own memory (tensors, lists, optionals) are needed where: the base
// of buffer reuse. Constants and weights live for ever and are left out, as are scalars.
// A snapshot of one function; unreachable blocks have empty sets. Time is linear in the
// total length of live ranges.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/dominators.h"
#include "ir/function.h"

namespace dycl::emit {

struct Liveness {
  std::vector<bool> tracked;                        // by value
  std::vector<std::vector<std::uint32_t>> live_in;  // by block: values needed at its start, parameters left out

  Liveness(const ir::Function& function, const ir::Dominators& dominators);
};

// True for ops whose results are there before the program starts.
bool is_constant_op(const ir::Op& op);

}  // namespace dycl::emit
