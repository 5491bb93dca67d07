// SPDX-License-Identifier: Apache-2.0
// The plan of a TVM artifact. Its kernels are machine code, loaded with consent alone, and not tried here.
#include <cstdint>

#include "backends/tvm/plan.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)dycl::backends::tvm::read_plan({data, size});
  return 0;
}
