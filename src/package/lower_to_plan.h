// SPDX-License-Identifier: Apache-2.0
// Lowers an outlined program to an execution plan: blocks become straight code, block
// parameters become moves on edges, constants become preset registers, and every
// tensor or list is marked at its last use so that its memory is reused.
#pragma once

#include <string>
#include <vector>

#include "backends/artifact.h"
#include "ir/program.h"
#include "runtime/plan.h"
#include "support/result.h"

namespace dycl::package {

struct Lowered {
  runtime::Plan plan;                // artifacts without offset, size and checksum
  runtime::DebugInfo debug;          // without texts
  std::vector<std::string> weights;  // names; a plan's weight index counts here
};

Result<Lowered> lower_to_plan(const ir::Program& program, const std::vector<backends::SubDnnArtifacts>& artifacts);

}  // namespace dycl::package
