// SPDX-License-Identifier: Apache-2.0
#include "support/memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace dycl {
namespace {

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

std::uint64_t of_system() {
  std::ifstream lines("/proc/meminfo");
  std::string name, unit;
  for (std::uint64_t kibibytes = 0; lines >> name >> kibibytes && std::getline(lines, unit);)
    if (name == "MemAvailable:") return kibibytes * 1024;
  return kUnknown;
}

// A container sees its own group there; "max" is no number.
std::uint64_t of_group() {
  for (const char* file : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::uint64_t bytes = 0;
    if (std::ifstream(file) >> bytes) return bytes;
  }
  return kUnknown;
}

}  // namespace

std::uint64_t available_memory() { return std::min(of_system(), of_group()); }

Result<void> check_fits_into_memory(std::uint64_t size, const std::string& name) {
  constexpr std::uint64_t kNotWorthAsking = 64 << 20;
  if (size <= kNotWorthAsking || size <= available_memory()) return {};
  return Error{ErrorKind::RuntimeFailure,
               "no memory for " + name + " of " + std::to_string(size) + " bytes",
               "it is held in memory as a whole",
               {},
               "MemoryError"};
}

}  // namespace dycl
