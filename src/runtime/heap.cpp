// SPDX-License-Identifier: Apache-2.0
#include "runtime/heap.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/dim_code.h"

namespace dycl::runtime {
namespace {

std::uint64_t rounded(std::uint64_t bytes) {
  return std::max<std::uint64_t>((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
}

// Size classes are powers of two from 64 bytes up.
int size_class_of(std::uint64_t bytes) { return static_cast<int>(std::bit_width(rounded(bytes) - 1)); }

}  // namespace

Heap::Heap(const Plan& plan)
    : plan_(plan), symbols_(plan.symbols.size(), -1), free_by_type_(plan.types.size(), nullptr) {}

Heap::~Heap() {
  for (const auto& t : tensors_) {
    drop_engine_slot(t.get());
    if (t->release) t->release(t->owner);
    std::free(t->memory);
  }
  for (Block* block : free_blocks_) {
    while (block) std::free(std::exchange(block, block->next));
  }
}

void Heap::bind_symbols(std::span<const std::int64_t> values) {
  if (std::equal(values.begin(), values.end(), symbols_.begin(), symbols_.end())) return;
  std::copy(values.begin(), values.end(), symbols_.begin());
  ++epoch_;
}

void Heap::drop_engine_slot(TensorObject* t) {
  if (!t->view.slot) return;
  if (t->view.drop_slot) t->view.drop_slot(t->view.slot);
  t->view.slot = t->view.slot_owner = nullptr;
  t->view.drop_slot = nullptr;
}

// ---- memory and its limit ---------------------------------------------------------

bool Heap::claim(std::uint64_t bytes) {
  const auto fits = [&] { return held_ <= limit_ && bytes <= limit_ - held_; };
  if (!fits()) give_back_unused();
  if (!fits()) {
    limit_reached_ = true;
    return false;
  }
  limit_reached_ = false;
  held_ += bytes;
  return true;
}

void* Heap::allocate(std::uint64_t bytes) {
  bytes = rounded(bytes);
  if (!claim(bytes)) return nullptr;
  void* memory = std::aligned_alloc(kAlignment, bytes);
  if (!memory) {
    give_back_unused();
    memory = std::aligned_alloc(kAlignment, bytes);
  }
  if (!memory) held_ -= bytes;
  return memory;
}

void Heap::deallocate(void* memory, std::uint64_t bytes) {
  std::free(memory);
  if (memory) held_ -= bytes;
}

void Heap::throw_no_memory() const {
  if (limit_reached_) throw MemoryLimitReached();
  throw std::bad_alloc();
}

void Heap::give_back_unused() {
  for (int size_class = 0; size_class < kSizeClasses; ++size_class) {
    Block*& first = free_blocks_[size_class];
    while (first) deallocate(std::exchange(first, first->next), std::uint64_t{1} << size_class);
  }
  for (TensorObject* first : free_by_type_) {
    for (TensorObject* t = first; t; t = t->next) {
      drop_engine_slot(t);
      deallocate(std::exchange(t->memory, nullptr), std::exchange(t->capacity, 0));
      t->view.data = nullptr;
      t->epoch = ~epoch_;  // memory anew next time
    }
  }
  for (ListObject* l = free_lists_; l; l = l->next) {
    held_ -= l->items.capacity() * sizeof(Slot);
    std::vector<Slot>().swap(l->items);
  }
}

// ---- tensors ------------------------------------------------------------------------

TensorObject* Heap::try_new_tensor(std::uint32_t pool) noexcept {
  if (!claim(sizeof(TensorObject))) return nullptr;
  try {
    return new_tensor(pool);
  } catch (const std::bad_alloc&) {
    held_ -= sizeof(TensorObject);
    return nullptr;
  }
}

TensorObject* Heap::new_tensor(std::uint32_t pool) {
  tensors_.push_back(std::make_unique<TensorObject>());
  TensorObject* t = tensors_.back().get();
  t->pool = pool;
  t->heap = this;
  t->view.shape = t->shape;
  t->view.device = 1;  // kDLCPU
  return t;
}

bool Heap::grow(TensorObject* t, std::uint64_t bytes) {
  if (t->memory && bytes <= t->capacity) return true;
  deallocate(std::exchange(t->memory, nullptr), std::exchange(t->capacity, 0));
  t->view.data = nullptr;
  t->memory = allocate(bytes);
  t->capacity = t->memory ? rounded(bytes) : 0;
  return t->memory != nullptr;
}

bool Heap::give_shape(TensorObject* t, std::uint32_t type) {
  const PlanType& spec = plan_.types[type];
  drop_engine_slot(t);
  t->view.dtype = static_cast<std::int32_t>(spec.dtype);
  t->view.rank = static_cast<std::int32_t>(spec.dims.size());
  for (std::size_t i = 0; i < spec.dims.size(); ++i) {
    const PlanDim& d = spec.dims[i];
    const auto extent = d.value >= 0 ? std::optional(d.value) : evaluate_dim(d.code, symbols_);
    if (!extent) return false;
    t->shape[i] = *extent;
  }
  const auto bytes = tensor_bytes(spec.dtype, t->extents());
  if (!bytes || !grow(t, *bytes)) return false;
  t->view.bytes = *bytes;
  t->view.data = t->memory;
  t->epoch = epoch_;
  return true;
}

TensorObject* Heap::acquire(std::uint32_t type) {
  TensorObject* t = free_by_type_[type];
  if (t) {
    free_by_type_[type] = t->next;
  } else {
    t = try_new_tensor(type);
    if (!t) return nullptr;
    t->epoch = ~epoch_;
  }
  t->refs = 1;
  const bool current = t->epoch == epoch_ || (plan_.types[type].static_shape && t->memory);
  if (current || give_shape(t, type)) return t;
  t->epoch = ~epoch_;  // shape it anew next time
  release(t);
  return nullptr;
}

TensorObject* Heap::acquire_unshaped(DType dtype, const PlanType* expected) {
  TensorObject* t = free_dynamic_;
  if (t)
    free_dynamic_ = t->next;
  else
    t = try_new_tensor(kDynamic);
  if (!t) return nullptr;
  t->refs = 1;
  t->expected = expected;
  t->view.dtype = static_cast<std::int32_t>(dtype);
  t->view.rank = -1;
  t->view.bytes = 0;
  t->view.data = nullptr;
  return t;
}

bool Heap::shape_and_allocate(TensorObject* t, std::span<const std::int64_t> shape) {
  const auto bytes = tensor_bytes(t->dtype(), shape);
  if (!bytes) return false;
  const int size_class = size_class_of(*bytes);
  if (Block* block = free_blocks_[size_class]) {
    free_blocks_[size_class] = block->next;
    t->memory = block;
  } else {
    t->memory = allocate(std::uint64_t{1} << size_class);
    if (!t->memory) return false;
  }
  t->capacity = std::uint64_t{1} << size_class;
  std::copy(shape.begin(), shape.end(), t->shape);
  t->view.rank = static_cast<std::int32_t>(shape.size());
  t->view.bytes = *bytes;
  t->view.data = t->memory;
  return true;
}

TensorObject* Heap::acquire_shaped(DType dtype, std::span<const std::int64_t> shape) {
  if (shape.size() > kMaxRank) return nullptr;
  TensorObject* t = acquire_unshaped(dtype, nullptr);
  if (!t) return nullptr;
  if (shape_and_allocate(t, shape)) return t;
  release(t);
  return nullptr;
}

TensorObject* Heap::acquire_borrowed() {
  TensorObject* t = new_tensor(kBorrowed);
  t->refs = 1;
  return t;
}

void Heap::point(TensorObject* t, DType dtype, std::span<const std::int64_t> shape, const void* data) {
  const bool same = t->view.data == data && t->dtype() == dtype &&
                    std::equal(shape.begin(), shape.end(), t->shape, t->shape + std::max(t->view.rank, 0));
  if (same && t->view.slot) return;
  drop_engine_slot(t);
  std::copy(shape.begin(), shape.end(), t->shape);
  t->view.dtype = static_cast<std::int32_t>(dtype);
  t->view.rank = static_cast<std::int32_t>(shape.size());
  t->view.bytes = tensor_bytes(dtype, shape).value_or(0);
  t->view.data = const_cast<void*>(data);  // engines do not write to inputs
}

bool Heap::matches(const PlanType& type, std::span<const std::int64_t> shape) const {
  if (!type.rank_known) return true;
  if (type.dims.size() != shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const PlanDim& d = type.dims[i];
    if (d.value >= 0 && d.value != shape[i]) return false;
    if (d.code.empty()) continue;
    const auto wanted = evaluate_dim(d.code, symbols_);
    if (wanted && *wanted != shape[i]) return false;
  }
  return true;
}

bool Heap::accepts_shape(const TensorObject* t, std::int64_t rank, const std::int64_t* shape) const {
  if (t->view.rank != -1 || rank < 0 || rank > kMaxRank) return false;
  const std::span extents(shape, static_cast<std::size_t>(rank));
  return tensor_bytes(t->dtype(), extents).has_value() && (!t->expected || matches(*t->expected, extents));
}

void Heap::recycle(TensorObject* t) {
  if (t->pool == kBorrowed) return;
  if (t->pool != kDynamic) {  // keeps memory, shape and an engine's wrapper
    t->next = free_by_type_[t->pool];
    free_by_type_[t->pool] = t;
    return;
  }
  drop_engine_slot(t);
  drop_adopted(t);
  if (t->memory) {
    auto* block = static_cast<Block*>(t->memory);
    Block*& list = free_blocks_[std::bit_width(t->capacity) - 1];
    block->next = list;
    list = block;
    t->memory = nullptr;
    t->capacity = 0;
  }
  t->next = free_dynamic_;
  free_dynamic_ = t;
}

bool Heap::adopt(TensorObject* t, std::span<const std::int64_t> shape, void* data, void* owner,
                 void (*release_owner)(void*)) {
  const std::uint64_t bytes = tensor_bytes(t->dtype(), shape).value_or(0);
  if (!claim(bytes)) return false;
  std::copy(shape.begin(), shape.end(), t->shape);
  t->view.rank = static_cast<std::int32_t>(shape.size());
  t->view.bytes = bytes;
  t->view.data = data;
  t->owner = owner;
  t->release = release_owner;
  return true;
}

void Heap::drop_adopted(TensorObject* t) {
  if (!t->release) return;
  std::exchange(t->release, nullptr)(std::exchange(t->owner, nullptr));
  held_ -= t->view.bytes;
}

void* Heap::detach(TensorObject* t) {
  if (!t->memory || t->view.data != t->memory) return nullptr;
  drop_engine_slot(t);
  held_ -= std::exchange(t->capacity, 0);
  t->view.data = nullptr;
  t->epoch = ~epoch_;  // memory anew next time
  return std::exchange(t->memory, nullptr);
}

ListObject* Heap::acquire_list(SlotKind elements) {
  ListObject* l = free_lists_;
  if (l) {
    free_lists_ = l->next;
  } else {
    if (!claim(sizeof(ListObject))) throw_no_memory();
    try {
      lists_.push_back(std::make_unique<ListObject>());
    } catch (...) {
      held_ -= sizeof(ListObject);
      throw;
    }
    l = lists_.back().get();
    l->heap = this;
  }
  l->refs = 1;
  l->elements = elements;
  return l;
}

void Heap::make_room(ListObject* l, std::size_t more) {
  const std::size_t had = l->items.capacity(), needed = l->items.size() + more;
  if (needed <= had) return;
  std::size_t capacity = std::max(needed, 2 * had);
  if (!claim((capacity - had) * sizeof(Slot))) {
    capacity = needed;
    if (!claim((capacity - had) * sizeof(Slot))) throw_no_memory();
  }
  try {
    l->items.reserve(capacity);
  } catch (...) {
    held_ -= (capacity - had) * sizeof(Slot);
    throw;
  }
}

void Heap::recycle(ListObject* l) {
  if (l->elements != SlotKind::Scalar) {
    for (Slot s : l->items) release(l->elements, s);
  }
  l->items.clear();
  l->next = free_lists_;
  free_lists_ = l;
}

void Heap::retain(SlotKind kind, Slot s) {
  if (kind == SlotKind::Tensor)
    retain(s.tensor);
  else if (kind == SlotKind::List)
    retain(s.list);
}

void Heap::release(SlotKind kind, Slot s) {
  if (kind == SlotKind::Tensor && s.tensor)
    release(s.tensor);
  else if (kind == SlotKind::List && s.list)
    release(s.list);
}

std::int32_t allocate_output(dycl_plugin_tensor* output, std::int32_t rank, const std::int64_t* shape) {
  auto* t = reinterpret_cast<TensorObject*>(output);
  if (!t->heap->accepts_shape(t, rank, shape)) return 1;
  return t->heap->shape_and_allocate(t, {shape, static_cast<std::size_t>(rank)}) ? 0 : 1;
}

std::int32_t adopt_output(dycl_plugin_tensor* output, std::int32_t rank, const std::int64_t* shape, void* data,
                          void* owner, void (*release)(void*)) {
  auto* t = reinterpret_cast<TensorObject*>(output);
  if (!t->heap->accepts_shape(t, rank, shape)) return 1;
  return t->heap->adopt(t, {shape, static_cast<std::size_t>(rank)}, data, owner, release) ? 0 : 1;
}

}  // namespace dycl::runtime
