// SPDX-License-Identifier: Apache-2.0
// The passes in the order in which a program meets them: one table, and one
// wrapper that skips by name, times, verifies and dumps. A pass that is listed
// twice runs twice; a name in the options speaks of every place it has.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"
#include "support/result.h"

namespace dycl::passes {

struct PassEntry {
  const char* name;
  const char* sentence;      // what it does, for --help
  int (*run)(ir::Program&);  // returns its count of changes
};

std::span<const PassEntry> pipeline();

struct PassTiming {
  std::string name;
  int changes = 0;
  double seconds = 0;
};

struct PipelineOptions {
  std::vector<std::string> skip;  // passes to leave out
  std::vector<std::string> only;  // run exactly these, in this order; empty: the table
  bool verify = true;             // check the program before the first and after every pass
  // Called after each pass with the program as it is then.
  std::function<void(std::string_view pass, const ir::Program&)> dump;
};

// An unknown name or an invalid input program is an Error; a pass that breaks
// the program is an InternalError that names the pass. What each pass did is
// returned in order.
Result<std::vector<PassTiming>> run_pipeline(ir::Program& program, const PipelineOptions& options = {});

}  // namespace dycl::passes
