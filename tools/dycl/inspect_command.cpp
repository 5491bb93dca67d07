// SPDX-License-Identifier: Apache-2.0
// dycl inspect: what is in a package, without loading any engine; or what is in a
// model that is not compiled yet.
#include <memory>

#include "checked_package.h"
#include "commands.h"
#include "driver/read_program.h"
#include "ir/print.h"
#include "outputs.h"
#include "runtime/container.h"
#include "runtime/plan.h"
#include "support/parse_json.h"
#include "support/utf8.h"

namespace dycl::tools {
namespace {

using json = nlohmann::ordered_json;

struct Options {
  std::string source;
  bool ir = false;
  bool verify = false;
  std::vector<std::string> trusted_keys;
  std::string decryption_key;
};

struct Package {
  runtime::Container container;
  runtime::Plan plan;
  std::vector<runtime::PlanWeight> weights;
  runtime::DebugInfo debug;
  std::string metadata;
};

Result<Package> open_package(const Options& options) {
  DYCL_ASSIGN(const CheckedPackage package, CheckedPackage::open(options.source, options.trusted_keys, options.decryption_key));
  DYCL_ASSIGN(auto container, runtime::Container::open(package.path()));
  if (options.verify)
    for (const runtime::Section& section : container.sections()) DYCL_TRY(container.checked(section.name));
  DYCL_ASSIGN(const auto plan_bytes, container.checked(runtime::section::kPlan));
  DYCL_ASSIGN(auto plan, runtime::read_plan(plan_bytes));
  DYCL_ASSIGN(const auto index_bytes, container.checked(runtime::section::kWeightIndex));
  DYCL_ASSIGN(auto weights, runtime::read_weight_index(index_bytes));
  const auto size_of_section = [&](std::string_view name) {
    const runtime::Section* found = container.find(name);
    return found ? found->bytes.size() : 0;
  };
  DYCL_TRY(runtime::check_weight_index(weights, size_of_section(runtime::section::kWeights)));
  DYCL_TRY(runtime::check_plan(plan, weights, size_of_section(runtime::section::kArtifacts)));
  runtime::DebugInfo debug;
  if (container.find(runtime::section::kDebug)) {
    DYCL_ASSIGN(const auto bytes, container.checked(runtime::section::kDebug));
    DYCL_ASSIGN(debug, runtime::read_debug_info(bytes));
  }
  std::string metadata;
  if (container.find(runtime::section::kMetadata)) {
    DYCL_ASSIGN(const auto bytes, container.checked(runtime::section::kMetadata));
    metadata.assign(bytes.begin(), bytes.end());
  }
  return Package{std::move(container), std::move(plan), std::move(weights), std::move(debug), std::move(metadata)};
}

json ports_of(const runtime::Plan& plan) {
  json inputs = json::array(), outputs = json::array(), states = json::array();
  for (const auto& input : plan.inputs)
    if (input.state < 0)
      inputs.push_back({{"name", input.name}, {"type", runtime::type_text(plan, plan.registers[input.reg])}});
  for (const auto& output : plan.outputs)
    if (output.state < 0) outputs.push_back({{"name", output.name}, {"type", runtime::type_text(plan, output.type)}});
  for (const auto& state : plan.states)
    states.push_back({{"name", state.name}, {"type", runtime::type_text(plan, state.type)}});
  return {{"inputs", inputs}, {"outputs", outputs}, {"states", states}};
}

// Where decisions stand in the model's source, and what their conditions are computed from.
json decision_places(const Package& package) {
  json places = json::array();
  const runtime::DebugInfo& debug = package.debug;
  for (std::size_t i = 0; i < package.plan.decisions.size(); ++i) {
    json entry = {{"arms", package.plan.decisions[i]}};
    const SourceSpan span = i < debug.decision_spans.size() ? debug.decision_spans[i] : SourceSpan();
    if (span.known() && span.file < debug.sources.size()) {
      entry["file"] = debug.sources[span.file];
      entry["line"] = span.line;
    }
    if (i < debug.decision_origins.size()) entry["origin"] = debug.decision_origins[i];
    places.push_back(std::move(entry));
  }
  return places;
}

json to_json(const Package& package, std::uint64_t bytes) {
  const runtime::Plan& plan = package.plan;
  json object = ports_of(plan);
  object["bytes"] = bytes;
  object["producer"] = plan.producer;
  object["decisions"] = plan.decisions.size();
  object["loops"] = plan.loops.size();
  object["decision_places"] = decision_places(package);
  json& symbols = object["symbols"] = json::array();
  for (const auto& symbol : plan.symbols)
    symbols.push_back({{"name", symbol.name}, {"min", symbol.min}, {"max", symbol.max}});
  json& sections = object["sections"] = json::array();
  for (const auto& section : package.container.sections())
    sections.push_back({{"name", section.name}, {"bytes", section.stored.size()}, {"inflated", section.bytes.size()}});
  json& sub_dnns = object["sub_dnns"] = json::array();
  for (const auto& sub_dnn : plan.sub_dnns) {
    json artifacts = json::array();
    for (const auto& artifact : sub_dnn.artifacts)
      artifacts.push_back({{"backend", artifact.backend},
                           {"target", artifact.target},
                           {"bytes", artifact.size},
                           {"weights", artifact.weights.size()}});
    const std::size_t i = sub_dnns.size();
    const auto& names = package.debug.sub_dnn_names;
    sub_dnns.push_back({{"name", sub_dnn.name},
                        {"readable", i < names.size() ? names[i] : sub_dnn.name},
                        {"artifacts", artifacts}});
  }
  json& weights = object["weights"] = json::array();
  for (const auto& weight : package.weights)
    weights.push_back(
        {{"name", weight.name}, {"dtype", name_of(weight.dtype)}, {"shape", weight.shape}, {"bytes", weight.size}});
  object["metadata"] = parse_json<json>(package.metadata, kMetadataDepth);
  if (object["metadata"].is_discarded()) object["metadata"] = package.metadata;
  return object;
}

void append_ports(std::string& text, const char* title, const json& ports) {
  for (const json& port : ports) {
    const std::string name = one_line(port["name"].get<std::string>());
    text += title + (name.empty() ? "_" : name) + ": " + one_line(port["type"].get<std::string>()) + "\n";
  }
}

std::string to_text(const Options& options, const Package& package, const json& object) {
  std::string text = options.source + ": " + human_bytes(object["bytes"]) + ", made by " + one_line(package.plan.producer) + "\n";
  append_ports(text, "input     ", object["inputs"]);
  append_ports(text, "output    ", object["outputs"]);
  const std::vector<std::string> variants = variants_of(package.metadata);
  for (std::size_t i = 0; i < variants.size(); ++i)
    text += "variant   " + std::to_string(i) + ": " + one_line(variants[i]) + "\n";
  append_ports(text, "state     ", object["states"]);
  for (const auto& symbol : package.plan.symbols)
    text +=
        "symbol    " + one_line(symbol.name) + " in [" + std::to_string(symbol.min) + ", " + std::to_string(symbol.max) + "]\n";
  text += "control   " + std::to_string(package.plan.decisions.size()) + " decisions, " +
          std::to_string(package.plan.loops.size()) + " loops\n";
  std::uint64_t weight_bytes = 0;
  for (const auto& weight : package.weights) weight_bytes += weight.size;
  text += "weights   " + std::to_string(package.weights.size()) + ", " + human_bytes(weight_bytes) + "\n";
  std::size_t sub_dnns = 0;
  for (const auto& sub_dnn : package.plan.sub_dnns) {
    const std::string readable = object["sub_dnns"][sub_dnns++]["readable"];
    const std::string shown = readable == sub_dnn.name ? "" : " (" + readable + ")";
    text += "sub-DNN   " + one_line(sub_dnn.name + shown) + ":";
    for (const auto& artifact : sub_dnn.artifacts)
      text += " " + artifact.backend + "/" + one_line(artifact.target) + " " + human_bytes(artifact.size);
    text += "\n";
  }
  for (const auto& section : package.container.sections())
    text += "section   " + one_line(section.name) + " " + human_bytes(section.stored.size()) +
            (section.flags & runtime::kDeflated ? " (" + human_bytes(section.bytes.size()) + " inflated)" : "") + "\n";
  return text;
}

int inspect_package(const Console& console, const Options& options) {
  const auto package = open_package(options);
  if (!package) return console.fail(package.error(), driver::render(package.error()));
  if (options.ir) {
    if (package->debug.ir_text.empty())
      return console.fail({ErrorKind::Missing,
                           options.source + " holds no IR text",
                           "it was stripped; compile without --strip",
                           {},
                           {}});
    console.result(package->debug.ir_text, {{"ir", package->debug.ir_text}});
    return 0;
  }
  const json object = to_json(*package, std::filesystem::file_size(options.source));
  console.result(to_text(options, *package, object), object);
  return 0;
}

int inspect_model(const Console& console, const Options& options) {
  const auto program =
      driver::read_program(options.source, {.weights = {}, .spans_from_text = false, .need_weights = false});
  if (!program) return console.fail(program.error(), driver::render(program.error()));
  std::map<std::string, std::size_t> ops;
  std::size_t blocks = 0;
  for (const ir::Function& function : program->functions)
    for (const ir::Block& block : function.blocks) {
      ++blocks;
      for (const ir::Op& op : block.body) ++ops[op.name];
    }
  const std::string text = ir::print(*program);
  console.result(text, {{"ir", text},
                        {"functions", program->functions.size()},
                        {"blocks", blocks},
                        {"ops", ops},
                        {"weights", program->weights.size()}});
  return 0;
}

}  // namespace

void add_inspect_command(CLI::App& app, Console& console, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("inspect", "Show what a package or a model holds");
  command->add_option("source", options->source, "model.dycl, model.dyir or model.onnx")->required();
  command->add_flag("--ir", options->ir, "The IR text that a package was made from");
  command->add_flag("--verify", options->verify, "Check every checksum, those of weights included");
  add_signature_option(*command, options->trusted_keys);
  add_decryption_option(*command, options->decryption_key);
  add_output_options(*command, console);
  command->footer(
      "examples:\n  dycl inspect model.dycl\n  dycl inspect model.dycl --ir\n  dycl inspect model.onnx --json");
  command->callback([options, &console, &action] {
    action = [options, &console] {
      const auto extension = std::filesystem::path(options->source).extension();
      const bool model = options->trusted_keys.empty() && (extension == ".dyir" || extension == ".onnx");
      return model ? inspect_model(console, *options) : inspect_package(console, *options);
    };
  });
}

}  // namespace dycl::tools
