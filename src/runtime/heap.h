// SPDX-License-Identifier: Apache-2.0
// Tensors and lists of one Run, counted by references and recycled. A Heap belongs to
// one Run and one thread at a time, so counts are plain integers.
//
// Memory of tensors. A type whose shape is known (or computable from symbols) has a
// pool of its own: buffers of exactly that shape, so that an engine's wrapper of a buffer stays
// good from run to run. Results of unknown shape take blocks from size classes. Nothing
// is given back to the system before the Run goes, so a program that repeats itself
// stops allocating after the first rounds.
//
// Limit of memory. What tensors and lists hold is counted, recycled memory too; when more is asked for than the limit
// leaves, recycled memory is given back to the system first.
//
// A Slot holds one value: a scalar in place, or a pointer that owns one reference.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "dycl/plugin.h"
#include "runtime/plan.h"

namespace dycl::runtime {

class Heap;
struct TensorObject;
struct ListObject;

union Slot {
  std::uint64_t bits = 0;
  bool b;
  std::int64_t i;
  double f;
  TensorObject* tensor;
  ListObject* list;
};
static_assert(sizeof(Slot) == 8);

// What a list's elements are to the heap.
enum class SlotKind : std::uint8_t { Scalar, Tensor, List };

struct TensorObject {
  dycl_plugin_tensor view{};  // first: engines hand this back to allocate and adopt
  std::uint64_t refs = 0;  // as many as memory holds slots: 32 bits could be counted around
  std::uint32_t pool = 0;  // type index, or one of the kinds below
  bool transient = false;  // borrowed for one run only
  Heap* heap = nullptr;
  void* memory = nullptr;  // own memory, `capacity` bytes
  std::uint64_t capacity = 0;
  void* owner = nullptr;  // of adopted memory
  void (*release)(void*) = nullptr;
  const PlanType* expected = nullptr;  // of an output an engine is about to shape
  std::uint64_t epoch = 0;             // of the symbols its shape was computed with
  TensorObject* next = nullptr;
  std::int64_t shape[kMaxRank] = {};

  DType dtype() const { return static_cast<DType>(view.dtype); }
  std::span<const std::int64_t> extents() const { return {shape, static_cast<std::size_t>(view.rank)}; }
  std::uint64_t element_count() const { return view.bytes / size_of(dtype()); }
};

struct ListObject {
  Heap* heap = nullptr;
  std::uint64_t refs = 0;
  SlotKind elements = SlotKind::Scalar;
  std::vector<Slot> items;
  ListObject* next = nullptr;
};

// Thrown where a list cannot grow because of the limit.
class MemoryLimitReached : public std::bad_alloc {
 public:
  const char* what() const noexcept override { return "the limit of memory is reached"; }
};

class Heap {
 public:
  explicit Heap(const Plan& plan);
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // The symbols' values of this run; pools compute shapes with them.
  void bind_symbols(std::span<const std::int64_t> values);
  std::span<const std::int64_t> symbols() const { return symbols_; }

  // In bytes; 0: no limit. What is held already stays.
  void set_limit(std::uint64_t bytes) { limit_ = bytes ? bytes : ~std::uint64_t{0}; }
  std::uint64_t limit() const { return limit_; }
  std::uint64_t held() const { return held_; }
  // Of what others hold for the run: counted like the heap's own. Throws MemoryLimitReached.
  void charge(std::uint64_t bytes) {
    if (!claim(bytes)) throw_no_memory();
  }
  bool try_charge(std::uint64_t bytes) { return claim(bytes); }
  void discharge(std::uint64_t bytes) { held_ -= bytes; }
  // Whether what failed last, failed because of the limit.
  bool limit_reached() const { return limit_reached_; }
  void forget_limit_reached() { limit_reached_ = false; }
  // For those who cannot go on without the memory that was not to be had: MemoryLimitReached or std::bad_alloc.
  [[noreturn]] void throw_no_memory() const;

  // A tensor of a type with static or computable shape; null if there is no memory or the shape
  // cannot be computed. One reference, elements not initialised.
  TensorObject* acquire(std::uint32_t type);
  // A tensor whose shape is not known yet (view.rank is -1), or null. `expected` may be null.
  TensorObject* acquire_unshaped(DType dtype, const PlanType* expected);
  // A tensor of this very shape, from the size classes; null if it is impossible.
  TensorObject* acquire_shaped(DType dtype, std::span<const std::int64_t> shape);
  // A header for memory that others own; never recycled while the Run holds its reference. Throws without memory.
  TensorObject* acquire_borrowed();
  // Points a borrowed header at memory; keeps an engine's wrapper if nothing changed.
  void point(TensorObject* tensor, DType dtype, std::span<const std::int64_t> shape, const void* data);

  // Memory for a tensor that has none yet; false if impossible.
  bool shape_and_allocate(TensorObject* tensor, std::span<const std::int64_t> shape);
  // False if the extents are not a shape or contradict tensor->expected.
  bool accepts_shape(const TensorObject* tensor, std::int64_t rank, const std::int64_t* shape) const;

  // Takes the elements' memory away from a tensor that has its own; the caller frees it. Null: it has none of its own.
  void* detach(TensorObject* t);

  // Hands over memory that an engine made for `tensor`; false: it would pass the limit.
  bool adopt(TensorObject* tensor, std::span<const std::int64_t> shape, void* data, void* owner,
             void (*release_owner)(void*));

  // Lists grow here alone. These throw, and leave the list as it was, if memory runs out or the limit is reached.
  ListObject* acquire_list(SlotKind elements);
  void make_room(ListObject* list, std::size_t more);  // for as many more elements
  void append(ListObject* list, Slot item) {
    if (list->items.size() == list->items.capacity()) make_room(list, 1);
    list->items.push_back(item);
  }

  static void retain(TensorObject* t) { ++t->refs; }
  static void retain(ListObject* l) { ++l->refs; }
  static void retain(SlotKind kind, Slot s);
  void release(TensorObject* t) {
    if (--t->refs == 0) recycle(t);
  }
  void release(ListObject* l) {
    if (--l->refs == 0) recycle(l);
  }
  void release(SlotKind kind, Slot s);  // null pointers are ignored

  bool matches(const PlanType& type, std::span<const std::int64_t> shape) const;

 private:
  static constexpr std::uint32_t kBorrowed = 0xffffffffU;
  static constexpr std::uint32_t kDynamic = 0xfffffffeU;
  static constexpr int kSizeClasses = 64;
  struct Block {
    Block* next;
  };

  bool claim(std::uint64_t bytes);
  void* allocate(std::uint64_t bytes);  // null: none left, or none allowed
  void deallocate(void* memory, std::uint64_t bytes);
  void give_back_unused();
  TensorObject* new_tensor(std::uint32_t pool);
  TensorObject* try_new_tensor(std::uint32_t pool) noexcept;
  void drop_adopted(TensorObject* t);
  bool give_shape(TensorObject* t, std::uint32_t type);
  bool grow(TensorObject* t, std::uint64_t bytes);
  void recycle(TensorObject* t);
  void recycle(ListObject* l);
  static void drop_engine_slot(TensorObject* t);

  const Plan& plan_;
  std::vector<std::int64_t> symbols_;
  std::uint64_t epoch_ = 0;
  std::uint64_t held_ = 0, limit_ = ~std::uint64_t{0};
  bool limit_reached_ = false;
  std::vector<TensorObject*> free_by_type_;
  TensorObject* free_dynamic_ = nullptr;
  Block* free_blocks_[kSizeClasses] = {};
  ListObject* free_lists_ = nullptr;
  std::vector<std::unique_ptr<TensorObject>> tensors_;
  std::vector<std::unique_ptr<ListObject>> lists_;
};

// For the host table of the plug-in ABI.
std::int32_t allocate_output(dycl_plugin_tensor* output, std::int32_t rank, const std::int64_t* shape);
std::int32_t adopt_output(dycl_plugin_tensor* output, std::int32_t rank, const std::int64_t* shape, void* data,
                          void* owner, void (*release)(void*));

}  // namespace dycl::runtime
