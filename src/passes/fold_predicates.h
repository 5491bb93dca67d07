// SPDX-License-Identifier: Apache-2.0
// Computes a condition with the tensors it is about, so that one bool leaves:
//
//   %p = item %m : float                 %k = const f32[] [0.9]     (rounded up: see below)
//   %t = const 0.9            becomes    %g = GreaterOrEqual %m, %k : bool[]
//   %c = float.ge %p, %t                 %c = item %g : bool
//
// Exact to the last bit. Python compares an f32 `x` as a double with a double `c`.
// For every `x`, NaN included, `x >= c` and `x < c` mean the same with `c` rounded up
// to the next f32, `x <= c` and `x > c` with `c` rounded down; `x == c` needs `c` to be
// an f32. All else is computed in f64. Integers are computed in i64, and only where
// ranges prove that nothing overflows. An `item` that may raise, or whose value is
// read elsewhere too, is left alone, as are conditions on tensors of other blocks.
#pragma once

#include "ir/program.h"

namespace dycl::passes {

// Returns the number of conditions folded.
int fold_predicates(ir::Program& program);

}  // namespace dycl::passes
