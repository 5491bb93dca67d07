// SPDX-License-Identifier: Apache-2.0
// Python's lists, as the walker and emitted host programs both need them: what an index
// means, and elements that are shared, not moved. Elements are reference counted by their
// list's heap; none of this allocates but for the list's own growth.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/heap.h"

namespace dycl::runtime {

// Python's index: negative counts from the end. False if it is out of range.
inline bool resolve(std::int64_t index, std::size_t size, std::size_t* out) {
  const auto n = static_cast<std::int64_t>(size);
  if (index < -n || index >= n) return false;
  *out = static_cast<std::size_t>(index < 0 ? index + n : index);
  return true;
}

// Python's slice bound, clamped to [0, size].
inline std::size_t clamp(std::int64_t index, std::size_t size) {
  const auto n = static_cast<std::int64_t>(size);
  if (index < 0) index = index < -n ? 0 : index + n;
  return static_cast<std::size_t>(std::min(index, n));
}

inline void append_copies(ListObject* to, std::span<const Slot> items) {
  if (to->elements != SlotKind::Scalar)
    for (Slot s : items) Heap::retain(to->elements, s);
  to->items.insert(to->items.end(), items.begin(), items.end());
}

}  // namespace dycl::runtime
