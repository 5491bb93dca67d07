// SPDX-License-Identifier: Apache-2.0
// The loop over instructions. Everything it reads was checked at load; what is left to check
// is what depends on data. Watching (traces, forced decisions, profiles) is compiled
// separately, so that ordinary runs do not pay for it.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "runtime/run_state.h"
#include "support/python_str.h"
#include "support/utf8.h"

namespace dycl::runtime {
namespace {

// Positions of operands, for readers of the cases below: at[0] is the head.
std::int64_t case_value(const std::uint32_t* low_high) {
  return static_cast<std::int64_t>(std::uint64_t{low_high[1]} << 32 | low_high[0]);
}

std::uint32_t arm_of(std::int64_t selector, std::uint32_t cases, const std::uint32_t* values) {
  for (std::uint32_t i = 0; i < cases; ++i) {
    if (case_value(values + std::size_t{2} * i) == selector) return i;
  }
  return cases;
}

std::uint64_t nanoseconds_in(std::chrono::steady_clock::duration time) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
}

// One function per scalar op, out of the table that interpreter and runtime share.
#define DYCL_SCALAR_COMPUTE(id, name, operands, result, compute)                                               \
  inline scalar::Fault compute_##id([[maybe_unused]] const Slot& a, [[maybe_unused]] const Slot& b, Slot& r) { \
    using namespace scalar;                                                                                    \
    compute;                                                                                                   \
    return Fault::None;                                                                                        \
  }
DYCL_SCALAR_OPS(DYCL_SCALAR_COMPUTE)
#undef DYCL_SCALAR_COMPUTE

}  // namespace

bool Run::Parts::walk() {
  const bool watched = tracing || profiling || timing || decider || !forced.empty();
  decisions_made = 0;
  trace.clear();
  timeline.clear();
  if (timing) began = std::chrono::steady_clock::now();
  executing = nullptr;
  return watched ? walk_code<true>() : walk_code<false>();
}

template <bool kWatched>
bool Run::Parts::walk_code() {
  const std::uint32_t* const code = plan.code.data();
  const std::uint32_t* at = code;
  Slot* const r = registers.data();
  const auto stop = [&](const std::uint32_t* where) {
    failed_at = static_cast<std::uint32_t>(where - code);
    return false;
  };

#define DYCL_DO(expression)       \
  executing = at;                 \
  if (!(expression)) [[unlikely]] \
    return stop(at);              \
  break

  for (;;) {
    switch (static_cast<Opcode>(opcode_number(*at))) {
      case Opcode::Jump: at = code + at[1]; continue;
      case Opcode::Branch: {
        std::uint32_t arm = r[at[1]].b ? 1 : 0;
        if constexpr (kWatched) {
          if (!decide(at[2], &arm)) return stop(at);
        }
        at = code + at[3 + arm];
        continue;
      }
      case Opcode::Switch: {
        const std::uint32_t cases = at[3];
        std::uint32_t arm = arm_of(r[at[1]].i, cases, at + 4);
        if constexpr (kWatched) {
          if (!decide(at[2], &arm)) return stop(at);
        }
        at = code + at[4 + 2 * std::size_t{cases} + arm];
        continue;
      }
      case Opcode::LoopEnter: loop_counts[at[1]] = 0; break;
      case Opcode::LoopBack:
        if (++loop_counts[at[1]] > loop_limits[at[1]]) [[unlikely]] {
          failed_loop = at[1];
          loop_ran_too_long(at[1]);
          return stop(at);
        }
        if (!spend(1)) [[unlikely]] {
          failed_loop = at[1];
          return stop(at);
        }
        break;
      case Opcode::Return:
        if (!take_results(at)) return stop(at);
        return true;
      case Opcode::Raise: raise(at); return stop(at);
      case Opcode::MoveScalar: r[at[1]] = r[at[2]]; break;
      case Opcode::MoveHandle: {
        Slot moved;
        if (!take(at[2], &moved)) return stop(at);
        put(at[1], slot_kind(at[1]), moved);
        break;
      }
      case Opcode::Drop:
        for (std::uint32_t i = 0; i < at[1]; ++i) forget(register_of(at[2 + i]));
        break;
      case Opcode::SelectScalar: r[at[1]] = r[at[2]].b ? r[at[3]] : r[at[4]]; break;
      case Opcode::SelectHandle: {
        Slot chosen;
        const std::uint32_t from = register_of(r[at[2]].b ? at[3] : at[4]);
        if (!take(from, &chosen)) return stop(at);
        finish(at[3]);
        finish(at[4]);
        put(at[1], slot_kind(at[1]), chosen);
        break;
      }
      case Opcode::Item: DYCL_DO(item(at));
      case Opcode::ToTensor: DYCL_DO(to_tensor(at));
      case Opcode::Dim: DYCL_DO(dim(at));
      case Opcode::Size: DYCL_DO(size(at));
      case Opcode::ListNew: DYCL_DO(list_new(at));
      case Opcode::ListAppend: DYCL_DO(list_append(at));
      case Opcode::ListGet: DYCL_DO(list_get(at));
      case Opcode::ListSet: DYCL_DO(list_set(at));
      case Opcode::ListLen: DYCL_DO(list_len(at));
      case Opcode::ListConcat: DYCL_DO(list_concat(at));
      case Opcode::ListSlice: DYCL_DO(list_slice(at));
      case Opcode::ListPop: DYCL_DO(list_pop(at));
      case Opcode::ListInsert: DYCL_DO(list_insert(at));
      case Opcode::ListFromTensor: DYCL_DO(list_from_tensor(at));
      case Opcode::ListToTensor: DYCL_DO(list_to_tensor(at));
      case Opcode::ListStack: DYCL_DO(list_join(at, true));
      case Opcode::ListCat: DYCL_DO(list_join(at, false));
      case Opcode::OptIsSome: DYCL_DO(opt_is_some(at));
      case Opcode::OptGet: DYCL_DO(opt_get(at));
      case Opcode::RandUniform:
      case Opcode::RandNormal:
      case Opcode::RandInt: DYCL_DO(rand(at, static_cast<Opcode>(opcode_number(*at))));
      case Opcode::Draw: DYCL_DO(draw(at));
      case Opcode::RandState: DYCL_DO(rand_state(at));
      case Opcode::SetRandState: DYCL_DO(set_rand_state(at));
      case Opcode::LendRandom: DYCL_DO(lend_random(at));
      case Opcode::GiveBackRandom: DYCL_DO(give_back_random(at));
      case Opcode::SetSeed: DYCL_DO(set_rand_seed(at));
      case Opcode::Print: DYCL_DO(print(at));
      case Opcode::Check: DYCL_DO(check(at));
      case Opcode::Call: DYCL_DO(before_call() && call_sub_dnn<kWatched>(at));
      case Opcode::HostCall: DYCL_DO(before_call() && host_call(at));
      case Opcode::Keep: DYCL_DO(keep(at));

#define DYCL_SCALAR_CASE(id, name, operands, result, compute)                    \
  case Opcode::id: {                                                             \
    Slot out;                                                                    \
    const Slot &first = r[at[2]], &second = r[at[sizeof(operands) > 2 ? 3 : 2]]; \
    const scalar::Fault f = compute_##id(first, second, out);                    \
    if (f != scalar::Fault::None) [[unlikely]] {                                 \
      fault(f);                                                                  \
      return stop(at);                                                           \
    }                                                                            \
    r[at[1]] = out;                                                              \
    break;                                                                       \
  }
        DYCL_SCALAR_OPS(DYCL_SCALAR_CASE)
#undef DYCL_SCALAR_CASE
    }
    at += length_in_words(*at);
  }
#undef DYCL_DO
}

// ---- decisions -------------------------------------------------------------------

bool Run::Parts::decide(std::uint32_t decision, std::uint32_t* arm) {
  if (decisions_made < forced.size() && forced[decisions_made] >= 0)
    *arm = static_cast<std::uint32_t>(forced[decisions_made]);
  if (decider) *arm = decider(decision, *arm);
  ++decisions_made;
  if (*arm >= plan.decisions[decision]) {
    fail("", "forced decision " + std::to_string(decisions_made) + " is " + std::to_string(*arm) +
                 ", but there are only " + std::to_string(plan.decisions[decision]) + " arms");
    error.kind = ErrorKind::InvalidInput;
    return false;
  }
  if (tracing) trace.push_back({decision, *arm});
  return true;
}

// ---- calls -----------------------------------------------------------------------

template <bool kWatched>
bool Run::Parts::call_sub_dnn(const std::uint32_t* at) {
  if constexpr (!kWatched) return call(at);
  if (!profiling && !timing) return call(at);
  const auto begin = std::chrono::steady_clock::now();
  const bool ok = call(at);
  const std::uint64_t spent = nanoseconds_in(std::chrono::steady_clock::now() - begin);
  if (profiling) {
    ++profile[at[1]].calls;
    profile[at[1]].nanoseconds += spent;
  }
  if (timing) {
    const auto& positions = shared.call_positions;
    const auto here = static_cast<std::uint32_t>(at - plan.code.data());
    const auto site = std::lower_bound(positions.begin(), positions.end(), here) - positions.begin();
    timeline.push_back({static_cast<std::uint32_t>(site), nanoseconds_in(begin - began), spent});
  }
  return ok;
}

bool Run::Parts::call(const std::uint32_t* at) {
  const LoadedSubDnn& callee = shared.sub_dnns[at[1]];
  const std::uint32_t input_count = at[2], output_count = at[3];
  const std::uint32_t *inputs = at + 4, *results_to = inputs + input_count;
  for (std::uint32_t i = 0; i < input_count; ++i) {
    TensorObject* t = tensor_in(inputs[i]);
    if (!t) return false;
    call_inputs[i] = &t->view;
  }
  const auto object = [&](std::uint32_t i) { return reinterpret_cast<TensorObject*>(call_outputs[i]); };
  const auto give_up = [&](std::uint32_t made) {
    for (std::uint32_t i = 0; i < made; ++i) heap.release(object(i));
    return false;
  };
  for (std::uint32_t i = 0; i < output_count; ++i) {
    const LoadedPort& port = callee.outputs[i];
    const PlanType& type = plan.types[port.type];
    TensorObject* t = port.preallocated ? heap.acquire(port.type) : heap.acquire_unshaped(type.dtype, &type);
    if (!t) {
      no_memory("result " + std::to_string(i) + " of sub-DNN " + plan.sub_dnns[at[1]].name + ", " +
                type_text(plan, port.type));
      return give_up(i);
    }
    call_outputs[i] = &t->view;
  }
  const auto status = run_engine(at[1]);
  if (status != DYCL_PLUGIN_OK) [[unlikely]] {
    error = engine_error(at[1], status);
    return give_up(output_count);
  }
  for (std::uint32_t i = 0; i < output_count; ++i) {
    if (call_outputs[i]->rank < 0) [[unlikely]] {
      fail("", "the engine gave no result " + std::to_string(i) + " of sub-DNN " + plan.sub_dnns[at[1]].name);
      return give_up(output_count);
    }
  }
  for (std::uint32_t i = 0; i < input_count; ++i) finish(inputs[i]);
  for (std::uint32_t i = 0; i < output_count; ++i) put(results_to[i], object(i));
  return true;
}

dycl_plugin_status Run::Parts::run_engine(std::uint32_t sub_dnn) {
  const LoadedSubDnn& callee = shared.sub_dnns[sub_dnn];
  dycl_context* context = contexts[sub_dnn].get();
  ActiveRun* active = callee.interrupt ? limits.active() : nullptr;
  heap.forget_limit_reached();
  if (active) active->enter(context, callee.interrupt);
  const auto status = callee.plugin->run(callee.session.get(), context, call_inputs.data(), call_outputs.data());
  engine_interrupted = active && active->leave();
  return status;
}

Error Run::Parts::engine_error(std::uint32_t sub_dnn, dycl_plugin_status status) {
  const std::string what = "sub-DNN " + plan.sub_dnns[sub_dnn].name;
  // An engine that was interrupted, or was refused memory, says that it failed.
  if (engine_interrupted)
    if (auto ended = limits.look()) return std::move(*ended);
  if (heap.limit_reached()) return memory_limit_error("the results of " + what);
  return plugin_error(shared.sub_dnns[sub_dnn].plugin, status, what);
}

bool Run::Parts::host_call(const std::uint32_t* at) {
  const std::uint32_t input_count = at[2], output_count = at[3];
  const std::uint32_t *inputs = at + 4, *results_to = inputs + input_count;
  const ViewsOfCall shown(*this);
  for (std::uint32_t i = 0; i < input_count; ++i) {
    const std::uint32_t reg = register_of(inputs[i]);
    if (slot_kind(reg) != SlotKind::Scalar && registers[reg].bits == 0) return undefined(reg);
    reveal(registers[reg], plan.registers[reg], host_arguments[i]);
  }
  host_result_types.clear();
  for (std::uint32_t i = 0; i < output_count; ++i) host_result_types.push_back(plan.registers[results_to[i]]);
  if (!run_host_function(at[1], input_count, host_result_types)) return false;
  // Results may be views of arguments: they are copied before an argument's memory can be used again.
  host_slots.clear();
  for (std::uint32_t i = 0; i < output_count; ++i) host_slots.push_back(host_result(i, host_result_types[i]));
  for (std::uint32_t i = 0; i < input_count; ++i) finish(inputs[i]);
  for (std::uint32_t i = 0; i < output_count; ++i) put(results_to[i], slot_kind(results_to[i]), host_slots[i]);
  return true;
}

bool Run::Parts::run_host_function(std::uint32_t number, std::size_t inputs, std::span<const std::uint32_t> types) {
  const std::string& name = plan.host_functions[number];
  for (std::size_t i = 0; i < types.size(); ++i) host_results[i] = Value::none();
  const std::span results_of_call(host_results.data(), types.size());
  if (auto done = (*shared.host_functions[number])({host_arguments.data(), inputs}, results_of_call); !done) {
    error = std::move(done).error();
    error.message = "host function " + name + ": " + error.message;
    return false;
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::string what = "result " + std::to_string(i) + " of host function " + name;
    auto fits = check_value(host_results[i], types[i], what);
    if (fits) fits = check_extents(host_results[i], types[i], what);
    if (!fits) {
      error = std::move(fits).error();
      error.kind = ErrorKind::RuntimeFailure;
      return false;
    }
  }
  return true;
}

Slot Run::Parts::host_result(std::size_t i, std::uint32_t type) {
  const std::size_t headers = arguments_used;
  const Slot made = kept(admit(host_results[i], type), type);
  arguments_used = headers;
  return made;
}

// ---- ends and effects ---------------------------------------------------------------

bool Run::Parts::take_results(const std::uint32_t* at) {
  for (std::uint32_t i = 0; i < at[1]; ++i) {
    if (!take(at[2 + i], &results[i])) return false;
  }
  return true;
}

bool Run::Parts::keep(const std::uint32_t* at) {
  Slot value;
  if (!moved(kept_slots.size()) || !take(at[2], &value)) return false;  // each is looked at
  keep(plan.strings[at[1]], plan.registers[register_of(at[2])], value);
  return true;
}

bool Run::Parts::raise(const std::uint32_t* at) {
  leave_kept();
  return fail(plan.strings[at[1]].c_str(), formatted(at[2], at[3], at + 4));
}

bool Run::Parts::check(const std::uint32_t* at) {
  if (registers[at[1]].b) [[likely]]
    return true;
  return fail(plan.strings[at[2]].c_str(), plan.strings[at[3]]);
}

bool Run::Parts::print(const std::uint32_t* at) {
  const std::string text = formatted(at[1], at[2], at + 3);
  if (!moved(text.size() / sizeof(Slot))) return false;
  if (print_to)
    print_to(text);
  else
    put_printed(stdout, text);
  return true;
}

// ---- operands and errors ---------------------------------------------------------------

bool Run::Parts::take(std::uint32_t operand, Slot* out) {
  const std::uint32_t reg = register_of(operand);
  const SlotKind kind = shared.slot_of_register[reg];
  *out = registers[reg];
  if (kind == SlotKind::Scalar) return true;
  if (out->bits == 0) return undefined(operand);
  if (is_last_use(operand))
    registers[reg] = Slot{};
  else
    Heap::retain(kind, *out);
  return true;
}

scalar::Scalar Run::Parts::scalar_in(std::uint32_t operand) const {
  const Slot s = registers[register_of(operand)];
  switch (shared.kind_of_register[register_of(operand)]) {
    case ValueKind::Bool: return scalar::Scalar::of(s.b);
    case ValueKind::Int: return scalar::Scalar::of(s.i);
    default: return scalar::Scalar::of(s.f);
  }
}

std::string Run::Parts::formatted(std::uint32_t string, std::uint32_t count, const std::uint32_t* operands) const {
  std::vector<scalar::Scalar> values;
  for (std::uint32_t i = 0; i < count; ++i) values.push_back(scalar_in(operands[i]));
  return format_message(plan.strings[string], values);
}

bool Run::Parts::loop_ran_too_long(std::uint32_t loop) {
  fail("RuntimeError", "the loop ran more than " + std::to_string(loop_limits[loop]) + " times");
  error.help = "raise the loop limit if that is intended";
  return false;
}

bool Run::Parts::look() {
  auto ended = limits.look();
  if (ended) error = std::move(*ended);
  return !ended;
}

Error Run::Parts::memory_limit_error(const std::string& for_what) const {
  return stopped("MemoryLimitExceeded",
                 "no memory for " + for_what + ": the run may hold " + std::to_string(heap.limit()) +
                     " bytes, and holds " + std::to_string(heap.held()),
                 "raise the memory limit if that is intended");
}

bool Run::Parts::no_memory(const std::string& for_what) {
  if (!heap.limit_reached()) return fail("MemoryError", "no memory or no possible shape for " + for_what);
  error = memory_limit_error(for_what);
  return false;
}

bool Run::Parts::fail(const char* type, std::string message) {
  error = {ErrorKind::RuntimeFailure, std::move(message), {}, {}, type};
  return false;
}

bool Run::Parts::fault(scalar::Fault f) {
  error = scalar::to_error(f);
  return false;
}

bool Run::Parts::undefined(std::uint32_t operand) {
  error = {ErrorKind::InvalidPackage,
           "the plan reads register " + std::to_string(register_of(operand)) + " before it is written",
           "compile the model again",
           {},
           {}};
  return false;
}

}  // namespace dycl::runtime
