// SPDX-License-Identifier: Apache-2.0
// Computes tensor ops on constants where every engine must agree to the last bit:
// ops that move elements, and integer arithmetic.
//
//   %w = weight @fc                            %t = weight @fc.Transpose
//   %t = Transpose %w {perm=[1,0]}   becomes   %n = const i64[2] [1,8]
//   %n = Shape %x                              (%x: f32[1,8])
//
// So a weight is stored once in the form in which it is used, and shapes that are
// computed from shapes are known. Arithmetic on floats is left to the engine that
// will do the rest of it. Small results are literals, others new weights.
#pragma once

#include "ir/program.h"

namespace dycl::passes {

// Returns the number of ops folded.
int fold_tensor_constants(ir::Program& program);

}  // namespace dycl::passes
