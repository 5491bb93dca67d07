// SPDX-License-Identifier: Apache-2.0
// Between the caller's values and registers: checks, symbols, views.
#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "runtime/dim_code.h"
#include "runtime/run_state.h"

namespace dycl::runtime {
namespace {

Error bad_input(std::string message, std::string help = {}) {
  return {ErrorKind::InvalidInput, std::move(message), std::move(help), {}, {}};
}

std::string shown(const Tensor& t) {
  std::string text = std::string(name_of(t.dtype)) + "[";
  for (std::size_t i = 0; i < t.shape.size(); ++i) text += (i ? "," : "") + std::to_string(t.shape[i]);
  return text + "]";
}

std::string shown(const Value& v) {
  switch (v.kind) {
    case Value::Kind::None: return "None";
    case Value::Kind::Bool: return "a bool";
    case Value::Kind::Int: return "an int";
    case Value::Kind::Float: return "a float";
    case Value::Kind::List: return "a list";
    case Value::Kind::Tensor: break;
  }
  return shown(v.tensor);
}

bool is_kind(Value::Kind given, ValueKind wanted) {
  switch (wanted) {
    case ValueKind::Tensor: return given == Value::Kind::Tensor;
    case ValueKind::Bool: return given == Value::Kind::Bool;
    case ValueKind::Int: return given == Value::Kind::Int;
    case ValueKind::Float: return given == Value::Kind::Float;
    case ValueKind::List: return given == Value::Kind::List;
    case ValueKind::Optional: return true;
  }
  return false;
}

// Elements in all views that are shown at a time.
constexpr std::uint64_t kMostViews = std::uint64_t{1} << 26;

// How many elements the views of a list have: each list counts as often as it is referred to, and is looked at once.
std::uint64_t elements_in(const ListObject* list, std::unordered_map<const ListObject*, std::uint64_t>& known) {
  std::uint64_t count = list->items.size();
  if (list->elements != SlotKind::List) return count;
  if (const auto found = known.find(list); found != known.end()) return found->second;
  for (const Slot item : list->items) count = std::min(count + elements_in(item.list, known), 2 * kMostViews);
  known.emplace(list, count);
  return count;
}

// Makes of values that hold memory of the caller others that hold their own. What is referred to often is looked at,
// and copied, once: lists of lists may refer to each other as often as they have elements.
class Keeper {
 public:
  explicit Keeper(Run::Parts& run) : run_(run) {}

  // Gives a reference to `slot` itself or to its copy.
  Slot kept(Slot slot, std::uint32_t type) {
    const PlanType& t = run_.plan.types[type];
    const SlotKind kind = run_.shared.slot_of(type);
    const bool copies =
        kind == SlotKind::Tensor ? slot.tensor->transient : kind == SlotKind::List && borrows(slot.list);
    if (!copies) {
      Heap::retain(kind, slot);
      return slot;
    }
    const auto known = copies_.find(slot.bits);
    if (known != copies_.end()) {
      Heap::retain(kind, known->second);
      return known->second;
    }
    const Slot made = kind == SlotKind::Tensor ? copy(*slot.tensor) : copy(*slot.list, t.element);
    copies_.emplace(slot.bits, made);
    return made;
  }

 private:
  bool borrows(const ListObject* list) {
    if (list->elements == SlotKind::Scalar) return false;
    const auto known = borrows_.find(list);
    if (known != borrows_.end()) return known->second;
    const bool found = std::any_of(list->items.begin(), list->items.end(), [&](Slot s) {
      return list->elements == SlotKind::Tensor ? s.tensor->transient : borrows(s.list);
    });
    borrows_.emplace(list, found);
    return found;
  }

  Slot copy(const TensorObject& tensor) {
    Slot made;
    made.tensor = run_.heap.acquire_shaped(tensor.dtype(), tensor.extents());
    if (!made.tensor) run_.heap.throw_no_memory();
    std::memcpy(made.tensor->view.data, tensor.view.data, tensor.view.bytes);
    return made;
  }

  Slot copy(const ListObject& list, std::uint32_t element) {
    Held made(run_.heap, run_.heap.acquire_list(list.elements));
    run_.heap.make_room(made.list(), list.items.size());
    for (const Slot item : list.items) made.list()->items.push_back(kept(item, element));
    return made.give();
  }

  Run::Parts& run_;
  std::unordered_map<const ListObject*, bool> borrows_;
  std::unordered_map<std::uint64_t, Slot> copies_;  // held by what they are part of
};

// A pointer that is never null, for tensors without elements.
alignas(kAlignment) std::uint8_t no_elements[kAlignment];

}  // namespace

std::string Run::Parts::name_of_input(std::size_t input) const {
  const PlanInput& in = plan.inputs[input];
  if (in.state >= 0) return "state " + plan.states[static_cast<std::size_t>(in.state)].name;
  return "argument " + std::to_string(shared.argument_of_input[input]) + (in.name.empty() ? "" : " (" + in.name + ")");
}

Result<void> Run::Parts::check_tensor(const Tensor& t, std::uint32_t type, const std::string& what) const {
  const PlanType& wanted = plan.types[type];
  const auto expected = [&] { return "; expected " + type_text(plan, type) + ", got " + shown(t); };
  if (t.dtype != wanted.dtype) {
    return bad_input(what + " has dtype " + std::string(name_of(t.dtype)) + ", not " +
                     std::string(name_of(wanted.dtype)) + expected());
  }
  if (t.shape.size() > kMaxRank) return bad_input(what + " has more than " + std::to_string(kMaxRank) + " dims");
  if (wanted.rank_known && t.shape.size() != wanted.dims.size()) {
    return bad_input(what + " has " + std::to_string(t.shape.size()) + " dims, not " +
                     std::to_string(wanted.dims.size()) + expected());
  }
  for (std::size_t i = 0; i < wanted.dims.size(); ++i) {
    if (wanted.dims[i].value >= 0 && wanted.dims[i].value != t.shape[i]) {
      return bad_input(what + ": dim " + std::to_string(i) + " is " + std::to_string(t.shape[i]) + " and must be " +
                       std::to_string(wanted.dims[i].value) + expected());
    }
  }
  const auto bytes = tensor_bytes(t.dtype, t.shape);
  if (!bytes) return bad_input(what + " has an impossible shape" + expected());
  if (*bytes > 0 && !t.data) return bad_input(what + " has no data");
  if (reinterpret_cast<std::uintptr_t>(t.data) % std::min<std::size_t>(size_of(t.dtype), 8) != 0) {
    return bad_input(what + " is not aligned to its element size", "copy it to aligned memory");
  }
  return {};
}

Result<void> Run::Parts::check_value(const Value& value, std::uint32_t type, const std::string& what) const {
  const PlanType& wanted = plan.types[type];
  if (!is_kind(value.kind, wanted.kind)) {
    return bad_input(what + " is " + shown(value) + "; expected " + type_text(plan, type));
  }
  if (wanted.kind == ValueKind::Tensor) return check_tensor(value.tensor, type, what);
  if (wanted.kind == ValueKind::Optional && value.kind != Value::Kind::None)
    return check_value(value, wanted.element, what);
  if (wanted.kind == ValueKind::List) {
    for (std::size_t i = 0; i < value.elements.size(); ++i) {
      DYCL_TRY(check_value(value.elements[i], wanted.element, "element " + std::to_string(i) + " of " + what));
    }
  }
  return {};
}

Result<void> Run::Parts::check_extents(const Value& value, std::uint32_t type, const std::string& what) const {
  const PlanType& wanted = plan.types[type];
  if (wanted.kind == ValueKind::Optional) {
    return value.kind == Value::Kind::None ? Result<void>() : check_extents(value, wanted.element, what);
  }
  if (wanted.kind == ValueKind::List) {
    for (const Value& element : value.elements)
      DYCL_TRY(check_extents(element, wanted.element, "an element of " + what));
  }
  if (wanted.kind != ValueKind::Tensor) return {};
  for (std::size_t i = 0; i < wanted.dims.size(); ++i) {
    const PlanDim& d = wanted.dims[i];
    if (d.code.empty()) continue;
    const auto extent = evaluate_dim(d.code, heap.symbols());
    if (extent && *extent != value.tensor.shape[i]) {
      return bad_input(what + ": dim " + std::to_string(i) + " is " + std::to_string(value.tensor.shape[i]) +
                       " and must be " + d.text + " = " + std::to_string(*extent) + "; expected " +
                       type_text(plan, type) + ", got " + shown(value.tensor));
    }
  }
  return {};
}

Result<void> Run::Parts::bind_symbol(const SymbolBinding& binding) {
  const PlanDim& d = plan.type_of(plan.inputs[binding.input].reg).dims[binding.axis];
  const std::int64_t extent = input_shapes[binding.input][binding.axis];
  const PlanSymbol& symbol = plan.symbols[binding.symbol];
  const auto value =
      d.code.size() == 2 ? std::optional(extent) : solve_dim(d.code, symbol_values, binding.symbol, extent);
  if (value) return set_symbol(binding.symbol, *value, binding.input, binding.axis, extent);
  return bad_input(name_of_input(binding.input) + ": dim " + std::to_string(binding.axis) + " is " +
                   std::to_string(extent) + ", which no " + symbol.name + " makes of " + d.text);
}

Result<void> Run::Parts::set_symbol(std::uint32_t index, std::int64_t value, std::size_t input, std::size_t axis,
                                    std::int64_t extent) {
  const PlanSymbol& symbol = plan.symbols[index];
  if (value < symbol.min || value > symbol.max) {
    const std::string most = symbol.max == INT64_MAX ? "" : " and at most " + std::to_string(symbol.max);
    return bad_input(name_of_input(input) + ": dim " + std::to_string(axis) + " is " + std::to_string(extent) +
                     ", so " + symbol.name + " is " + std::to_string(value) + "; it must be at least " +
                     std::to_string(symbol.min) + most);
  }
  symbol_values[index] = value;
  return {};
}

Result<void> Run::Parts::bind_inside(const Value& value, std::uint32_t type, std::size_t input) {
  const PlanType& t = plan.types[type];
  if (t.kind == ValueKind::Optional && value.kind != Value::Kind::None) return bind_inside(value, t.element, input);
  if (t.kind == ValueKind::List) {
    for (const Value& element : value.elements) DYCL_TRY(bind_inside(element, t.element, input));
  }
  if (t.kind != ValueKind::Tensor) return {};
  for (std::size_t axis = 0; axis < t.dims.size(); ++axis) {
    const auto& code = t.dims[axis].code;
    if (code.size() != 2 || symbols_of(code).size() != 1 || symbol_values[symbols_of(code)[0]] >= 0) continue;
    DYCL_TRY(set_symbol(static_cast<std::uint32_t>(symbols_of(code)[0]), value.tensor.shape[axis], input, axis,
                        value.tensor.shape[axis]));
  }
  return {};
}

Result<void> Run::Parts::bind_symbols() {
  std::fill(symbol_values.begin(), symbol_values.end(), -1);
  for (const SymbolBinding& b : shared.bindings) DYCL_TRY(bind_symbol(b));
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    const std::uint32_t reg = plan.inputs[i].reg;
    if (shared.slot_of_register[reg] != SlotKind::List) continue;
    if (const Value* v = given(i)) DYCL_TRY(bind_inside(*v, plan.registers[reg], i));
  }
  heap.bind_symbols(symbol_values);
  return {};
}

const Value* Run::Parts::given(std::size_t input) const {
  const PlanInput& in = plan.inputs[input];
  if (in.state < 0) return &arguments[shared.argument_of_input[input]];
  return explicit_states ? &given_states[static_cast<std::size_t>(in.state)] : nullptr;
}

Result<void> Run::Parts::check_inputs() {
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    const PlanInput& in = plan.inputs[i];
    const std::uint32_t type = plan.registers[in.reg];
    const bool is_tensor = plan.types[type].kind == ValueKind::Tensor;
    const Value* v = given(i);
    // The name is made only for an error: these checks run on every call.
    if (v && !check_value(*v, type, {})) return check_value(*v, type, name_of_input(i));
    input_shapes[i] = !is_tensor ? std::span<const std::int64_t>()
                      : v        ? v->tensor.shape
                                 : states[static_cast<std::size_t>(in.state)].tensor->extents();
  }
  return {};
}

Result<void> Run::Parts::check_symbolic_inputs() {
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    const std::uint32_t type = plan.registers[plan.inputs[i].reg];
    if (const Value* v = given(i)) {
      if (!check_extents(*v, type, {})) return check_extents(*v, type, name_of_input(i));
    } else if (plan.types[type].kind == ValueKind::Tensor && !heap.matches(plan.types[type], input_shapes[i])) {
      return bad_input(name_of_input(i) + " has a shape that does not go with the arguments; expected " +
                       type_text(plan, type));
    }
  }
  return {};
}

Result<void> Run::Parts::start() {
  if (arguments.size() != shared.inputs.size()) {
    return bad_input("the program takes " + std::to_string(shared.inputs.size()) + " arguments, got " +
                     std::to_string(arguments.size()));
  }
  if (explicit_states && given_states.size() != plan.states.size()) {
    return bad_input("the program has " + std::to_string(plan.states.size()) + " states, got " +
                     std::to_string(given_states.size()));
  }
  DYCL_TRY(check_inputs());
  if (!plan.symbols.empty()) {
    DYCL_TRY(bind_symbols());
    DYCL_TRY(check_symbolic_inputs());
  }
  arguments_used = 0;
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    const PlanInput& in = plan.inputs[i];
    const SlotKind kind = shared.slot_of_register[in.reg];
    const Value* v = given(i);
    const Slot slot = v ? admit(*v, plan.registers[in.reg]) : states[static_cast<std::size_t>(in.state)];
    if (!v) Heap::retain(kind, slot);
    put(in.reg, kind, slot);
  }
  return {};
}

TensorObject* Run::Parts::argument_header() {
  if (arguments_used == argument_headers.size()) {
    argument_headers.push_back(heap.acquire_borrowed());
    argument_headers.back()->transient = true;
  }
  return argument_headers[arguments_used++];
}

Slot Run::Parts::admit(const Value& value, std::uint32_t type) {
  const PlanType& t = plan.types[type];
  Slot slot;
  switch (t.kind) {
    case ValueKind::Bool: slot.b = value.boolean; break;
    case ValueKind::Int: slot.i = value.integer; break;
    case ValueKind::Float: slot.f = value.floating; break;
    case ValueKind::Tensor:
      slot.tensor = argument_header();
      heap.point(slot.tensor, t.dtype, value.tensor.shape, value.tensor.data ? value.tensor.data : no_elements);
      Heap::retain(slot.tensor);
      break;
    case ValueKind::List: slot.list = admit_list(value.elements, t.element); break;
    case ValueKind::Optional:
      slot.list = admit_list({&value, value.kind == Value::Kind::None ? 0U : 1U}, t.element);
      break;
  }
  return slot;
}

ListObject* Run::Parts::admit_list(std::span<const Value> values, std::uint32_t element_type) {
  Held list(heap, heap.acquire_list(shared.slot_of(element_type)));
  heap.make_room(list.list(), values.size());
  for (const Value& value : values) list.list()->items.push_back(admit(value, element_type));
  return list.give().list;
}

Slot Run::Parts::kept(Slot slot, std::uint32_t type) {
  const Held held(heap, shared.slot_of(type), slot);
  return Keeper(*this).kept(slot, type);
}

void Run::Parts::pay_for_views(const ListObject* list) {
  std::unordered_map<const ListObject*, std::uint64_t> known;
  const std::uint64_t elements = elements_in(list, known);
  if (is_running) heap.charge(elements * sizeof(Value));  // between runs what is shown is the caller's
  views += elements;
  if (views <= kMostViews) return;
  error = {ErrorKind::RuntimeFailure,
           "lists with more than " + std::to_string(kMostViews) + " elements in all are given back",
           "give back tensors, or fewer elements",
           {},
           {}};
  throw RunEnds();
}

void Run::Parts::forget_views() {
  heap.discharge(views * sizeof(Value));
  views = 0;
}

void Run::Parts::reveal(Slot slot, std::uint32_t type, Value& out) {
  if (shared.slot_of(type) == SlotKind::List) pay_for_views(slot.list);
  show(slot, type, out);
}

void Run::Parts::show(Slot slot, std::uint32_t type, Value& out) {
  const PlanType& t = plan.types[type];
  switch (t.kind) {
    case ValueKind::Bool:
      out.kind = Value::Kind::Bool;
      out.integer = 0;
      out.boolean = slot.b;
      break;
    case ValueKind::Int:
      out.kind = Value::Kind::Int;
      out.integer = slot.i;
      break;
    case ValueKind::Float:
      out.kind = Value::Kind::Float;
      out.floating = slot.f;
      break;
    case ValueKind::Tensor:
      out.kind = Value::Kind::Tensor;
      out.tensor = {slot.tensor->view.data, slot.tensor->dtype(), slot.tensor->extents()};
      break;
    case ValueKind::List:
      out.kind = Value::Kind::List;
      if (is_running && !moved(slot.list->items.size())) throw RunEnds();
      out.elements.resize(slot.list->items.size());
      for (std::size_t i = 0; i < out.elements.size(); ++i) show(slot.list->items[i], t.element, out.elements[i]);
      break;
    case ValueKind::Optional:
      if (slot.list->items.empty())
        out.kind = Value::Kind::None;
      else
        show(slot.list->items[0], t.element, out);
      break;
  }
}

}  // namespace dycl::runtime
