// SPDX-License-Identifier: Apache-2.0
// dycl emit: a compiled program in another form.
#include <memory>

#include "checked_package.h"
#include "commands.h"
#include "driver/read_program.h"
#include "emit/emit.h"

namespace dycl::tools {
namespace {

struct Options {
  std::string source;
  std::string onnx;
  std::string folder;
  std::string name;
  bool watch = false;
  bool engine_ops = false;
  std::vector<std::string> trusted_keys;
};

Result<emit::OnnxReport> to_onnx(const Options& options) {
  const bool is_package = std::filesystem::path(options.source).extension() == ".dycl";
  if (is_package || !options.trusted_keys.empty()) {
    DYCL_ASSIGN(const CheckedPackage package, CheckedPackage::open(options.source, options.trusted_keys));
    return emit::emit_onnx(package.path(), options.onnx, options.engine_ops);
  }
  DYCL_ASSIGN(ir::Program program, driver::read_program(options.source));
  return emit::emit_onnx(std::move(program), options.onnx);
}

int emit_onnx(const Console& console, const Options& options) {
  const auto report = to_onnx(options);
  if (!report) return console.fail(report.error(), driver::render(report.error()));
  for (const std::string& notice : report->notices) console.notice(notice);
  console.result(
      options.onnx + ": " + std::to_string(report->nodes) + " nodes\n",
      {{"output", options.onnx}, {"nodes", report->nodes}, {"nesting", report->nesting}, {"notices", report->notices}});
  return 0;
}

// Where the runtime is installed with its CMake package: beside this program, or as the user did it.
std::string runtime_prefix() {
  std::error_code failure;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failure);
  const std::filesystem::path prefix = program.parent_path().parent_path();
  if (!failure && std::filesystem::exists(prefix / "lib/cmake/dycl_runtime", failure)) return prefix.string();
  return "<where `make install` put the runtime>";
}

Result<void> to_cpp(const Options& options) {
  DYCL_ASSIGN(const CheckedPackage package, CheckedPackage::open(options.source, options.trusted_keys));
  const std::string name = options.name.empty() ? std::filesystem::path(options.source).stem().string() : options.name;
  return emit::emit_cpp(package.path(), name, options.folder, options.watch);
}

int emit_cpp(const Console& console, const Options& options) {
  const auto written = to_cpp(options);
  if (!written) return console.fail(written.error(), driver::render(written.error()));
  console.result(options.folder + ": cmake -S " + options.folder + " -B build -DCMAKE_PREFIX_PATH=\"" +
                     runtime_prefix() + "\" && cmake --build build\n",
                 {{"output", options.folder}});
  return 0;
}

}  // namespace

void add_emit_command(CLI::App& app, Console& console, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("emit", "Write a compiled program in another form");
  command->add_option("package", options->source, "model.dycl")->required();
  auto* onnx = command->add_option("--onnx", options->onnx, "Write one ONNX model with If and Loop");
  auto* folder = command->add_option("-o,--output", options->folder, "Write a C++ project into this folder");
  command->add_option("--name", options->name, "Of the C++ class and files; default: the package's");
  add_signature_option(*command, options->trusted_keys);
  command
      ->add_flag("--engine-ops", options->engine_ops,
                 "ONNX may hold operators of the engine's own, where a package has nothing else")
      ->needs(onnx);
  command->add_flag("--watch", options->watch, "C++ whose decisions can be traced and forced");
  add_output_options(*command, console);
  command->footer(
      "examples:\n"
      "  dycl emit model.dycl -o model_cpp/\n"
      "  dycl emit model.dycl --onnx model.onnx");
  command->callback([options, onnx, folder, &console, &action] {
    if ((onnx->count() == 0) == (folder->count() == 0)) throw CLI::ValidationError("emit", "give -o or --onnx");
    action = [options, &console] {
      return options->onnx.empty() ? emit_cpp(console, *options) : emit_onnx(console, *options);
    };
  });
}

}  // namespace dycl::tools
