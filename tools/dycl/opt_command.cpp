// SPDX-License-Identifier: Apache-2.0
// dycl opt: passes by name over IR text, for people who write or debug passes.
#include <memory>

#include "commands.h"
#include "driver/read_program.h"
#include "ir/print.h"
#include "passes/pipeline.h"

namespace dycl::tools {
namespace {

struct Options {
  std::string source;
  std::vector<std::string> passes;
  std::vector<std::string> skip;
  std::string output;
  bool spans = false;
  bool list = false;
};

int list_passes(const Console& console) {
  std::string text;
  nlohmann::ordered_json object = nlohmann::ordered_json::array();
  for (const passes::PassEntry& pass : passes::pipeline()) {
    char line[200];
    std::snprintf(line, sizeof line, "%-20s %s\n", pass.name, pass.sentence);
    text += line;
    object.push_back({{"name", pass.name}, {"does", pass.sentence}});
  }
  console.result(text, {{"passes", object}});
  return 0;
}

int optimise(const Console& console, const Options& options) {
  if (options.list) return list_passes(console);
  auto program = driver::read_program(options.source, {.weights = {}, .spans_from_text = false, .need_weights = false});
  if (!program) return console.fail(program.error(), driver::render(program.error()));
  passes::PipelineOptions pipeline;
  pipeline.only = options.passes;
  pipeline.skip = options.skip;
  const auto timings = passes::run_pipeline(*program, pipeline);
  if (!timings) return console.fail(timings.error(), driver::render(timings.error(), program->sources));

  nlohmann::ordered_json ran = nlohmann::ordered_json::array();
  for (const passes::PassTiming& pass : *timings)
    ran.push_back({{"name", pass.name}, {"changes", pass.changes}, {"seconds", pass.seconds}});
  if (!options.output.empty()) {
    if (const auto written = driver::write_program(*program, options.output); !written)
      return console.fail(written.error(), driver::render(written.error()));
    console.result("", {{"output", options.output}, {"passes", ran}});
    return 0;
  }
  const std::string text = ir::print(*program, {.spans = options.spans});
  console.result(text, {{"ir", text}, {"passes", ran}});
  return 0;
}

}  // namespace

void add_opt_command(CLI::App& app, Console& console, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("opt", "Run passes over IR text and print the result");
  auto* source = command->add_option("source", options->source, "model.dyir or model.onnx");
  command->add_option("--passes", options->passes, "Exactly these passes, in this order; default: all")->delimiter(',');
  command->add_option("--skip-passes", options->skip, "Passes to leave out")->delimiter(',');
  command->add_option("-o,--output", options->output, "Write a .dyir (and its weights) instead of printing");
  command->add_flag("--spans", options->spans, "Print where each op was written");
  auto* list = command->add_flag("--list", options->list, "List the passes in their order");
  add_output_options(*command, console);
  command->footer(
      "examples:\n"
      "  dycl opt model.dyir --passes=drop_dead,outline\n"
      "  dycl opt model.onnx -o model.dyir --skip-passes=outline\n"
      "  dycl opt --list");
  command->callback([options, source, list, &console, &action] {
    if (source->count() == 0 && list->count() == 0) throw CLI::RequiredError("source");
    action = [options, &console] { return optimise(console, *options); };
  });
}

}  // namespace dycl::tools
