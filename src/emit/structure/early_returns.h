// SPDX-License-Identifier: Apache-2.0
// Early returns as the user wrote them: an edge to a block that does nothing but gather results and return becomes that
// return.
//
//   branch %found, ^done(%a, %0), ^next          branch %found, ^done.1, ^next
//   ^done(%x, %n):                      becomes  ^done.1:
//     %l = list.new %n : list<int>                 %l.1 = list.new %0 : list<int>
//     return %x, %l                                return %a, %l.1
//
// Values keep their numbers, those of copied ops are new; blocks are added at the end, and some are no longer reached.
// Constants stay where they are, in blocks no longer reached too.
#pragma once

#include "ir/function.h"

namespace dycl::emit {

ir::Function with_early_returns(ir::Function function);

}  // namespace dycl::emit
