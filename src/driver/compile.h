// SPDX-License-Identifier: Apache-2.0
// The whole flow from a program to a package, in one function: verify, passes, back
// end, package. Called by the command line and by the Python binding alike.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backends/default_engine.h"
#include "ir/program.h"
#include "passes/pipeline.h"
#include "support/result.h"

namespace dycl::driver {

struct CompileOptions {
  std::string backend = backends::kDefaultEngine;  // or "auto": chosen per sub-DNN by measuring
  int threads = 1;                                 // of use, for what auto measures
  double budget = 20;                              // seconds that auto may spend on candidates
  double tune = 0;                                 // seconds for better code, of engines that can be tuned
  int jobs = 0;                          // processes that may compile at once; 0: as many as cores and memory allow
  std::filesystem::path output;          // the package
  std::vector<std::string> skip_passes;  // by name
  std::filesystem::path dump_folder;     // IR text after every pass goes here; empty: nowhere
  bool portable_only = false;            // no artifacts for this machine's CPU
  std::vector<std::filesystem::path> plugin_folders;     // for auto: looked through before the usual ones
  bool use_cache = true;                                 // what engines made before (backends/cache.h)
  bool debug_info = true;                                // keep IR text and source lines in the package
  std::map<std::string, std::string> source_texts;       // by name in Program::sources
  std::function<void(std::string_view stage)> progress;  // at the start of each stage, and within tuning
};

struct StageTime {
  std::string name;
  double seconds = 0;
};

// What was made, for people and for --json.
struct CompileReport {
  std::vector<StageTime> stages;
  std::vector<passes::PassTiming> passes;
  std::size_t blocks = 0, ops = 0, sub_dnns = 0, calls = 0, artifacts = 0, weights = 0;
  std::uint64_t package_bytes = 0;
  double engine_seconds = 0;                   // of the back end's stage: inside the engine's own library
  std::size_t engine_calls = 0;                // how often an engine compiled; 0: all came from the cache
  std::map<std::string, std::size_t> engines;  // sub-DNNs per back end
  std::vector<std::string> notices;
};

// Blocks, ops, sub-DNNs and calls of an outlined program.
void count(const ir::Program& program, CompileReport& report);

// Takes the program over: passes rewrite it.
Result<CompileReport> compile(ir::Program program, const CompileOptions& options);

}  // namespace dycl::driver
