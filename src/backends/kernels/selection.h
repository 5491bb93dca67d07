// SPDX-License-Identifier: Apache-2.0
// Ordering and choosing as torch's CPU kernels do it, down to the order in which equal elements come.
//
// torch leaves that order open, and gives the one that its algorithms happen to leave: std::partial_sort,
// std::nth_element and std::sort of libstdc++, a quickselect of its own, radix sort of long lines of integers. The
// same calls on the same elements with the same comparisons leave the same order, so they are repeated here. NaN is the
// greatest of all and equal to itself (but for Mode, which compares with < alone).
//
// A tensor is seen as [outer, extent, inner] with lines along the middle. Lines are independent of each other and may
// be computed by different threads. Working memory is the thread's own and stays with it: nothing is allocated once
// it has seen the longest line.
#pragma once

#include <cstdint>

#include "support/dtype.h"

namespace dycl::backends::selection {

enum class Kind : std::int64_t {
  TopK = 0,      // the `k` largest or smallest; sorted, or as they were found
  Sort = 1,      // all of them
  KthValue = 2,  // the k-th smallest alone
  Mode = 3,      // the most frequent one
};
inline constexpr std::int64_t kKinds = 4;

struct Selection {
  Kind kind = Kind::TopK;
  bool descending = true;  // TopK: largest first
  bool sorted = true;      // TopK
  bool stable = false;     // Sort, KthValue: equal elements in the order of their places
  bool flat = false;       // Sort: the tensor has one dim (torch sorts those by other means)
  std::int64_t k = 1;      // TopK: 0 .. extent; KthValue: 1 .. extent
};

struct Lines {
  const void* in = nullptr;
  void* values = nullptr;           // [outer, count_of, inner], or null
  std::int64_t* indices = nullptr;  // the same, or null
  std::int64_t outer = 0, extent = 0, inner = 1;
};

bool takes(DType dtype);

// How many elements of a line are chosen.
std::int64_t count_of(const Selection& how, std::int64_t extent);

// What torch says to a `k` that the extent does not have, or null.
const char* refuses(const Selection& how, std::int64_t extent);

// Lines first .. last - 1 of outer * inner. `takes(dtype)` and not `refuses`.
void select(const Selection& how, DType dtype, const Lines& lines, std::int64_t first, std::int64_t last);

}  // namespace dycl::backends::selection
