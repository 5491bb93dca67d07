// SPDX-License-Identifier: Apache-2.0
// Random programs, valid by construction, that always end: branches, switches, counted
// loops (some with a break), early returns, lists, optionals, states, tensors with a
// symbolic dim, sub-DNNs. The same seed gives the same program everywhere.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/host_value.h"
#include "ir/program.h"

namespace dycl::generate {

struct GenerateOptions {
  int size = 40;          // about so many statements
  int depth = 3;          // of nested branches and loops
  bool calls = true;      // sub-DNNs and calls of them
  bool effects = true;    // print, check, rand.*
  bool failures = false;  // ops that may fail at run time, and raise: errors are results too
  bool exotic = false;    // for the text form: ops and attributes that no evaluator knows, odd names, spans
};

ir::Program generate_program(std::uint64_t seed, const GenerateOptions& options = {});

// Arguments for main that fit its parameters (symbols bound alike).
std::vector<ir::HostValue> generate_arguments(const ir::Program& program, std::uint64_t seed);

}  // namespace dycl::generate
