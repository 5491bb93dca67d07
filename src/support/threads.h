// SPDX-License-Identifier: Apache-2.0
// How many threads somebody may ask an engine for: checked before an engine sees the number, because engines start as
// many as they are told and end the process when the system has no more.
#pragma once

#include <cstdint>
#include <string>

#include "support/result.h"

namespace dycl {

inline constexpr int kMostThreads = 1024;

inline Result<void> check_threads(std::int64_t threads) {
  if (threads >= 0 && threads <= kMostThreads) return {};
  return Error{ErrorKind::InvalidInput,
               "the number of threads is " + std::to_string(threads),
               "give 1 to " + std::to_string(kMostThreads) + ", or 0: as many as there are cores",
               {},
               {}};
}

}  // namespace dycl
