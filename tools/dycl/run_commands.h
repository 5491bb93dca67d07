// SPDX-License-Identifier: Apache-2.0
// The commands that only need the runtime: run and bench. `dycl` and `dycl-run` share them.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "console.h"
#include "inputs.h"

namespace dycl::tools {

using Action = std::function<int()>;

void add_run_command(CLI::App& app, Console& console, Action& action);

// The options of `run` on `command` itself, which is what dycl-run does.
void declare_run(CLI::App& command, Console& console, Action& action, bool package_required);

void add_profile_command(CLI::App& app, Console& console, Action& action);
void add_bench_command(CLI::App& app, Console& console, Action& action);

// Checks of options. A real number, finite, of at least 0 or above it: NaN passes any comparison's check.
CLI::Validator real_number(bool zero_too);
// A whole number that 64 bits hold: others would silently become the greatest.
CLI::Validator whole_number();

// --json and --quiet, on every command.
void add_output_options(CLI::App& command, Console& console);

// What run and bench have in common.
struct CommandOptions {
  InputOptions inputs;
  std::vector<std::string> option_words;  // --input, after the positional ones
  std::vector<std::string> dim_words;
  runtime::LoadOptions load;
  std::vector<std::string> trusted_keys;
  std::string decryption_key;
  std::vector<std::string> plugin_folders;
  std::int64_t loop_limit = 0;
  std::uint64_t seed = 0;
  double deadline = 0;  // seconds; 0: none
  runtime::RunOptions ends;
};
void add_run_options(CLI::App& command, CommandOptions& options);
// Those that do not say what the inputs are.
void add_engine_options(CLI::App& command, CommandOptions& options);

Result<std::shared_ptr<const runtime::Program>> load_program(const Console& console, const std::string& path,
                                                             const CommandOptions& options);
Result<Inputs> read_arguments(const runtime::Program& program, const CommandOptions& options);
Result<runtime::Run> make_run(std::shared_ptr<const runtime::Program> program, const CommandOptions& options);

// Parses the command line, then does what the chosen command set; returns the exit
// code. An exception that gets this far is a bug and is reported as one.
int run_application(int argc, char** argv, CLI::App& app, const Action& action);

}  // namespace dycl::tools
