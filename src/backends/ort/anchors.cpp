// SPDX-License-Identifier: Apache-2.0
#include "backends/ort/anchors.h"

#include <algorithm>
#include <optional>
#include <string>

namespace dycl::backends::ort {
namespace {

constexpr const char* kBlockedDomain = "com.microsoft.nchwc";

std::string anchor_value(const char* kind, std::size_t i) { return std::string("dycl.") + kind + std::to_string(i); }

onnx::Node anchor(const std::string& from, const std::string& to) {
  onnx::Node node;
  node.op_type = "MaxPool";
  node.name = "anchor." + to;
  node.inputs = {from};
  node.outputs = {to};
  node.attributes = {onnx::ints_attribute("kernel_shape", {1, 1})};
  return node;
}

void replace_inputs(onnx::Graph& graph, const std::string& from, const std::string& to) {
  for (onnx::Node& node : graph.nodes)
    for (std::string& input : node.inputs)
      if (input == from) input = to;
}

const onnx::Node* maker_of(const onnx::Graph& graph, const std::string& value) {
  for (const onnx::Node& node : graph.nodes)
    if (std::find(node.outputs.begin(), node.outputs.end(), value) != node.outputs.end()) return &node;
  return nullptr;
}

std::vector<const onnx::Node*> users_of(const onnx::Graph& graph, const std::string& value) {
  std::vector<const onnx::Node*> users;
  for (const onnx::Node& node : graph.nodes)
    if (std::find(node.inputs.begin(), node.inputs.end(), value) != node.inputs.end()) users.push_back(&node);
  return users;
}

bool is_blocked_op(const onnx::Node* node, const char* op_type) {
  return node && node->domain == kBlockedDomain && node->op_type == op_type;
}

bool all_are(const onnx::Attribute* attribute, std::int64_t value) {
  return !attribute ||
         std::all_of(attribute->ints.begin(), attribute->ints.end(), [&](std::int64_t i) { return i == value; });
}

// A pooling that changes nothing, ours or the user's.
bool is_anchor(const onnx::Node* node) {
  if (!is_blocked_op(node, "MaxPool") || node->inputs.size() != 1 || node->outputs.size() != 1) return false;
  const onnx::Attribute* kernel = node->attribute("kernel_shape");
  return kernel && all_are(kernel, 1) && all_are(node->attribute("strides"), 1) &&
         all_are(node->attribute("dilations"), 1) && all_are(node->attribute("pads"), 0);
}

bool is_output(const onnx::Graph& graph, const std::string& value) {
  return std::any_of(graph.outputs.begin(), graph.outputs.end(), [&](const auto& o) { return o.name == value; });
}

// The three nodes or names around an anchored port, found from the port's name alone.
struct InputAnchor {
  std::string reordered, anchored;  // results of ReorderInput and of the anchor
};
std::optional<InputAnchor> find_input_anchor(const onnx::Graph& graph, const std::string& input) {
  const auto users = users_of(graph, input);
  if (users.size() != 1 || !is_blocked_op(users[0], "ReorderInput") || is_output(graph, input)) return std::nullopt;
  const std::string& reordered = users[0]->outputs.at(0);
  const auto next = users_of(graph, reordered);
  if (next.size() != 1 || !is_anchor(next[0])) return std::nullopt;
  return InputAnchor{reordered, next[0]->outputs[0]};
}

struct OutputAnchor {
  std::string source, anchored;  // operand and result of the anchor
};
std::optional<OutputAnchor> find_output_anchor(const onnx::Graph& graph, const std::string& output) {
  const onnx::Node* reorder = maker_of(graph, output);
  if (!is_blocked_op(reorder, "ReorderOutput") || !users_of(graph, output).empty()) return std::nullopt;
  const std::string& anchored = reorder->inputs.at(0);
  const onnx::Node* node = maker_of(graph, anchored);
  if (!is_anchor(node) || users_of(graph, anchored).size() != 1) return std::nullopt;
  return OutputAnchor{node->inputs[0], anchored};
}

bool input_is_natural(const onnx::Graph& graph, const InputAnchor& found) {
  for (const onnx::Node* user : users_of(graph, found.anchored))
    if (user->domain == kBlockedDomain && user->op_type != "ReorderOutput" && !is_anchor(user)) return true;
  return false;
}

bool output_is_natural(const onnx::Graph& graph, const OutputAnchor& found) {
  const onnx::Node* maker = maker_of(graph, found.source);
  return maker && maker->domain == kBlockedDomain && maker->op_type != "ReorderInput" && !is_anchor(maker);
}

void erase_maker(onnx::Graph& graph, const std::string& value) {
  std::erase_if(graph.nodes, [&](const onnx::Node& node) { return node.outputs.size() == 1 && node.outputs[0] == value; });
}

// Makes `output` from `source`: under that name if a node makes it for nobody else's
// name, else by a copy.
void deliver(onnx::Graph& graph, const std::string& source, const std::string& output) {
  if (maker_of(graph, source) && !is_output(graph, source)) {
    for (onnx::Node& node : graph.nodes)
      for (std::string& name : node.outputs)
        if (name == source) name = output;
    replace_inputs(graph, source, output);
    return;
  }
  onnx::Node identity;
  identity.op_type = "Identity";
  identity.name = "copy." + output;
  identity.inputs = {source};
  identity.outputs = {output};
  graph.nodes.push_back(std::move(identity));
}

Error not_blocked(const std::string& port) {
  return {ErrorKind::Internal, "the engine's optimiser did not keep '" + port + "' in its blocked layout", {}, {}, {}};
}

}  // namespace

bool PortFlags::any() const {
  return std::find(inputs.begin(), inputs.end(), true) != inputs.end() ||
         std::find(outputs.begin(), outputs.end(), true) != outputs.end();
}

void add_anchors(onnx::Graph& graph, const PortFlags& ports) {
  std::vector<onnx::Node> before;
  for (std::size_t i = 0; i < ports.inputs.size(); ++i) {
    if (!ports.inputs[i]) continue;
    const std::string value = anchor_value("input", i);
    replace_inputs(graph, graph.inputs[i].name, value);
    before.push_back(anchor(graph.inputs[i].name, value));
  }
  graph.nodes.insert(graph.nodes.begin(), before.begin(), before.end());
  for (std::size_t i = 0; i < ports.outputs.size(); ++i) {
    if (!ports.outputs[i]) continue;
    const std::string value = anchor_value("output", i), output = graph.outputs[i].name;
    for (onnx::Node& node : graph.nodes)
      for (std::string& name : node.outputs)
        if (name == output) name = value;
    replace_inputs(graph, output, value);
    graph.nodes.push_back(anchor(value, output));
  }
}

AnchorReport inspect_anchors(const onnx::Graph& graph, const PortFlags& anchored) {
  AnchorReport report{PortFlags::none(graph), PortFlags::none(graph)};
  for (std::size_t i = 0; i < anchored.inputs.size(); ++i) {
    const auto found = anchored.inputs[i] ? find_input_anchor(graph, graph.inputs[i].name) : std::nullopt;
    report.blocked.inputs[i] = found.has_value();
    report.natural.inputs[i] = found && input_is_natural(graph, *found);
  }
  for (std::size_t i = 0; i < anchored.outputs.size(); ++i) {
    const auto found = anchored.outputs[i] ? find_output_anchor(graph, graph.outputs[i].name) : std::nullopt;
    report.blocked.outputs[i] = found.has_value();
    report.natural.outputs[i] = found && output_is_natural(graph, *found);
  }
  return report;
}

Result<void> remove_anchors(onnx::Graph& graph, const PortFlags& anchored) {
  // Found before anything changes: removing one anchor may hide another.
  std::vector<std::optional<InputAnchor>> inputs(graph.inputs.size());
  std::vector<std::optional<OutputAnchor>> outputs(graph.outputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!anchored.inputs[i]) continue;
    inputs[i] = find_input_anchor(graph, graph.inputs[i].name);
    if (!inputs[i]) return not_blocked(graph.inputs[i].name);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!anchored.outputs[i]) continue;
    outputs[i] = find_output_anchor(graph, graph.outputs[i].name);
    if (!outputs[i]) return not_blocked(graph.outputs[i].name);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i]) continue;
    erase_maker(graph, graph.outputs[i].name);
    erase_maker(graph, outputs[i]->anchored);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) continue;
    erase_maker(graph, inputs[i]->reordered);
    erase_maker(graph, inputs[i]->anchored);
    replace_inputs(graph, inputs[i]->anchored, graph.inputs[i].name);
    for (auto& output : outputs)
      if (output && output->source == inputs[i]->anchored) output->source = graph.inputs[i].name;
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i]) continue;
    const std::string source = outputs[i]->source;
    deliver(graph, source, graph.outputs[i].name);
    if (maker_of(graph, source)) continue;  // copied, the name stays
    for (auto& later : outputs)
      if (later && later->source == source && maker_of(graph, graph.outputs[i].name)) later->source = graph.outputs[i].name;
  }
  return {};
}

bool has_blocked_ops(const onnx::Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const onnx::Node& node) { return node.domain == kBlockedDomain; });
}

bool has_seeds(const onnx::Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const onnx::Node& node) {
    return node.op_type.find("Conv") != std::string::npos || node.op_type.find("Pool") != std::string::npos;
  });
}

}  // namespace dycl::backends::ort
