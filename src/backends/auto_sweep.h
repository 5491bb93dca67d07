// SPDX-License-Identifier: Apache-2.0
// Assignments compared as programs: each calls its sub-DNNs along ways through the program, so that every sub-DNN finds
// the caches as a run leaves them, which it does not when it is timed alone. The assignments take turns on the same
// way.
#pragma once

#include <vector>

#include "backends/trial.h"

namespace dycl::backends {

// A sub-DNN of a program; no trial: it is not called.
struct SweptSubDnn {
  Trial* trial = nullptr;
  std::size_t loaded = 0;
};

// What was measured of some programs, in rounds in which each of them ran one way.
struct SweepTimes {
  std::vector<std::vector<double>> medians;  // by program and sub-DNN: seconds of a call; 0: never called
  std::vector<std::vector<double>> totals;   // by program and round: seconds
  std::vector<std::size_t> ways;             // of each round

  // One program's time in another's: the mean over ways of medians over rounds, and how far it may be off (95 %).
  struct Ratio {
    double median = 1, margin = 0;
  };
  Ratio ratio(std::size_t program, std::size_t of) const;
  double mean(std::size_t program) const;  // seconds of a run
};

// At least kMinSweeps rounds and each way once, if that takes less than twice the time; then until `seconds` have
// passed. Short ways run twice: what the program before left in the caches is not counted.
inline constexpr int kMinSweeps = 7;
Result<SweepTimes> sweep(const std::vector<std::vector<SweptSubDnn>>& programs,
                         const std::vector<std::vector<std::size_t>>& ways, double seconds);

}  // namespace dycl::backends
