// SPDX-License-Identifier: Apache-2.0
// Other forms of a compiled program in Python (emit/emit.h).
#pragma once

#include <nanobind/nanobind.h>

namespace dycl::bindings {

void bind_emitter(nanobind::module_& module);

}  // namespace dycl::bindings
