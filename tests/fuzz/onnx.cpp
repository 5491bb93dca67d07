// SPDX-License-Identifier: Apache-2.0
// ONNX models: what is imported is a valid program.
#include <cstdint>
#include <cstdlib>

#include "ir/verify.h"
#include "onnx/import/import.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto program = dycl::onnx::import_model(dycl::ir::Bytes::copy_of(data, size), "/nonexistent");
  if (program && !dycl::ir::verify(*program).empty()) std::abort();
  return 0;
}
