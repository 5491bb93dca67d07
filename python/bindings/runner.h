// SPDX-License-Identifier: Apache-2.0
// The runtime in Python: Program (a loaded package, shared by threads) and Run (one
// caller's buffers and states). Arguments are views of the caller's tensors, without
// a copy; results are copied out, because a Run reuses its buffers. The GIL is
// released while the program runs and taken again for callbacks.
#pragma once

#include <nanobind/nanobind.h>

#include <filesystem>
#include <vector>

namespace dycl::bindings {

void bind_runner(nanobind::module_& module);

// Where the build puts plug-ins, as seen from this module.
std::vector<std::filesystem::path> nearby_plugin_folders();

}  // namespace dycl::bindings
