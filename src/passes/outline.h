// SPDX-License-Identifier: Apache-2.0
// Moves the tensor ops of every block into sub-DNN functions and leaves calls:
// after this pass a host function computes no tensor itself.
//
//   %h = MatMul %x, %w             %h, %m = call @s0(%x)
//   %m = ReduceMax %h    becomes   %p = item %m : float
//   %p = item %m : float           ...
//   ...
//
// A block gets as few calls as its dependences allow: a tensor op waits only for
// the host ops it depends on, so a predicate is computed with the block's work.
// Values used only inside stay inside; weights, tensor constants and small
// expressions of them are copied in. An op that does not have to run in an early
// call runs in a later one if that makes fewer values cross. Ops with effects or
// errors keep their order, and what is not speculatable stays behind those that
// preceded it (passes/effects.h).
#pragma once

#include "ir/program.h"

namespace dycl::passes {

// Returns the number of sub-DNNs made.
int outline(ir::Program& program);

}  // namespace dycl::passes
