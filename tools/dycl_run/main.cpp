// SPDX-License-Identifier: Apache-2.0
// dycl-run: runs and measures packages where there is no compiler and no Python.
#include "run_commands.h"

int main(int argc, char** argv) {
  using namespace dycl::tools;
  CLI::App app("Runs packages made by dycl", "dycl-run");
  app.set_version_flag("--version", "dycl-run " DYCL_VERSION);
  app.footer(
      "examples:\n"
      "  dycl-run model.dycl x.npy -o out.npz\n"
      "  dycl-run model.dycl x.npy --expect reference.npz\n"
      "  dycl-run bench model.dycl x.npy --threads 1\n"
      "exit codes: docs/exit_codes.md");
  Console console;
  Action action;
  declare_run(app, console, action, /*package_required=*/false);
  add_bench_command(app, console, action);
  return run_application(argc, argv, app, action);
}
