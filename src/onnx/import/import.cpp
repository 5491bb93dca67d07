// SPDX-License-Identifier: Apache-2.0
#include "onnx/import/import.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "onnx/format/files.h"
#include "onnx/format/opsets.h"
#include "onnx/import/block_importer.h"
#include "onnx/import/functions.h"
#include "onnx/import/order.h"
#include "onnx/import/upgrade.h"
#include "support/utf8.h"

namespace dycl::onnx {
namespace {

constexpr std::size_t kLongestName = 200;

std::string cut(const std::string& text) { return text.substr(0, kLongestName); }

bool is_identifier(const std::string& text) {
  if (text.empty() || text.size() > kLongestName || std::isdigit(static_cast<unsigned char>(text[0]))) return false;
  for (const char c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  return true;
}

// Named dims of inputs are the program's symbols; names elsewhere refer to them.
void declare_symbols(const Graph& graph, ir::Program& program) {
  for (const ValueInfo& input : graph.inputs)
    if (input.shape)
      for (const Dimension& dim : *input.shape)
        if (dim.value < 0 && is_identifier(dim.param)) program.symbols.try_emplace(dim.param);
}

// The file's own names, as JSON, for callers who use them; [] where they cannot be told as such.
std::string json_of(const std::vector<std::string>& names) {
  constexpr std::size_t kLongest = 1000;
  std::string text;
  for (const std::string& name : names) {
    if (name.size() > kLongest || !is_utf8(name)) return "[]";
    text += text.empty() ? "\"" : ",\"";
    for (const char c : name) {
      if (static_cast<unsigned char>(c) < 0x20) return "[]";
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
    text += '"';
  }
  return "[" + text + "]";
}

// What the program's ops are of: kOpset, or later where the model or a function of it says so.
std::int64_t opset_of(const Model& model) {
  std::int64_t opset = kOpset;
  const auto see = [&](const Opsets& opsets) {
    if (const auto it = opsets.find(""); it != opsets.end() && it->second <= kNewestOpset)
      opset = std::max(opset, it->second);
  };
  see(model.opsets);
  for (const Function& f : model.functions) see(f.opsets);
  return opset;
}

Result<ir::ValueId> add_param(const ValueInfo& input, BlockImporter& importer, ir::Function& main) {
  if (!input.dtype)
    return Error{ErrorKind::Unsupported, "ONNX: input '" + input.name + "' is of a type that DyCL lacks", {}, {}, {}};
  const ir::ValueId value = main.add_value(importer.type_from(input, *input.dtype), spellable(input.name));
  main.params.push_back({value, {}});
  return value;
}

Error invalid_default(const ValueInfo& input, const std::string& what) {
  return {ErrorKind::InvalidModel, "ONNX: the default of input '" + cut(input.name) + "' " + what, {}, {}, {}};
}

// An optional parameter, and what it holds or else the initializer.
Result<void> add_overridable(ValueInfo input, const Tensor& otherwise, BlockImporter& importer, ir::Function& main) {
  if (input.sequence || input.optional || input.dtype != otherwise.dtype)
    return invalid_default(input, "is of another type");
  input.optional = true;
  DYCL_ASSIGN(const ir::ValueId param, add_param(input, importer, main));
  const ir::Type type = main.type_of(param).element[0];
  const ir::ValueId given = importer.emit("opt.is_some", {param}, ir::Type::boolean());
  const ir::BlockId some = importer.new_block("given"), none = importer.new_block("default"),
                    join = importer.new_block("known");
  importer.end_block(ir::Branch{given, {some, {}}, {none, {}}});
  importer.move_to(some);
  importer.end_block(ir::Goto{{join, {importer.emit("opt.get", {param}, type)}}});
  importer.move_to(none);
  DYCL_ASSIGN(const ir::ValueId value, importer.add_tensor(otherwise));
  const auto joined = ir::join(type, main.type_of(value));
  if (!joined || joined->shape.has_value() != type.shape.has_value())
    return invalid_default(input, "has another rank");
  importer.end_block(ir::Goto{{join, {value}}});
  importer.move_to(join);
  const ir::ValueId known = main.add_value(*joined);
  main.block(join).params = {known};
  return importer.bind(input.name, known);
}

Result<void> check_overridable(const std::set<std::string>& wanted, const std::vector<std::string>& defaults) {
  for (const std::string& name : wanted)
    if (std::ranges::find(defaults, name) == defaults.end()) {
      std::string those;
      for (const std::string& each : defaults) those += (those.empty() ? "" : ", ") + cut(each);
      return Error{ErrorKind::InvalidInput, "ONNX: '" + name + "' is no input with a default value",
                   those.empty() ? "the file has none" : "those are " + cut(those), {}, {}};
    }
  return {};
}

// Every input is a parameter but those that have an initializer, their default: these are constants, unless a caller
// may give them. The names of the parameters, in their order.
Result<std::vector<std::string>> add_inputs(const Graph& graph, const ImportOptions& options, BlockImporter& importer,
                                            ir::Program& program) {
  std::map<std::string, const Tensor*> initializers;
  for (const Tensor& t : graph.initializers) initializers.emplace(t.name, &t);
  const std::set<std::string> wanted(options.overridable.begin(), options.overridable.end());
  std::vector<std::string> names, defaults;
  std::vector<const ValueInfo*> overridable;
  for (const ValueInfo& input : graph.inputs) {
    if (initializers.contains(input.name)) {
      defaults.push_back(input.name);
      if (wanted.contains(input.name)) overridable.push_back(&input);
      continue;
    }
    DYCL_ASSIGN(const ir::ValueId value, add_param(input, importer, program.main()));
    DYCL_TRY(importer.bind(input.name, value));
    names.push_back(input.name);
  }
  DYCL_TRY(check_overridable(wanted, defaults));
  for (const Tensor& t : graph.initializers)
    if (!wanted.contains(t.name)) DYCL_TRY(importer.add_initializer(t));
  for (const ValueInfo* input : overridable) {
    DYCL_TRY(add_overridable(*input, *initializers.at(input->name), importer, program.main()));
    names.push_back(input->name);
  }
  if (!defaults.empty()) program.metadata["onnx.defaults"] = json_of(defaults);
  return names;
}

Result<void> import_graph(const Graph& graph, const ImportOptions& options, ir::Program& program) {
  ir::Function& main = program.main();
  BlockImporter importer(program, main, ir::BlockId{0});
  importer.learn_types(graph);
  DYCL_ASSIGN(const std::vector<std::string> inputs, add_inputs(graph, options, importer, program));
  for (const Node& node : graph.nodes) DYCL_TRY(importer.add_node(node));
  ir::Return exit;
  std::set<std::string> taken;
  const auto unique = [&](const std::string& base) {
    std::string name = base;
    for (int n = 1; !taken.insert(name).second; ++n) name = base + "." + std::to_string(n);
    return name;
  };
  for (const ValueInfo& output : graph.outputs) {
    DYCL_ASSIGN(const ir::ValueId value, importer.value(output.name));
    exit.values.push_back(value);
    main.results.push_back({main.type_of(value), unique(spellable(output.name)), {}});
  }
  importer.end_block(std::move(exit));
  program.metadata["onnx.inputs"] = json_of(inputs);
  std::vector<std::string> outputs;
  for (const ValueInfo& output : graph.outputs) outputs.push_back(output.name);
  program.metadata["onnx.outputs"] = json_of(outputs);
  return {};
}

}  // namespace

Result<ir::Program> import_model(const ir::Bytes& message, const std::filesystem::path& base_dir,
                                const ImportOptions& options) {
  DYCL_ASSIGN(Model model, read_model(message));
  DYCL_TRY(map_external(model, base_dir));
  const std::int64_t opset = opset_of(model);
  Upgrader upgrader(opset);
  DYCL_TRY(inline_functions(model, upgrader));
  DYCL_TRY(order_nodes(model.graph));
  ir::Program program;
  if (opset != kOpset) state_opset(program, "", opset);
  for (const auto& [domain, version] : model.opsets)
    if (domain == "ai.onnx.ml") state_opset(program, domain, version);
  program.metadata["producer"] = cut(model.producer_name) + " " + cut(model.producer_version);
  program.functions.emplace_back();
  program.main().name = "main";
  program.main().blocks.emplace_back();
  program.main().blocks[0].name = "entry";
  declare_symbols(model.graph, program);
  DYCL_TRY(import_graph(model.graph, options, program));
  return program;
}

Result<ir::Program> import_file(const std::filesystem::path& path, const ImportOptions& options) {
  DYCL_ASSIGN(const ir::Bytes bytes, map_file(path));
  return import_model(bytes, path.parent_path(), options);
}

}  // namespace dycl::onnx
