// SPDX-License-Identifier: Apache-2.0
// Removes what nobody needs: ops without effect that can't raise (passes/effects.h)
// and whose results are unused, parameters of blocks with their arguments,
// parameters and results of sub-DNNs, weights without a reader.
//
//   ^a:                               ^a:
//     %u = Relu %x                      goto ^b(%x)
//     goto ^b(%x, %u)       becomes   ^b(%y: f32[2]):
//   ^b(%y: f32[2], %v: f32[2]):         return %y
//     return %y
//
// Parameters and results of `main`, states included, are its interface and stay:
// a state that is only passed through is still read and stored.
#pragma once

#include "ir/program.h"

namespace dycl::passes {

// Returns the number of ops, parameters, results and weights removed.
int drop_dead(ir::Program& program);

}  // namespace dycl::passes
