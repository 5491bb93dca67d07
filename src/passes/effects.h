// SPDX-License-Identifier: Apache-2.0
// What a pass may do with an op without changing what a run shows.
//
// A run shows its results, its effects (print, check, random draws, host calls)
// in order, and the first error. So:
//   - an op may be dropped when nobody uses it, if it has no effect and can't raise;
//   - two ops that have effects or may raise keep their order;
//   - an op may be run where the program would not have run it (speculated, or
//     moved before an op that may raise) only if `is_speculatable`;
//   - an op without effect that can't raise may be moved later, or not be run.
// Tensor ops and calls of sub-DNNs do not raise by contract (docs/ir.md), but some
// are undefined on bad operands (Gather out of range, integer Div by zero): those
// are not speculatable. A host op this file does not know has effects.
#pragma once

#include "ir/function.h"

namespace dycl::passes {

bool has_effect(const ir::Op& op);

// True unless the op's name and types prove that it can't end the run.
bool may_raise(const ir::Function& function, const ir::Op& op);

// True for what must keep its place among its like: has_effect or may_raise.
bool is_ordered(const ir::Function& function, const ir::Op& op);

bool is_speculatable(const ir::Function& function, const ir::Op& op);

// `const` and `weight`: free at run time, so never moved, copied where needed.
bool is_constant(const ir::Op& op);

}  // namespace dycl::passes
