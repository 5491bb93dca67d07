// SPDX-License-Identifier: Apache-2.0
// Better schedules for the kernels of a program, within seconds (docs/backends/tvm.md, "Tuning"): the kernels with most
// work first, each for its share of the time; what was tuned before as long is not tuned again. By itself: beside other
// compilations times would mean nothing.
#pragma once

#include <vector>

#include "backends/tvm/structure_cache.h"

namespace dycl::backends::tvm {

// Fills in what kernels the structures have, keeps records, and tells options.progress and options.notice.
Result<void> tune(const BackendOptions& options, const std::vector<Job>& jobs, std::vector<Structure>& structures,
                  StructureCache& cache);

}  // namespace dycl::backends::tvm
