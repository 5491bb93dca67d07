// SPDX-License-Identifier: Apache-2.0
// The reference interpreter in Python: what a program means, slowly. For tests and
// verification; decisions and printed text of the last run stay readable after a failure.
#pragma once

#include <nanobind/nanobind.h>

namespace dycl::bindings {

void bind_interpreter(nanobind::module_& module);

}  // namespace dycl::bindings
