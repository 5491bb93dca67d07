// SPDX-License-Identifier: Apache-2.0
// For test_driver.py: a target with faults that mutations find.
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const char* fault = std::getenv("FAULT");
  if (!fault || size == 0 || data[0] == 'g') return 0;
  if (std::strcmp(fault, "abort") == 0) std::abort();
  if (std::strcmp(fault, "signal") == 0) std::raise(SIGSEGV);
  return 0;
}
