// SPDX-License-Identifier: Apache-2.0
#include "runner.h"

#include <dlfcn.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <exception>

#include "dycl/runtime.h"
#include "errors.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "values.h"

namespace nb = nanobind;

namespace dycl::bindings {
namespace {

using Ports = std::vector<std::pair<std::string, std::string>>;

Ports export_ports(const std::vector<runtime::Port>& ports) {
  Ports result;
  for (const runtime::Port& port : ports) result.emplace_back(port.name, port.type.text());
  return result;
}

nb::object export_span(const SourceSpan& span, const std::vector<std::string>& sources) {
  if (!span.known()) return nb::none();
  const std::string file = span.file < sources.size() ? sources[span.file] : std::string();
  return nb::make_tuple(file, span.line, span.column, span.end_line, span.end_column);
}

bool is_main_thread() {
  static const auto main =
      nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  return PyThread_get_thread_ident() == main;
}

// One caller of a program, with the Python callbacks it was given.
struct Runner {
  std::shared_ptr<const runtime::Program> program;
  runtime::Run run;
  std::exception_ptr callback_failure;  // a Python exception must not cross the runtime
  unsigned long user = 0;  // the thread that is in a method now; read and written with the GIL held

  nb::object options;           // dycl.RunOptions of the last run, or None
  bool on_main_thread = false;  // where Python looks at signals

  Runner(std::shared_ptr<const runtime::Program> p, runtime::Run r)
      : program(std::move(p)), run(std::move(r)), options(nb::none()) {
    run.set_poll([this] { return !on_main_thread || !interrupted(); });
  }

 private:
  // A signal's handler raised (Ctrl-C: KeyboardInterrupt): the run ends, and `run` raises it.
  bool interrupted() {
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() == 0) return false;
    if (!callback_failure) callback_failure = std::make_exception_ptr(nb::python_error());
    PyErr_Clear();
    return true;
  }
};

// While it lives, nobody else uses the Runner: two Python threads would share its buffers, and a callback would change
// what is in use. They are refused rather than raced.
class InUse {
 public:
  InUse(Runner& runner, bool callbacks_may) : runner_(runner), before_(runner.user) {
    const unsigned long user = PyThread_get_thread_ident();
    if (before_ != 0 && !(callbacks_may && before_ == user))
      throw std::runtime_error("this Run is in use by another thread, or by a call that its own callback calls again; "
                               "make one Run for each");
    runner.user = user;
  }
  ~InUse() { runner_.user = before_; }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  Runner& runner_;
  unsigned long before_;
};

// A method of Python's that has the Runner for itself, but for callbacks of its own run if they may call it.
template <typename Returned, typename... Given>
auto alone(Returned (*method)(Runner&, Given...), bool callbacks_may = false) {
  return [=](Runner& self, Given... given) -> Returned {
    const InUse mine(self, callbacks_may);
    return method(self, std::forward<Given>(given)...);
  };
}
constexpr bool kCallbacksToo = true;

// The error has `kept` and `states` where the program raised it and had written before: {name: value}, and the new
// states if the caller passes them.
[[noreturn]] void raise_run_error(Runner& runner, const Error& error, bool explicit_states,
                                  const std::string& framework) {
  try {
    raise(error, runner.program->sources());
  } catch (nb::python_error& raised) {
    if (runner.run.kept().empty()) throw;
    nb::dict kept;
    for (const runtime::Kept& k : runner.run.kept())
      kept[nb::str(k.name.data(), k.name.size())] = export_value(k.value, framework);
    raised.value().attr("kept") = kept;
    raised.value().attr("states") =
        explicit_states ? nb::object(export_values(runner.run.new_states(), framework)) : nb::none();
    throw;
  }
}

// None, or an object with the attributes of dycl.RunOptions.
runtime::RunOptions import_options(const nb::object& given) {
  runtime::RunOptions options;
  if (given.is_none()) return options;
  const auto number = [&](const char* name) {
    const nb::object value = given.attr(name);
    return value.is_none() ? std::int64_t{0} : nb::cast<std::int64_t>(value);
  };
  if (const nb::object deadline = given.attr("deadline"); !deadline.is_none())
    options.deadline = runtime::deadline_after(nb::cast<double>(deadline));
  options.step_limit = number("step_limit");
  options.memory_limit = static_cast<std::uint64_t>(number("memory_limit"));
  if (const nb::object cancellation = given.attr("cancellation"); !cancellation.is_none())
    options.cancellation = nb::cast<std::shared_ptr<runtime::Cancellation>>(cancellation);
  return options;
}

nb::object run(Runner& self, nb::sequence arguments, nb::object states, const std::string& framework,
               nb::object options) {
  if (!options.is(self.options)) {
    self.run.set_options(import_options(options));
    self.options = std::move(options);
  }
  ImportedValues inputs(arguments, self.program->inputs());
  ImportedValues given_states;
  const bool explicit_states = !states.is_none();
  if (explicit_states) given_states = ImportedValues(nb::cast<nb::sequence>(states), self.program->states());
  self.callback_failure = nullptr;
  (void)take_host_failure();
  self.on_main_thread = is_main_thread();
  auto results = [&] {
    nb::gil_scoped_release release;
    return explicit_states ? self.run.run_with_states(inputs.values(), given_states.values())
                           : self.run.run(inputs.values());
  }();
  if (self.callback_failure) std::rethrow_exception(self.callback_failure);
  const std::exception_ptr host_failure = take_host_failure();
  if (!results && host_failure) std::rethrow_exception(host_failure);
  if (!results) raise_run_error(self, results.error(), explicit_states, framework);

  nb::list outputs = export_values(*results, framework, &self.run);
  if (!explicit_states) return outputs;
  return nb::make_tuple(outputs, export_values(self.run.new_states(), framework, &self.run));
}

// Runs Python code inside a run: takes the GIL. An exception ends the run, and is kept for who called it.
template <typename Call>
void call_back(Runner& self, Call&& call) {
  {
    nb::gil_scoped_acquire gil;
    try {
      return call();
    } catch (...) {
      self.callback_failure = std::current_exception();
    }
  }
  throw std::runtime_error("a callback raised an exception");
}

void set_print(Runner& self, nb::object callback) {
  if (callback.is_none()) return self.run.set_print(nullptr);
  self.run.set_print([&self, callback = share(callback)](std::string_view text) {
    call_back(self, [&] { (*callback)(nb::str(text.data(), text.size())); });
  });
}

void set_decider(Runner& self, nb::object callback) {
  if (callback.is_none()) return self.run.set_decider(nullptr);
  self.run.set_decider([&self, callback = share(callback)](std::uint32_t decision, std::uint32_t arm) {
    std::uint32_t chosen = arm;
    call_back(self, [&] { chosen = nb::cast<std::uint32_t>((*callback)(decision, arm)); });
    return chosen;
  });
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> trace(Runner& self) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> result;
  for (const runtime::Outcome& outcome : self.run.trace()) result.emplace_back(outcome.decision, outcome.arm);
  return result;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> profile(Runner& self) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> result;
  for (const runtime::Profile& entry : self.run.profile()) result.emplace_back(entry.calls, entry.nanoseconds);
  return result;
}

std::vector<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>> timeline(Runner& self) {
  std::vector<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>> result;
  for (const runtime::TimedCall& call : self.run.timeline())
    result.emplace_back(call.call_site, call.begin, call.nanoseconds);
  return result;
}

// The folder of this module's file behind any link, where the build puts plug-ins nearby.
std::filesystem::path module_folder() {
  Dl_info info{};
  if (!::dladdr(reinterpret_cast<const void*>(&module_folder), &info) || !info.dli_fname) return {};
  std::error_code ignored;
  return std::filesystem::canonical(info.dli_fname, ignored).parent_path();
}

// Python functions for `host_call`: arguments as tensors of `framework`, results by their types.
runtime::HostFunction import_host_function(nb::object function, const std::string& framework) {
  return [function = share(std::move(function)), framework](std::span<const runtime::Value> arguments,
                                                            std::span<runtime::Value> results) -> Result<void> {
    nb::gil_scoped_acquire gil;
    return call_host_function(*function, arguments, results, framework);
  };
}

// The stored text says at each op where it was written; people read it without.
std::string hcfg(const runtime::Program& program) {
  if (program.hcfg_text().empty()) return {};
  return ir::print(unwrap(ir::parse(program.hcfg_text(), "the package's program", {.spans_from_text = false})));
}

// A function of the key's name.
std::function<Result<std::string>(const std::string&)> key_from(nb::object function) {
  return [function = share(std::move(function))](const std::string& name) -> Result<std::string> {
    nb::gil_scoped_acquire gil;
    return nb::cast<std::string>((*function)(name));
  };
}

// `source`: a path, or the package itself as bytes.
std::shared_ptr<const runtime::Program> load(
    nb::object source, int threads, int spinning, bool verify_weights, bool portable_only,
    bool allow_native_code, const std::vector<std::string>& require_signature,
    nb::object decryption_key, const std::vector<std::filesystem::path>& plugin_folders,
    const std::map<std::string, std::map<std::string, std::string>>& engine_options, nb::dict host_functions,
    const std::string& host_framework, nb::object notice) {
  runtime::LoadOptions options;
  options.threads = threads;
  options.spinning = spinning;
  options.verify_weights = verify_weights;
  options.portable_only = portable_only;
  options.allow_native_code = allow_native_code;
  if (!require_signature.empty()) options.require_signature = require_signature;
  if (!decryption_key.is_none()) options.decryption_key = key_from(std::move(decryption_key));
  options.plugin_folders = plugin_folders;
  for (auto& folder : nearby_plugin_folders()) options.plugin_folders.push_back(std::move(folder));
  options.engine_options = engine_options;
  for (auto [name, function] : host_functions) {
    const auto text = nb::cast<std::string>(name);
    options.host_functions[text] = import_host_function(nb::borrow(function), host_framework);
  }
  if (!notice.is_none())
    options.notice = [notice = share(notice)](std::string_view text) {
      nb::gil_scoped_acquire gil;
      (*notice)(nb::str(text.data(), text.size()));
    };
  const bool is_bytes = nb::isinstance<nb::bytes>(source);
  const auto package = is_bytes ? nb::cast<nb::bytes>(source) : nb::bytes("", 0);
  const auto path = is_bytes ? std::filesystem::path() : nb::cast<std::filesystem::path>(source);
  const std::span bytes(static_cast<const std::uint8_t*>(package.data()), package.size());
  auto program = [&] {
    nb::gil_scoped_release release;
    return is_bytes ? runtime::Program::load(bytes, std::move(options))
                    : runtime::Program::load(path, std::move(options));
  }();
  return unwrap(std::move(program));
}

void bind_program(nb::module_& module) {
  using runtime::Program;
  nb::class_<Program> c(module, "Program", "A loaded package; immutable, shared by threads.");
  c.def_static("load", &load, nb::arg("source"), nb::arg("threads") = 0, nb::arg("spinning") = -1,
               nb::arg("verify_weights") = false, nb::arg("portable_only") = false,
               nb::arg("allow_native_code") = false, nb::arg("require_signature") = std::vector<std::string>(),
               nb::arg("decryption_key") = nb::none(),
               nb::arg("plugin_folders") = std::vector<std::filesystem::path>(),
               nb::arg("engine_options") = std::map<std::string, std::map<std::string, std::string>>(),
               nb::arg("host_functions") = nb::dict(), nb::arg("host_framework") = "torch",
               nb::arg("notice") = nb::none());
  c.def_prop_ro(
      "inputs", [](const Program& p) { return export_ports(p.inputs()); }, "[(name, type)]");
  c.def_prop_ro("outputs", [](const Program& p) { return export_ports(p.outputs()); });
  c.def_prop_ro("states", [](const Program& p) { return export_ports(p.states()); });
  c.def_prop_ro(
      "symbols",
      [](const Program& p) {
        std::vector<std::tuple<std::string, std::int64_t, std::int64_t>> result;
        for (const runtime::Symbol& s : p.symbols()) result.emplace_back(s.name, s.min, s.max);
        return result;
      },
      "[(name, min, max)]");
  c.def_prop_ro(
      "decisions",
      [](const Program& p) {
        nb::list result;
        for (const runtime::Decision& d : p.decisions())
          result.append(nb::make_tuple(d.arms, d.block, export_span(d.span, p.sources()), d.origin));
        return result;
      },
      "[(arms, block, span, origin)]; branch: arm 0 is false, arm 1 is true; origin: what the condition comes from");
  c.def_prop_ro(
      "call_sites",
      [](const Program& p) {
        nb::list result;
        for (const runtime::CallSite& s : p.call_sites())
          result.append(nb::make_tuple(s.sub_dnn, s.block, export_span(s.span, p.sources())));
        return result;
      },
      "[(index of the sub-DNN, block, span)]");
  c.def_prop_ro(
      "sub_dnns",
      [](const Program& p) {
        nb::list result;
        for (const runtime::SubDnn& s : p.sub_dnns())
          result.append(nb::make_tuple(s.name, s.backend, s.target, s.artifact_bytes, s.call_sites, s.readable));
        return result;
      },
      "[(name, backend, target, artifact bytes, call sites, readable name)]");
  c.def_prop_ro("decrypted", &Program::decrypted, "from an encrypted package");
  c.def_prop_ro("target", [](const Program& p) { return p.target(); });
  c.def_prop_ro(
      "metadata", [](const Program& p) { return std::string(p.metadata()); }, "JSON text");
  c.def_prop_ro("ir_text", [](const Program& p) { return std::string(p.ir_text()); });
  c.def("hcfg", &hcfg, "The text of the program after the passes; \"\" if it was stripped.");
  c.def_prop_ro("sources", [](const Program& p) { return p.sources(); });
  c.def_prop_ro(
      "file", [](const Program& p) { return p.file().string(); },
      "A path to what was loaded, good while this object lives; whatever lies at the place it came from.");
}

void set_state(Runner& self, const std::string& name, nb::object value) {
  std::vector<runtime::Port> port;
  for (const runtime::Port& state : self.program->states())
    if (state.name == name) port.push_back(state);
  const ImportedValues values(nb::cast<nb::sequence>(nb::make_tuple(value)), port);
  unwrap(self.run.set_state(name, values.values().front()));
}

nb::bytes random_state(Runner& self) {
  const std::vector<std::uint8_t> state = self.run.random_state();
  return nb::bytes(reinterpret_cast<const char*>(state.data()), state.size());
}

void set_random_state(Runner& self, const nb::bytes& state) {
  unwrap(self.run.set_random_state({reinterpret_cast<const std::uint8_t*>(state.c_str()), state.size()}));
}

void bind_states(nb::class_<Runner>& c) {
  c.def("state", alone(+[](Runner& self, const std::string& name, const std::string& framework) {
          return export_value(unwrap(self.run.state(name)), framework);
        }),
        nb::arg("name"), nb::arg("framework") = "torch");
  c.def("set_state", alone(&set_state), nb::arg("name"), nb::arg("value"));
  c.def("reset_states", alone(+[](Runner& self) { unwrap(self.run.reset_states()); }));
  c.def("set_seed", alone(+[](Runner& self, std::uint64_t seed) { self.run.set_seed(seed); }), nb::arg("seed"));
  c.def("random_state", alone(&random_state, kCallbacksToo),
        "The state of the generator, as torch.get_rng_state() has it.");
  c.def("set_random_state", alone(&set_random_state, kCallbacksToo), nb::arg("state"));
}

void bind_run(nb::module_& module) {
  using runtime::Cancellation;
  nb::class_<Cancellation> cancellation(module, "Cancellation",
                                        "Ends runs: those whose RunOptions name it, and all later ones.");
  cancellation.def(nb::init<>());
  cancellation.def("cancel", &Cancellation::cancel, nb::call_guard<nb::gil_scoped_release>(), "From any thread.");
  cancellation.def_prop_ro("cancelled", &Cancellation::cancelled);

  nb::class_<Runner> c(
      module, "Run", "One caller's buffers and states of a Program; one thread at a time, and not from its callbacks.");
  c.def(
      "__init__",
      [](Runner* self, std::shared_ptr<const runtime::Program> program) {
        new (self) Runner(program, unwrap(runtime::Run::create(program), program->sources()));
      },
      nb::arg("program"));
  c.def(
      "run", alone(&run), nb::arg("arguments"), nb::arg("states") = nb::none(), nb::arg("framework") = "torch",
      nb::arg("options").none() = nb::none(),
      "Returns the outputs as a list; with `states` (in the program's order) returns (outputs, new states) and "
      "leaves the states kept here alone. framework: 'torch' or 'numpy'. A RunError of a program that had written "
      "before it "
      "raised has `kept`, {name: value}, and `states`, the new ones if they were passed. options: a dycl.RunOptions.");
  bind_states(c);
  c.def("set_loop_limit", alone(+[](Runner& self, std::int64_t n) { self.run.set_loop_limit(n); }), nb::arg("limit"));
  c.def("set_print", alone(&set_print), nb::arg("callback").none(), "callback(text); None: standard output.");
  c.def("set_trace", alone(+[](Runner& self, bool on) { self.run.set_trace(on); }), nb::arg("on"));
  c.def_prop_ro("trace", alone(&trace), "[(decision, arm)] of the last run, while tracing");
  c.def(
      "force", alone(+[](Runner& self, std::vector<std::int32_t> outcomes) { self.run.force(std::move(outcomes)); }),
      nb::arg("outcomes"), "The i-th decision takes arm outcomes[i] (-1: as the condition says); [] ends it.");
  c.def("set_decider", alone(&set_decider), nb::arg("callback").none(),
        "callback(decision, arm) -> arm; None ends it.");
  c.def("set_profile", alone(+[](Runner& self, bool on) { self.run.set_profile(on); }), nb::arg("on"));
  c.def_prop_ro("profile", alone(&profile), "[(calls, nanoseconds)] per sub-DNN, while profiling");
  c.def("set_timeline", alone(+[](Runner& self, bool on) { self.run.set_timeline(on); }), nb::arg("on"));
  c.def_prop_ro("timeline", alone(&timeline), "[(call site, begin, nanoseconds)] of the last run, while it is on");
}

}  // namespace

std::vector<std::filesystem::path> nearby_plugin_folders() {
  const auto folder = module_folder();
  if (folder.empty()) return {};
  return {folder, folder.parent_path() / "lib" / "dycl", folder / "lib" / "dycl"};  // a build, a wheel
}

void bind_runner(nb::module_& module) {
  bind_program(module);
  bind_run(module);
}

}  // namespace dycl::bindings
