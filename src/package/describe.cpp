// SPDX-License-Identifier: Apache-2.0
#include "package/describe.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "ir/host_ops.h"
#include "ir/print.h"
#include "package/readable_names.h"

namespace dycl::package {
namespace {

using json = nlohmann::ordered_json;

json place(const SourceSpan& s) {
  return s.known() ? json{s.file, s.line, s.column, s.end_line, s.end_column} : json();
}

// Literals and messages may be long; the whole text is in `dycl inspect --ir`.
std::string shortened(std::string text) {
  constexpr std::size_t kMost = 300;
  if (text.size() <= kMost) return text;
  std::size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not inside a character
  return text.substr(0, end) + " ...";
}

class Description {
 public:
  explicit Description(const PackageProgram& package) : package_(package), program_(package.program) {
    std::vector<std::string> names;
    for (const auto& sub_dnn : package.plan.sub_dnns) names.push_back(sub_dnn.name);
    readable_ = readable_names(program_, names);
    for (std::size_t i = 0; i < names.size(); ++i) {
      sub_dnn_of_.emplace(names[i], i);
      readable_of_.emplace(names[i], readable_[i]);
    }
    const auto& decisions = package.debug.decision_blocks;
    for (std::size_t i = 0; i < std::min(decisions.size(), package.plan.decisions.size()); ++i)
      decision_of_.emplace(decisions[i], i);
  }

  json whole() {
    json object = interface();
    object["producer"] = package_.plan.producer;
    object["sources"] = package_.debug.sources;
    object["lines"] = json::array();
    for (const auto& l : package_.debug.lines) object["lines"].push_back({l.file, l.line, l.text});
    object["blocks"] = blocks();
    object["decisions"] = decisions();
    object["sub_dnns"] = sub_dnns();
    object["weights"] = json::array();
    for (const auto& w : package_.weights)
      object["weights"].push_back(
          {{"name", w.name}, {"dtype", name_of(w.dtype)}, {"shape", w.shape}, {"bytes", w.size}});
    object["metadata"] = program_.metadata;
    return object;
  }

 private:
  json interface() const {
    const ir::Function& main = program_.main();
    json object = {{"inputs", json::array()}, {"outputs", json::array()}};
    for (const ir::Param& p : main.params)
      object["inputs"].push_back({{"name", main.values[p.value.index].hint},
                                  {"type", ir::to_string(main.type_of(p.value))},
                                  {"state", p.state}});
    for (const ir::Output& o : main.results)
      object["outputs"].push_back({{"name", o.name}, {"type", ir::to_string(o.type)}, {"state", o.state}});
    return object;
  }

  // Call sites are numbered as in the plan, whose code has the calls of each block together and in their order.
  json blocks() {
    std::unordered_map<std::string_view, std::size_t> first_site;
    for (std::size_t i = 0; i < package_.debug.call_blocks.size(); ++i)
      first_site.emplace(package_.debug.call_blocks[i], i);
    const ir::Function& main = program_.main();
    const std::vector<ir::BlockText> texts = ir::print_blocks(program_, main);
    json list = json::array();
    for (std::size_t i = 0; i < main.blocks.size(); ++i) {
      const ir::Block& block = main.blocks[i];
      const auto site = first_site.find(block.name);
      list.push_back({{"name", block.name},
                      {"head", shortened(texts[i].head)},
                      {"place", place(block.span)},
                      {"loop_limit", block.loop_limit},
                      {"ops", ops(block, texts[i], site == first_site.end() ? json() : json(site->second))},
                      {"exit", exit(block, texts[i].exit)}});
    }
    return list;
  }

  json ops(const ir::Block& block, const ir::BlockText& text, json site) const {
    json list = json::array();
    for (std::size_t i = 0; i < block.body.size(); ++i) {
      const ir::Op& op = block.body[i];
      json entry = {{"text", shortened(text.ops[i])}, {"place", place(op.span)}};
      const auto* callee = op.name == "call" ? ir::attr_as<std::string>(op, "callee") : nullptr;
      if (callee && sub_dnn_of_.contains(*callee)) {
        entry["sub_dnn"] = sub_dnn_of_.at(*callee);
        entry["site"] = site;
        if (!site.is_null()) site = site.get<std::size_t>() + 1;
      }
      list.push_back(std::move(entry));
    }
    return list;
  }

  static json edge(const ir::Edge& e, const std::string& label, json arm) {
    return {{"to", e.target.index}, {"label", label}, {"arm", std::move(arm)}};
  }

  // Edges in the order of arms: a branch's arm 0 is false, arm 1 is true.
  json exit(const ir::Block& block, const std::string& text) const {
    json edges = json::array();
    std::string kind;
    if (const auto* jump = std::get_if<ir::Goto>(&block.exit)) {
      kind = "goto";
      edges.push_back(edge(jump->edge, "", nullptr));
    } else if (const auto* branch = std::get_if<ir::Branch>(&block.exit)) {
      kind = "branch";
      edges.push_back(edge(branch->if_false, "false", 0));
      edges.push_back(edge(branch->if_true, "true", 1));
    } else if (const auto* choice = std::get_if<ir::Switch>(&block.exit)) {
      kind = "switch";
      for (std::size_t i = 0; i < choice->targets.size(); ++i)
        edges.push_back(edge(choice->targets[i], std::to_string(choice->cases[i]), i));
      edges.push_back(edge(choice->otherwise, "otherwise", choice->targets.size()));
    } else {
      kind = std::holds_alternative<ir::Raise>(block.exit) ? "raise" : "return";
    }
    json object = {{"kind", kind}, {"text", shortened(text)}, {"place", place(block.exit_span)}, {"edges", edges}};
    const auto decision = decision_of_.find(block.name);
    if (decision != decision_of_.end() && edges.size() > 1) object["decision"] = decision->second;
    return object;
  }

  json decisions() const {
    const auto& debug = package_.debug;
    std::unordered_map<std::string_view, std::size_t> index;
    const ir::Function& main = program_.main();
    for (std::size_t i = 0; i < main.blocks.size(); ++i) index.emplace(main.blocks[i].name, i);
    const DecisionOrigins origins(main, readable_of_);
    json list = json::array();
    for (std::size_t i = 0; i < package_.plan.decisions.size(); ++i) {
      json entry = {{"arms", package_.plan.decisions[i]}};
      const auto block = i < debug.decision_blocks.size() ? index.find(debug.decision_blocks[i]) : index.end();
      if (block != index.end()) {
        entry["block"] = block->second;
        entry["origin"] = origins.of(main.blocks[block->second]);
      }
      entry["place"] = i < debug.decision_spans.size() ? place(debug.decision_spans[i]) : json();
      list.push_back(std::move(entry));
    }
    return list;
  }

  json sub_dnns() const {
    json list = json::array();
    const ir::FunctionIndex functions(program_);
    for (std::size_t i = 0; i < package_.plan.sub_dnns.size(); ++i) {
      const auto& sub_dnn = package_.plan.sub_dnns[i];
      json artifacts = json::array();
      for (const auto& a : sub_dnn.artifacts)
        artifacts.push_back({{"backend", a.backend}, {"target", a.target}, {"bytes", a.size}});
      json entry = {{"name", sub_dnn.name}, {"readable", readable_[i]}, {"artifacts", artifacts}};
      if (const ir::Function* function = functions.find(sub_dnn.name)) describe_body(*function, entry);
      list.push_back(std::move(entry));
    }
    return list;
  }

  void describe_body(const ir::Function& function, json& entry) const {
    entry["inputs"] = json::array();
    for (const ir::Param& p : function.params) entry["inputs"].push_back(ir::to_string(function.type_of(p.value)));
    entry["outputs"] = json::array();
    for (const ir::Output& o : function.results) entry["outputs"].push_back(ir::to_string(o.type));
    entry["ops"] = json::array();
    if (function.blocks.empty()) return;
    const ir::BlockText text = ir::print_blocks(program_, function).front();
    const ir::Block& block = function.blocks.front();
    for (std::size_t i = 0; i < block.body.size(); ++i) {
      const ir::Op& op = block.body[i];
      json line = {{"op", op.name}, {"text", shortened(text.ops[i])}, {"place", place(op.span)}};
      const auto* weight = op.name == "weight" ? ir::attr_as<std::string>(op, "name") : nullptr;
      if (weight) line["weight"] = *weight;
      entry["ops"].push_back(std::move(line));
    }
  }

  const PackageProgram& package_;
  const ir::Program& program_;
  std::vector<std::string> readable_;
  std::unordered_map<std::string, std::string> readable_of_;
  std::unordered_map<std::string, std::size_t> sub_dnn_of_, decision_of_;
};

}  // namespace

json describe(const PackageProgram& package) { return Description(package).whole(); }

}  // namespace dycl::package
