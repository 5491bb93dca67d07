// SPDX-License-Identifier: Apache-2.0
// A package made on one machine, with artifacts for another: for this CPU and this
// version of the engine. Starts from the package's own portable artifacts and weights and
// from the program after the passes, which the debug section holds; the model's source is not needed.
// What the package has for other machines stays.
#pragma once

#include <filesystem>

#include "driver/compile.h"

namespace dycl::driver {

// `options.output` may be `package` itself: the new file replaces it when it is complete.
// Each sub-DNN stays with the engine of its portable form; code that an engine made for one CPU alone is not made again,
// which a notice says. Of the other options, debug_info, jobs, use_cache and progress count.
Result<CompileReport> retarget(const std::filesystem::path& package, const CompileOptions& options);

}  // namespace dycl::driver
