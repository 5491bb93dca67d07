// SPDX-License-Identifier: Apache-2.0
// Computes a thing once: an op that a dominating op already did reads as that op.
//
//   %a = Relu %x                     %a = Relu %x
//   %b = Relu %x          becomes    %c = Add %a, %a
//   %c = Add %a, %b
//
// Ops without effect only. One that may raise counts too: where the first did not
// raise, the second won't. A light tensor op (passes/cost.h) of another block is
// left alone: to compute it again costs less than to carry its result over a cut.
#pragma once

#include "ir/program.h"

namespace dycl::passes {

// Returns the number of ops removed.
int cse(ir::Program& program);

}  // namespace dycl::passes
