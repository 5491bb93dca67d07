// SPDX-License-Identifier: Apache-2.0
#include "onnx/import/order.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace dycl::onnx {
namespace {

using Names = std::set<std::string>;

Error invalid(const std::string& message) { return {ErrorKind::InvalidModel, "ONNX: " + message, {}, {}, {}}; }

void add_free_names(const Graph& graph, Names& names);

// What a node reads of the graph that it stands in and of those around.
void add_reads(const Node& node, Names& names) {
  for (const std::string& input : node.inputs)
    if (!input.empty()) names.insert(input);
  for (const Attribute& a : node.attributes)
    for (const Graph& body : a.graph) add_free_names(body, names);
}

// What a body reads and does not define.
void add_free_names(const Graph& graph, Names& names) {
  Names reads, own;
  for (const ValueInfo& input : graph.inputs) own.insert(input.name);
  for (const Tensor& t : graph.initializers) own.insert(t.name);
  for (const Node& node : graph.nodes) {
    own.insert(node.outputs.begin(), node.outputs.end());
    add_reads(node, reads);
  }
  for (const ValueInfo& output : graph.outputs) reads.insert(output.name);
  std::ranges::set_difference(reads, own, std::inserter(names, names.end()));
}

class Order {
 public:
  explicit Order(Graph& graph)
      : graph_(graph), reads_(graph.nodes.size()), state_(graph.nodes.size(), State::Unneeded) {}

  Result<void> run() {
    DYCL_TRY(find_makers());
    find_needed();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (state_[i] == State::Needed) DYCL_TRY(place(i));
    std::vector<Node> nodes;
    nodes.reserve(placed_.size());
    for (const std::size_t i : placed_) nodes.push_back(std::move(graph_.nodes[i]));
    graph_.nodes = std::move(nodes);
    drop_initializers();
    return {};
  }

 private:
  enum class State : std::uint8_t { Unneeded, Needed, Open, Placed };

  Result<void> find_makers() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      for (const std::string& name : graph_.nodes[i].outputs)
        if (!name.empty() && !makers_.emplace(name, i).second) return invalid("'" + name + "' is defined twice");
    return {};
  }

  void find_needed() {
    std::vector<std::string> names;
    for (const ValueInfo& output : graph_.outputs) names.push_back(output.name);
    while (!names.empty()) {
      const std::string name = std::move(names.back());
      names.pop_back();
      if (!read_.insert(name).second) continue;
      const auto maker = makers_.find(name);
      if (maker == makers_.end() || state_[maker->second] != State::Unneeded) continue;
      state_[maker->second] = State::Needed;
      Names reads;
      add_reads(graph_.nodes[maker->second], reads);
      names.insert(names.end(), reads.begin(), reads.end());
      reads_[maker->second].assign(reads.begin(), reads.end());
    }
  }

  // A node behind what it reads. Without recursion: chains may be long.
  Result<void> place(std::size_t first) {
    std::vector<std::size_t> open = {first};
    state_[first] = State::Open;
    while (!open.empty()) {
      const std::size_t at = open.back();
      if (reads_[at].empty()) {
        state_[at] = State::Placed;
        placed_.push_back(at);
        open.pop_back();
        continue;
      }
      const std::string name = std::move(reads_[at].back());
      reads_[at].pop_back();
      const auto maker = makers_.find(name);
      if (maker == makers_.end() || state_[maker->second] == State::Placed) continue;
      if (state_[maker->second] == State::Open) return invalid("'" + name + "' is needed to compute itself");
      state_[maker->second] = State::Open;
      open.push_back(maker->second);
    }
    return {};
  }

  // Those that are inputs stay: they are the inputs' defaults.
  void drop_initializers() {
    std::unordered_set<std::string> inputs;
    for (const ValueInfo& input : graph_.inputs) inputs.insert(input.name);
    std::erase_if(graph_.initializers,
                  [&](const Tensor& t) { return !read_.contains(t.name) && !inputs.contains(t.name); });
  }

  Graph& graph_;
  std::unordered_map<std::string, std::size_t> makers_;  // the node that gives a name
  std::unordered_set<std::string> read_;                 // by outputs and needed nodes
  std::vector<std::vector<std::string>> reads_;          // of each node, while it waits
  std::vector<State> state_;
  std::vector<std::size_t> placed_;
};

}  // namespace

Result<void> order_nodes(Graph& graph) {
  DYCL_TRY(Order(graph).run());
  for (Node& node : graph.nodes)
    for (Attribute& a : node.attributes)
      for (Graph& body : a.graph) DYCL_TRY(order_nodes(body));
  return {};
}

}  // namespace dycl::onnx
