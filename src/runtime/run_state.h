// SPDX-License-Identifier: Apache-2.0
// What a Run is made of: the register file, the heap behind it, and one method per
// instruction that is more than a line (walk.cpp has the loop over instructions).
//
// Methods of instructions get `at`, the instruction's words, and return false after
// setting `error` (the loop adds the span). They read their operands before they write
// results, so an instruction may name one register twice.
//
// Registers own what they hold. Between runs all but constants are empty.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dycl/runtime.h"
#include "runtime/limits.h"
#include "runtime/list_ops.h"
#include "runtime/loaded_program.h"
#include "support/random.h"

namespace dycl::runtime {

inline constexpr std::int64_t kDefaultLoopLimit = 1'000'000;
inline constexpr std::uint32_t kNowhere = 0xffffffffU;

// Copies tensors side by side along `axis`; all agree but for that axis.
void copy_joined(std::span<const Slot> items, std::size_t axis, TensorObject* to);

// Thrown where there is no other way out of a run that ends; Parts::error says why.
struct RunEnds {};

struct Run::Parts {
  explicit Parts(std::shared_ptr<const Program> owner);
  ~Parts();

  // ---- the loop over instructions (walk.cpp) -------------------------------------
  // Runs from the first instruction to Return; results are then in `results`.
  bool walk();
  template <bool kWatched>
  bool walk_code();
  bool decide(std::uint32_t decision, std::uint32_t* arm);  // while watched
  bool call(const std::uint32_t* at);
  dycl_plugin_status run_engine(std::uint32_t sub_dnn);  // with call_inputs and call_outputs
  Error engine_error(std::uint32_t sub_dnn, dycl_plugin_status status);
  template <bool kWatched>
  bool call_sub_dnn(const std::uint32_t* at);
  bool host_call(const std::uint32_t* at);
  // Calls with host_arguments; results are then in host_results, checked. False: error set.
  bool run_host_function(std::uint32_t number, std::size_t inputs, std::span<const std::uint32_t> types);
  Slot host_result(std::size_t i, std::uint32_t type);  // with a reference, and with memory of its own
  bool take_results(const std::uint32_t* at);
  bool keep(const std::uint32_t* at);
  bool raise(const std::uint32_t* at);
  bool check(const std::uint32_t* at);
  bool print(const std::uint32_t* at);

  // ---- tensors (tensor_ops.cpp) ---------------------------------------------------
  bool item(const std::uint32_t* at);
  bool to_tensor(const std::uint32_t* at);
  bool dim(const std::uint32_t* at);
  bool size(const std::uint32_t* at);
  bool list_from_tensor(const std::uint32_t* at);
  bool list_to_tensor(const std::uint32_t* at);
  bool list_join(const std::uint32_t* at, bool stack);
  bool rand(const std::uint32_t* at, Opcode opcode);
  bool draw(const std::uint32_t* at);
  TensorObject* drawn(std::uint32_t to, Distribution distribution, const DrawParameters& parameters,
                      std::span<const std::uint32_t> extents);  // null: error set
  bool rand_state(const std::uint32_t* at);
  bool set_rand_state(const std::uint32_t* at);
  bool lend_random(const std::uint32_t* at);
  bool give_back_random(const std::uint32_t* at);
  bool set_rand_seed(const std::uint32_t* at);
  TensorObject* tensor_for(std::uint32_t reg, std::span<const std::int64_t> shape);  // null: error set

  // ---- lists and optionals (list_ops.cpp) -------------------------------------------
  bool list_new(const std::uint32_t* at);
  bool list_append(const std::uint32_t* at);
  bool list_get(const std::uint32_t* at);
  bool list_set(const std::uint32_t* at);
  bool list_len(const std::uint32_t* at);
  bool list_concat(const std::uint32_t* at);
  bool list_slice(const std::uint32_t* at);
  bool list_pop(const std::uint32_t* at);
  bool list_insert(const std::uint32_t* at);
  bool opt_is_some(const std::uint32_t* at);
  bool opt_get(const std::uint32_t* at);
  // The list in an operand as one that may be changed: the very one if it dies here and nobody
  // else holds it, else a copy. False: error set.
  bool own_list(std::uint32_t operand, Held& own);

  // ---- registers ----------------------------------------------------------------
  SlotKind slot_kind(std::uint32_t operand) const { return shared.slot_of_register[register_of(operand)]; }
  TensorObject* tensor_in(std::uint32_t operand) {  // borrowed; null: error set
    TensorObject* t = registers[register_of(operand)].tensor;
    if (!t) undefined(operand);
    return t;
  }
  ListObject* list_in(std::uint32_t operand) {
    ListObject* l = registers[register_of(operand)].list;
    if (!l) undefined(operand);
    return l;
  }
  // What an operand holds, with a reference for the caller; false: nothing there, error set.
  bool take(std::uint32_t operand, Slot* out);
  // Ends the life of what an operand holds, if this was its last use.
  void finish(std::uint32_t operand) {
    if (is_last_use(operand)) forget(register_of(operand));
  }
  void forget(std::uint32_t reg) { heap.release(shared.slot_of_register[reg], std::exchange(registers[reg], Slot{})); }
  void put(std::uint32_t reg, SlotKind kind, Slot value) { heap.release(kind, std::exchange(registers[reg], value)); }
  void put(std::uint32_t reg, TensorObject* t) {
    Slot s;
    s.tensor = t;
    put(reg, SlotKind::Tensor, s);
  }
  void put(std::uint32_t reg, ListObject* l) {
    Slot s;
    s.list = l;
    put(reg, SlotKind::List, s);
  }
  scalar::Scalar scalar_in(std::uint32_t operand) const;

  // ---- what ends a run from outside; false: it ends, error set -----------------------
  bool look();
  bool spend(std::int64_t steps) { return limits.spend(steps) || look(); }
  // A list operation that moves so many elements, or a tensor operation so many times 8 bytes.
  bool moved(std::size_t elements) { return elements < 64 || spend(static_cast<std::int64_t>(elements / 64)); }
  bool loop_ran_too_long(std::uint32_t loop);
  bool before_call() { return (limits.spend(1) && !limits.looks_around_calls()) || look(); }

  static Error running_already();
  // Nothing is replaced while the run uses it: what a callback changes is changed when the run is over.
  template <typename Change>
  void when_idle(Change change) {
    if (is_running)
      put_off.emplace_back(std::move(change));
    else
      change();
  }
  void end_limits() noexcept;
  Error memory_limit_error(const std::string& for_what) const;
  bool no_memory(const std::string& for_what);  // false, error set
  bool fail(const char* type, std::string message);
  bool fault(scalar::Fault f);
  bool undefined(std::uint32_t operand);
  std::string formatted(std::uint32_t string, std::uint32_t count, const std::uint32_t* operands) const;

  // ---- arguments and results (arguments.cpp) ---------------------------------------------
  // Checks everything, binds symbols, fills the registers of inputs.
  Result<void> start();
  const Value* given(std::size_t input) const;  // the caller's value; null: a state kept here
  Result<void> check_inputs();
  Result<void> check_symbolic_inputs();
  Result<void> bind_symbols();
  Result<void> bind_symbol(const SymbolBinding& binding);
  Result<void> bind_inside(const Value& value, std::uint32_t type, std::size_t input);  // of lists and optionals
  Result<void> set_symbol(std::uint32_t symbol, std::int64_t value, std::size_t input, std::size_t axis,
                          std::int64_t extent);
  // Kind, dtype, rank, known extents, memory; and, once symbols are bound, extents that depend on them.
  Result<void> check_value(const Value& value, std::uint32_t type, const std::string& what) const;
  Result<void> check_tensor(const Tensor& tensor, std::uint32_t type, const std::string& what) const;
  Result<void> check_extents(const Value& value, std::uint32_t type, const std::string& what) const;
  // These throw without memory, and hold nothing then.
  Slot admit(const Value& value, std::uint32_t type);  // a checked value, with a reference
  ListObject* admit_list(std::span<const Value> values, std::uint32_t element_type);
  Slot kept(Slot slot, std::uint32_t type);  // takes a reference; gives one to something that owns its memory
  // A view. A list that is referred to often is one list here and many in views: their elements are counted as steps
  // and memory of the run, and bounded where it has no limits, too. Throws RunEnds, or MemoryLimitReached.
  void reveal(Slot slot, std::uint32_t type, Value& out);
  void show(Slot slot, std::uint32_t type, Value& out);
  void pay_for_views(const ListObject* list);
  void forget_views();
  TensorObject* argument_header();
  std::string name_of_input(std::size_t input) const;

  // ---- around a run (run.cpp) -----------------------------------------------------------
  Result<std::span<const Value>> run();
  template <typename Body>
  bool caught(Body body);
  void begin_limits();
  SourceSpan span_of_loop(std::size_t loop) const;
  void finish_run();
  void keep_new_states();
  void drop_fresh_state(std::size_t output);
  // `keep`: takes a reference. The name is the plan's own.
  void keep(std::string_view name, std::uint32_t type, Slot value);
  // The program raises: states become what was kept of them, and kept_values() shows all of it.
  void leave_kept();
  // The result, or element of a result, whose elements lie at `data` and that nobody else holds.
  TensorObject* sole_result(SlotKind kind, Slot slot, const void* data) const;
  void set_loop_limit(std::int64_t limit);
  void forget_results();
  void forget_last_run();
  void clear_registers();
  Slot initial_state(const PlanState& state);
  TensorObject* weight_header(std::uint32_t weight);

  std::span<const Value> arguments, given_states;  // of the run that is going on
  bool explicit_states = false;

  std::shared_ptr<const Program> program;
  const Program::Parts& shared;
  const Plan& plan;
  Heap heap;
  std::vector<Slot> registers;
  std::vector<Slot> results;       // of the last run, one per output of the plan
  std::vector<Slot> fresh_states;  // the same, on their way to `states`
  struct KeptSlot {
    std::string_view name;
    std::uint32_t type = 0;
    Slot value;
  };
  static bool names_state(const KeptSlot& kept);
  std::size_t state_of(const KeptSlot& kept) const;
  void keep_written_states();
  std::vector<KeptSlot> kept_slots;           // what the last run's `keep` named
  std::vector<Kept> kept_values;              // the same as views, if that run raised
  std::vector<Slot> states;                   // kept ones
  std::vector<TensorObject*> weight_headers;  // by index of weight; made when a state starts with it
  std::vector<TensorObject*> argument_headers;
  std::size_t arguments_used = 0;
  std::vector<ContextPtr> contexts;  // one per sub-DNN
  std::vector<std::int64_t> loop_counts, loop_limits;
  std::vector<dycl_plugin_tensor*> call_inputs, call_outputs;
  std::vector<std::span<const std::int64_t>> input_shapes;
  std::vector<std::int64_t> symbol_values;
  std::vector<Value> outputs, new_states;
  std::uint64_t views = 0;  // elements of lists in what is revealed now
  bool is_running = false;
  std::vector<std::function<void()>> put_off;  // changes of what the run uses, made when it is over
  bool registers_are_left = false;  // by a run that failed: the next one clears them
  std::vector<Value> host_arguments, host_results;
  std::vector<std::uint32_t> host_result_types;
  std::vector<Slot> host_slots;
  Random random;
  std::function<void(std::string_view)> print_to;
  Limits limits;
  bool engine_interrupted = false;  // the last call of one
  Error error;
  const std::uint32_t* executing = nullptr;  // the last instruction that may throw
  std::uint32_t failed_at = kNowhere;        // position of the instruction that failed
  std::int64_t failed_loop = -1;             // or the loop that ran too long, or at whose end the run was ended

  bool tracing = false, profiling = false, timing = false;
  std::vector<Outcome> trace;
  std::vector<std::int32_t> forced;
  std::size_t decisions_made = 0;
  std::function<std::uint32_t(std::uint32_t, std::uint32_t)> decider;
  std::vector<Profile> profile;
  std::vector<TimedCall> timeline;
  std::chrono::steady_clock::time_point began;  // of the run, while timing
};

// Memory that an op takes for itself, as far as the limit allows it.
class Charge {
 public:
  Charge(Heap& heap, std::uint64_t bytes) : heap_(heap), bytes_(bytes), made_(heap.try_charge(bytes)) {}
  ~Charge() {
    if (made_) heap_.discharge(bytes_);
  }
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;
  bool made() const { return made_; }

 private:
  Heap& heap_;
  std::uint64_t bytes_;
  bool made_;
};

// What a function of the host is shown counts while it is called.
class ViewsOfCall {
 public:
  explicit ViewsOfCall(Run::Parts& run) : run_(run), before_(run.views) {}
  ~ViewsOfCall() {
    run_.heap.discharge((run_.views - before_) * sizeof(Value));
    run_.views = before_;
  }
  ViewsOfCall(const ViewsOfCall&) = delete;
  ViewsOfCall& operator=(const ViewsOfCall&) = delete;

 private:
  Run::Parts& run_;
  std::uint64_t before_;
};

}  // namespace dycl::runtime
