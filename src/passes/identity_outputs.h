// SPDX-License-Identifier: Apache-2.0
// Takes results that a sub-DNN only hands through out of it:
//
//   %a, %b = call @s0(%x)                  %b = call @s0(%x)
//   ... %a ...                   becomes   ... %x ...
//   subdnn @s0(%p): return %p, %q          subdnn @s0(%p): return %q
//
// Through Identity ops as well; a value returned twice is returned once. The
// results themselves go with drop_dead. (Strategy 1 of the DyCL paper; one look
// at each sub-DNN and each call, no enumeration of paths.)
#pragma once

#include "ir/program.h"

namespace dycl::passes {

// Returns the number of results of calls that now read as something else.
int identity_outputs(ir::Program& program);

}  // namespace dycl::passes
