// SPDX-License-Identifier: Apache-2.0
#include "onnx/import/import.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "onnx/format/files.h"
#include "onnx/format/opsets.h"
#include "onnx/import/block_importer.h"
#include "onnx/import/functions.h"
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
std::string json_of(const std::vector<ValueInfo>& values) {
  constexpr std::size_t kLongest = 1000;
  std::string text;
  for (const ValueInfo& value : values) {
    if (value.name.size() > kLongest || !is_utf8(value.name)) return "[]";
    text += text.empty() ? "\"" : ",\"";
    for (const char c : value.name) {
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

Result<void> import_graph(const Graph& graph, ir::Program& program) {
  ir::Function& main = program.main();
  BlockImporter importer(program, main, ir::BlockId{0});
  importer.learn_types(graph);
  std::set<std::string> constant;
  for (const Tensor& t : graph.initializers) {
    constant.insert(t.name);
    DYCL_TRY(importer.add_initializer(t));
  }
  std::vector<ValueInfo> inputs;
  for (const ValueInfo& input : graph.inputs) {
    if (constant.count(input.name)) continue;  // a default value of an old-style file: taken as the value
    if (!input.dtype)
      return Error{ErrorKind::Unsupported, "ONNX: input '" + input.name + "' is of a type that DyCL lacks", {}, {}, {}};
    const ir::ValueId value = main.add_value(importer.type_from(input, *input.dtype), spellable(input.name));
    main.params.push_back({value, {}});
    DYCL_TRY(importer.bind(input.name, value));
    inputs.push_back(input);
  }
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
  program.metadata["onnx.outputs"] = json_of(graph.outputs);
  return {};
}

}  // namespace

Result<ir::Program> import_model(const ir::Bytes& message, const std::filesystem::path& base_dir) {
  DYCL_ASSIGN(Model model, read_model(message));
  DYCL_TRY(map_external(model, base_dir));
  const std::int64_t opset = opset_of(model);
  Upgrader upgrader(opset);
  DYCL_TRY(inline_functions(model, upgrader));
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
  DYCL_TRY(import_graph(model.graph, program));
  return program;
}

Result<ir::Program> import_file(const std::filesystem::path& path) {
  DYCL_ASSIGN(const ir::Bytes bytes, map_file(path));
  return import_model(bytes, path.parent_path());
}

}  // namespace dycl::onnx
