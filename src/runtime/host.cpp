// SPDX-License-Identifier: Apache-2.0
// The machine under emitted host programs (dycl/host.h): the parts of a Run without the loop over instructions.
#include "dycl/host.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "runtime/list_ops.h"
#include "runtime/run_state.h"
#include "support/elements.h"
#include "support/npy.h"
#include "support/python_str.h"
#include "support/utf8.h"

namespace dycl::host {

using runtime::append_copies;
using runtime::clamp;
using runtime::Heap;
using runtime::Held;
using runtime::ListObject;
using runtime::make_own;
using runtime::resolve;
using runtime::Slot;
using runtime::SlotKind;
using runtime::TensorObject;

namespace {

Slot slot_of(std::uint64_t bits) {
  Slot s;
  s.bits = bits;
  return s;
}

Slot slot_of(const scalar::Scalar& value) {
  Slot out;
  if (value.kind == scalar::Kind::Bool)
    out.b = value.b;
  else if (value.kind == scalar::Kind::Int)
    out.i = value.i;
  else
    out.f = value.f;
  return out;
}

[[noreturn]] void fail(const char* type, std::string message) {
  throw Failure(Error{ErrorKind::RuntimeFailure, std::move(message), {}, {}, type});
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}

auto at_index(ListObject* list, std::size_t i) { return list->items.begin() + static_cast<std::ptrdiff_t>(i); }

}  // namespace

Failure::Failure(Error error) : std::runtime_error(error.message), error_(std::move(error)) {}

namespace detail {
void retain(TensorObject* t) noexcept { Heap::retain(t); }
void retain(ListObject* l) noexcept { Heap::retain(l); }
void release(TensorObject* t) noexcept { t->heap->release(t); }
void release(ListObject* l) noexcept { l->heap->release(l); }
void fault(scalar::Fault f) { throw Failure(scalar::to_error(f)); }
}  // namespace detail

struct Machine::Parts {
  runtime::Run run;
  runtime::Run::Parts& p;
  const runtime::Plan& plan;

  explicit Parts(runtime::Run made) : run(std::move(made)), p(run.parts()), plan(p.plan) {}

  // A tensor of a type and this shape, which must fit it.
  TensorObject* tensor_for(std::uint32_t type, std::span<const std::int64_t> shape) {
    const runtime::PlanType& declared = plan.types[type];
    if (!p.heap.matches(declared, shape)) {
      fail("RuntimeError",
           "a tensor of shape " + shape_text(shape) + " where the program expects " + runtime::type_text(plan, type));
    }
    TensorObject* t = declared.static_shape ? p.heap.acquire(type) : p.heap.acquire_shaped(declared.dtype, shape);
    if (!t) throw_error(p.no_memory("a tensor of shape " + shape_text(shape)));
    return t;
  }

  // Goes on if `ok`, which otherwise has set the error.
  void throw_error(bool ok) const {
    if (!ok) throw Failure(std::move(p.error));
  }

  // Lists grow or are shown in `body`.
  template <typename Body>
  auto grow(Body body) const {
    try {
      return body();
    } catch (const runtime::MemoryLimitReached&) {
      throw Failure(p.memory_limit_error("a list"));
    } catch (const runtime::RunEnds&) {
      throw Failure(std::move(p.error));
    }
  }
};

Machine::Machine(const std::filesystem::path& package, std::uint64_t fingerprint, runtime::LoadOptions options) {
  auto program = runtime::Program::load(package, std::move(options));
  if (!program) throw Failure(std::move(program).error());
  const runtime::Plan& plan = (*program)->parts().plan;
  const auto* code = reinterpret_cast<const std::uint8_t*>(plan.code.data());
  if (runtime::checksum_of({code, plan.code.size() * sizeof(std::uint32_t)}) != fingerprint) {
    throw Failure(Error{ErrorKind::InvalidPackage,
                        package.string() + " holds another program than the one this source was emitted from",
                        "emit the source again from this package",
                        {},
                        {}});
  }
  auto run = runtime::Run::create(*program);
  if (!run) throw Failure(std::move(run).error());
  parts_ = std::make_unique<Parts>(std::move(*run));
}
Machine::~Machine() = default;
Machine::Machine(Machine&&) noexcept = default;
Machine& Machine::operator=(Machine&&) noexcept = default;

runtime::Run& Machine::run() { return parts_->run; }
const runtime::Program& Machine::program() const { return parts_->run.program(); }

// ---- around a run ----------------------------------------------------------------------

void Machine::begin(std::span<const Value> arguments) {
  runtime::Run::Parts& p = parts_->p;
  if (p.is_running) throw Failure(runtime::Run::Parts::running_already());
  p.arguments = arguments;
  p.explicit_states = false;
  p.forget_last_run();
  p.decisions_made = 0;
  p.trace.clear();
  p.begin_limits();
  auto started = parts_->grow([&] { return p.start(); });
  if (!started) {
    leave();
    throw Failure(std::move(started).error());
  }
}

void Machine::leave() noexcept {
  parts_->p.end_limits();
  parts_->p.clear_registers();
}

std::uint64_t Machine::take_input(std::uint32_t index) {
  runtime::Run::Parts& p = parts_->p;
  return std::exchange(p.registers[parts_->plan.inputs[index].reg], Slot{}).bits;
}

std::uint64_t Machine::take_constant(std::uint32_t index) {
  runtime::Run::Parts& p = parts_->p;
  const std::uint32_t reg = parts_->plan.constants[index].reg;
  Heap::retain(p.shared.slot_of_register[reg], p.registers[reg]);
  return p.registers[reg].bits;
}

void Machine::put_result(std::uint32_t index, std::uint64_t bits) {
  runtime::Run::Parts& p = parts_->p;
  p.heap.release(p.shared.slot_of(parts_->plan.outputs[index].type), std::exchange(p.results[index], slot_of(bits)));
}

std::span<const Value> Machine::finish() {
  parts_->grow([&] { parts_->p.finish_run(); });
  return parts_->p.outputs;
}

std::span<const Value> Machine::last_results() const { return parts_->p.outputs; }

std::uint32_t Machine::type(const char* text) const {
  for (std::uint32_t i = 0; i < parts_->plan.types.size(); ++i)
    if (runtime::type_text(parts_->plan, i) == text) return i;
  throw Failure(Error{ErrorKind::InvalidPackage, std::string("the package has no type ") + text, {}, {}, {}});
}

// ---- sub-DNNs -------------------------------------------------------------------------------

void Machine::invoke(std::uint32_t sub_dnn, TensorObject* const* in, std::size_t in_count, TensorObject** out,
                     std::size_t out_count) {
  runtime::Run::Parts& p = parts_->p;
  const runtime::Plan& plan = parts_->plan;
  const runtime::LoadedSubDnn& callee = p.shared.sub_dnns[sub_dnn];
  parts_->throw_error(p.before_call());
  // As in the walker, a call's time is that of its buffers too.
  const auto begin = p.profiling ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
  for (std::size_t i = 0; i < in_count; ++i) p.call_inputs[i] = &in[i]->view;
  const auto give_up = [&](std::size_t made) {
    for (std::size_t i = 0; i < made; ++i) p.heap.release(out[i]);
  };
  for (std::size_t i = 0; i < out_count; ++i) {
    const runtime::LoadedPort& port = callee.outputs[i];
    const runtime::PlanType& type = plan.types[port.type];
    out[i] = port.preallocated ? p.heap.acquire(port.type) : p.heap.acquire_unshaped(type.dtype, &type);
    if (!out[i]) {
      give_up(i);
      parts_->throw_error(p.no_memory("result " + std::to_string(i) + " of sub-DNN " + plan.sub_dnns[sub_dnn].name +
                                      ", " + runtime::type_text(plan, port.type)));
    }
    p.call_outputs[i] = &out[i]->view;
  }
  const auto status = p.run_engine(sub_dnn);
  if (p.profiling) {
    ++p.profile[sub_dnn].calls;
    p.profile[sub_dnn].nanoseconds +=
        static_cast<std::uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count());
  }
  if (status != DYCL_PLUGIN_OK) [[unlikely]] {
    give_up(out_count);
    throw Failure(p.engine_error(sub_dnn, status));
  }
  for (std::size_t i = 0; i < out_count; ++i) {
    if (out[i]->view.rank >= 0) continue;
    give_up(out_count);
    fail("", "the engine gave no result " + std::to_string(i) + " of sub-DNN " + plan.sub_dnns[sub_dnn].name);
  }
}

// ---- functions of the host ------------------------------------------------------------------

Machine::HostFunction Machine::host_function(const char* name, std::initializer_list<const char*> inputs,
                                             std::initializer_list<const char*> results) const {
  const auto& known = parts_->plan.host_functions;
  const auto place = std::find(known.begin(), known.end(), name);
  if (place == known.end())
    throw Failure(
        Error{ErrorKind::InvalidPackage, std::string("the package has no host function ") + name, {}, {}, {}});
  HostFunction function{static_cast<std::uint32_t>(place - known.begin()), {}, {}};
  for (const char* text : inputs) function.inputs.push_back(type(text));
  for (const char* text : results) function.results.push_back(type(text));
  return function;
}

void Machine::invoke_host(const HostFunction& function, const std::uint64_t* in, std::uint64_t* out) {
  runtime::Run::Parts& p = parts_->p;
  parts_->throw_error(p.before_call());
  const runtime::ViewsOfCall views(p);
  parts_->grow([&] {
    for (std::size_t i = 0; i < function.inputs.size(); ++i)
      p.reveal(slot_of(in[i]), function.inputs[i], p.host_arguments[i]);
  });
  if (!p.run_host_function(function.number, function.inputs.size(), function.results))
    throw Failure(std::move(p.error));
  for (std::size_t i = 0; i < function.results.size(); ++i) out[i] = p.host_result(i, function.results[i]).bits;
}

// ---- tensors --------------------------------------------------------------------------------

scalar::Scalar Machine::read_item(const TensorObject* t) {
  if (t->view.bytes != size_of(t->dtype())) {
    fail("RuntimeError",
         "a Tensor with " + std::to_string(t->element_count()) + " elements cannot be converted to Scalar");
  }
  scalar::Scalar value;
  if (const auto f = load_element(t->dtype(), t->view.data, &value); f != scalar::Fault::None) detail::fault(f);
  return value;
}

TensorObject* Machine::make_scalar_tensor(const scalar::Scalar& value, std::uint32_t type) {
  Tensor t(parts_->tensor_for(type, {}));
  if (const auto f = store_element(t.get()->dtype(), value, t.get()->view.data); f != scalar::Fault::None)
    detail::fault(f);
  return std::move(t).give();
}

std::int64_t Machine::dim(const Tensor& t, std::uint32_t axis) {
  const auto extents = t.get()->extents();
  if (axis >= extents.size())
    fail("IndexError", "a tensor of shape " + shape_text(extents) + " has no dim " + std::to_string(axis));
  return extents[axis];
}

std::int64_t Machine::size(const Tensor& t) { return static_cast<std::int64_t>(t.get()->element_count()); }

namespace {
void check_extents(std::span<const std::int64_t> extents) {
  for (const std::int64_t e : extents)
    if (e < 0) fail("RuntimeError", "trying to create a tensor with negative dimension " + std::to_string(e));
}
}  // namespace

Tensor Machine::drawn(std::uint32_t type, std::string_view name, const DrawParameters& parameters,
                      std::span<const std::int64_t> extents) {
  const DistributionInfo* info = distribution_named("rand." + std::string(name));
  if (!info) fail("RuntimeError", "there is no distribution " + std::string(name));
  check_extents(extents);
  runtime::Run::Parts& p = parts_->p;
  Tensor t(parts_->tensor_for(type, extents));
  const std::size_t count = t.get()->element_count();
  const std::uint64_t beside = bytes_to_fill_random(info->distribution, parameters, count);
  parts_->throw_error(p.moved(count) && p.moved(beside / sizeof(Slot)));
  const runtime::Charge charge(p.heap, beside);
  if (!charge.made()) parts_->throw_error(p.no_memory("what numbers are chosen from"));
  if (const auto error =
          fill_random(p.random, info->distribution, parameters, t.get()->dtype(), t.get()->view.data, count))
    fail("RuntimeError", *error);
  return t;
}

Tensor Machine::draw(std::string_view name, std::uint32_t type, std::initializer_list<double> parameters,
                     std::initializer_list<std::int64_t> extents) {
  DrawParameters given;
  std::copy_n(parameters.begin(), std::min(parameters.size(), std::size(given.real)), given.real);
  return drawn(type, name, given, {extents.begin(), extents.size()});
}

Tensor Machine::draw_integers(std::string_view name, std::uint32_t type, std::initializer_list<std::int64_t> parameters,
                              std::initializer_list<std::int64_t> extents) {
  DrawParameters given;
  std::copy_n(parameters.begin(), std::min(parameters.size(), std::size(given.whole)), given.whole);
  return drawn(type, name, given, {extents.begin(), extents.size()});
}

Tensor Machine::draw_samples(std::string_view name, std::uint32_t type, std::initializer_list<Tensor> parameters,
                             std::initializer_list<std::int64_t> extents) {
  DrawParameters given;
  std::size_t place = 0;
  for (const Tensor& parameter : parameters) {
    const auto& view = parameter.get()->view;
    if (place < std::size(given.tensor))
      given.tensor[place++] = {static_cast<const std::uint8_t*>(view.data), view.bytes};
  }
  return drawn(type, name, given, {extents.begin(), extents.size()});
}

Tensor Machine::integers(std::uint32_t type, std::int64_t low, std::int64_t high,
                         std::initializer_list<std::int64_t> extents) {
  return draw_integers("int", type, {low, high}, extents);
}

Tensor Machine::random_state(std::uint32_t type) { return state_tensor(type, parts_->p.random.state()); }

Tensor Machine::state_tensor(std::uint32_t type, std::span<const std::uint8_t> state) {
  parts_->throw_error(parts_->p.moved(kRandomStateBytes / sizeof(Slot)));
  const std::int64_t size = kRandomStateBytes;
  Tensor t(parts_->tensor_for(type, {&size, 1}));
  std::memcpy(t.get()->view.data, state.data(), state.size());
  return t;
}

void Machine::lend_random(const Tensor& state) {
  parts_->throw_error(parts_->p.moved(kRandomStateBytes / sizeof(Slot)));
  const auto& view = state.get()->view;
  if (!parts_->p.random.lend({static_cast<const std::uint8_t*>(view.data), view.bytes}))
    fail("RuntimeError", kInvalidRandomState);
}

Tensor Machine::give_back_random(std::uint32_t type) {
  const auto state = parts_->p.random.give_back();
  if (!state) fail("RuntimeError", kNoRandomStateLent);
  return state_tensor(type, *state);
}

void Machine::set_random_state(const Tensor& state) {
  parts_->throw_error(parts_->p.moved(kRandomStateBytes / sizeof(Slot)));
  const auto& view = state.get()->view;
  if (!parts_->p.random.set_state({static_cast<const std::uint8_t*>(view.data), view.bytes}))
    fail("RuntimeError", kInvalidRandomState);
}

void Machine::seed(std::int64_t seed) {
  parts_->throw_error(parts_->p.moved(kRandomStateBytes / sizeof(Slot)));
  parts_->p.random.reseed(static_cast<std::uint64_t>(seed));
}

// ---- lists ----------------------------------------------------------------------------------

ListObject* Machine::new_list(std::uint8_t kind) {
  return parts_->grow([&] { return parts_->p.heap.acquire_list(static_cast<SlotKind>(kind)); });
}

ListObject* Machine::own_list(ListObject* owned) {
  Held held(parts_->p.heap, owned);
  if (owned->refs > 1) parts_->throw_error(parts_->p.moved(owned->items.size()));
  parts_->grow([&] { make_own(held); });
  return held.give().list;
}

// The reference in `bits` is the list's, or goes back.
void Machine::push(ListObject* l, std::uint64_t bits) {
  Held item(*l->heap, l->elements, slot_of(bits));
  parts_->grow([&] { item.give_to(l); });
}

void Machine::push_all(ListObject* l, const ListObject* more) {
  parts_->throw_error(parts_->p.moved(more->items.size()));
  parts_->grow([&] { append_copies(l, more->items); });
}

std::int64_t Machine::length(const ListObject* l) { return static_cast<std::int64_t>(l->items.size()); }

std::uint64_t Machine::element(const ListObject* l, std::int64_t index) {
  std::size_t i = 0;
  if (!resolve(index, l->items.size(), &i)) fail("IndexError", "list index out of range");
  Heap::retain(l->elements, l->items[i]);
  return l->items[i].bits;
}

std::size_t Machine::place_to_set(const ListObject* l, std::int64_t index) {
  std::size_t i = 0;
  if (!resolve(index, l->items.size(), &i)) fail("IndexError", "list assignment index out of range");
  return i;
}

std::size_t Machine::place_to_pop(const ListObject* l, std::int64_t index) {
  std::size_t i = 0;
  if (l->items.empty()) fail("IndexError", "pop from empty list");
  if (!resolve(index, l->items.size(), &i)) fail("IndexError", "pop index out of range");
  return i;
}

void Machine::replace(ListObject* l, std::size_t place, std::uint64_t bits) {
  parts_->p.heap.release(l->elements, std::exchange(l->items[place], slot_of(bits)));
}

std::uint64_t Machine::remove(ListObject* l, std::size_t place) {
  const std::uint64_t bits = l->items[place].bits;
  parts_->throw_error(parts_->p.moved(l->items.size() - place));
  l->items.erase(at_index(l, place));
  return bits;
}

void Machine::insert_at(ListObject* l, std::int64_t index, std::uint64_t bits) {
  Held item(*l->heap, l->elements, slot_of(bits));
  const std::size_t place = clamp(index, l->items.size());
  parts_->throw_error(parts_->p.moved(l->items.size() - place));
  parts_->grow([&] { l->heap->make_room(l, 1); });
  l->items.insert(at_index(l, place), item.give());
}

ListObject* Machine::part(const ListObject* l, std::int64_t from, std::int64_t until) {
  const std::size_t begin = clamp(from, l->items.size());
  const std::size_t end = std::max(begin, clamp(until, l->items.size()));
  parts_->throw_error(parts_->p.moved(end - begin));
  Held out(parts_->p.heap, new_list(static_cast<std::uint8_t>(l->elements)));
  parts_->grow([&] { append_copies(out.list(), std::span(l->items).subspan(begin, end - begin)); });
  return out.give().list;
}

ListObject* Machine::list_of(const TensorObject* t) {
  if (t->view.rank != 1)
    fail("ValueError", "a list is made of a tensor with one dim, not of shape " + shape_text(t->extents()));
  const auto count = static_cast<std::size_t>(t->shape[0]);
  parts_->throw_error(parts_->p.moved(count));
  detail::Handle<ListObject> list(new_list(0));
  parts_->grow([&] { list.get()->heap->make_room(list.get(), count); });
  const auto* data = static_cast<const std::uint8_t*>(t->view.data);
  for (std::size_t i = 0; i < count; ++i, data += size_of(t->dtype())) {
    scalar::Scalar value;
    if (const auto f = load_element(t->dtype(), data, &value); f != scalar::Fault::None) detail::fault(f);
    list.get()->items.push_back(slot_of(value));
  }
  return std::move(list).give();
}

TensorObject* Machine::tensor_of(const ListObject* l, char element, std::uint32_t type) {
  const auto count = static_cast<std::int64_t>(l->items.size());
  parts_->throw_error(parts_->p.moved(l->items.size()));
  Tensor t(parts_->tensor_for(type, {&count, 1}));
  auto* data = static_cast<std::uint8_t*>(t.get()->view.data);
  for (Slot s : l->items) {
    const scalar::Scalar value = element == 'b'   ? scalar::Scalar::of(s.b)
                                 : element == 'i' ? scalar::Scalar::of(s.i)
                                                  : scalar::Scalar::of(s.f);
    if (const auto f = store_element(t.get()->dtype(), value, data); f != scalar::Fault::None) detail::fault(f);
    data += size_of(t.get()->dtype());
  }
  return std::move(t).give();
}

TensorObject* Machine::join(const ListObject* l, std::int32_t given_axis, bool stack, std::uint32_t type) {
  const std::string verb = stack ? "stack" : "cat";
  parts_->throw_error(parts_->p.moved(l->items.size()));
  if (l->items.empty()) fail("RuntimeError", verb + " expects a non-empty list of tensors");
  const auto first = l->items[0].tensor->extents();
  const auto places = static_cast<std::int64_t>(first.size()) + (stack ? 1 : 0);
  const std::int64_t axis = given_axis;
  if (axis < -places || axis >= places)
    fail("IndexError", verb + ": axis " + std::to_string(axis) + " is out of range for shape " + shape_text(first));
  if (places > runtime::kMaxRank) fail("RuntimeError", verb + ": too many dims");
  const auto where = static_cast<std::size_t>(axis < 0 ? axis + places : axis);
  std::int64_t joined = 0;
  for (Slot item : l->items) {
    const auto shape = item.tensor->extents();
    bool agree = shape.size() == first.size();
    for (std::size_t i = 0; agree && i < shape.size(); ++i) agree = shape[i] == first[i] || (!stack && i == where);
    if (!agree) {
      fail("RuntimeError",
           verb + ": tensors of shapes " + shape_text(first) + " and " + shape_text(shape) + " do not go together");
    }
    if (__builtin_add_overflow(joined, stack ? 1 : shape[where], &joined)) fail("RuntimeError", "too many elements");
  }
  std::int64_t shape[runtime::kMaxRank];
  std::copy(first.begin(), first.end(), shape);
  if (stack) std::copy_backward(first.begin() + static_cast<std::ptrdiff_t>(where), first.end(), shape + places);
  shape[where] = joined;
  Tensor t(parts_->tensor_for(type, {shape, static_cast<std::size_t>(places)}));
  parts_->throw_error(parts_->p.moved(t.get()->view.bytes / sizeof(Slot)));
  runtime::copy_joined(l->items, where, t.get());
  return std::move(t).give();
}

std::uint64_t Machine::inside(const ListObject* l) {
  if (l->items.empty()) fail("TypeError", "the value is None");
  Heap::retain(l->elements, l->items[0]);
  return l->items[0].bits;
}

// ---- effects and ends ------------------------------------------------------------------------

void Machine::write(std::string_view format, std::initializer_list<scalar::Scalar> args) {
  const std::string text = format_message(format, std::span(args.begin(), args.size()));
  parts_->throw_error(parts_->p.moved(text.size() / sizeof(Slot)));
  if (parts_->p.print_to)
    parts_->p.print_to(text);
  else
    put_printed(stdout, text);
}

void Machine::keep_bits(std::string_view name, std::uint32_t type, std::uint64_t bits) {
  parts_->p.keep(name, type, slot_of(bits));
}

void Machine::raise_error(std::string_view type, std::string_view format, std::initializer_list<scalar::Scalar> args) {
  parts_->grow([&] { parts_->p.leave_kept(); });
  const std::string text = format_message(format, std::span(args.begin(), args.size()));
  throw Failure(Error{ErrorKind::RuntimeFailure, text, {}, {}, std::string(type)});
}

void Machine::check_failed(const char* type, const char* message) { fail(type, message); }

void Machine::next_round(std::uint32_t loop, std::int64_t rounds) {
  runtime::Run::Parts& p = parts_->p;
  bool goes_on = true;
  if (rounds > p.loop_limits[loop]) [[unlikely]]
    goes_on = p.loop_ran_too_long(loop);
  else if (!p.spend(1)) [[unlikely]]
    goes_on = false;
  if (goes_on) return;
  p.error.span = p.span_of_loop(loop);
  parts_->throw_error(false);
}

std::uint32_t Machine::decide(std::uint32_t decision, std::uint32_t arm) {
  if (!parts_->p.decide(decision, &arm)) throw Failure(std::move(parts_->p.error));
  return arm;
}

std::uint32_t Machine::arm(std::uint32_t decision, std::int64_t selector, std::initializer_list<std::int64_t> cases) {
  const auto place = std::find(cases.begin(), cases.end(), selector);
  return decide(decision, static_cast<std::uint32_t>(place - cases.begin()));
}

namespace {
struct CType {
  DType dtype;
  std::uint8_t code, bits;
};
constexpr CType kCTypes[] = {{DType::F32, 2, 32}, {DType::F64, 2, 64},   {DType::F16, 2, 16}, {DType::BF16, 4, 16},
                             {DType::I8, 0, 8},   {DType::I16, 0, 16},   {DType::I32, 0, 32}, {DType::I64, 0, 64},
                             {DType::U8, 1, 8},   {DType::U16, 1, 16},   {DType::U32, 1, 32}, {DType::U64, 1, 64},
                             {DType::C64, 5, 64}, {DType::C128, 5, 128}, {DType::Bool, 6, 8},
                             {DType::F8E4M3FN, 10, 8}, {DType::F8E4M3FNUZ, 11, 8}, {DType::F8E5M2, 12, 8}, {DType::F8E5M2FNUZ, 13, 8}};
}  // namespace

View view_of(const dycl_tensor& t) {
  const auto refuse = [](const char* what) -> View { throw Failure(Error{ErrorKind::InvalidInput, what, {}, {}, {}}); };
  if (t.device.device_type != 1) return refuse("a tensor that is not in the CPU's memory");
  if (t.ndim < 0 || t.ndim > runtime::kMaxRank || (t.ndim > 0 && !t.shape)) return refuse("a tensor without a shape");
  std::int64_t expected = 1;
  for (std::int32_t i = t.ndim; t.strides && i-- > 0;) {
    if (t.shape[i] != 1 && t.strides[i] != expected) return refuse("a tensor that is not compact and row-major");
    if (__builtin_mul_overflow(expected, t.shape[i], &expected)) return refuse("a tensor with an impossible shape");
  }
  for (const CType& c : kCTypes) {
    if (c.code != t.dtype.code || c.bits != t.dtype.bits || t.dtype.lanes != 1) continue;
    const auto* data = static_cast<const std::uint8_t*>(t.data);
    return {data ? data + t.byte_offset : nullptr, c.dtype, {t.shape, static_cast<std::size_t>(t.ndim)}};
  }
  return refuse("a tensor of an unknown dtype");
}

dycl_tensor c_tensor_of(const View& view) {
  dycl_tensor t{};
  t.data = const_cast<void*>(view.data);
  t.device.device_type = 1;
  t.ndim = static_cast<std::int32_t>(view.shape.size());
  t.shape = const_cast<std::int64_t*>(view.shape.data());
  for (const CType& c : kCTypes)
    if (c.dtype == view.dtype) t.dtype = {c.code, c.bits, 1};
  return t;
}

Array load_npy(const std::filesystem::path& path) {
  auto read = read_npy(path);
  if (!read) throw Failure(std::move(read).error());
  return {read->dtype, std::move(read->shape), std::move(read->bytes)};
}

}  // namespace dycl::host
