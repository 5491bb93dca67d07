// SPDX-License-Identifier: Apache-2.0
// Runs packages: the C++ API of the runtime, which knows nothing of the compiler.
//
//   DYCL_ASSIGN(auto program, runtime::Program::load("model.dycl"));
//   DYCL_ASSIGN(auto run, runtime::Run::create(program));
//   DYCL_ASSIGN(auto outputs, run.run({runtime::Value::of(x)}));
//
// Program: a package that is mapped, validated and ready: plug-ins loaded, engine
// sessions made. Immutable; any number of threads share it (std::shared_ptr).
// Run: registers, buffers and states of one caller. One thread at a time. Keeps its
// Program alive. After warm-up a run of a program with static shapes allocates nothing
// in our code.
//
// No function here throws for bad input, a bad file or a failing engine: errors are
// values. (A failed allocation may throw std::bad_alloc; the C ABI in dycl/dycl.h turns
// that into an error too.)
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/dtype.h"
#include "support/result.h"

#if defined(DYCL_RUNTIME_STATIC)
#define DYCL_API
#else
#define DYCL_API __attribute__((visibility("default")))
#endif

namespace dycl::runtime {

// ---- values ----------------------------------------------------------------------

// A view of a dense row-major tensor in host memory. Does not own data or shape.
// Field for field convertible to DLPack's DLTensor: see dycl_tensor in dycl/dycl.h.
struct DYCL_API Tensor {
  const void* data = nullptr;  // aligned to the element's size; may be null when there are no elements
  DType dtype = DType::F32;
  std::span<const std::int64_t> shape;

  std::uint64_t element_count() const;  // only for tensors that passed a run's checks: no overflow
  std::uint64_t byte_size() const;
};

// An argument, a result, or a state. As argument it borrows; as result it is a
// view into the Run, valid until the next run, state change or destruction of that Run.
// An optional<T> is either a None or a plain T.
struct Value {
  enum class Kind : std::uint8_t { None, Tensor, Bool, Int, Float, List };

  Kind kind = Kind::None;
  union {
    bool boolean;
    std::int64_t integer = 0;
    double floating;
  };
  runtime::Tensor tensor;
  std::vector<Value> elements;  // List only

  static Value of(const runtime::Tensor& t) {
    Value v;
    v.kind = Kind::Tensor;
    v.tensor = t;
    return v;
  }
  static Value of(bool b) {
    Value v;
    v.kind = Kind::Bool;
    v.boolean = b;
    return v;
  }
  static Value of(std::int64_t i) {
    Value v;
    v.kind = Kind::Int;
    v.integer = i;
    return v;
  }
  static Value of(double f) {
    Value v;
    v.kind = Kind::Float;
    v.floating = f;
    return v;
  }
  static Value list(std::vector<Value> items) {
    Value v;
    v.kind = Kind::List;
    v.elements = std::move(items);
    return v;
  }
  static Value none() { return {}; }
};

// ---- what a program says about itself ----------------------------------------------

struct Dim {
  std::int64_t value = -1;  // -1: not known before the run
  std::string expr;         // an expression over symbols, "" for a known or opaque extent
};

struct DYCL_API Type {
  enum class Kind : std::uint8_t { Tensor, Bool, Int, Float, List, Optional };
  Kind kind = Kind::Tensor;
  DType dtype = DType::F32;   // Tensor
  bool rank_known = true;     // Tensor
  std::vector<Dim> dims;      // Tensor
  std::vector<Type> element;  // List, Optional: exactly one

  std::string text() const;  // as IR text writes it: "f32[N,8]"
};

struct Port {
  std::string name;  // may be empty for outputs
  Type type;
};

struct Symbol {
  std::string name;
  std::int64_t min = 0;
  std::int64_t max = INT64_MAX;
};

// A place where control flow depends on data; its index is the branch id of traces.
// Names and span are known unless the package was stripped.
struct Decision {
  std::uint32_t arms = 2;  // branch: arm 0 is false, arm 1 is true; switch: case i is arm i, otherwise the last
  std::string block;       // the block whose exit decides
  SourceSpan span;
  std::string origin;               // what the condition is computed from, by readable names: "gates.1"; may be empty
  std::vector<std::int64_t> cases;  // of a switch: what selects each arm but the last; empty: a branch
};

// A sub-DNN and the artifact that was chosen for it.
struct SubDnn {
  std::string name, backend, target;
  std::uint64_t artifact_bytes = 0;
  std::uint32_t call_sites = 0;
  std::string readable;  // for people: the modules whose weights it holds, or its ops; `name` in a stripped package
};

// A place that calls a sub-DNN; its index is the call site of timelines.
struct CallSite {
  std::uint32_t sub_dnn = 0;
  std::string block;  // as of Decision
  SourceSpan span;
};

struct WeightInfo {
  std::string name;
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;
  std::span<const std::uint8_t> bytes;  // in the mapping, as long as the Program lives
};

// ---- loading -----------------------------------------------------------------------

// A function that a program's `host_call` ops name. Gets the arguments; fills one value per
// result (tensors are copied before it is called again). Called on the thread of the run.
using HostFunction = std::function<Result<void>(std::span<const Value> arguments, std::span<Value> results)>;

struct LoadOptions {
  int threads = 0;              // threads of an engine within one call, at most 1024; 0: as many as cores
  int spinning = -1;            // idle workers of an engine spin: 1 yes, 0 no, -1 the engine's choice
  bool verify_weights = false;  // check every checksum, weights included (reads the whole file)
  bool portable_only = false;   // ignore artifacts made for this CPU
  // Artifacts that hold machine code (TVM's) are loaded: it runs with all rights of the process, so only from a file
  // whose maker is trusted. Otherwise the portable form runs, with a notice, or loading is refused if there is none.
  bool allow_native_code = false;
  // The whole file must be signed by one of these public keys (each its text, or the file that holds it), and is
  // checked before anything in it is read. It is then read into memory, not mapped, and consented to. A list without
  // keys is an error, not consent.
  std::optional<std::vector<std::string>> require_signature = {};
  // The file must be encrypted (docs/trust.md). Called once, with the name of the key that it needs (64 hexadecimal
  // digits); gives the key's text, or the file that holds it. It is decrypted into memory, checked whole before any of
  // it is read; a signature that is required is looked for inside.
  std::function<Result<std::string>(const std::string& name)> decryption_key = {};

  // Where a back end's plug-in is: an explicit file by back-end name, and folders looked
  // through before DYCL_PLUGIN_PATH, the library's and executable's folder and ../lib/dycl of both.
  std::map<std::string, std::filesystem::path> plugins;
  std::vector<std::filesystem::path> plugin_folders;

  // Options of engines by back-end name: {"ort", {{"key", "value"}}}.
  std::map<std::string, std::map<std::string, std::string>> engine_options;

  std::map<std::string, HostFunction> host_functions;

  // Hears what a user should know, e.g. that the portable form runs because the
  // CPU differs. Default: a line on stderr.
  std::function<void(std::string_view)> notice;
};

class Container;  // the implementation

class DYCL_API Program {
 public:
  static Result<std::shared_ptr<const Program>> load(const std::filesystem::path& path, LoadOptions options = {});
  // A package in memory; it is copied.
  static Result<std::shared_ptr<const Program>> load(std::span<const std::uint8_t> package, LoadOptions options = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const std::vector<Port>& inputs() const;  // arguments in order; states are not among them
  const std::vector<Port>& outputs() const;
  const std::vector<Port>& states() const;
  const std::vector<Symbol>& symbols() const;
  const std::vector<Decision>& decisions() const;
  const std::vector<SubDnn>& sub_dnns() const;
  const std::vector<CallSite>& call_sites() const;
  const std::vector<WeightInfo>& weights() const;

  const std::string& target() const;                // the program-wide choice: "portable" or a CPU/engine key
  std::string_view metadata() const;                // the metadata section: JSON
  std::string_view ir_text() const;                 // before the passes; "" if the package was stripped
  std::string_view hcfg_text() const;               // after them; "" in a stripped or an older package
  const std::vector<std::string>& sources() const;  // file names that spans index
  // The text of a source line, if the package kept it.
  std::string_view source_line(std::uint32_t file, std::uint32_t line) const;

  // By which this process can open the very bytes that were loaded (and checked, where a signature is required) while
  // the Program lives, whatever lies at the place they came from by then.
  std::filesystem::path file() const;
  bool decrypted() const;  // those bytes came from an encrypted package

  // "model.py:12:5: RuntimeFailure: message" with the source line and help, for people.
  std::string describe(const Error& error) const;

  struct Parts;  // the implementation, for Run
  const Parts& parts() const { return *parts_; }

 private:
  explicit Program(std::unique_ptr<Parts> parts);
  static Result<std::shared_ptr<const Program>> of(LoadOptions options, Container container, const std::string& name,
                                                   bool decrypted);
  std::unique_ptr<Parts> parts_;
};

// ---- running -----------------------------------------------------------------------

// One decision that was taken.
struct Outcome {
  std::uint32_t decision = 0;  // index into Program::decisions()
  std::uint32_t arm = 0;
};

// A value written before the program raised.
struct Kept {
  std::string_view name;
  Value value;
};

// Ends runs from outside: those whose options name it, and all later ones. Any thread may cancel, at any time, as often
// as it likes.
class DYCL_API Cancellation {
 public:
  Cancellation();
  ~Cancellation();
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  void cancel() noexcept;
  bool cancelled() const noexcept;

  struct Parts;  // the implementation, for Run
  Parts& parts() const { return *parts_; }

 private:
  std::unique_ptr<Parts> parts_;
};

// What ends a run, each run anew. A run that is ended fails with an error of kind Stopped whose type says why:
// "DeadlineExceeded", "Cancelled", "StepLimitExceeded" or "MemoryLimitExceeded". States stay as they were, and the Run
// is as good as before. Deadline and cancellation are looked at between the steps of the program and around every call
// of a sub-DNN; an engine that can be interrupted (ONNX Runtime, TVM) ends inside a call, at the next op.
struct RunOptions {
  std::chrono::nanoseconds deadline{0};  // from the start of a run; 0: none
  // Of a whole run, however its loops are nested; 0: none. A step is a round of a loop, a call of a sub-DNN or of a
  // function of the host, or 64 elements that a list operation moves.
  std::int64_t step_limit = 0;
  // Bytes that the Run's tensors and lists may hold, states and results too; 0: no limit. Not what engines use for
  // themselves, nor weights and arguments.
  std::uint64_t memory_limit = 0;
  std::shared_ptr<Cancellation> cancellation = nullptr;
};

// A deadline in seconds; 0 and below have passed.
inline std::chrono::nanoseconds deadline_after(double seconds) {
  constexpr double kLongest = 1e9;
  const double nanoseconds = 1e9 * (seconds < kLongest ? seconds : kLongest);
  return std::chrono::nanoseconds(nanoseconds >= 1 ? static_cast<std::int64_t>(nanoseconds) : -1);
}

// Time spent in one sub-DNN since profiling was switched on.
struct Profile {
  std::uint64_t calls = 0;
  std::uint64_t nanoseconds = 0;
};

// One call of a sub-DNN. Times are nanoseconds; `begin` counts from the run's first instruction.
struct TimedCall {
  std::uint32_t call_site = 0;  // index into Program::call_sites()
  std::uint64_t begin = 0, nanoseconds = 0;
};

// Callbacks (host functions, what is printed, polls, deciders) are called in the middle of a run. There its run(),
// set_state() and reset_states() are errors; what set_options, set_poll, set_print, set_decider and force() say there
// holds from the next run on. The Run must not be destroyed or moved before run() has returned.
class DYCL_API Run {
 public:
  static Result<Run> create(std::shared_ptr<const Program> program);
  ~Run();
  Run(Run&&) noexcept;
  Run& operator=(Run&&) noexcept;

  // Checks the arguments, runs main, and returns its results: views valid until the next call of a
  // non-const member of this Run (a result that is an argument passed through points to the caller's own memory).
  // States take part as they are kept in this Run; they change if the run succeeds, or raises after it wrote them
  // (kept()).
  Result<std::span<const Value>> run(std::span<const Value> arguments);
  Result<std::span<const Value>> run(std::initializer_list<Value> arguments) {
    return run(std::span<const Value>(arguments.begin(), arguments.size()));
  }

  // The same, with states passed by the caller, in the order of Program::states(): views,
  // not copied. The states kept here are neither used nor changed; the new ones are new_states().
  Result<std::span<const Value>> run_with_states(std::span<const Value> arguments, std::span<const Value> states);
  std::span<const Value> new_states() const;

  // What a program had written when it raised an error of its own: nothing unless the last run ended so. A state, named
  // "@name", has that value now (is it among new_states()); an argument that is written in place is named as the result
  // that holds it after a run. Views as of results.
  std::span<const Kept> kept() const;

  // Hands over the memory of a tensor among the last results or new states, so that it need not be copied: the
  // caller frees it with std::free, and the Run makes new memory for its next run. The views stay good as long as that
  // memory. Null: the elements are not the result's alone (an argument passed through, a weight, a kept state, a result
  // listed twice) or an engine's; copy them.
  void* detach(const Tensor& result);

  // The states kept in this Run. set_state copies.
  Result<Value> state(std::string_view name) const;
  Result<void> set_state(std::string_view name, const Value& value);
  Result<void> reset_states();  // to the initial values: all, or none if memory runs out (std::bad_alloc)

  // Of the numbers that the program draws: what torch draws on the CPU after torch.manual_seed(seed). At first 0; the
  // generator goes on from run to run.
  void set_seed(std::uint64_t seed);
  // What torch.get_rng_state() gives, and torch.set_rng_state() takes. Bytes that are no state are InvalidInput.
  std::vector<std::uint8_t> random_state() const;
  Result<void> set_random_state(std::span<const std::uint8_t> state);
  void set_loop_limit(std::int64_t limit);  // for loops without a limit of their own; 0: the default, 1,000,000
  void set_options(RunOptions options);     // of the next runs
  // Asked every 20 ms or so of a run, on its thread, between its steps (a sub-DNN that runs is not cut short): false
  // ends the run with an error of kind Stopped and type "Interrupted". Null: never.
  void set_poll(std::function<bool()> keep_going);
  void set_print(std::function<void(std::string_view)> print);  // gets text with its newline; default: stdout

  // For verification. While tracing, every decision is recorded; trace() is that of the last run,
  // failed ones included. force() prescribes decisions: the i-th decision of the next runs takes arm outcomes[i]
  // whatever the condition (-1: as the condition says), those beyond are free; an empty list ends it.
  void set_trace(bool on);
  std::span<const Outcome> trace() const;
  void force(std::vector<std::int32_t> outcomes);
  // Asked before every decision, with the arm the condition chose; returns the arm to take. Null ends it.
  void set_decider(std::function<std::uint32_t(std::uint32_t decision, std::uint32_t arm)> decider);

  void set_profile(bool on);                 // clears the profile
  std::span<const Profile> profile() const;  // parallel to Program::sub_dnns()

  // While on, every call of a sub-DNN is recorded; timeline() has those of the last run, in order, failed runs
  // included. Walked programs only: emitted code has no call sites.
  void set_timeline(bool on);
  std::span<const TimedCall> timeline() const;

  const Program& program() const;

  struct Parts;  // the implementation, for dycl/host.h
  Parts& parts() { return *parts_; }

 private:
  explicit Run(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace dycl::runtime
