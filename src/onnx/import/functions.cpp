// SPDX-License-Identifier: Apache-2.0
#include "onnx/import/functions.h"

#include <iterator>
#include <tuple>

namespace dycl::onnx {
namespace {

constexpr std::size_t kMaxNodes = 1'000'000;  // after inlining

Error invalid(const std::string& message) { return {ErrorKind::InvalidModel, "ONNX: " + message, {}, {}, {}}; }

std::string describe(const Function& f) {
  return "the function '" + (f.domain.empty() ? "" : f.domain + ".") + f.name + "'";
}

// One call: its body in the caller's names. A name of the function's own gets a prefix that nothing else has.
class Call {
 public:
  Call(const Function& function, const Node& node, std::string prefix)
      : function_(function), node_(node), prefix_(std::move(prefix)) {}

  Result<Graph> body() {
    if (node_.inputs.size() > function_.inputs.size() || node_.outputs.size() > function_.outputs.size())
      return invalid("a call of " + describe(function_) + " gives or takes more values than it has");
    for (std::size_t i = 0; i < function_.inputs.size(); ++i)
      names_[function_.inputs[i]] = i < node_.inputs.size() ? node_.inputs[i] : "";
    std::vector<Node> copies;
    for (std::size_t i = 0; i < node_.outputs.size(); ++i) {
      if (node_.outputs[i].empty()) continue;
      const auto [known, is_new] = names_.try_emplace(function_.outputs[i], node_.outputs[i]);
      if (is_new) continue;
      Node copy;  // an input given back, or one value given twice
      copy.op_type = "Identity";
      copy.inputs = {known->second};
      copy.outputs = {node_.outputs[i]};
      copies.push_back(std::move(copy));
    }
    Graph graph = function_.body;
    DYCL_TRY(rename(graph));
    graph.nodes.insert(graph.nodes.end(), copies.begin(), copies.end());
    return graph;
  }

 private:
  void rename(std::string& name) const {
    if (name.empty()) return;
    const auto it = names_.find(name);
    name = it == names_.end() ? prefix_ + name : it->second;
  }

  Result<void> rename(Graph& graph) {
    for (Tensor& t : graph.initializers) rename(t.name);
    for (auto* list : {&graph.inputs, &graph.outputs, &graph.value_infos})
      for (ValueInfo& info : *list) rename(info.name);
    for (Node& n : graph.nodes) {
      if (!n.name.empty()) n.name = prefix_ + n.name;
      for (auto* list : {&n.inputs, &n.outputs})
        for (std::string& name : *list) rename(name);
      DYCL_TRY(give_attributes(n));
      for (Attribute& a : n.attributes)
        for (Graph& body : a.graph) DYCL_TRY(rename(body));
    }
    return {};
  }

  // Attributes that refer to the call's. One that neither the call nor a default gives is left out.
  Result<void> give_attributes(Node& n) const {
    std::vector<Attribute> given;
    for (Attribute& a : n.attributes) {
      if (a.refers_to.empty()) {
        given.push_back(std::move(a));
        continue;
      }
      const Attribute* value = node_.attribute(a.refers_to);
      for (const Attribute& other : function_.defaults)
        if (!value && other.name == a.refers_to) value = &other;
      if (!value) continue;
      if (value->kind != a.kind || !value->refers_to.empty())
        return invalid("a call of " + describe(function_) + " gives '" + a.refers_to + "' of another type");
      given.push_back(*value);
      given.back().name = a.name;
    }
    n.attributes = std::move(given);
    return {};
  }

  const Function& function_;
  const Node& node_;
  const std::string prefix_;
  std::map<std::string, std::string> names_;
};

class Inliner {
 public:
  Inliner(const Model& model, Upgrader& upgrader) : model_(model), upgrader_(upgrader) {
    for (const Function& f : model.functions) functions_.emplace(key_of(f.domain, f.name, f.overload), &f);
  }

  Result<void> upgrade(Graph& graph, const Opsets& opsets) {
    return upgrader_.run(graph, opsets, [&](const Node& n) { return function_of(n) != nullptr; });
  }

  // Calls in `graph` at `depth` functions deep.
  Result<void> run(Graph& graph, int depth) {
    if (depth > kMaxNesting)
      return invalid("functions call each other more than " + std::to_string(kMaxNesting) + " deep");
    std::vector<Node> nodes;
    for (Node& n : graph.nodes) {
      for (Attribute& a : n.attributes)
        for (Graph& body : a.graph) DYCL_TRY(run(body, depth));
      const Function* function = function_of(n);
      if (!function) {
        if (!n.overload.empty())
          return invalid("'" + n.op_type + "' with the overload '" + n.overload + "' is not defined");
        if (++count_ > kMaxNodes)
          return invalid("the model has more than a million nodes once its functions are inlined");
        nodes.push_back(std::move(n));
        continue;
      }
      DYCL_ASSIGN(Graph body, Call(*function, n, "call" + std::to_string(++calls_) + "." + n.op_type + ".").body());
      DYCL_TRY(upgrade(body, function->opsets.empty() ? model_.opsets : function->opsets));
      DYCL_TRY(run(body, depth + 1));
      std::move(body.nodes.begin(), body.nodes.end(), std::back_inserter(nodes));
      std::move(body.initializers.begin(), body.initializers.end(), std::back_inserter(graph.initializers));
      std::move(body.value_infos.begin(), body.value_infos.end(), std::back_inserter(graph.value_infos));
    }
    graph.nodes = std::move(nodes);
    return {};
  }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;
  static Key key_of(const std::string& domain, const std::string& name, const std::string& overload) {
    return {domain, name, overload};
  }

  const Function* function_of(const Node& n) const {
    const auto it = functions_.find(key_of(n.domain, n.op_type, n.overload));
    return it == functions_.end() ? nullptr : it->second;
  }

  const Model& model_;
  Upgrader& upgrader_;
  std::map<Key, const Function*> functions_;
  std::size_t count_ = 0, calls_ = 0;
};

}  // namespace

Result<void> inline_functions(Model& model, Upgrader& upgrader) {
  Inliner inliner(model, upgrader);
  DYCL_TRY(inliner.upgrade(model.graph, model.opsets));
  DYCL_TRY(inliner.run(model.graph, 0));
  model.functions.clear();
  return {};
}

}  // namespace dycl::onnx
