// SPDX-License-Identifier: Apache-2.0
// A choice by measuring (choose.h), of a program that is cut for it (cuts.h), remembered in the cache: for the same
// program, weights, engines and limits it is not measured again.
#pragma once

#include "backends/assign.h"
#include "backends/choose/choose.h"

namespace dycl::backends {

// Says what was chosen and why, and keeps it in the program's metadata ("auto") for `dycl inspect`. `program` is then
// cut where its parts go to different engines. An Error if the default engine is missing.
Result<Assignment> assign_by_measuring(ir::Program& program, const BackendOptions& options, const AutoOptions& limits);

}  // namespace dycl::backends
