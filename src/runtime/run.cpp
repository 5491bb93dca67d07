// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <exception>

#include "runtime/run_state.h"

namespace dycl::runtime {
namespace {

const std::uint8_t* aligned_start(const std::vector<std::uint64_t>& words) {
  const auto* start = reinterpret_cast<const std::uint8_t*>(words.data());
  return start + (kAlignment - reinterpret_cast<std::uintptr_t>(start) % kAlignment) % kAlignment;
}

std::vector<std::int64_t> static_extents(const PlanType& t) {
  std::vector<std::int64_t> shape;
  for (const PlanDim& d : t.dims) shape.push_back(d.value);
  return shape;
}

}  // namespace

Run::Parts::Parts(std::shared_ptr<const Program> owner)
    : program(std::move(owner)),
      shared(program->parts()),
      plan(shared.plan),
      heap(plan),
      registers(plan.registers.size()),
      results(plan.outputs.size()),
      fresh_states(plan.outputs.size()),
      weight_headers(shared.weights.size(), nullptr),
      loop_counts(plan.loops.size(), 0),
      loop_limits(plan.loops.size()),
      call_inputs(shared.max_inputs, nullptr),
      call_outputs(shared.max_outputs, nullptr),
      input_shapes(plan.inputs.size()),
      symbol_values(plan.symbols.size(), -1),
      outputs(shared.outputs.size()),
      new_states(plan.states.size()),
      host_arguments(shared.max_inputs),
      host_results(shared.max_outputs),
      profile(plan.sub_dnns.size()) {
  for (std::size_t i = 0; i < plan.constants.size(); ++i) {
    const PlanConstant& c = plan.constants[i];
    const PlanType& t = plan.type_of(c.reg);
    Slot& slot = registers[c.reg];
    if (is_scalar(t.kind)) {
      if (t.kind == ValueKind::Bool)
        slot.b = c.bits != 0;
      else
        slot.bits = c.bits;
    } else if (c.weight >= 0) {
      slot.tensor = weight_header(static_cast<std::uint32_t>(c.weight));
    } else {
      slot.tensor = heap.acquire_borrowed();
      heap.point(slot.tensor, t.dtype, static_extents(t), aligned_start(shared.literals[i]));
    }
  }
  for (const PlanState& s : plan.states) states.push_back(initial_state(s));
  set_loop_limit(0);
}

void Run::Parts::set_loop_limit(std::int64_t limit) {
  const std::int64_t fallback = limit > 0 ? limit : kDefaultLoopLimit;
  for (std::size_t i = 0; i < loop_limits.size(); ++i) loop_limits[i] = plan.loops[i] > 0 ? plan.loops[i] : fallback;
}

// Contexts go before the heap: no engine must be left with a tensor that is gone.
Run::Parts::~Parts() = default;

TensorObject* Run::Parts::weight_header(std::uint32_t weight) {
  TensorObject*& header = weight_headers[weight];
  if (!header) {
    const WeightInfo& w = shared.weights[weight];
    header = heap.acquire_borrowed();
    heap.point(header, w.dtype, w.shape, w.bytes.data());
  }
  Heap::retain(header);
  return header;
}

Slot Run::Parts::initial_state(const PlanState& state) {
  const auto item = [&](std::uint64_t value, ValueKind kind) {
    Slot slot;
    if (kind == ValueKind::Tensor)
      slot.tensor = weight_header(static_cast<std::uint32_t>(value));
    else if (kind == ValueKind::Bool)
      slot.b = value != 0;
    else
      slot.bits = value;
    return slot;
  };
  const PlanType& type = plan.types[state.type];
  if (type.kind == ValueKind::Tensor || is_scalar(type.kind)) return item(state.initial[0], type.kind);
  Slot slot;
  slot.list = heap.acquire_list(shared.slot_of(type.element));
  try {
    heap.make_room(slot.list, state.initial.size());
    for (std::uint64_t value : state.initial) slot.list->items.push_back(item(value, plan.types[type.element].kind));
  } catch (...) {  // out of memory: what was made goes back
    heap.release(shared.slot_of(state.type), slot);
    throw;
  }
  return slot;
}

void Run::Parts::forget_results() {
  for (std::size_t i = 0; i < results.size(); ++i) {
    heap.release(shared.slot_of(plan.outputs[i].type), std::exchange(results[i], Slot{}));
  }
  forget_views();
  kept_values.clear();
  for (const KeptSlot& k : kept_slots) heap.release(shared.slot_of(k.type), k.value);
  kept_slots.clear();
}

void Run::Parts::forget_last_run() {
  forget_results();
  if (std::exchange(registers_are_left, false)) clear_registers();
}

void Run::Parts::clear_registers() {
  for (std::uint32_t reg : shared.handles) {
    if (registers[reg].bits != 0) forget(reg);
  }
}

void Run::Parts::finish_run() {
  std::size_t next = 0;
  if (explicit_states) std::copy(given_states.begin(), given_states.end(), new_states.begin());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const PlanOutput& out = plan.outputs[i];
    if (out.state < 0)
      reveal(results[i], out.type, outputs[next++]);
    else if (explicit_states)
      reveal(results[i], out.type, new_states[static_cast<std::size_t>(out.state)]);
  }
  if (!explicit_states) keep_new_states();  // the last thing that may fail: until then states are as they were
}

// All states become what the run made of them, or none if memory runs out.
void Run::Parts::keep_new_states() {
  std::size_t done = 0;
  try {
    for (; done < results.size(); ++done) {
      const PlanOutput& out = plan.outputs[done];
      if (out.state < 0) continue;
      Heap::retain(shared.slot_of(out.type), results[done]);
      fresh_states[done] = kept(results[done], out.type);
    }
  } catch (...) {
    for (std::size_t i = 0; i < done; ++i) drop_fresh_state(i);
    throw;
  }
  for (std::size_t i = 0; i < done; ++i) {
    if (plan.outputs[i].state < 0) continue;
    std::swap(states[static_cast<std::size_t>(plan.outputs[i].state)], fresh_states[i]);
    drop_fresh_state(i);
  }
}

void Run::Parts::drop_fresh_state(std::size_t output) {
  heap.release(shared.slot_of(plan.outputs[output].type), std::exchange(fresh_states[output], Slot{}));
}

void Run::Parts::keep(std::string_view name, std::uint32_t type, Slot value) {
  const auto known =
      std::find_if(kept_slots.begin(), kept_slots.end(), [&](const KeptSlot& k) { return k.name == name; });
  if (known == kept_slots.end()) return kept_slots.push_back({name, type, value});
  heap.release(shared.slot_of(known->type), known->value);
  known->type = type;
  known->value = value;
}

void Run::Parts::leave_kept() {
  if (kept_slots.empty()) return;
  try {
    if (explicit_states) std::copy(given_states.begin(), given_states.end(), new_states.begin());
    for (const KeptSlot& k : kept_slots) {
      kept_values.push_back({k.name, {}});
      reveal(k.value, k.type, kept_values.back().value);
      if (explicit_states && names_state(k)) reveal(k.value, k.type, new_states[state_of(k)]);
    }
    if (!explicit_states) keep_written_states();
  } catch (...) {  // out of memory, or ended: nothing was kept
    kept_values.clear();
    throw;
  }
}

bool Run::Parts::names_state(const KeptSlot& kept) { return kept.name.starts_with('@'); }
std::size_t Run::Parts::state_of(const KeptSlot& kept) const { return shared.state_of_name.at(kept.name.substr(1)); }

// All states that the program had written when it raised become that, or none if memory runs out.
void Run::Parts::keep_written_states() {
  std::vector<std::pair<std::size_t, Slot>> fresh;
  const auto release = [&](std::size_t state, Slot value) {
    heap.release(shared.slot_of(plan.states[state].type), value);
  };
  fresh.reserve(kept_slots.size());
  try {
    for (const KeptSlot& k : kept_slots) {
      if (!names_state(k)) continue;
      const std::uint32_t type = plan.states[state_of(k)].type;
      Heap::retain(shared.slot_of(type), k.value);
      fresh.emplace_back(state_of(k), kept(k.value, type));
    }
  } catch (...) {
    for (const auto& [state, value] : fresh) release(state, value);
    throw;
  }
  for (const auto& [state, value] : fresh) release(state, std::exchange(states[state], value));
}

// Runs `body`, which says whether it went well; what it throws is an error too.
template <typename Body>
bool Run::Parts::caught(Body body) {
  try {
    return body();
  } catch (const RunEnds&) {
    return false;
  } catch (const MemoryLimitReached&) {
    return no_memory("a list");
  } catch (const std::bad_alloc&) {
    return fail("MemoryError", "out of memory");
  } catch (const std::exception& e) {  // out of a callback of the caller
    return fail("", e.what());
  }
}

Result<std::span<const Value>> Run::Parts::run() {
  failed_loop = -1;
  failed_at = kNowhere;
  executing = nullptr;
  const bool ok = caught([&] {
    begin_limits();
    // What the run before left may be a list of a million tensors: their time is this run's.
    forget_last_run();
    if (auto started = start(); !started) {
      error = std::move(started).error();
      return false;
    }
    if (!walk()) return false;
    executing = nullptr;
    finish_run();
    return true;
  });
  end_limits();
  registers_are_left = !ok;  // who ends a run does not wait until all it made is taken apart
  if (ok) {
    clear_registers();
    return std::span<const Value>(outputs);
  }
  if (failed_at == kNowhere && executing) failed_at = static_cast<std::uint32_t>(executing - plan.code.data());
  if (failed_at != kNowhere) error.span = shared.debug.span_of(failed_at);
  if (failed_loop >= 0) error.span = span_of_loop(static_cast<std::size_t>(failed_loop));
  return std::move(error);
}

void Run::Parts::begin_limits() {
  heap.set_limit(limits.options.memory_limit);
  heap.forget_limit_reached();
  limits.begin(shared.interruptible);
  is_running = true;
}

void Run::Parts::end_limits() noexcept {
  limits.end();
  random.recall();
  is_running = false;
  for (const auto& change : std::exchange(put_off, {})) change();
}

SourceSpan Run::Parts::span_of_loop(std::size_t loop) const {
  return loop < shared.debug.loop_spans.size() ? shared.debug.loop_spans[loop] : SourceSpan{};
}

Run::Run(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Run::~Run() = default;
Run::Run(Run&&) noexcept = default;
Run& Run::operator=(Run&&) noexcept = default;

Result<Run> Run::create(std::shared_ptr<const Program> program) {
  auto parts = std::make_unique<Parts>(std::move(program));
  for (std::size_t i = 0; i < parts->shared.sub_dnns.size(); ++i) {
    const LoadedSubDnn& s = parts->shared.sub_dnns[i];
    dycl_context* context = nullptr;
    const auto status = s.plugin->create_context(s.session.get(), &context);
    if (status != DYCL_PLUGIN_OK)
      return plugin_error(s.plugin, status, "cannot prepare sub-DNN " + parts->plan.sub_dnns[i].name);
    parts->contexts.emplace_back(context, DestroyContext{s.plugin});
  }
  return Run(std::move(parts));
}

// A callback of the run (a host function, what is printed, the poll) that runs it again would pull the registers away
// from under it.
Error Run::Parts::running_already() {
  return {ErrorKind::InvalidInput,
          "the run is in the middle of an execution: one of its own callbacks called it",
          "give the callback a run of its own",
          {},
          {}};
}

Result<std::span<const Value>> Run::run(std::span<const Value> arguments) {
  if (parts_->is_running) return Parts::running_already();
  parts_->arguments = arguments;
  parts_->explicit_states = false;
  return parts_->run();
}

Result<std::span<const Value>> Run::run_with_states(std::span<const Value> arguments, std::span<const Value> states) {
  if (parts_->is_running) return Parts::running_already();
  parts_->arguments = arguments;
  parts_->given_states = states;
  parts_->explicit_states = true;
  return parts_->run();
}

std::span<const Value> Run::new_states() const { return parts_->new_states; }
std::span<const Kept> Run::kept() const { return parts_->kept_values; }

TensorObject* Run::Parts::sole_result(SlotKind kind, Slot slot, const void* data) const {
  if (kind == SlotKind::Tensor && slot.tensor && slot.tensor->view.data == data)
    return slot.tensor->refs == 1 ? slot.tensor : nullptr;
  if (kind != SlotKind::List || !slot.list || slot.list->refs != 1) return nullptr;
  for (const Slot& item : slot.list->items)
    if (TensorObject* found = sole_result(slot.list->elements, item, data)) return found;
  return nullptr;
}

void* Run::detach(const Tensor& result) {
  Parts& p = *parts_;
  if (!result.data) return nullptr;
  for (std::size_t i = 0; i < p.results.size(); ++i)
    if (TensorObject* t = p.sole_result(p.shared.slot_of(p.plan.outputs[i].type), p.results[i], result.data))
      return p.heap.detach(t);
  return nullptr;
}

namespace {

std::optional<std::size_t> state_named(const Plan& plan, std::string_view name) {
  for (std::size_t i = 0; i < plan.states.size(); ++i) {
    if (plan.states[i].name == name) return i;
  }
  return std::nullopt;
}

Error no_state(std::string_view name) {
  return {ErrorKind::InvalidInput, "the program has no state called " + std::string(name), {}, {}, {}};
}

// Of a state that the caller asks for, views are the caller's own: the run pays for none, and those of results stay.
class ViewsOfCaller {
 public:
  explicit ViewsOfCaller(Run::Parts& run)
      : run_(run), views_(std::exchange(run.views, 0)), is_running_(std::exchange(run.is_running, false)) {}
  ~ViewsOfCaller() {
    run_.views = views_;
    run_.is_running = is_running_;
  }
  ViewsOfCaller(const ViewsOfCaller&) = delete;
  ViewsOfCaller& operator=(const ViewsOfCaller&) = delete;

 private:
  Run::Parts& run_;
  std::uint64_t views_;
  bool is_running_;
};

}  // namespace

Result<Value> Run::state(std::string_view name) const {
  const auto index = state_named(parts_->plan, name);
  if (!index) return no_state(name);
  Parts& p = *parts_;
  const ViewsOfCaller views(p);
  Value value;
  try {
    p.reveal(p.states[*index], p.plan.states[*index].type, value);
  } catch (const RunEnds&) {
    return std::move(p.error);
  }
  return value;
}

Result<void> Run::set_state(std::string_view name, const Value& value) {
  Parts& p = *parts_;
  if (p.is_running) return Parts::running_already();
  const auto index = state_named(p.plan, name);
  if (!index) return no_state(name);
  const std::uint32_t type = p.plan.states[*index].type;
  DYCL_TRY(p.check_value(value, type, "state " + std::string(name)));
  p.forget_last_run();  // what it holds may be arguments, whose headers are used again here
  p.arguments_used = 0;
  p.heap.release(p.shared.slot_of(type), std::exchange(p.states[*index], p.kept(p.admit(value, type), type)));
  return {};
}

Result<void> Run::reset_states() {
  Parts& p = *parts_;
  if (p.is_running) return Parts::running_already();
  const auto release = [&](std::size_t i, Slot value) {
    p.heap.release(p.shared.slot_of(p.plan.states[i].type), value);
  };
  std::vector<Slot> fresh;
  fresh.reserve(p.states.size());
  try {
    for (const PlanState& s : p.plan.states) fresh.push_back(p.initial_state(s));
  } catch (...) {  // out of memory: all states stay as they are
    for (std::size_t i = 0; i < fresh.size(); ++i) release(i, fresh[i]);
    throw;
  }
  for (std::size_t i = 0; i < fresh.size(); ++i) release(i, std::exchange(p.states[i], fresh[i]));
  return {};
}

void Run::set_seed(std::uint64_t seed) { parts_->random.reseed(seed); }

std::vector<std::uint8_t> Run::random_state() const {
  const RandomState state = parts_->random.state();
  return {state.begin(), state.end()};
}

Result<void> Run::set_random_state(std::span<const std::uint8_t> state) {
  if (parts_->random.set_state(state)) return {};
  return Error{ErrorKind::InvalidInput, kInvalidRandomState, {}, {}, {}};
}

void Run::set_loop_limit(std::int64_t limit) { parts_->set_loop_limit(limit); }

void Run::set_options(RunOptions options) {
  parts_->when_idle([p = parts_.get(), made = std::move(options)]() mutable { p->limits.options = std::move(made); });
}
void Run::set_poll(std::function<bool()> keep_going) {
  auto& place = parts_->limits.keep_going;
  parts_->when_idle([&place, made = std::move(keep_going)]() mutable { place = std::move(made); });
}

void Run::set_print(std::function<void(std::string_view)> print) {
  parts_->when_idle([p = parts_.get(), to = std::move(print)]() mutable { p->print_to = std::move(to); });
}
void Run::set_trace(bool on) { parts_->tracing = on; }
std::span<const Outcome> Run::trace() const { return parts_->trace; }
void Run::force(std::vector<std::int32_t> outcomes) {
  parts_->when_idle([p = parts_.get(), made = std::move(outcomes)]() mutable { p->forced = std::move(made); });
}

void Run::set_decider(std::function<std::uint32_t(std::uint32_t, std::uint32_t)> decider) {
  parts_->when_idle([p = parts_.get(), asked = std::move(decider)]() mutable { p->decider = std::move(asked); });
}

void Run::set_profile(bool on) {
  parts_->profiling = on;
  std::fill(parts_->profile.begin(), parts_->profile.end(), Profile{});
}

std::span<const Profile> Run::profile() const { return parts_->profile; }
void Run::set_timeline(bool on) { parts_->timing = on; }
std::span<const TimedCall> Run::timeline() const { return parts_->timeline; }
const Program& Run::program() const { return *parts_->program; }

}  // namespace dycl::runtime
