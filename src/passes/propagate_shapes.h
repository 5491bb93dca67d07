// SPDX-License-Identifier: Apache-2.0
// Works out the shapes of tensors, as integer expressions over the program's symbols:
//
//   func @main(%x: f32[N,8]) ...              func @main(%x: f32[N,8]) ...
//     %y = MatMul %x, %w : f32[*]   becomes     %y = MatMul %x, %w : f32[N,10]
//
// What a type already says is believed and kept; `?` and `*` are filled in where
// ONNX's rules leave no doubt (passes/shape_rules.h). Shapes of block parameters
// follow from all their edges, loops included: a parameter first takes the shape it
// enters a loop with, and gives up what a round of the loop contradicts.
#pragma once

#include "ir/program.h"

namespace dycl::passes {

// Returns the number of values whose type says more now.
int propagate_shapes(ir::Program& program);

}  // namespace dycl::passes
