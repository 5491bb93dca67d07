// SPDX-License-Identifier: Apache-2.0
// What a guard of a plan asks (plan.h): whether every number is finite and at most kModerate in magnitude. A function
// of its operands; any thread.
#pragma once

#include <cstddef>

namespace dycl::backends::tvm {

bool is_moderate(const float* data, std::size_t count);

}  // namespace dycl::backends::tvm
