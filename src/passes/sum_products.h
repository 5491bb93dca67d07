// SPDX-License-Identifier: Apache-2.0
// Makes one product of matrices of a sum of products, as attention is often written:
//
//   %p = Mul %a, %w : f32[1,196,1024]                    (%a: f32[1,196,1024], %w: f32[1,196,1])
//   %y = ReduceSum %p, %axis {keepdims=0} : f32[1,1024]  (over the 196)
//
// becomes
//
//   %r = Reshape %w, %shape : f32[1,1,196]
//   %m = MatMul %r, %a : f32[1,1,1024]
//   %y = Squeeze %m, %axis : f32[1,1024]
//
// The same products and the same sum; nothing of the size of %a is written and read again. Also for the last axis with
// %w: f32[1,1,1024]. Only where shapes are known, nobody else reads %p, and the matrix is not small.
#pragma once

#include "ir/program.h"

namespace dycl::passes {

// Returns the number of sums replaced.
int sum_products(ir::Program& program);

}  // namespace dycl::passes
