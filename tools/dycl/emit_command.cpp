// SPDX-License-Identifier: Apache-2.0
// dycl emit: a compiled program in another form.
#include <memory>

#include "commands.h"
#include "driver/read_program.h"
#include "emit/emit.h"

namespace dycl::tools {
namespace {

struct Options {
  std::string source;
  std::string onnx;
};

Result<emit::OnnxReport> to_onnx(const Options& options) {
  if (std::filesystem::path(options.source).extension() == ".dycl")
    return emit::emit_onnx(options.source, options.onnx);
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

}  // namespace

void add_emit_command(CLI::App& app, Console& console, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("emit", "Write a compiled program in another form");
  command->add_option("package", options->source, "model.dycl")->required();
  command->add_option("--onnx", options->onnx, "One ONNX model with If and Loop")->required();
  add_output_options(*command, console);
  command->footer(
      "examples:\n"
      "  dycl emit model.dycl --onnx model.onnx");
  command->callback(
      [options, &console, &action] { action = [options, &console] { return emit_onnx(console, *options); }; });
}

}  // namespace dycl::tools
