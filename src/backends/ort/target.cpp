// SPDX-License-Identifier: Apache-2.0
#include "backends/ort/target.h"

#include "backends/cpu.h"

namespace dycl::backends::ort {
namespace {

// What ONNX Runtime's kernels take as the number of channels in a block.
int block_size() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") ? 16 : 8;
#else
  return 0;
#endif
}

}  // namespace

Target this_target(const std::string& engine_version) { return {engine_version, cpu_features(), block_size()}; }

std::string to_string(const Target& target) {
  return "ort-" + target.engine_version + "/" + target.cpu + "/nchwc" + std::to_string(target.block);
}

}  // namespace dycl::backends::ort
