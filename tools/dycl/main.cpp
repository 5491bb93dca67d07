// SPDX-License-Identifier: Apache-2.0
// dycl: compiles, runs, measures and shows programs. Each command is one file.
#include <algorithm>

#include "commands.h"
#include "front_end.h"

namespace {

constexpr const char* kExamples = R"(examples:
  dycl compile model.onnx -o model.dycl          ONNX, with its control flow
  dycl compile saved_model/ --tf-python tf/bin/python -o model.dycl
  dycl verify model.onnx model.dycl              against ONNX Runtime
  dycl compile model.py:make_model -o model.dycl --input 1,3,32,32
  dycl run model.dycl x.npy -o out.npz
  dycl bench model.dycl --random 0
  dycl bench --peers model.py:make_model --input 1,3,32,32
  dycl profile model.dycl --inputs recorded/
  dycl inspect model.dycl
  dycl view model.dycl -o page.html
  dycl explain model.py:make_model --input 1,3,32,32
  dycl opt model.dyir --passes=fold_branches,drop_unreachable

exit codes: 0 success, 1 differs, 2 model, 3 input, 4 package, 5 missing, 6 run
failed, 7 refused, 8 not written, 9 ended, 64 command line, 70 bug (docs/exit_codes.md))";

}  // namespace

int main(int argc, char** argv) {
  using namespace dycl::tools;
  CLI::App app("DyCL: an ahead-of-time compiler for neural networks with data-dependent control flow", "dycl");
  app.set_version_flag("--version", "dycl " DYCL_VERSION);
  app.require_subcommand(1);
  app.footer(kExamples);
  Console console;
  Action action;
  const std::vector<std::string> arguments{argv + std::min(argc, 2), argv + argc};
  add_compile_command(app, console, action, arguments);
  add_run_command(app, console, action);
  add_bench_command(app, console, action);
  if (std::find(arguments.begin(), arguments.end(), "--peers") != arguments.end() && std::string_view(argv[1]) == "bench")
    return exec_front_end(console, "bench", arguments);
  app.get_subcommand("bench")->add_flag("--peers")->description(
      "A model written in Python (file.py:factory) in every way at hand: torch's compilers, ONNX, DyCL; --peers --help "
      "shows its options");
  add_profile_command(app, console, action);
  add_inspect_command(app, console, action);
  add_opt_command(app, console, action);
  add_emit_command(app, console, action);
  add_sign_commands(app, console, action);
  add_python_commands(app, console, action, arguments);
  return run_application(argc, argv, app, action);
}
