// SPDX-License-Identifier: Apache-2.0
// Lists as values: an op gives a new list, but takes over the old one's storage when the old one
// dies at that op and nobody else holds it, so that appending in a loop costs constant time.
// An optional is a list of at most one.
#include <algorithm>

#include "runtime/list_ops.h"
#include "runtime/run_state.h"

namespace dycl::runtime {
namespace {

auto at_index(ListObject* list, std::size_t i) { return list->items.begin() + static_cast<std::ptrdiff_t>(i); }

}  // namespace

bool Run::Parts::own_list(std::uint32_t operand, Held& own) {
  Slot held;
  if (!take(operand, &held)) return false;
  own.reset(held);
  if (held.list->refs > 1 && !moved(held.list->items.size())) return false;
  make_own(own);
  return true;
}

bool Run::Parts::list_new(const std::uint32_t* at) {
  Held list(heap, heap.acquire_list(shared.elements_of_register[at[1]]));
  heap.make_room(list.list(), at[2]);
  for (std::uint32_t i = 0; i < at[2]; ++i) {
    Slot item;
    if (!take(at[3 + i], &item)) return false;
    list.list()->items.push_back(item);
  }
  put(at[1], list.give().list);
  return true;
}

bool Run::Parts::list_append(const std::uint32_t* at) {
  Slot taken;
  if (!take(at[3], &taken)) return false;
  Held item(heap, slot_kind(at[3]), taken), list(heap, nullptr);
  if (!own_list(at[2], list)) return false;
  item.give_to(list.list());
  put(at[1], list.give().list);
  return true;
}

bool Run::Parts::list_get(const std::uint32_t* at) {
  const ListObject* list = list_in(at[2]);
  if (!list) return false;
  std::size_t i = 0;
  if (!resolve(registers[at[3]].i, list->items.size(), &i)) return fail("IndexError", "list index out of range");
  const Slot item = list->items[i];
  const SlotKind kind = list->elements;
  Heap::retain(kind, item);
  finish(at[2]);
  put(at[1], kind, item);
  return true;
}

bool Run::Parts::list_set(const std::uint32_t* at) {
  const ListObject* list = list_in(at[2]);
  if (!list) return false;
  std::size_t i = 0;
  if (!resolve(registers[at[3]].i, list->items.size(), &i))
    return fail("IndexError", "list assignment index out of range");
  Slot taken;
  if (!take(at[4], &taken)) return false;
  Held item(heap, slot_kind(at[4]), taken), own(heap, nullptr);
  if (!own_list(at[2], own)) return false;
  heap.release(own.list()->elements, std::exchange(own.list()->items[i], item.give()));
  put(at[1], own.give().list);
  return true;
}

bool Run::Parts::list_len(const std::uint32_t* at) {
  const ListObject* list = list_in(at[2]);
  if (!list) return false;
  const auto count = static_cast<std::int64_t>(list->items.size());
  finish(at[2]);
  registers[at[1]].i = count;
  return true;
}

bool Run::Parts::list_concat(const std::uint32_t* at) {
  Held own(heap, nullptr);
  if (!own_list(at[2], own)) return false;  // a copy, if the second is the same list
  const ListObject* second = list_in(at[3]);
  if (!second || !moved(second->items.size())) return false;
  append_copies(own.list(), second->items);
  finish(at[3]);
  put(at[1], own.give().list);
  return true;
}

bool Run::Parts::list_slice(const std::uint32_t* at) {
  const ListObject* list = list_in(at[2]);
  if (!list) return false;
  const std::size_t from = clamp(registers[at[3]].i, list->items.size());
  const std::size_t until = std::max(from, clamp(registers[at[4]].i, list->items.size()));
  if (!moved(until - from)) return false;
  Held out(heap, heap.acquire_list(list->elements));
  append_copies(out.list(), std::span(list->items).subspan(from, until - from));
  finish(at[2]);
  put(at[1], out.give().list);
  return true;
}

bool Run::Parts::list_pop(const std::uint32_t* at) {
  const ListObject* list = list_in(at[3]);
  if (!list) return false;
  if (list->items.empty()) return fail("IndexError", "pop from empty list");
  std::size_t i = 0;
  if (!resolve(registers[at[4]].i, list->items.size(), &i)) return fail("IndexError", "pop index out of range");
  if (!moved(list->items.size() - i)) return false;
  Held own(heap, nullptr);
  if (!own_list(at[3], own)) return false;
  const Slot item = own.list()->items[i];
  own.list()->items.erase(at_index(own.list(), i));
  const SlotKind kind = own.list()->elements;
  put(at[1], own.give().list);
  put(at[2], kind, item);
  return true;
}

bool Run::Parts::list_insert(const std::uint32_t* at) {
  Slot taken;
  if (!take(at[4], &taken)) return false;
  Held item(heap, slot_kind(at[4]), taken), own(heap, nullptr);
  if (!own_list(at[2], own)) return false;
  auto& items = own.list()->items;
  const std::size_t place = clamp(registers[at[3]].i, items.size());
  if (!moved(items.size() - place)) return false;
  heap.make_room(own.list(), 1);
  items.insert(at_index(own.list(), place), item.give());
  put(at[1], own.give().list);
  return true;
}

bool Run::Parts::opt_is_some(const std::uint32_t* at) {
  const ListObject* optional = list_in(at[2]);
  if (!optional) return false;
  const bool some = !optional->items.empty();
  finish(at[2]);
  registers[at[1]].b = some;
  return true;
}

bool Run::Parts::opt_get(const std::uint32_t* at) {
  const ListObject* optional = list_in(at[2]);
  if (!optional) return false;
  if (optional->items.empty()) return fail("TypeError", "the value is None");
  const Slot item = optional->items[0];
  const SlotKind kind = optional->elements;
  Heap::retain(kind, item);
  finish(at[2]);
  put(at[1], kind, item);
  return true;
}

}  // namespace dycl::runtime
