// SPDX-License-Identifier: Apache-2.0
// Removes blocks that no path from the entry reaches:
//
//   ^entry:                      ^entry:
//     goto ^a                      goto ^a
//   ^lost:             becomes   ^a:
//     goto ^a                      return %x
//   ^a:
//     return %x
#pragma once

#include "ir/program.h"

namespace dycl::passes {

// Returns the number of blocks removed.
int drop_unreachable(ir::Program& program);

}  // namespace dycl::passes
