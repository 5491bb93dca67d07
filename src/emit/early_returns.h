// SPDX-License-Identifier: Apache-2.0
// Early returns as the user wrote them: an edge to a block that does nothing but return becomes that return.
//
//   branch %found, ^done(%a, %0), ^next          branch %found, ^done.1, ^next
//   ^done(%x, %n): return %x, %n        becomes  ^done.1: return %a, %0
//
// Values keep their numbers; blocks are added at the end, and some are no longer reached.
#pragma once

#include "ir/function.h"

namespace dycl::emit {

ir::Function with_early_returns(ir::Function function);

}  // namespace dycl::emit
