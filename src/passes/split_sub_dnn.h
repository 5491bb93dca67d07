// SPDX-License-Identifier: Apache-2.0
// Cuts a sub-DNN in two: what does not depend on certain ops, and those ops with all that
// depends on them. For engines that take the first part only.
//
//   %a, %b = call @s0(%x)    becomes    %a, %0 = call @s0(%x)
//                                       %b = call @s0.rest(%0)
//
// Constants are copied to whoever uses them. Not a pass of the pipeline: whoever knows
// engines says where to cut.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace dycl::passes {

// Multiply-adds (passes/cost.h) of both parts if `late` (per op of the body) and its dependents were cut off.
struct SplitWork {
  double early = 0, late = 0;
};
SplitWork work_of_split(const ir::Function& sub_dnn, const std::vector<bool>& late);

// False, and nothing changes, if a part would be empty. Pointers to functions are stale afterwards.
bool split_sub_dnn(ir::Program& program, const std::string& sub_dnn, const std::vector<bool>& late);

}  // namespace dycl::passes
