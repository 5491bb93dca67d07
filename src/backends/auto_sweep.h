// SPDX-License-Identifier: Apache-2.0
// Assignments compared as programs: each calls all its sub-DNNs one after the other, so that every sub-DNN finds the
// caches as its neighbours leave them, which it does not when it is timed alone. The assignments take turns.
#pragma once

#include <vector>

#include "backends/trial.h"

namespace dycl::backends {

struct SweptSubDnn {
  Trial* trial = nullptr;
  std::size_t loaded = 0;
  double weight = 1;  // how often it counts
};

// The seconds that each sub-DNN of each program takes: medians. At least kMinSweeps rounds, then until `seconds` have
// passed.
inline constexpr int kMinSweeps = 5;
Result<std::vector<std::vector<double>>> sweep(const std::vector<std::vector<SweptSubDnn>>& programs, double seconds);

}  // namespace dycl::backends
