// SPDX-License-Identifier: Apache-2.0
// Packages whose metadata is damaged.
#include "packages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dycl::fuzz::load_and_run({data, size});
  return 0;
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  return dycl::fuzz::mutate_section(data, size, most, seed, "metadata");
}
