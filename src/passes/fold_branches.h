// SPDX-License-Identifier: Apache-2.0
// Replaces a choice that is no choice by a jump:
//
//   branch %true, ^a(%x), ^b       becomes   goto ^a(%x)
//   branch %c, ^a(%x), ^a(%x)      becomes   goto ^a(%x)
//   branch %not_c, ^a, ^b          becomes   branch %c, ^b, ^a
//   switch %two, [2: ^a], ^b       becomes   goto ^a
//
// The losing block stays, so the change is local; drop_unreachable comes next.
#pragma once

#include "ir/program.h"

namespace dycl::passes {

// Returns the number of exits changed.
int fold_branches(ir::Program& program);

}  // namespace dycl::passes
