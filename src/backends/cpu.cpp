// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu.h"

namespace dycl::backends {

#if defined(__x86_64__)
std::string cpu_features() {
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
std::string cpu_features() { return "aarch64/neon"; }
#else
std::string cpu_features() { return "other/plain"; }
#endif

}  // namespace dycl::backends
