// SPDX-License-Identifier: Apache-2.0
// The threads that help with products of small programs when an engine has more than one. One piece of work at a time;
// whoever comes while the helpers are busy does theirs alone. The caller takes parts as the helpers do, so that helpers
// which the system does not let run cost nothing. Helpers look for work for some microseconds and then sleep; they are
// started by the first work.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace dycl::backends::dense {

class HelperThreads {
 public:
  using Part = void (*)(void* data, std::int64_t part);

  // `threads` counts the caller. Without `spins` helpers sleep at once.
  HelperThreads(int threads, bool spins) : helpers_wanted_(threads - 1), spins_(spins) {}
  HelperThreads(const HelperThreads&) = delete;
  HelperThreads& operator=(const HelperThreads&) = delete;
  ~HelperThreads();

  int threads() const { return helpers_wanted_ + 1; }

  // Calls `part` with 0 ... parts - 1, each once, and returns when all have returned.
  void run(std::int64_t parts, Part part, void* data);

 private:
  void start();
  void help();
  void take_parts();

  const int helpers_wanted_;
  const bool spins_;
  std::mutex one_at_a_time_;
  std::vector<std::thread> helpers_;

  // The work: written while `open_` is false and nobody is inside.
  Part part_ = nullptr;
  void* data_ = nullptr;
  std::int64_t parts_ = 0;
  std::atomic<std::int64_t> next_{0};
  std::atomic<bool> open_{false};
  std::atomic<int> inside_{0};
  std::atomic<std::uint32_t> calls_{0};  // rises with each work; what helpers wait for
  std::atomic<bool> ends_{false};
};

}  // namespace dycl::backends::dense
