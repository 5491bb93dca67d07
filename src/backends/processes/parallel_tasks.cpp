// SPDX-License-Identifier: Apache-2.0
#include "backends/processes/parallel_tasks.h"

#include <sched.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <fstream>
#include <limits>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace dycl::backends {
namespace {

std::size_t cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::size_t count = ::sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<std::size_t>(CPU_COUNT(&set)) : 1;
  std::ifstream file("/sys/fs/cgroup/cpu.max");  // "200000 100000": quota and period; "max ...": none
  double quota = 0, period = 0;
  if (file >> quota >> period && quota > 0 && period > 0)
    count = std::min(count, std::max<std::size_t>(1, static_cast<std::size_t>(quota / period)));
  return std::max<std::size_t>(count, 1);
}

std::uint64_t free_memory() {
  std::uint64_t free = std::numeric_limits<std::uint64_t>::max();
  std::ifstream info("/proc/meminfo");
  std::string word;
  while (info >> word)
    if (word == "MemAvailable:" && info >> free) free *= 1024;
  std::uint64_t limit = 0, used = 0;
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> limit && std::ifstream("/sys/fs/cgroup/memory.current") >> used)
    free = std::min(free, limit > used ? limit - used : 0);
  return free;
}

}  // namespace

std::size_t processes_at_once(int wanted, std::uint64_t bytes) {
  const std::size_t count = wanted > 0 ? static_cast<std::size_t>(wanted) : cores();
  const std::uint64_t fitting = free_memory() / std::max<std::uint64_t>(bytes, 1);
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::min<std::uint64_t>(count, fitting)));
}

void ParallelTasks::run(std::size_t count) const {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr thrown;
  const std::size_t all = 1 + std::min(helpers, count > 0 ? count - 1 : 0);
  const auto work = [&](std::size_t who) {
    for (std::size_t i = is_fixed ? who : next++; i < count; i = is_fixed ? i + all : next++) {
      try {
        who == 0 ? here(i) : there(who, i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!thrown) thrown = std::current_exception();
      }
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t helper = 1; helper < all; ++helper) threads.emplace_back(work, helper);
  work(0);
  for (std::thread& thread : threads) thread.join();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace dycl::backends
