// SPDX-License-Identifier: Apache-2.0
// IR text: what parses is verified, and printed so that it parses again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto program = dycl::ir::parse({reinterpret_cast<const char*>(data), size});
  if (!program || !dycl::ir::verify(*program).empty()) return 0;
  if (!dycl::ir::parse(dycl::ir::print(*program))) std::abort();
  return 0;
}
