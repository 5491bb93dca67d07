// SPDX-License-Identifier: Apache-2.0
// Jumps of a sequence become falling through, break, continue and flags: the second half of structure recovery. Places
// are what jumps lead to, from the inside; a jump that nothing else expresses sets its place's flag, and what lies
// between is guarded by it.
#pragma once

#include "emit/structure/sequence.h"
#include "emit/structure/structure.h"

namespace dycl::emit::recovery {

// Appends to the body of `out` and numbers its flags.
void resolve_jumps(RawSequence sequence, const StructureOptions& options, Structure& out);

}  // namespace dycl::emit::recovery
