// SPDX-License-Identifier: Apache-2.0
// The compiler in Python: a built program to a package (driver/compile.h), programs
// from files, and passes by name.
#pragma once

#include <nanobind/nanobind.h>

namespace dycl::bindings {

void bind_compiler(nanobind::module_& module);

}  // namespace dycl::bindings
