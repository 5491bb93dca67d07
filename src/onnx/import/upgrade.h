// SPDX-License-Identifier: Apache-2.0
// Rewrites nodes of older opsets as opset 23 spells them, by a table of what changed when, where that keeps the meaning
// exactly; refuses the rest by name. Later opsets, up to kNewestOpset, changed no operator's form that older ones have:
// they stay as they are, and the program says which opset its ops are of. Before that, every node is checked against
// its schema (operators.h).
#pragma once

#include "onnx/format/proto.h"
#include "onnx/import/operators.h"

namespace dycl::onnx {

class Upgrader {
 public:
  // `target` is the opset that the program's ops are to be of: at least 23.
  explicit Upgrader(std::int64_t target) : target_(target) {}

  // The graph, whose nodes are of these opsets, and its bodies. Calls of functions that the model defines stay as they
  // are: `is_function` names them.
  template <typename IsFunction>
  Result<void> run(Graph& graph, const Opsets& opsets, const IsFunction& is_function) {
    for (Node& node : graph.nodes) {
      if (is_function(node)) continue;
      DYCL_TRY(check_form(node, opsets));
    }
    for (Node& node : graph.nodes)
      for (Attribute& a : node.attributes)
        for (Graph& body : a.graph) DYCL_TRY(run(body, opsets, is_function));
    const auto version = opsets.find("");
    return version == opsets.end() ? Result<void>() : rewrite(graph, version->second);
  }

 private:
  Result<void> rewrite(Graph& graph, std::int64_t from);

  std::int64_t target_;
  std::size_t made_ = 0;  // values with names of ours
};

}  // namespace dycl::onnx
