// SPDX-License-Identifier: Apache-2.0
// Sends an edge to an empty block straight to where that block jumps:
//
//   branch %c, ^a(%x), ^b               branch %c, ^join(%x), ^b
//   ^a(%y: f32[2]):           becomes   (^a is out of reach)
//     goto ^join(%y)
//
// A loop's header stays, and so does a block whose parameters are used elsewhere.
#pragma once

#include "ir/program.h"

namespace dycl::passes {

// Returns the number of edges changed.
int forward_gotos(ir::Program& program);

}  // namespace dycl::passes
