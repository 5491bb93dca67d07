// SPDX-License-Identifier: Apache-2.0
// Whether a shared library is whole. The system maps what an ELF file's headers name without a look at the file's size,
// so that a truncated library (a copy that ran out of space) ends the process with SIGBUS while it is being opened.
#pragma once

#include <string>

#include "support/result.h"

namespace dycl {

// For dlopen's argument: a path, or a name without a folder, which is looked for in LD_LIBRARY_PATH alone. Libraries
// that it needs in turn are not looked at. No error: what is whole, and what dlopen itself will refuse with words
// (nothing there, no ELF file, another machine's).
Result<void> check_shared_library(const std::string& name);

}  // namespace dycl
