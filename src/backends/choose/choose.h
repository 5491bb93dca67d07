// SPDX-License-Identifier: Apache-2.0
// Chooses a back end for each sub-DNN by measuring. ONNX Runtime takes everything and is where
// one starts; a sub-DNN of known shapes is also compiled by every other back
// end that takes it, compared with the reference on drawn operands (beyond the tolerance it is dropped and
// named), and timed by turns in the threads of use. Of sub-DNNs that differ in their weights alone one is measured.
//
// What is minimised is the program's total along drawn ways (call_paths.h). ONNX Runtime's sub-DNNs exchange tensors in
// a blocked layout, and so do those of engines that share it (TVM); one that goes to another engine takes its
// neighbours' layout with it, so the cost of a sub-DNN in ONNX Runtime depends on who has the sub-DNNs it shares values
// with: it is timed in both forms. Sub-DNNs are timed alone, and then within a program of each engine (race.h).
// The search starts from one engine for all and flips single sub-DNNs and whole groups of neighbours as long as the
// total falls. What it finds, and each engine for all that it takes, is then run as a whole program by turns with ONNX
// Runtime's and must gain kMinGain and more than the rounds differ, else ONNX Runtime keeps all.
//
// Candidates of an engine are compiled in parallel, the sub-DNNs that take most time first, and then timed with
// nothing beside them, until the budget is spent.
#pragma once

#include <string>
#include <vector>

#include "backends/assign.h"

namespace dycl::backends {

inline constexpr double kMinGain = 0.01;         // with one thread
inline constexpr double kMinGainThreaded = 0.1;  // with more: a mixture's pools do not spin

struct AutoOptions {
  int threads = 1;
  double budget = 20;  // seconds of compiling and measuring candidates
  double tune = 0;     // seconds beside these, for engines that can be tuned
};

// What one back end did with one sub-DNN.
struct Candidate {
  std::string backend;
  double micros = 0;        // of a call
  double plain_micros = 0;  // the same with all its values in plain layout
  std::string dropped;      // why it was not in the choice; empty: it was
};

struct SubDnnChoice {
  std::string function, chosen;
  double weight = 0;  // calls per run that are counted
  std::vector<Candidate> candidates;
};

struct AutoReport {
  std::vector<SubDnnChoice> sub_dnns;
  double default_micros = 0;  // the program's total in the default engine, as far as measured
  double chosen_micros = 0;   // and as chosen
  std::string summary;        // one sentence
};

Result<Assignment> choose_backends(const ir::Program& program, const BackendOptions& options, const AutoOptions& limits,
                                   AutoReport& report);

}  // namespace dycl::backends
