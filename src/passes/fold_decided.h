// SPDX-License-Identifier: Apache-2.0
// Replaces a choice that an earlier one has made by a jump:
//
//   ^a: branch %c, ^yes, ^no              ^a: branch %c, ^yes, ^no
//   ^yes: ...                             ^yes: ...
//         branch %c, ^b(%x), ^d   becomes       goto ^b(%x)
//
// ^yes must have no other edge into it, and every path to the second choice must pass it. Conditions are equal if they
// are one value, so `cse` comes first.
#pragma once

#include "ir/program.h"

namespace dycl::passes {

// Returns the number of choices replaced.
int fold_decided(ir::Program& program);

}  // namespace dycl::passes
