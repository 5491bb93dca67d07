// SPDX-License-Identifier: Apache-2.0
// TVM's compiler is Python and runs in processes of its own (backends/processes/worker.h): `python
// <folder>/tvm_compiler`. The interpreter is DYCL_TVM_PYTHON, else the one of the build, else python3.
#pragma once

#include <string>
#include <vector>

#include "support/result.h"

namespace dycl::backends::tvm {

// What starts such a process.
Result<std::vector<std::string>> compiler_command();

// Nothing, if a process that compiles can be started here; else an Error that says what is missing. Quick: TVM is
// looked for, not imported.
Result<void> compiler_is_there();

// The sources of the compiling program, one after the other: what the cache keeps was made by these. Empty if it is not
// there.
std::string compiler_sources();

}  // namespace dycl::backends::tvm
