// SPDX-License-Identifier: Apache-2.0
// The C ABI over the C++ API: conversion of values, and errors instead of exceptions.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <new>
#include <span>

#include "dycl/dycl.h"
#include "dycl/host.h"
#include "dycl/runtime.h"

using namespace dycl;
using runtime::Value;

struct dycl_error {
  Error error;
  std::string text, file;
};

struct dycl_program {
  std::shared_ptr<const runtime::Program> program;
  std::vector<std::string> input_types, output_types;
  std::string metadata;
};

using Lists = std::deque<std::vector<dycl_value>>;  // items of lists; a deque: views stay put

// A state as a caller sees it, made once however often it is asked for.
struct StateView {
  Lists lists;
  dycl_value shown;
};
using StateViews = std::map<std::string, StateView, std::less<>>;

struct dycl_run {
  runtime::Run run;
  std::vector<Value> arguments;
  std::vector<dycl_value> results;
  Lists lists;              // in results
  StateViews states, kept;  // by name, until the run changes
  bool executing = false;
  bool freed = false;  // by a callback: it goes when the execution is over

  void forget_views() {
    states.clear();
    kept.clear();
  }
};

// While it lives, the run executes.
struct Executing {
  explicit Executing(bool& flag) : flag_(flag) { flag_ = true; }
  ~Executing() { flag_ = false; }
  Executing(const Executing&) = delete;
  Executing& operator=(const Executing&) = delete;

 private:
  bool& flag_;
};

struct dycl_cancellation {
  std::shared_ptr<runtime::Cancellation> shared;
};

namespace {

// Out of memory even for an error: this one is never freed.
dycl_error out_of_memory{
    {ErrorKind::RuntimeFailure, "out of memory", {}, {}, "MemoryError"}, "MemoryError: out of memory", {}};

dycl_error* as_error(const Error& error, const runtime::Program* program) noexcept {
  try {
    auto made = std::make_unique<dycl_error>();
    made->error = error;
    if (program) {
      made->text = program->describe(error);
      if (error.span.known() && error.span.file < program->sources().size())
        made->file = program->sources()[error.span.file];
    } else {
      made->text = "error: " + error.message + (error.help.empty() ? "" : "\n  help: " + error.help);
    }
    return made.release();
  } catch (...) {
    return &out_of_memory;
  }
}

// Runs `body`, which returns Result<void>; nothing escapes.
template <typename Body>
dycl_error* guarded(const runtime::Program* program, Body body) noexcept {
  try {
    Result<void> done = body();
    return done ? nullptr : as_error(done.error(), program);
  } catch (const std::bad_alloc&) {
    return &out_of_memory;
  } catch (const std::exception& e) {
    return as_error({ErrorKind::Internal, e.what(), {}, {}, {}}, program);
  } catch (...) {
    return as_error({ErrorKind::Internal, "unknown exception", {}, {}, {}}, program);
  }
}

Error bad(std::string message) { return {ErrorKind::InvalidInput, std::move(message), {}, {}, {}}; }

// The first of a call's pointers that must not be NULL and is, or nothing wrong.
struct Pointer {
  const char* name;
  const void* value;
};
Result<void> check_pointers(std::initializer_list<Pointer> pointers) {
  for (const Pointer& p : pointers)
    if (!p.value) return bad(std::string(p.name) + " is NULL");
  return {};
}

// A callback of the run calls it, which would change or show what the execution is about to change.
Result<void> check_idle(const dycl_run* run) {
  if (run->executing) return bad("the run is in the middle of an execution: its own callback called it");
  return {};
}

const runtime::Program* program_of(const dycl_run* run) { return run ? &run->run.program() : nullptr; }

struct DlType {
  DType dtype;
  std::uint8_t code, bits;
};
constexpr DlType kDlTypes[] = {
    {DType::I8, 0, 8},   {DType::I16, 0, 16},  {DType::I32, 0, 32}, {DType::I64, 0, 64},   {DType::U8, 1, 8},
    {DType::U16, 1, 16}, {DType::U32, 1, 32},  {DType::U64, 1, 64}, {DType::F16, 2, 16},   {DType::F32, 2, 32},
    {DType::F64, 2, 64}, {DType::BF16, 4, 16}, {DType::C64, 5, 64}, {DType::C128, 5, 128}, {DType::Bool, 6, 8},
    {DType::F8E4M3FN, 10, 8}, {DType::F8E4M3FNUZ, 11, 8}, {DType::F8E5M2, 12, 8}, {DType::F8E5M2FNUZ, 13, 8},
};

Result<Value> tensor_from(const dycl_tensor& t) {
  if (t.device.device_type != 1) return bad("a tensor that is not in CPU memory");
  if (t.ndim < 0 || t.ndim > 16 || (t.ndim > 0 && !t.shape)) return bad("a tensor of impossible rank");
  const DlType* found = nullptr;
  for (const DlType& d : kDlTypes) {
    if (d.code == t.dtype.code && d.bits == t.dtype.bits && t.dtype.lanes == 1) found = &d;
  }
  if (!found) return bad("a tensor of an unknown element type");
  const std::span<const std::int64_t> shape(t.shape, static_cast<std::size_t>(t.ndim));
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); t.strides && i-- > 0;) {
    if (shape[i] > 1 && t.strides[i] != step)
      return bad("a tensor that is not compact and row-major; make it contiguous");
    if (shape[i] < 0 || __builtin_mul_overflow(step, shape[i], &step)) return bad("a tensor of impossible shape");
  }
  runtime::Tensor view;
  view.data = t.data ? static_cast<const std::uint8_t*>(t.data) + t.byte_offset : nullptr;
  view.dtype = found->dtype;
  view.shape = shape;
  return Value::of(view);
}

Result<Value> value_from(const dycl_value& v, int depth = 0) {
  if (depth > 8) return bad("lists nested too deeply");
  switch (v.kind) {
    case DYCL_NONE: return Value::none();
    case DYCL_TENSOR: return tensor_from(v.as.tensor);
    case DYCL_BOOL: return Value::of(v.as.boolean != 0);
    case DYCL_INT: return Value::of(v.as.integer);
    case DYCL_FLOAT: return Value::of(v.as.floating);
    case DYCL_LIST: break;
    default: return bad("a value of unknown kind");
  }
  if (v.as.list.count > 0 && !v.as.list.items) return bad("a list whose items are NULL");
  std::vector<Value> items;
  for (std::size_t i = 0; i < v.as.list.count; ++i) {
    DYCL_ASSIGN(Value item, value_from(v.as.list.items[i], depth + 1));
    items.push_back(std::move(item));
  }
  return Value::list(std::move(items));
}

dycl_value value_to(const Value& v, Lists& lists) {
  dycl_value out{};
  switch (v.kind) {
    case Value::Kind::None: out.kind = DYCL_NONE; break;
    case Value::Kind::Bool:
      out.kind = DYCL_BOOL;
      out.as.boolean = v.boolean;
      break;
    case Value::Kind::Int:
      out.kind = DYCL_INT;
      out.as.integer = v.integer;
      break;
    case Value::Kind::Float:
      out.kind = DYCL_FLOAT;
      out.as.floating = v.floating;
      break;
    case Value::Kind::Tensor: {
      out.kind = DYCL_TENSOR;
      dycl_tensor& t = out.as.tensor;
      t.data = const_cast<void*>(v.tensor.data);
      t.device.device_type = 1;
      t.ndim = static_cast<std::int32_t>(v.tensor.shape.size());
      t.shape = const_cast<std::int64_t*>(v.tensor.shape.data());
      t.dtype.lanes = 1;
      for (const DlType& d : kDlTypes) {
        if (d.dtype == v.tensor.dtype) t.dtype.code = d.code, t.dtype.bits = d.bits;
      }
      break;
    }
    case Value::Kind::List: {
      std::vector<dycl_value> items;
      for (const Value& item : v.elements) items.push_back(value_to(item, lists));
      lists.push_back(std::move(items));
      out.kind = DYCL_LIST;
      out.as.list.items = lists.back().data();
      out.as.list.count = lists.back().size();
      break;
    }
  }
  return out;
}

void show(StateViews& views, const char* name, const Value& value, dycl_value* out) {
  StateView view;
  view.shown = value_to(value, view.lists);
  *out = views.emplace(name, std::move(view)).first->second.shown;
}

const char* name_at(const std::vector<runtime::Port>& ports, std::size_t i) {
  return i < ports.size() ? ports[i].name.c_str() : nullptr;
}
const char* text_at(const std::vector<std::string>& texts, std::size_t i) {
  return i < texts.size() ? texts[i].c_str() : nullptr;
}

Result<std::string> found_key(const dycl_load_options& o, const std::string& name) {
  constexpr std::size_t kLongest = 4096;  // a path, too
  std::string key(kLongest, '\0');
  if (o.find_decryption_key(o.find_context, name.c_str(), key.data(), key.size()) != 0)
    return Error{ErrorKind::Missing, "find_decryption_key has no key of the name " + name, {}, {}, {}};
  key.resize(strnlen(key.c_str(), kLongest - 1));
  return key;
}

runtime::LoadOptions options_from(const dycl_load_options* given) {
  dycl_load_options o{};
  o.spinning = -1;
  if (given) std::memcpy(&o, given, std::min(given->struct_size, sizeof o));
  runtime::LoadOptions options;
  options.threads = o.threads;
  options.spinning = o.spinning;
  options.verify_weights = o.verify_weights != 0;
  options.portable_only = o.portable_only != 0;
  options.allow_native_code = o.allow_native_code != 0;
  if (o.trusted_key_count > 0) options.require_signature.emplace(o.trusted_keys, o.trusted_keys + o.trusted_key_count);
  if (o.decryption_key)
    options.decryption_key = [key = std::string(o.decryption_key)](const std::string&) -> Result<std::string> {
      return key;
    };
  if (o.find_decryption_key) options.decryption_key = [o](const std::string& name) { return found_key(o, name); };
  if (o.plugin_folder) options.plugin_folders.emplace_back(o.plugin_folder);
  return options;
}

// A newer header's fields are left out only where they say nothing.
template <typename Options>
Result<void> check_unknown_fields(const Options& o, const std::string& name) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&o);
  if (o.struct_size <= sizeof o || std::all_of(bytes + sizeof o, bytes + o.struct_size, [](int b) { return b == 0; }))
    return {};
  return Error{ErrorKind::InvalidInput,
               name + " has fields that this runtime does not know",
               "use the runtime of the header",
               {},
               {}};
}

// Without them a caller who meant to require a signature would require none.
Result<void> check_options(const dycl_load_options* o) {
  constexpr std::size_t kFirst = offsetof(dycl_load_options, allow_native_code);  // of the first release
  constexpr std::size_t kSigned = offsetof(dycl_load_options, decryption_key);    // before packages were encrypted
  if (!o || o->struct_size == kFirst) return {};
  const auto wrong = [](std::string what, std::string help) {
    return Error{ErrorKind::InvalidInput, std::move(what), std::move(help), {}, {}};
  };
  if (o->struct_size < sizeof *o && o->struct_size != kSigned)
    return wrong("dycl_load_options.struct_size is " + std::to_string(o->struct_size), "set it to sizeof(options)");
  DYCL_TRY(check_unknown_fields(*o, "dycl_load_options"));
  if (o->struct_size >= sizeof *o && o->decryption_key && o->find_decryption_key)
    return wrong("both decryption_key and find_decryption_key are given", "set one of them to NULL");
  if (o->trusted_key_count > 0) return check_pointers({{"trusted_keys", o->trusted_keys}});
  if (!o->trusted_keys) return {};
  return wrong("trusted_keys are given, and trusted_key_count is 0", "say how many there are, or set the keys to NULL");
}

// By `load(options)`.
template <typename Load>
Result<void> load_program(const dycl_load_options* given, dycl_program** program, Load load) {
  DYCL_TRY(check_options(given));
  DYCL_ASSIGN(auto loaded, load(options_from(given)));
  auto made = std::make_unique<dycl_program>();
  made->program = std::move(loaded);
  for (const auto& port : made->program->inputs()) made->input_types.push_back(port.type.text());
  for (const auto& port : made->program->outputs()) made->output_types.push_back(port.type.text());
  made->metadata = made->program->metadata();
  *program = made.release();
  return {};
}

}  // namespace

extern "C" {

uint32_t dycl_abi(void) noexcept { return DYCL_ABI; }

dycl_error_kind dycl_error_kind_of(const dycl_error* e) noexcept {
  return e ? static_cast<dycl_error_kind>(e->error.kind) : DYCL_NO_ERROR;
}
const char* dycl_error_message(const dycl_error* e) noexcept { return e ? e->error.message.c_str() : ""; }
const char* dycl_error_help(const dycl_error* e) noexcept { return e ? e->error.help.c_str() : ""; }
const char* dycl_error_type(const dycl_error* e) noexcept { return e ? e->error.type.c_str() : ""; }
const char* dycl_error_text(const dycl_error* e) noexcept { return e ? e->text.c_str() : ""; }
const char* dycl_error_file(const dycl_error* e) noexcept { return e ? e->file.c_str() : ""; }
uint32_t dycl_error_line(const dycl_error* e) noexcept { return e ? e->error.span.line : 0; }
void dycl_error_free(dycl_error* e) noexcept {
  if (e != &out_of_memory) delete e;
}

dycl_error* dycl_program_load(const char* path, const dycl_load_options* options, dycl_program** program) noexcept {
  return guarded(nullptr, [&]() -> Result<void> {
    DYCL_TRY(check_pointers({{"program", program}}));
    *program = nullptr;
    DYCL_TRY(check_pointers({{"path", path}}));
    return load_program(options, program, [&](runtime::LoadOptions given) {
      return runtime::Program::load(std::filesystem::path(path), std::move(given));
    });
  });
}

dycl_error* dycl_program_load_memory(const void* package, size_t size, const dycl_load_options* options,
                                     dycl_program** program) noexcept {
  return guarded(nullptr, [&]() -> Result<void> {
    DYCL_TRY(check_pointers({{"program", program}}));
    *program = nullptr;
    DYCL_TRY(check_pointers({{"package", package}}));
    return load_program(options, program, [&](runtime::LoadOptions given) {
      return runtime::Program::load(std::span(static_cast<const std::uint8_t*>(package), size), std::move(given));
    });
  });
}
void dycl_program_free(dycl_program* p) noexcept { delete p; }
size_t dycl_program_input_count(const dycl_program* p) noexcept { return p ? p->program->inputs().size() : 0; }
size_t dycl_program_output_count(const dycl_program* p) noexcept { return p ? p->program->outputs().size() : 0; }
const char* dycl_program_input_name(const dycl_program* p, size_t i) noexcept {
  return p ? name_at(p->program->inputs(), i) : nullptr;
}
const char* dycl_program_output_name(const dycl_program* p, size_t i) noexcept {
  return p ? name_at(p->program->outputs(), i) : nullptr;
}
const char* dycl_program_input_type(const dycl_program* p, size_t i) noexcept {
  return p ? text_at(p->input_types, i) : nullptr;
}
const char* dycl_program_output_type(const dycl_program* p, size_t i) noexcept {
  return p ? text_at(p->output_types, i) : nullptr;
}
const char* dycl_program_metadata(const dycl_program* p) noexcept { return p ? p->metadata.c_str() : nullptr; }

dycl_error* dycl_run_create(const dycl_program* program, dycl_run** run) noexcept {
  return guarded(program ? program->program.get() : nullptr, [&]() -> Result<void> {
    DYCL_TRY(check_pointers({{"run", run}}));
    *run = nullptr;
    DYCL_TRY(check_pointers({{"program", program}}));
    DYCL_ASSIGN(auto made, runtime::Run::create(program->program));
    // `guarded` catches. NOLINTNEXTLINE(bugprone-unhandled-exception-at-new)
    *run = new dycl_run{std::move(made), {}, {}, {}, {}, {}};
    return {};
  });
}

void dycl_run_free(dycl_run* run) noexcept {
  if (run && run->executing)
    run->freed = true;
  else
    delete run;
}

dycl_error* dycl_run_execute(dycl_run* run, const dycl_value* arguments, size_t argument_count,
                             const dycl_value** results, size_t* result_count) noexcept {
  dycl_error* failed = guarded(program_of(run), [&]() -> Result<void> {
    DYCL_TRY(check_pointers({{"run", run}, {"results", results}, {"result_count", result_count}}));
    if (argument_count > 0) DYCL_TRY(check_pointers({{"arguments", arguments}}));
    DYCL_TRY(check_idle(run));
    const Executing executing(run->executing);
    run->arguments.resize(argument_count);
    for (std::size_t i = 0; i < argument_count; ++i) {
      auto value = value_from(arguments[i]);
      if (!value) {
        Error error = std::move(value).error();
        error.message = "argument " + std::to_string(i) + ": " + error.message;
        return error;
      }
      run->arguments[i] = std::move(value).value();
    }
    run->forget_views();
    DYCL_ASSIGN(const auto outputs, run->run.run(run->arguments));
    run->results.clear();
    run->lists.clear();
    for (const Value& v : outputs) run->results.push_back(value_to(v, run->lists));
    *results = run->results.data();
    *result_count = run->results.size();
    return {};
  });
  if (!run || !run->freed || run->executing) return failed;
  delete run;
  if (failed) return failed;
  *results = nullptr;
  *result_count = 0;
  return as_error(bad("the run was freed by its own callback, and its results with it"), nullptr);
}

dycl_error* dycl_cancellation_create(dycl_cancellation** cancellation) noexcept {
  return guarded(nullptr, [&]() -> Result<void> {
    DYCL_TRY(check_pointers({{"cancellation", cancellation}}));
    *cancellation = nullptr;
    auto made = std::make_unique<dycl_cancellation>();
    made->shared = std::make_shared<runtime::Cancellation>();
    *cancellation = made.release();
    return {};
  });
}
void dycl_cancellation_cancel(dycl_cancellation* cancellation) noexcept {
  if (cancellation) cancellation->shared->cancel();
}
void dycl_cancellation_free(dycl_cancellation* cancellation) noexcept { delete cancellation; }

dycl_error* dycl_run_set_options(dycl_run* run, const dycl_run_options* given) noexcept {
  return guarded(program_of(run), [&]() -> Result<void> {
    DYCL_TRY(check_pointers({{"run", run}}));
    dycl_run_options o{};
    // With another size a caller who meant to end runs would end none.
    if (given && given->struct_size < sizeof o)
      return Error{ErrorKind::InvalidInput,
                   "dycl_run_options.struct_size is " + std::to_string(given->struct_size),
                   "set it to sizeof(options)",
                   {},
                   {}};
    if (given) DYCL_TRY(check_unknown_fields(*given, "dycl_run_options"));
    if (given) std::memcpy(&o, given, sizeof o);
    runtime::RunOptions options;
    options.deadline = std::chrono::nanoseconds(o.deadline_ns);
    options.step_limit = o.step_limit;
    options.memory_limit = o.memory_limit;
    if (o.cancellation) options.cancellation = o.cancellation->shared;
    run->run.set_options(std::move(options));
    return {};
  });
}

void dycl_run_set_seed(dycl_run* run, uint64_t seed) noexcept {
  if (run) run->run.set_seed(seed);
}
void dycl_run_set_loop_limit(dycl_run* run, int64_t limit) noexcept {
  if (run) run->run.set_loop_limit(limit);
}
dycl_error* dycl_run_reset_states(dycl_run* run) noexcept {
  return guarded(program_of(run), [&]() -> Result<void> {
    DYCL_TRY(check_pointers({{"run", run}}));
    DYCL_TRY(check_idle(run));
    run->forget_views();
    return run->run.reset_states();
  });
}

dycl_error* dycl_run_get_state(dycl_run* run, const char* name, dycl_value* value) noexcept {
  return guarded(program_of(run), [&]() -> Result<void> {
    DYCL_TRY(check_pointers({{"run", run}, {"name", name}, {"value", value}}));
    DYCL_TRY(check_idle(run));
    if (const auto known = run->states.find(name); known != run->states.end()) {
      *value = known->second.shown;
      return {};
    }
    DYCL_ASSIGN(const Value state, run->run.state(name));
    show(run->states, name, state, value);
    return {};
  });
}

dycl_error* dycl_run_get_kept(dycl_run* run, const char* name, dycl_value* value) noexcept {
  return guarded(program_of(run), [&]() -> Result<void> {
    DYCL_TRY(check_pointers({{"run", run}, {"name", name}, {"value", value}}));
    DYCL_TRY(check_idle(run));
    if (const auto known = run->kept.find(name); known != run->kept.end()) {
      *value = known->second.shown;
      return {};
    }
    for (const runtime::Kept& kept : run->run.kept()) {
      if (kept.name != name) continue;
      show(run->kept, name, kept.value, value);
      return {};
    }
    return bad("the last run kept nothing called " + std::string(name));
  });
}

dycl_error* dycl_run_set_state(dycl_run* run, const char* name, const dycl_value* value) noexcept {
  return guarded(program_of(run), [&]() -> Result<void> {
    DYCL_TRY(check_pointers({{"run", run}, {"name", name}, {"value", value}}));
    DYCL_TRY(check_idle(run));
    DYCL_ASSIGN(const Value given, value_from(*value));
    run->forget_views();
    return run->run.set_state(name, given);
  });
}

dycl_error* dycl_run_set_print(dycl_run* run, dycl_print_fn print, void* context) noexcept {
  return guarded(program_of(run), [&]() -> Result<void> {
    DYCL_TRY(check_pointers({{"run", run}}));
    if (!print)
      run->run.set_print(nullptr);
    else
      run->run.set_print([print, context](std::string_view text) { print(context, text.data(), text.size()); });
    return {};
  });
}

}  // extern "C"

runtime::LoadOptions dycl::host::load_options_of(const dycl_load_options* options) {
  if (auto right = check_options(options); !right) throw Failure(std::move(right).error());
  return options_from(options);
}
