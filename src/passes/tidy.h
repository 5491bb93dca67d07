// SPDX-License-Identifier: Apache-2.0
// Puts a program in the order in which people read it:
//
//   func @main: ^entry ^end ^body       func @main: ^entry ^body ^end
//   subdnn @s7                becomes   subdnn @s0    (the first that is called)
//   subdnn @s3                          subdnn @s1
//
// Blocks come in reverse post-order, sub-DNNs in the order of their first calls and
// named s0, s1, ...; entries of Function::values that nothing defines are gone.
#pragma once

#include "ir/program.h"

namespace dycl::passes {

// Returns the number of blocks moved and sub-DNNs moved or renamed.
int tidy(ir::Program& program);

}  // namespace dycl::passes
