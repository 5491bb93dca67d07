// SPDX-License-Identifier: Apache-2.0
// dycl profile: runs a package on many inputs and says which paths they took and where the time went; of two packages
// side by side.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "profile.h"
#include "run_commands.h"
#include "support/files.h"

namespace dycl::tools {
namespace {

using json = nlohmann::ordered_json;

struct Options {
  std::string package, other;
  std::string folder;
  int random = 0;
  CommandOptions run;
  int warmup = 3;
  int repeat = 3;
  std::string output, chrome;
};

using NamedInputs = std::vector<std::pair<std::string, Inputs>>;

// The files of a folder, each the input of one run: a .npz holds all arguments, a .npy the only one.
Result<std::vector<std::filesystem::path>> files_in(const std::string& folder) {
  std::error_code failed;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed))
    if (entry.path().extension() == ".npy" || entry.path().extension() == ".npz") files.push_back(entry.path());
  if (failed)
    return Error{ErrorKind::Missing, "cannot read the folder " + folder + ": " + failed.message(), {}, {}, {}};
  if (files.empty())
    return Error{ErrorKind::InvalidInput,
                 folder + " holds no .npy and no .npz",
                 "each file is the input of one run: a .npz holds all arguments by name, a .npy the only one",
                 {},
                 {}};
  std::sort(files.begin(), files.end());
  return files;
}

Result<NamedInputs> inputs_of(const runtime::Program& program, const Options& options) {
  NamedInputs found;
  InputOptions given;
  DYCL_ASSIGN(given.dims, parse_dims(options.run.dim_words));
  if (!options.folder.empty()) {
    DYCL_ASSIGN(const auto files, files_in(options.folder));
    for (const auto& file : files) {
      given.words = {file.string()};
      DYCL_ASSIGN(Inputs inputs, read_inputs(program, given));
      found.emplace_back(file.filename().string(), std::move(inputs));
    }
  }
  given.words.clear();
  for (int i = 0; i < options.random; ++i) {
    given.random_seed = static_cast<std::uint64_t>(i);
    DYCL_ASSIGN(Inputs inputs, read_inputs(program, given));
    found.emplace_back("random " + std::to_string(i), std::move(inputs));
  }
  return found;
}

struct Profiled {
  std::shared_ptr<const runtime::Program> program;
  std::vector<ProfiledRun> runs;
  json object;
};

Result<Profiled> profile_of(const Console& console, const Options& options, const std::string& package) {
  Profiled made;
  DYCL_ASSIGN(made.program, load_program(console, package, options.run));
  DYCL_ASSIGN(const NamedInputs inputs, inputs_of(*made.program, options));
  DYCL_ASSIGN(runtime::Run run, make_run(made.program, options.run));
  run.set_print([](std::string_view) {});
  const bool keeps_states = !made.program->states().empty();  // a second run would go on from the first
  auto runs = profile_runs(run, inputs, options.warmup, keeps_states ? 1 : options.repeat);
  if (!runs) return runs.error();
  made.runs = std::move(*runs);
  made.object = profile_json(*made.program, made.runs);
  json with_name = {{"package", package}};
  with_name.update(made.object);
  made.object = std::move(with_name);
  return made;
}

Result<void> write_json(const std::string& path, const json& object) {
  return write_file(path, object.dump(-1, ' ', false, json::error_handler_t::replace) + '\n');
}

int profile(Console& console, const Options& options) {
  console.stage("profile");
  const auto first = profile_of(console, options, options.package);
  if (!first) return console.fail(first.error());
  if (!options.output.empty())
    if (const auto written = write_json(options.output, first->object); !written) return console.fail(written.error());
  if (!options.chrome.empty())
    if (const auto written = write_json(options.chrome, chrome_trace(*first->program, first->runs)); !written)
      return console.fail(written.error());
  if (options.other.empty()) {
    console.stage("");
    console.result(profile_table(first->object), first->object);
    return 0;
  }
  const auto second = profile_of(console, options, options.other);
  if (!second) return console.fail(second.error());
  console.stage("");
  console.result(comparison_table(first->object, second->object), json::array({first->object, second->object}));
  return 0;
}

}  // namespace

void add_profile_command(CLI::App& app, Console& console, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("profile", "Which paths inputs take, and where the time goes");
  command->add_option("package", options->package, "model.dycl")->required();
  command->add_option("other", options->other, "A second package, run on the same inputs and shown beside the first");
  CLI::Option* folder = command->add_option("--inputs", options->folder,
                                            "A folder: each .npz (all arguments by name) or .npy is one run");
  CLI::Option* random =
      command->add_option("--random", options->random, "So many runs on random arguments")->check(CLI::PositiveNumber);
  command->add_option("--warmup", options->warmup, "Runs before, on the first input")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--repeat", options->repeat,
                   "Runs of each input, of which the fastest counts (1 if the program keeps states)")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_option("-o,--output", options->output, "Write the profile as JSON, for `dycl view --profile`");
  command->add_option("--chrome-trace", options->chrome, "Write events for the trace viewers of Chrome and Perfetto");
  add_engine_options(*command, options->run);
  add_output_options(*command, console);
  command->footer(
      "examples:\n"
      "  dycl profile model.dycl --inputs recorded/ -o profile.json\n"
      "  dycl view model.dycl --profile profile.json\n"
      "  dycl profile ort.dycl auto.dycl --random 100 --threads 1");
  command->callback([options, folder, random, &console, &action] {
    if (folder->count() == 0 && random->count() == 0)
      throw CLI::RequiredError("--inputs FOLDER or --random N");
    action = [options, &console] { return profile(console, *options); };
  });
}

}  // namespace dycl::tools
