// SPDX-License-Identifier: Apache-2.0
// Plain structs to the FlatBuffers sections of a package: the inverse of runtime/plan_read.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan.h"

namespace dycl::package {

std::vector<std::uint8_t> write_plan(const runtime::Plan& plan);
std::vector<std::uint8_t> write_weight_index(const std::vector<runtime::PlanWeight>& weights);
std::vector<std::uint8_t> write_debug_info(const runtime::DebugInfo& debug);

}  // namespace dycl::package
