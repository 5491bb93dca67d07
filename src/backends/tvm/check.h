// SPDX-License-Identifier: Apache-2.0
// Is TVM's code for a sub-DNN right? It is run on drawn numbers and on NaNs and infinities and compared with the
// reference (backends/choose/compare.h) before anyone gets it.
#pragma once

#include <filesystem>
#include <vector>

#include "backends/artifact.h"
#include "ir/program.h"
#include "support/result.h"

namespace dycl::backends::tvm {

// An Error if the artifact's results are not the reference's; of kind Missing if it cannot be run here.
Result<void> check(const ir::Program& program, const ir::Function& function, const Artifact& artifact,
                   const std::vector<std::filesystem::path>& plugin_folders);

}  // namespace dycl::backends::tvm
