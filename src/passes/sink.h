// SPDX-License-Identifier: Apache-2.0
// Moves heavy tensor work into the only arm that uses it:
//
//   ^a:                                     ^a:
//     %s = Conv %x, %w                        branch %c, ^run, ^skip
//     branch %c, ^run, ^skip      becomes   ^run:
//   ^run:                                     %s = Conv %x, %w
//     %y = Relu %s                            %y = Relu %s
//
// A heavy op (passes/cost.h) goes together with light ops that only it needs or
// that depend on it. It stays where every path on which nothing is raised uses it
// anyway (the arm post-dominates), and never moves into a loop.
#pragma once

#include "ir/program.h"

namespace dycl::passes {

// Returns the number of ops moved.
int sink(ir::Program& program);

}  // namespace dycl::passes
