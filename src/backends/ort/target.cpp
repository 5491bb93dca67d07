// SPDX-License-Identifier: Apache-2.0
#include "backends/ort/target.h"

namespace dycl::backends::ort {
namespace {

#if defined(__x86_64__)
std::string features() {
  __builtin_cpu_init();
  std::string out;
  auto add = [&](bool has, const char* name) {
    if (has) out += (out.empty() ? "" : "+") + std::string(name);
  };
  add(__builtin_cpu_supports("avx"), "avx");
  add(__builtin_cpu_supports("fma"), "fma");
  add(__builtin_cpu_supports("avx2"), "avx2");
  add(__builtin_cpu_supports("avx512f"), "avx512f");
  add(__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"),
      "avx512core");
  add(__builtin_cpu_supports("avx512vnni"), "avx512vnni");
  add(__builtin_cpu_supports("avx512bf16"), "avx512bf16");
  return "x86_64/" + (out.empty() ? "sse2" : out);
}
#elif defined(__aarch64__)
std::string features() { return "aarch64/neon"; }
#else
std::string features() { return "other/plain"; }
#endif

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

Target this_target(const std::string& engine_version) { return {engine_version, features(), block_size()}; }

std::string to_string(const Target& target) {
  return "ort-" + target.engine_version + "/" + target.cpu + "/nchwc" + std::to_string(target.block);
}

}  // namespace dycl::backends::ort
