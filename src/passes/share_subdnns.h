// SPDX-License-Identifier: Apache-2.0
// Keeps one of each kind of sub-DNN:
//
//   %a = call @s0(%x)                     %a = call @s0(%x)
//   %b = call @s1(%a)          becomes    %b = call @s0(%a)
//   (@s0 and @s1 do the same)             (@s1 is gone)
//
// The same means: ops, attributes, types and the very weights they name. So a
// step that was unrolled a thousand times is compiled once. Names of values and
// source lines of the first one survive.
#pragma once

#include "ir/program.h"

namespace dycl::passes {

// Returns the number of sub-DNNs removed.
int share_subdnns(ir::Program& program);

}  // namespace dycl::passes
