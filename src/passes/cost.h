// SPDX-License-Identifier: Apache-2.0
// A coarse cost model: which tensor ops are worth moving or keeping.
#pragma once

#include "ir/function.h"

namespace dycl::passes {

// True for ops whose work outweighs writing their result to memory and reading
// it back: convolutions, products, recurrences, attention, and ops we do not know.
bool is_heavy(const ir::Op& op);

// About how many multiply-adds a tensor op does, by its declared shapes. Light ops count
// nothing; a heavy op whose shapes are not known counts as if it were large.
double work_of(const ir::Function& function, const ir::Op& op);

}  // namespace dycl::passes
