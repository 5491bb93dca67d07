// SPDX-License-Identifier: Apache-2.0
// The commands that are written in Python: `dycl` hands them over to `python -m dycl`.
#pragma once

#include <string>
#include <vector>

#include "console.h"

namespace dycl::tools {

// file.py, file.py:factory, package.module:factory, a folder that TensorFlow saved: not a file that C++ reads.
bool is_python(const std::string& source);

// Replaces this process by the front end; returns, with an exit code, only if there is none.
int exec_front_end(const Console& console, const std::string& command, const std::vector<std::string>& arguments);

}  // namespace dycl::tools
