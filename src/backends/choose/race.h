// SPDX-License-Identifier: Apache-2.0
// Assignments compared as programs: each calls its sub-DNNs along ways through the program, so that every sub-DNN finds
// the caches as a run leaves them, which it does not when it is timed alone. The assignments take turns on the same
// way.
#pragma once

#include <vector>

#include "backends/choose/trial.h"

namespace dycl::backends {

// A sub-DNN of a program; no trial: it is not called.
struct RacingSubDnn {
  Trial* trial = nullptr;
  std::size_t loaded = 0;
};

// What was measured of some programs, in rounds in which each of them ran one way. A program that was given up has
// fewer rounds; what is compared are the rounds that both have.
struct RaceTimes {
  std::vector<std::vector<double>> medians;  // by program and sub-DNN: seconds of a call; 0: never called
  std::vector<std::vector<double>> totals;   // by program and round: seconds
  std::vector<std::size_t> ways;             // of each round

  // One program's time in another's: the mean over ways of medians over rounds, and how far it may be off (95 %).
  struct Ratio {
    double median = 1, margin = 0;
  };
  Ratio ratio(std::size_t program, std::size_t of) const;
  double mean(std::size_t program) const;  // seconds of a run

  // The program to take: the best of the first `uniform`, or one of the others that is better than that. Each step from
  // the first program on must gain `needed` of its time and more than what the comparison may be off; a step to one of
  // the others must gain `mixed`. Where that is not clear, it stays.
  std::size_t best(std::size_t uniform, double needed, double mixed) const;
};

// At least kMinRounds rounds, then until `seconds` have passed or nothing is in question any more: a program that is
// clearly slower than the best one is given up, the first one never. Of the ways as many are taken, at least kMinWays,
// as can be run kRepeats times each. Short ways run twice: what the program before left in the caches is not counted.
inline constexpr std::size_t kMinRounds = 9, kMinWays = 3, kRepeats = 6;
Result<RaceTimes> race(const std::vector<std::vector<RacingSubDnn>>& programs,
                       const std::vector<std::vector<std::size_t>>& ways, double seconds);

}  // namespace dycl::backends
