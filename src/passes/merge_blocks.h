// SPDX-License-Identifier: Apache-2.0
// Joins a block to the only block that jumps to it:
//
//   ^a:                          ^a:
//     goto ^b(%x)      becomes     %z = Relu %x
//   ^b(%y: f32[2]):                return %z
//     %z = Relu %y
//     return %z
#pragma once

#include "ir/program.h"

namespace dycl::passes {

// Returns the number of blocks joined to another.
int merge_blocks(ir::Program& program);

}  // namespace dycl::passes
