// SPDX-License-Identifier: Apache-2.0
// Keeps decisions from nesting where nothing has to. What follows an arm that never falls through needs no `else`:
//
//   if a: (A; return) else: B   ->   if a: (A; return); B
//
// Where decisions only ask whether to go on, a chain of at least kShortestChain
// becomes a block that runs once and is left by `break`, as the user's unrolled loop was:
//
//   if a                    once
//     A                       if a
//   else                        A
//     B               ->        break
//     if b                    B
//       C                     if b
//     else                      C
//       ...                     break
//                             ...
//
// Not where an arm breaks or continues a loop around it: that would leave the new block instead.
#pragma once

#include "emit/structure/structure.h"

namespace dycl::emit::recovery {

inline constexpr int kShortestChain = 4;

void leave_early(Sequence& body);

}  // namespace dycl::emit::recovery
