// SPDX-License-Identifier: Apache-2.0
// A coarse cost model: which tensor ops are worth moving or keeping.
#pragma once

#include "ir/op.h"

namespace dycl::passes {

// True for ops whose work outweighs writing their result to memory and reading
// it back: convolutions, products, recurrences, attention, and ops we do not know.
bool is_heavy(const ir::Op& op);

}  // namespace dycl::passes
