// SPDX-License-Identifier: Apache-2.0
// Files of numpy's, .npy and .npz.
#include <cstdint>
#include <cstdlib>

#include "packages.h"
#include "support/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const dycl::fuzz::File file({data, size});
  const auto arrays = dycl::read_arrays(file.path());
  if (!arrays) return 0;
  for (const dycl::NamedArray& array : *arrays) {
    std::size_t bytes = dycl::size_of(array.dtype);
    for (const std::int64_t extent : array.shape) bytes *= static_cast<std::size_t>(extent);
    if (bytes != array.bytes.size()) std::abort();
  }
  return 0;
}
