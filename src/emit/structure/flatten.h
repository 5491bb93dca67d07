// SPDX-License-Identifier: Apache-2.0
// Keeps guards from piling up. From depth `max_nesting` on, what is guarded twice is guarded once by both:
//
//   unless a                unless a
//     S                       S
//     unless b       ->     unless a b
//       T                     T
//     U                     unless a
//                             U
//
// Sound because a flag once set stays set until its place is reached, which lies behind all that it guards.
#pragma once

#include "emit/structure/structure.h"

namespace dycl::emit::recovery {

void flatten_guards(Sequence& body, int max_nesting);

}  // namespace dycl::emit::recovery
