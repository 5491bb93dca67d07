// SPDX-License-Identifier: Apache-2.0
// dycl run: one run of a package on given inputs; outputs to .npy, .npz or the terminal.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <exception>
#include <memory>
#include <new>

#include "checked_package.h"
#include "outputs.h"
#include "places.h"
#include "run_commands.h"
#include "support/threads.h"
#include "support/utf8.h"

namespace dycl::tools {
namespace {

using json = nlohmann::ordered_json;
using runtime::Value;

constexpr int kDiffers = 1;
constexpr int kUsageError = 64;

struct Options {
  std::string package;
  CommandOptions run;
  std::string output;
  std::string expect;
  double tolerance = 1e-5;
  bool trace = false;
  int repeat = 1;
};

json trace_json(const runtime::Run& run) {
  json decisions = json::array();
  for (const runtime::Outcome& outcome : run.trace()) {
    const runtime::Decision& decision = run.program().decisions()[outcome.decision];
    json entry = {{"decision", outcome.decision}, {"arm", outcome.arm}, {"block", decision.block}};
    const auto& sources = run.program().sources();
    if (decision.span.known()) {
      entry["line"] = decision.span.line;
      if (decision.span.file < sources.size()) entry["file"] = sources[decision.span.file];
      entry["source"] = source_text(run.program(), decision.span);
    }
    if (!decision.origin.empty()) entry["origin"] = decision.origin;
    decisions.push_back(entry);
  }
  return decisions;
}

// Runs again and again for a first impression of the time; `bench` measures with care.
Result<json> repeat(runtime::Run& run, const Inputs& inputs, int count) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> micros;
  for (int i = 0; i < count; ++i) {
    const auto start = Clock::now();
    DYCL_TRY(run.run(inputs.values));
    micros.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  std::sort(micros.begin(), micros.end());
  return json{
      {"runs", count}, {"min_us", micros.front()}, {"median_us", micros[micros.size() / 2]}, {"max_us", micros.back()}};
}

std::string times_text(const json& times) {
  char line[120];
  std::snprintf(line, sizeof line, "%d runs: min %.1f us, median %.1f us, max %.1f us\n", times["runs"].get<int>(),
                times["min_us"].get<double>(), times["median_us"].get<double>(), times["max_us"].get<double>());
  return line;
}

void report(const Console& console, const Options& options, const runtime::Run& run, std::span<const Value> results,
            const json& times) {
  json object = {{"outputs", json::object()}};
  std::string text;
  const std::vector<std::string> variants = variants_of(run.program().metadata());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string name = name_of_output(run.program(), i);
    object["outputs"][name] = value_json(results[i]);
    text += one_line(name) + " = " + value_text(results[i]);
    if (i == 0 && name == "variant" && static_cast<std::size_t>(results[i].integer) < variants.size()) {
      text += ": " + one_line(variants[static_cast<std::size_t>(results[i].integer)]);
      object["variant"] = variants[static_cast<std::size_t>(results[i].integer)];
    }
    text += "\n";
  }
  if (options.trace) {
    object["trace"] = trace_json(run);
    for (const runtime::Outcome& o : run.trace())
      text += decision_text(run.program(), o.decision) + "  " +
              name_of_arm(run.program().decisions()[o.decision], o.arm) + "\n";
  }
  if (!times.is_null()) {
    object["times"] = times;
    text += times_text(times);
  }
  if (options.output.empty() || options.trace || console.json) console.result(text, object);
}

int compare(const Console& console, const Options& options, const runtime::Program& program,
            std::span<const Value> results) {
  const auto lines = differences(program, results, options.expect, options.tolerance);
  if (!lines) return console.fail(lines.error());
  for (const std::string& line : *lines) console.say("differs: " + line);
  return lines->empty() ? 0 : kDiffers;
}

int run_once(Console& console, const Options& options) {
  const auto program = load_program(console, options.package, options.run);
  if (!program) return console.fail(program.error());
  const auto inputs = read_arguments(**program, options.run);
  if (!inputs) return console.fail(inputs.error());
  auto run = make_run(*program, options.run);
  if (!run) return console.fail(run.error());
  run->set_trace(options.trace);
  // What the model prints must not mix with the JSON.
  if (console.json) run->set_print([](std::string_view text) { put_printed(stderr, text); });
  json times;
  if (options.repeat > 1) {
    auto measured = repeat(*run, *inputs, options.repeat);
    if (!measured) return console.fail(measured.error(), (*program)->describe(measured.error()));
    times = std::move(*measured);
  }
  const auto results = run->run(inputs->values);
  if (!results) return console.fail(results.error(), (*program)->describe(results.error()));
  // Before the report: what --json prints is one object, the results or the error.
  if (!options.output.empty())
    if (const auto written = write_outputs(**program, *results, options.output); !written)
      return console.fail(written.error());
  report(console, options, *run, *results, times);
  return options.expect.empty() ? 0 : compare(console, options, **program, *results);
}

}  // namespace

namespace {

// How many letters have to be added, removed or changed.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t before = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = before + (a[i] != b[j]);
      before = row[j + 1];
      row[j + 1] = std::min({changed, before + 1, row[j] + 1});
    }
  }
  return row.back();
}

// The command or option that is like the first word that is none; "" if there is no such.
std::string meant(const CLI::App& app, int argc, char** argv) {
  const auto chosen = app.get_subcommands();
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands({})) known.push_back(command->get_name());
  for (const CLI::Option* option : (chosen.empty() ? &app : chosen.front())->get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    word = word.substr(0, word.find('='));
    if (!word.starts_with("--") && !(i == 1 && chosen.empty())) continue;
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    const auto nearer = [&](const std::string& a, const std::string& b) {
      return distance(a, word) < distance(b, word);
    };
    const auto found = std::min_element(known.begin(), known.end(), nearer);
    if (found != known.end() && distance(*found, word) <= std::max<std::size_t>(2, word.size() / 4)) return *found;
  }
  return {};
}

}  // namespace

CLI::Validator real_number(bool zero_too) {
  const auto check = [zero_too](const std::string& text) -> std::string {
    double value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool read = failure == std::errc() && end == text.data() + text.size() && std::isfinite(value);
    if (read && (value > 0 || (zero_too && value == 0))) return {};
    return "'" + text + "' is no number " + (zero_too ? "of at least 0" : "above 0");
  };
  return CLI::Validator(check, zero_too ? "NONNEGATIVE" : "POSITIVE");
}

CLI::Validator whole_number() {
  const auto check = [](const std::string& text) -> std::string {
    std::uint64_t value = 0;
    std::int64_t below = 0;
    const char* end = text.data() + text.size();
    for (const auto read : {std::from_chars(text.data(), end, value), std::from_chars(text.data(), end, below)})
      if (read.ec == std::errc() && read.ptr == end) return {};
    return "'" + text + "' is no whole number of at most 64 bits";
  };
  return CLI::Validator(check, "");
}

namespace {

// Before units are read: AsSizeValue takes -1 for the greatest number, which limits nothing.
CLI::Validator size_above_zero() {
  const auto check = [](const std::string& text) -> std::string {
    if (!text.empty() && text[0] >= '0' && text[0] <= '9' && text.find_first_of("123456789") != std::string::npos)
      return {};
    return "'" + text + "' is no size above 0";
  };
  return CLI::Validator(check, "");
}

}  // namespace

void add_output_options(CLI::App& command, Console& console) {
  command.add_flag("--json", console.json, "Print the result as one JSON object");
  command.add_flag("-q,--quiet", console.quiet, "No progress and no notices");
}

void add_run_options(CLI::App& command, CommandOptions& options) {
  command.add_option("inputs", options.inputs.words,
                     "x.npy, all.npz, name=x.npy, name=3: arguments by position or name");
  // One word each: what follows is the next option's or a positional's.
  command.add_option("--input", options.option_words, "The same as an option; may be repeated")
      ->allow_extra_args(false);
  command.add_option("--random", options.inputs.random_seed, "Draw the missing arguments with this seed")
      ->check(whole_number());
  add_engine_options(command, options);
}

void add_engine_options(CLI::App& command, CommandOptions& options) {
  command.add_option("--dim", options.dim_words, "Extent of a symbol of random arguments: N=8")
      ->allow_extra_args(false);
  command.add_option("--threads", options.load.threads, "Threads of the engine; 0: as many as there are cores")
      ->capture_default_str()
      ->check(CLI::Range(0, kMostThreads));
  command.add_option("--spinning", options.load.spinning, "Idle threads spin: 1, 0, or -1: the engine's choice")
      ->capture_default_str();
  command.add_option("--seed", options.seed, "Of the program's own random numbers")
      ->capture_default_str()
      ->check(whole_number());
  command.add_option("--loop-limit", options.loop_limit, "Most iterations of a loop without a limit of its own")
      ->check(whole_number());
  command.add_option("--deadline", options.deadline, "End a run after so many seconds: exit code 9")
      ->check(real_number(/*zero_too=*/false));
  command.add_option("--step-limit", options.ends.step_limit, "End a run after so many rounds of all loops and calls")
      ->check(CLI::PositiveNumber)
      ->check(whole_number());
  command
      .add_option("--memory-limit", options.ends.memory_limit,
                  "End a run whose tensors and lists take more bytes: 500M, 2G")
      ->transform(CLI::AsSizeValue(false))
      ->transform(size_above_zero());  // the last one is called first
  command.add_option("--plugins", options.plugin_folders, "Folder to look for engine plug-ins in first")
      ->allow_extra_args(false);
  command.add_flag("--portable", options.load.portable_only, "Ignore artifacts made for one CPU");
  command.add_flag("--allow-native-code", options.load.allow_native_code,
                   "Load artifacts that hold machine code (TVM's): only of packages whose maker you trust");
  add_signature_option(command, options.trusted_keys);
  add_decryption_option(command, options.decryption_key);
  command.add_flag("--verify", options.load.verify_weights, "Check every checksum, those of weights included");
}

Result<std::shared_ptr<const runtime::Program>> load_program(const Console& console, const std::string& path,
                                                             const CommandOptions& options) {
  runtime::LoadOptions load = options.load;
  if (!options.trusted_keys.empty()) load.require_signature = options.trusted_keys;
  load.decryption_key = decryption_by(options.decryption_key);
  load.plugin_folders.assign(options.plugin_folders.begin(), options.plugin_folders.end());
  load.notice = [&console](std::string_view text) { console.notice(text); };
  return runtime::Program::load(path, std::move(load));
}

Result<Inputs> read_arguments(const runtime::Program& program, const CommandOptions& options) {
  InputOptions inputs = options.inputs;
  inputs.words.insert(inputs.words.end(), options.option_words.begin(), options.option_words.end());
  DYCL_ASSIGN(inputs.dims, parse_dims(options.dim_words));
  return read_inputs(program, inputs);
}

Result<runtime::Run> make_run(std::shared_ptr<const runtime::Program> program, const CommandOptions& options) {
  DYCL_ASSIGN(runtime::Run run, runtime::Run::create(std::move(program)));
  run.set_seed(options.seed);
  run.set_loop_limit(options.loop_limit);
  runtime::RunOptions ends = options.ends;
  if (options.deadline > 0) ends.deadline = runtime::deadline_after(options.deadline);
  run.set_options(std::move(ends));
  return run;
}

void declare_run(CLI::App& command, Console& console, Action& action, bool package_required) {
  auto options = std::make_shared<Options>();
  command.add_option("package", options->package, "model.dycl")->required(package_required);
  add_run_options(command, options->run);
  command.add_option("-o,--output", options->output,
                     "Write the outputs to a .npz, a .npy, or a folder of .npy files instead of printing them");
  command.add_option("--expect", options->expect,
                     "Compare with the outputs in this .npz (or .npy); exit code 1 if they differ");
  command.add_option("--tolerance", options->tolerance, "For --expect: |a - b| <= tolerance * (1 + |b|)")
      ->capture_default_str()
      ->check(real_number(/*zero_too=*/true));
  command.add_option("--repeat", options->repeat, "Run so often before, and say how long it took")
      ->check(CLI::PositiveNumber);
  command.add_flag("--trace", options->trace, "Show which way each decision went");
  add_output_options(command, console);
  command.callback([options, &console, &action] {
    if (!options->package.empty()) action = [options, &console] { return run_once(console, *options); };
  });
}

void add_run_command(CLI::App& app, Console& console, Action& action) {
  CLI::App* command = app.add_subcommand("run", "Run a package once");
  declare_run(*command, console, action, /*package_required=*/true);
  command->footer(
      "examples:\n"
      "  dycl run model.dycl x.npy -o out.npz\n"
      "  dycl run model.dycl image=x.npy steps=4 --trace\n"
      "  dycl run model.dycl x.npy --expect reference.npz\n"
      "  dycl run model.dycl --random 0 --dim N=8 --json");
}

namespace {

bool wants_json(int argc, char** argv) {
  return std::any_of(argv + 1, argv + argc, [](const char* word) { return std::string_view(word) == "--json"; });
}

// Of a file that is larger than the memory, say. Nothing is allocated to tell it.
int out_of_memory(int argc, char** argv) {
  std::fputs("error: out of memory\n  help: the files and arguments given need more than this machine has\n", stderr);
  if (wants_json(argc, argv))
    std::fputs(R"({"error": {"kind": "runtime_failure", "message": "out of memory"}})"
               "\n",
               stdout);
  return static_cast<int>(ErrorKind::RuntimeFailure);
}

int wrong_use(const CLI::App& app, int argc, char** argv, std::string message) {
  const std::string near = meant(app, argc, argv);
  const auto chosen = app.get_subcommands();
  const std::string command = app.get_name() + (chosen.empty() ? "" : " " + chosen.front()->get_name());
  const std::string help = (near.empty() ? "" : "did you mean " + near + "? ") + command + " --help lists what there is";
  std::fprintf(stderr, "error: %s\n  help: %s\n", message.c_str(), help.c_str());
  if (wants_json(argc, argv)) {
    const nlohmann::ordered_json told = {{"error", {{"kind", "usage"}, {"message", message}, {"help", help}}}};
    std::fprintf(stdout, "%s\n", told.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
  }
  return kUsageError;
}

}  // namespace

namespace {

// A stream that the caller closed would become the first file that is opened, and get what is printed.
void keep_standard_streams() {
  for (int number = 0; number < 3; ++number)
    if (::fcntl(number, F_GETFD) < 0) (void)!::open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY);
}

// What was printed and did not arrive (a full disk, a closed stream) is an error like a file that was not written.
int printed(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fprintf(stderr, "error: cannot write the output: %s\n", std::strerror(errno));
  return code != 0 ? code : static_cast<int>(ErrorKind::WriteFailed);
}

}  // namespace

int run_application(int argc, char** argv, CLI::App& app, const Action& action) {
  keep_standard_streams();
  try {
    app.parse(argc, argv);
    if (action) return printed(action());
    std::fputs(app.help().c_str(), stderr);
    return kUsageError;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return printed(app.exit(error));
    return wrong_use(app, argc, argv, error.what());
  } catch (const std::bad_alloc&) {
    return out_of_memory(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: internal error: %s\n  help: please report this, with the command and its input\n",
                 app.get_name().c_str(), error.what());
    return static_cast<int>(ErrorKind::Internal);
  }
}

}  // namespace dycl::tools
