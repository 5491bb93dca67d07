// SPDX-License-Identifier: Apache-2.0
// Tasks that do not depend on each other, done in parallel: by the calling thread, and by threads that each hand
// theirs to a process of its own (worker.h). Callers put results together in an order of their own, so that it does not
// matter which task is done first. How many helpers pay is the caller's to know: none for few or tiny tasks.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace dycl::backends {

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

// How many processes may compile at once: cores that this process may use, and memory that is free, each of them taking
// `bytes`. At least 1. `wanted` > 0 is taken instead of the number of cores.
std::size_t processes_at_once(int wanted, std::uint64_t bytes);

struct ParallelTasks {
  std::size_t helpers = 0;  // beside the calling thread
  // Task i is always done by the same one of them: for engines that count what they have done in a process and name
  // things by it. Else by whoever is free.
  bool is_fixed = false;

  std::function<void(std::size_t task)> here;                       // in the calling thread
  std::function<void(std::size_t helper, std::size_t task)> there;  // helper: 1, 2, ...

  // Tasks 0 to count-1, begun in this order. Returns when all are done. What a task throws is thrown here, afterwards.
  void run(std::size_t count) const;
};

}  // namespace dycl::backends
