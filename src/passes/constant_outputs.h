// SPDX-License-Identifier: Apache-2.0
// Takes results of a sub-DNN that depend on no input out of it:
//
//   %a, %b = call @s0(%x)                    %a = const f32[1] [0.5]
//   subdnn @s0(%p):                becomes   %b = call @s0(%x)
//     %c = const f32[1] [0.5]                subdnn @s0(%p):
//     return %c, %q                            return %q
//
// Tensor constants and weights, through Identity ops. The results themselves go
// with drop_dead. (Strategy 2 of the DyCL paper; one look at each sub-DNN and each
// call, no enumeration of paths.)
#pragma once

#include "ir/program.h"

namespace dycl::passes {

// Returns the number of results of calls that became constants.
int constant_outputs(ir::Program& program);

}  // namespace dycl::passes
