// SPDX-License-Identifier: Apache-2.0
// dycl compile: a program from IR text or ONNX is compiled here; one from Python is
// handed to the front end, `python -m dycl compile`, with the same arguments.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>

#include "checked_package.h"
#include "commands.h"
#include "driver/compile.h"
#include "driver/read_program.h"
#include "driver/retarget.h"
#include "front_end.h"
#include "support/threads.h"

namespace dycl::tools {
namespace {

constexpr int kStopped = 130;  // by Ctrl-C, as shells have it

struct Options {
  std::string source;
  std::string weights;
  std::vector<std::string> overridable;
  std::vector<std::string> python_inputs;  // only forwarded
  bool help = false;
  bool retarget = false;
  std::vector<std::string> trusted_keys;  // of the package to retarget
  driver::CompileOptions compile;
};

// "60s", "5m", "60": seconds.
double seconds_of(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const bool known = unit.empty() || unit == "s" || unit == "m";
  if (end == text.c_str() || !known || !(number > 0 && number < 1e6))
    throw CLI::ValidationError("--tune", "'" + text + "' is no time; write 60s or 5m");
  return unit == "m" ? number * 60 : number;
}

nlohmann::ordered_json to_json(const driver::CompileReport& report, const Options& options) {
  nlohmann::ordered_json stages = nlohmann::ordered_json::array();
  for (const auto& [name, seconds] : report.stages) stages.push_back({{"name", name}, {"seconds", seconds}});
  return {{"package", options.compile.output.string()},
          {"bytes", report.package_bytes},
          {"blocks", report.blocks},
          {"ops", report.ops},
          {"sub_dnns", report.sub_dnns},
          {"calls", report.calls},
          {"artifacts", report.artifacts},
          {"weights", report.weights},
          {"engines", report.engines},
          {"engine_calls", report.engine_calls},
          {"stages", stages},
          {"engine_seconds", report.engine_seconds},
          {"notices", report.notices}};
}

std::string to_text(const driver::CompileReport& report, const Options& options) {
  double seconds = 0;
  for (const auto& stage : report.stages) seconds += stage.seconds;
  char time[32];
  std::snprintf(time, sizeof time, "%.2f s", seconds);
  return options.compile.output.string() + ": " + human_bytes(report.package_bytes) + ", " +
         std::to_string(report.blocks) + " blocks, " + std::to_string(report.sub_dnns) + " sub-DNNs, " +
         std::to_string(report.weights) + " weights, " + time;
}

// Ctrl-C ends with one line. The package is written beside its place and moved there, whole or not at all; processes that
// compile at the same time are of the terminal's group, too.
void stopped(int) {
  constexpr char kText[] = "\nstopped; nothing was written\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText, sizeof kText - 1);
  ::_exit(kStopped);
}

void end_when_interrupted() {
  struct sigaction action {};
  if (::sigaction(SIGINT, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) return;  // of a job in the background
  action.sa_handler = stopped;
  ::sigaction(SIGINT, &action, nullptr);
}

int finish(Console& console, const Options& options, const driver::CompileReport& report) {
  console.stage("");
  for (const std::string& notice : report.notices) console.notice(notice);
  console.result(to_text(report, options), to_json(report, options));
  return 0;
}

Result<driver::CompileReport> retargeted(const Options& options) {
  DYCL_ASSIGN(const CheckedPackage package, CheckedPackage::open(options.source, options.trusted_keys));
  return driver::retarget(package.path(), options.compile);
}

int retarget(Console& console, Options& options) {
  if (options.compile.output.empty()) options.compile.output = options.source;
  options.compile.progress = [&](std::string_view name) { console.stage(name); };
  const auto report = retargeted(options);
  if (!report) return console.fail(report.error(), driver::render(report.error()));
  return finish(console, options, *report);
}

int compile(Console& console, Options& options) {
  if (options.compile.output.empty())
    options.compile.output = std::filesystem::path(options.source).filename().replace_extension(".dycl");
  console.stage("read");
  driver::ReadOptions read;
  if (!options.weights.empty()) read.weights = options.weights;
  read.overridable = options.overridable;
  const auto start = std::chrono::steady_clock::now();
  auto program = driver::read_program(options.source, read);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!program) return console.fail(program.error(), driver::render(program.error()));
  options.compile.progress = [&](std::string_view name) { console.stage(name); };
  const std::vector<std::string> sources = program->sources;
  auto report = driver::compile(std::move(program).value(), options.compile);
  if (!report) return console.fail(report.error(), driver::render(report.error(), sources));
  report->stages.insert(report->stages.begin(), {"read", seconds});
  return finish(console, options, *report);
}

}  // namespace

void add_compile_command(CLI::App& app, Console& console, Action& action, std::vector<std::string> arguments) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("compile", "Compile a model into a package (.dycl)");
  command->add_option("source", options->source,
                      "model.onnx, model.dyir, file.py:factory or module:factory, or what TensorFlow saved");
  command->set_help_flag();  // which help it is depends on the source
  command->add_flag("-h,--help", options->help, "Print this help message and exit");
  command->add_option("-o,--output", options->compile.output, "The package; default: the source's name with .dycl");
  CLI::Option* backend =
      command
          ->add_option("--backend", options->compile.backend,
                       "The engine that runs the sub-DNNs: ort, openvino, tvm, or auto (measured per sub-DNN)")
          ->capture_default_str();
  command
      ->add_option("--threads", options->compile.threads,
                   "Threads of use, for what auto measures; 0: as many as there are cores")
      ->capture_default_str()
      ->check(CLI::Range(0, kMostThreads));
  command->add_flag("--no-cache{false}", options->compile.use_cache,
                    "Let engines compile again what they compiled before");
  command->add_option("--budget", options->compile.budget, "Seconds that auto may spend on measuring")
      ->capture_default_str()
      ->check(real_number(/*zero_too=*/true));
  CLI::Option* tune =
      command
          ->add_option_function<std::string>(
              "--tune", [options](const std::string& text) { options->compile.tune = seconds_of(text); },
              "Time for better code, e.g. 60s or 5m; for tvm and auto. What is found is kept")
          ->type_name("TIME");
  command->add_option("--jobs", options->compile.jobs, "Processes that compile at once; 0: by cores and memory")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  CLI::Option* weights =
      command->add_option("--weights", options->weights, "Weights of a .dyir; default: its name with .safetensors");
  CLI::Option* overridable = command->add_option(
      "--overridable", options->overridable,
      "Of an .onnx: inputs with a default value that calls may give; the others are constants");
  CLI::Option* skip = command->add_option("--skip-passes", options->compile.skip_passes, "Passes to leave out, by name")
                          ->delimiter(',');
  CLI::Option* dump =
      command->add_option("--dump", options->compile.dump_folder, "Write the IR after every pass into this folder");
  CLI::Option* portable =
      command->add_flag("--portable", options->compile.portable_only, "No artifacts for this machine's CPU");
  CLI::Option* retargets =
      command->add_flag("--retarget", options->retarget,
                        "The source is a package (.dycl): add artifacts for this machine; without -o in place");
  for (CLI::Option* other : {backend, tune, weights, overridable, skip, dump, portable}) retargets->excludes(other);
  add_signature_option(*command, options->trusted_keys)->needs(retargets);
  command->add_flag("--strip{false}", options->compile.debug_info, "Leave IR text and source lines out of the package");
  command->add_option("--input", options->python_inputs, "Python models: an example input, e.g. 1,3,32,32 or x.npy");
  add_output_options(*command, console);
  command->allow_extras();  // options of the Python front end; refused below for everything else
  command->footer(
      "examples:\n"
      "  dycl compile model.onnx -o model.dycl\n"
      "  dycl compile model.dyir --dump stages/ --json\n"
      "  dycl compile model.py:make_model --input 1,3,32,32 -o model.dycl\n"
      "  dycl compile saved_model/ --tf-python tf/bin/python -o model.dycl\n"
      "  dycl compile --retarget model.dycl\n"
      "`dycl compile file.py:factory --help` shows what models written in Python take.");
  command->callback([options, command, arguments = std::move(arguments), &console, &action] {
    if (options->help && !is_python(options->source)) throw CLI::CallForHelp();
    if (options->source.empty()) throw CLI::RequiredError("source");
    if (options->retarget) {
      if (command->remaining_size() != 0) throw CLI::ExtrasError(command->remaining());
      action = [options, &console] {
        end_when_interrupted();
        return retarget(console, *options);
      };
      return;
    }
    if (is_python(options->source)) {
      action = [&console, arguments] { return exec_front_end(console, "compile", arguments); };
      return;
    }
    if (command->remaining_size() != 0) throw CLI::ExtrasError(command->remaining());
    if (!options->python_inputs.empty()) throw CLI::ValidationError("--input", "only for models written in Python");
    action = [options, &console] {
      end_when_interrupted();
      return compile(console, *options);
    };
  });
}

}  // namespace dycl::tools
