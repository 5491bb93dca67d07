// SPDX-License-Identifier: Apache-2.0
// Python's lists, as the walker and emitted host programs both need them: what an index
// means, and elements that are shared, not moved. Elements are reference counted by their
// list's heap; none of this allocates but for the list's own growth, which throws (heap.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "runtime/heap.h"

namespace dycl::runtime {

// Python's index: negative counts from the end. False if it is out of range.
inline bool resolve(std::int64_t index, std::size_t size, std::size_t* out) {
  const auto n = static_cast<std::int64_t>(size);
  if (index < -n || index >= n) return false;
  *out = static_cast<std::size_t>(index < 0 ? index + n : index);
  return true;
}

// A value with its reference, which goes back unless it is handed on. For what may throw.
class Held {
 public:
  Held(Heap& heap, SlotKind kind, Slot slot) : heap_(heap), kind_(kind), slot_(slot) {}
  Held(Heap& heap, ListObject* list) : heap_(heap), kind_(SlotKind::List) { slot_.list = list; }
  ~Held() { heap_.release(kind_, slot_); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  ListObject* list() const { return slot_.list; }
  Slot slot() const { return slot_; }
  void reset(Slot slot) { heap_.release(kind_, std::exchange(slot_, slot)); }
  Slot give() { return std::exchange(slot_, Slot{}); }
  void give_to(ListObject* list) {
    list->heap->append(list, slot_);
    slot_ = {};
  }

 private:
  Heap& heap_;
  SlotKind kind_;
  Slot slot_;
};

// Python's slice bound, clamped to [0, size].
inline std::size_t clamp(std::int64_t index, std::size_t size) {
  const auto n = static_cast<std::int64_t>(size);
  if (index < 0) index = index < -n ? 0 : index + n;
  return static_cast<std::size_t>(std::min(index, n));
}

inline void append_copies(ListObject* to, std::span<const Slot> items) {
  to->heap->make_room(to, items.size());
  if (to->elements != SlotKind::Scalar)
    for (Slot s : items) Heap::retain(to->elements, s);
  to->items.insert(to->items.end(), items.begin(), items.end());
}

// The list itself if nobody else holds it, else a copy in its place.
inline void make_own(Held& held) {
  ListObject* list = held.list();
  if (list->refs == 1) return;
  Held copy(*list->heap, list->heap->acquire_list(list->elements));
  append_copies(copy.list(), list->items);
  held.reset(copy.give());
}

}  // namespace dycl::runtime
