// SPDX-License-Identifier: Apache-2.0
// The program that a package holds: after the passes, as its debug section keeps it, with the weights and
// the source lines stored beside it. What emission starts from, so that it needs no model and no Python.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "ir/program.h"
#include "runtime/container.h"
#include "runtime/plan.h"
#include "support/result.h"

namespace dycl::package {

struct PackageProgram {
  std::shared_ptr<const runtime::Container> container;  // keeps the bytes of weights
  ir::Program program;                                  // outlined; weights that engines folded have no bytes
  runtime::Plan plan;
  std::vector<runtime::PlanWeight> weights;
  runtime::DebugInfo debug;

  // A line of the user's source, without the spaces around it; "" if it is not kept.
  std::string line(const SourceSpan& span) const;
};

// A stripped package is Missing, with the remedy.
Result<PackageProgram> read_package_program(const std::filesystem::path& path);

}  // namespace dycl::package
