// SPDX-License-Identifier: Apache-2.0
// What many runs of a package show together: which paths they took and how often, and where the time went, by place in
// the model's source. Measured once; told as a table, as JSON (which `dycl view --profile` reads) and as events for
// the trace viewers of Chrome and Perfetto. Knows the runtime alone.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "dycl/runtime.h"
#include "inputs.h"
#include "support/result.h"

namespace dycl::tools {

// One run: on which input, how long, which way, and its calls.
struct ProfiledRun {
  std::string input;
  double seconds = 0;
  std::string error;  // what the program raised; "" if it returned
  std::vector<runtime::Outcome> trace;
  std::vector<runtime::TimedCall> calls;
};

// Runs the program on each input, after `warmup` runs on the first: `repeat` times, of which the fastest counts, so that
// what the machine did in between does not. Each repetition draws the same random numbers. What a program raises is a
// part of the profile; an input that does not fit it is an error.
Result<std::vector<ProfiledRun>> profile_runs(runtime::Run& run, const std::vector<std::pair<std::string, Inputs>>& inputs,
                                              int warmup, int repeat);

// docs/view.md has the fields.
nlohmann::ordered_json profile_json(const runtime::Program& program, const std::vector<ProfiledRun>& runs);

std::string profile_table(const nlohmann::ordered_json& profile);

// Two profiles of the same inputs, side by side.
std::string comparison_table(const nlohmann::ordered_json& one, const nlohmann::ordered_json& other);

// The JSON array format of Chrome's trace viewer, which Perfetto reads.
nlohmann::ordered_json chrome_trace(const runtime::Program& program, const std::vector<ProfiledRun>& runs);

}  // namespace dycl::tools
