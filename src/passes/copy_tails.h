// SPDX-License-Identifier: Apache-2.0
// Copies the work at the start of a join into the blocks that jump there, so that an
// arm and the next gate become one sub-DNN.
//
//   ^run:                                 ^run:
//     %a = Conv ...                         %a = Conv ...
//     goto ^join(%a)                        %g.1 = Conv %a, ...
//   ^join(%y):                  becomes     %c.1 = item ...
//     %g = Conv %y, ...                     goto ^join(%a, %c.1)
//     %c = item ...                       ^join(%y, %c):
//     branch %c, ...                        branch %c, ...
//
// What others read of the copied ops are parameters of the join afterwards. An edge of a
// choice gets a block of its own for the copy. Each path runs the same ops in the same order
// as before. Done where the join's work is heavy (passes/cost.h) and some predecessor has
// tensor work to run it with; a light gate stays alone, because one place for it is cheaper than a
// longer sub-DNN on every arm. Loop headers and joins of unlike ranks stay as they are. Copies add at most as many ops
// as the program had. Linear in the size of the result.
#pragma once

#include "ir/program.h"

namespace dycl::passes {

// Returns the number of joins whose work was copied.
int copy_tails(ir::Program& program);

// The same with another idea of "heavy", for tests: joins of at least so much work.
int copy_tails(ir::Program& program, double least_work);

}  // namespace dycl::passes
