// SPDX-License-Identifier: Apache-2.0
// dycl explain, verify, view: their options are read where they are written, in python/dycl/commands/.
#include "commands.h"
#include "front_end.h"

namespace dycl::tools {
namespace {

struct PythonCommand {
  const char* name;
  const char* does;
};
constexpr PythonCommand kCommands[] = {
    {"explain", "What a model written in Python decides at run time, and why"},
    {"verify", "Compare a package with ONNX Runtime on its .onnx file"},
    {"view", "Show a package as a page: its control flow beside the model's lines"},
};

}  // namespace

void add_python_commands(CLI::App& app, Console& console, Action& action, const std::vector<std::string>& arguments) {
  for (const PythonCommand& known : kCommands) {
    CLI::App* command = app.add_subcommand(known.name, known.does);
    command->set_help_flag();
    command->prefix_command();  // what follows is not read here
    command->callback([&console, &action, arguments, name = std::string(known.name)] {
      action = [&console, arguments, name] { return exec_front_end(console, name, arguments); };
    });
  }
}

}  // namespace dycl::tools
