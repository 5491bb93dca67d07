// SPDX-License-Identifier: Apache-2.0
// Host ops that look into tensors or make them.
#include <algorithm>
#include <cstring>

#include "runtime/run_state.h"
#include "support/elements.h"

namespace dycl::runtime {
namespace {

Slot slot_of(const scalar::Scalar& s) {
  Slot out;
  if (s.kind == scalar::Kind::Bool)
    out.b = s.b;
  else if (s.kind == scalar::Kind::Int)
    out.i = s.i;
  else
    out.f = s.f;
  return out;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}

std::uint64_t product(std::span<const std::int64_t> extents) {
  std::uint64_t n = 1;
  for (std::int64_t e : extents) n *= static_cast<std::uint64_t>(e);
  return n;
}

}  // namespace

void copy_joined(std::span<const Slot> items, std::size_t axis, TensorObject* to) {
  if (to->view.bytes == 0) return;  // the extents before the axis may be any
  const std::uint64_t outer = product(to->extents().first(axis));
  auto* out = static_cast<std::uint8_t*>(to->view.data);
  for (std::uint64_t o = 0; o < outer; ++o) {
    for (Slot item : items) {
      const std::uint64_t row = item.tensor->view.bytes / outer;  // contiguous from the axis on
      if (row) std::memcpy(out, static_cast<const std::uint8_t*>(item.tensor->view.data) + o * row, row);
      out += row;
    }
  }
}

bool Run::Parts::item(const std::uint32_t* at) {
  const TensorObject* t = tensor_in(at[2]);
  if (!t) return false;
  if (t->view.bytes != size_of(t->dtype())) {
    return fail("RuntimeError",
                "a Tensor with " + std::to_string(t->element_count()) + " elements cannot be converted to Scalar");
  }
  scalar::Scalar value;
  if (const auto f = load_element(t->dtype(), t->view.data, &value); f != scalar::Fault::None) return fault(f);
  finish(at[2]);
  registers[at[1]] = slot_of(value);
  return true;
}

TensorObject* Run::Parts::tensor_for(std::uint32_t reg, std::span<const std::int64_t> shape) {
  const std::uint32_t type = plan.registers[reg];
  const PlanType& declared = plan.types[type];
  if (!heap.matches(declared, shape)) {
    fail("RuntimeError",
         "a tensor of shape " + shape_text(shape) + " where the program expects " + type_text(plan, type));
    return nullptr;
  }
  TensorObject* t = declared.static_shape ? heap.acquire(type) : heap.acquire_shaped(declared.dtype, shape);
  if (!t) no_memory("a tensor of shape " + shape_text(shape));
  return t;
}

bool Run::Parts::to_tensor(const std::uint32_t* at) {
  const scalar::Scalar value = scalar_in(at[2]);
  TensorObject* t = tensor_for(at[1], {});
  if (!t) return false;
  if (const auto f = store_element(t->dtype(), value, t->view.data); f != scalar::Fault::None) {
    heap.release(t);
    return fault(f);
  }
  put(at[1], t);
  return true;
}

bool Run::Parts::dim(const std::uint32_t* at) {
  const TensorObject* t = tensor_in(at[2]);
  if (!t) return false;
  if (at[3] >= t->extents().size()) {
    return fail("IndexError", "a tensor of shape " + shape_text(t->extents()) + " has no dim " + std::to_string(at[3]));
  }
  const std::int64_t extent = t->shape[at[3]];
  finish(at[2]);
  registers[at[1]].i = extent;
  return true;
}

bool Run::Parts::size(const std::uint32_t* at) {
  const TensorObject* t = tensor_in(at[2]);
  if (!t) return false;
  const auto count = static_cast<std::int64_t>(t->element_count());
  finish(at[2]);
  registers[at[1]].i = count;
  return true;
}

bool Run::Parts::list_from_tensor(const std::uint32_t* at) {
  const TensorObject* t = tensor_in(at[2]);
  if (!t) return false;
  if (t->view.rank != 1)
    return fail("ValueError", "a list is made of a tensor with one dim, not of shape " + shape_text(t->extents()));
  const auto count = static_cast<std::size_t>(t->shape[0]);
  if (!moved(count)) return false;
  Held list(heap, heap.acquire_list(SlotKind::Scalar));
  heap.make_room(list.list(), count);
  const auto* data = static_cast<const std::uint8_t*>(t->view.data);
  const std::size_t step = size_of(t->dtype());
  for (std::size_t i = 0; i < count; ++i, data += step) {
    scalar::Scalar value;
    if (const auto f = load_element(t->dtype(), data, &value); f != scalar::Fault::None) return fault(f);
    list.list()->items.push_back(slot_of(value));
  }
  finish(at[2]);
  put(at[1], list.give().list);
  return true;
}

bool Run::Parts::list_to_tensor(const std::uint32_t* at) {
  const ListObject* list = list_in(at[2]);
  if (!list) return false;
  const ValueKind kind = plan.types[plan.type_of(register_of(at[2])).element].kind;
  const auto count = static_cast<std::int64_t>(list->items.size());
  if (!moved(list->items.size())) return false;
  TensorObject* t = tensor_for(at[1], {&count, 1});
  if (!t) return false;
  auto* data = static_cast<std::uint8_t*>(t->view.data);
  for (Slot s : list->items) {
    const scalar::Scalar value = kind == ValueKind::Bool  ? scalar::Scalar::of(s.b)
                                 : kind == ValueKind::Int ? scalar::Scalar::of(s.i)
                                                          : scalar::Scalar::of(s.f);
    if (const auto f = store_element(t->dtype(), value, data); f != scalar::Fault::None) {
      heap.release(t);
      return fault(f);
    }
    data += size_of(t->dtype());
  }
  finish(at[2]);
  put(at[1], t);
  return true;
}

bool Run::Parts::list_join(const std::uint32_t* at, bool stack) {
  const char* verb = stack ? "stack" : "cat";
  const ListObject* list = list_in(at[2]);
  if (!list || !moved(list->items.size())) return false;
  if (list->items.empty()) return fail("RuntimeError", std::string(verb) + " expects a non-empty list of tensors");
  const auto first = list->items[0].tensor->extents();
  const auto places = static_cast<std::int64_t>(first.size()) + (stack ? 1 : 0);
  std::int64_t axis = static_cast<std::int32_t>(at[3]);
  if (axis < -places || axis >= places) {
    return fail("IndexError", std::string(verb) + ": axis " + std::to_string(axis) + " is out of range for shape " +
                                  shape_text(first));
  }
  if (places > kMaxRank) return fail("RuntimeError", std::string(verb) + ": too many dims");
  const auto where = static_cast<std::size_t>(axis < 0 ? axis + places : axis);

  std::int64_t joined = 0;
  for (Slot item : list->items) {
    const auto shape = item.tensor->extents();
    bool agree = shape.size() == first.size();
    for (std::size_t i = 0; agree && i < shape.size(); ++i) agree = shape[i] == first[i] || (!stack && i == where);
    if (!agree) {
      return fail("RuntimeError", std::string(verb) + ": tensors of shapes " + shape_text(first) + " and " +
                                      shape_text(shape) + " do not go together");
    }
    if (__builtin_add_overflow(joined, stack ? 1 : shape[where], &joined))
      return fail("RuntimeError", "too many elements");
  }
  std::int64_t shape[kMaxRank];
  std::copy(first.begin(), first.end(), shape);
  if (stack) std::copy_backward(first.begin() + static_cast<std::ptrdiff_t>(where), first.end(), shape + places);
  shape[where] = joined;
  TensorObject* t = tensor_for(at[1], {shape, static_cast<std::size_t>(places)});
  if (!t) return false;
  if (!moved(t->view.bytes / sizeof(Slot))) {
    heap.release(t);
    return false;
  }
  copy_joined(list->items, where, t);
  finish(at[2]);
  put(at[1], t);
  return true;
}

TensorObject* Run::Parts::drawn(std::uint32_t to, Distribution distribution, const DrawParameters& parameters,
                       std::span<const std::uint32_t> extents) {
  std::int64_t shape[kMaxRank];
  for (std::size_t i = 0; i < extents.size(); ++i) {
    shape[i] = registers[register_of(extents[i])].i;
    if (shape[i] < 0) {
      fail("RuntimeError", "trying to create a tensor with negative dimension " + std::to_string(shape[i]));
      return nullptr;
    }
  }
  TensorObject* t = tensor_for(to, {shape, extents.size()});
  if (!t) return nullptr;
  Held drawn(heap, SlotKind::Tensor, Slot{.tensor = t});
  const auto count = static_cast<std::size_t>(t->element_count());
  const std::uint64_t beside = bytes_to_fill_random(distribution, parameters, count);
  if (!moved(count) || !moved(beside / sizeof(Slot))) return nullptr;
  const Charge charge(heap, beside);
  if (!charge.made()) {
    no_memory("what numbers are chosen from");
    return nullptr;
  }
  if (auto wrong = fill_random(random, distribution, parameters, t->dtype(), t->view.data, count)) {
    fail("RuntimeError", *std::move(wrong));
    return nullptr;
  }
  return drawn.give().tensor;
}

bool Run::Parts::draw(const std::uint32_t* at) {
  const DistributionInfo& info = kDistributions[at[2]];
  DrawParameters parameters;
  for (std::size_t i = 0; i < info.parameters.size(); ++i) {
    if (info.parameters[i] == 't') {
      const TensorObject* t = tensor_in(at[4 + i]);
      if (!t) return false;
      parameters.tensor[i] = {static_cast<const std::uint8_t*>(t->view.data), t->view.bytes};
      continue;
    }
    const Slot value = registers[register_of(at[4 + i])];
    if (info.parameters[i] == 'i')
      parameters.whole[i] = value.i;
    else
      parameters.real[i] = value.f;
  }
  const std::span operands(at + 4, at[3]);
  TensorObject* t = drawn(at[1], info.distribution, parameters, operands.subspan(info.parameters.size()));
  if (!t) return false;
  for (std::size_t i = 0; i < info.parameters.size(); ++i)
    if (info.parameters[i] == 't') finish(at[4 + i]);
  put(at[1], t);
  return true;
}

// As older packages say it: without parameters, but for the bounds of integers.
bool Run::Parts::rand(const std::uint32_t* at, Opcode opcode) {
  DrawParameters parameters{{0, 1}};
  Distribution distribution = opcode == Opcode::RandNormal ? Distribution::Normal : Distribution::Uniform;
  std::span<const std::uint32_t> extents{at + 3, at[2]};
  if (opcode == Opcode::RandInt) {
    parameters = {{}, {registers[register_of(at[2])].i, registers[register_of(at[3])].i}};
    distribution = Distribution::Integer;
    extents = {at + 5, at[4]};
  }
  TensorObject* t = drawn(at[1], distribution, parameters, extents);
  if (!t) return false;
  put(at[1], t);
  return true;
}

bool Run::Parts::rand_state(const std::uint32_t* at) {
  if (!moved(kRandomStateBytes / sizeof(Slot))) return false;
  const std::int64_t size = kRandomStateBytes;
  TensorObject* t = tensor_for(at[1], {&size, 1});
  if (!t) return false;
  const RandomState state = random.state();
  std::memcpy(t->view.data, state.data(), state.size());
  put(at[1], t);
  return true;
}

bool Run::Parts::set_rand_state(const std::uint32_t* at) {
  const TensorObject* t = tensor_in(at[1]);
  if (!t || !moved(kRandomStateBytes / sizeof(Slot))) return false;
  if (!random.set_state({static_cast<const std::uint8_t*>(t->view.data), t->view.bytes}))
    return fail("RuntimeError", kInvalidRandomState);
  finish(at[1]);
  return true;
}

bool Run::Parts::lend_random(const std::uint32_t* at) {
  const TensorObject* t = tensor_in(at[1]);
  if (!t || !moved(kRandomStateBytes / sizeof(Slot))) return false;
  if (!random.lend({static_cast<const std::uint8_t*>(t->view.data), t->view.bytes}))
    return fail("RuntimeError", kInvalidRandomState);
  finish(at[1]);
  return true;
}

bool Run::Parts::give_back_random(const std::uint32_t* at) {
  const auto state = random.give_back();
  if (!state) return fail("RuntimeError", kNoRandomStateLent);
  if (!moved(kRandomStateBytes / sizeof(Slot))) return false;
  const std::int64_t size = kRandomStateBytes;
  TensorObject* t = tensor_for(at[1], {&size, 1});
  if (!t) return false;
  std::memcpy(t->view.data, state->data(), state->size());
  put(at[1], t);
  return true;
}

bool Run::Parts::set_rand_seed(const std::uint32_t* at) {
  if (!moved(kRandomStateBytes / sizeof(Slot))) return false;
  random.reseed(static_cast<std::uint64_t>(registers[register_of(at[1])].i));
  return true;
}

}  // namespace dycl::runtime
