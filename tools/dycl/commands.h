// SPDX-License-Identifier: Apache-2.0
// The commands of `dycl`, one file each. add_*_command declares the options and sets
// `action` (which returns the exit code) when that command is the chosen one.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "run_commands.h"

namespace dycl::tools {

// `arguments` are those after the command's name, for the Python front end.
void add_compile_command(CLI::App& app, Console& console, Action& action, std::vector<std::string> arguments);
// Those that are written in Python: explain, verify, view.
void add_python_commands(CLI::App& app, Console& console, Action& action, const std::vector<std::string>& arguments);
void add_opt_command(CLI::App& app, Console& console, Action& action);
void add_inspect_command(CLI::App& app, Console& console, Action& action);
void add_emit_command(CLI::App& app, Console& console, Action& action);
void add_sign_commands(CLI::App& app, Console& console, Action& action);  // keygen, sign, check-signature

}  // namespace dycl::tools
