// SPDX-License-Identifier: Apache-2.0
#include "backends/kernels/dense/kernels.h"

#include <cstring>

namespace dycl::backends::dense {

extern const Kernels kernels_any;
#if defined(__x86_64__)
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;
#endif

namespace {

struct Available {
  const Kernels* tables[3];
  std::size_t count = 0;

  Available() {
#if defined(__x86_64__)
    const bool fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (fma && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
      tables[count++] = &kernels_avx512;
    if (fma) tables[count++] = &kernels_avx2;
#endif
    tables[count++] = &kernels_any;
  }
};

const Available& all_tables() {
  static const Available tables;
  return tables;
}

}  // namespace

const Kernels& best() { return *all_tables().tables[0]; }

bool has_wide_vectors() { return &best() != &kernels_any; }

const Kernels* const* available(std::size_t* count) {
  *count = all_tables().count;
  return all_tables().tables;
}

void pack(const float* b, std::int64_t n, std::int64_t k, bool transposed, float* out) {
  for (std::int64_t at = 0; at < n; at += kPanel) {
    const std::int64_t width = n - at > kPanel / 2 ? kPanel : kPanel / 2;
    const std::int64_t columns = n - at < width ? n - at : width;
    float* panel = out + at * k;
    if (columns < width) std::memset(panel, 0, static_cast<std::size_t>(width * k) * sizeof(float));
    if (!transposed) {
      for (std::int64_t p = 0; p < k; ++p)
        std::memcpy(panel + p * width, b + p * n + at, static_cast<std::size_t>(columns) * sizeof(float));
      continue;
    }
    constexpr std::int64_t kStrip = 16;  // elements of a line that are in the cache together
    for (std::int64_t first = 0; first < k; first += kStrip)
      for (std::int64_t j = 0; j < columns; ++j)
        for (std::int64_t p = first; p < k && p < first + kStrip; ++p) panel[p * width + j] = b[(at + j) * k + p];
  }
}

}  // namespace dycl::backends::dense
