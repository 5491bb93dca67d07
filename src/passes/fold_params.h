// SPDX-License-Identifier: Apache-2.0
// Replaces a block's parameter that gets the same value over every edge by that
// value; a parameter that always gets equal constants becomes a constant:
//
//   goto ^join(%x, %one)                     goto ^join
//   ...                                      ...
//   goto ^join(%x, %uno)          becomes    goto ^join
//   ^join(%y: f32[2], %n: int):              ^join:
//     %z = Relu %y                             %n = const 1
//                                              %z = Relu %x
#pragma once

#include "ir/program.h"

namespace dycl::passes {

// Returns the number of parameters replaced.
int fold_params(ir::Program& program);

}  // namespace dycl::passes
