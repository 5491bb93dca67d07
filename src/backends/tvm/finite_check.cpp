// SPDX-License-Identifier: Apache-2.0
#include "backends/tvm/finite_check.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "backends/tvm/plan.h"

// Sanitizers are not up yet when the versions of a function are chosen between.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define DYCL_WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define DYCL_WIDE
#endif

namespace dycl::backends::tvm {
namespace {

// Magnitudes are ordered as the bits without the sign are: infinities above all numbers, NaNs above infinities.
std::uint32_t magnitude(float x) { return std::bit_cast<std::uint32_t>(x) & 0x7fffffffU; }

constexpr std::size_t kLanes = 64;

DYCL_WIDE std::uint32_t largest(const float* data, std::size_t count) {
  std::uint32_t found[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t l = 0; l < kLanes; ++l) found[l] = std::max(found[l], magnitude(data[i + l]));
  std::uint32_t all = 0;
  for (const std::uint32_t one : found) all = std::max(all, one);
  for (; i < count; ++i) all = std::max(all, magnitude(data[i]));
  return all;
}

}  // namespace

bool is_moderate(const float* data, std::size_t count) { return largest(data, count) <= magnitude(kModerate); }

}  // namespace dycl::backends::tvm
