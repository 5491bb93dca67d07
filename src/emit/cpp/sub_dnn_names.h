// SPDX-License-Identifier: Apache-2.0
// What sub-DNNs are called in emitted C++: after the modules whose weights they hold (kLayers3, kLayers3ToHead), after
// their ops where they hold none (kArgMax).
#pragma once

#include <string>
#include <vector>

#include "package/read_program.h"

namespace dycl::emit {

// By index in the package's plan; no two are equal.
std::vector<std::string> cpp_sub_dnn_names(const package::PackageProgram& package);

}  // namespace dycl::emit
