// SPDX-License-Identifier: Apache-2.0
// Reads around tensor ops that only hand their operand on:
//
//   %a = Identity %x               (%a reads as %x)
//   %b = Cast %x {to=1}   becomes  (%b reads as %x, which is f32)
//   %c = Reshape %x, %s            (%c reads as %x, if both have one known shape)
//
// So a value that passes through a block needs no sub-DNN.
#pragma once

#include "ir/program.h"

namespace dycl::passes {

// Returns the number of ops removed.
int fold_identities(ir::Program& program);

}  // namespace dycl::passes
