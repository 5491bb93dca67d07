// SPDX-License-Identifier: Apache-2.0
// Ways through a program, drawn without knowing its inputs: at a branch either side is as likely, a loop goes on with
// 7 in 8 (8 turns on average), ways into an error are not taken. What a program takes is measured along such ways,
// because a sub-DNN that few others ran before finds its caches as a short run leaves them, and how often a sub-DNN
// counts is how often they call it. The same program always gives the same ways.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/program.h"

namespace dycl::backends {

// Names of the sub-DNNs that one run calls, in order.
using CallPath = std::vector<std::string>;

std::vector<CallPath> draw_paths(const ir::Program& program, std::size_t count);

// Calls per run, of every sub-DNN; at least kRarely, also where no way leads.
inline constexpr double kRarely = 0.01;
std::map<std::string, double> call_weights(const ir::Program& program);

}  // namespace dycl::backends
