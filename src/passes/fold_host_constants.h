// SPDX-License-Identifier: Apache-2.0
// Computes host ops whose operands are known, and reads through what was just built:
//
//   %a = const 2                        %a = const 2
//   %b = int.add %a, %a      becomes    %b = const 4
//   %n = dim %x {axis=0}                %n = const 8       (%x: f32[8,N])
//   %o = opt.some %x                    %o = opt.some %x
//   %y = opt.get %o                     (%y reads as %x)
//
// Uses support/scalar_ops.h, so folding gives what a run would give. What would
// raise is left as it is.
#pragma once

#include "ir/program.h"

namespace dycl::passes {

// Returns the number of ops folded.
int fold_host_constants(ir::Program& program);

}  // namespace dycl::passes
