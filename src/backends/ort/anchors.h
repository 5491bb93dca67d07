// SPDX-License-Identifier: Apache-2.0
// Makes ONNX Runtime's optimiser believe that a sub-DNN has neighbours which work on
// the blocked layout, and takes them away again afterwards.
//
// An anchor is a 1x1 MaxPool, which changes nothing, after an input or before an
// output. The optimiser turns it into a blocked op and lets the layout spread
// from there; then
//
//   in0 -> ReorderInput -> MaxPool -> rest        becomes   in0 -> rest
//   rest -> MaxPool -> ReorderOutput -> out0      becomes   rest -> out0
//
// with in0 and out0 blocked. Reorders that are left convert for ops which need the
// plain layout, so the model stays right whatever the optimiser did.
#pragma once

#include <vector>

#include "onnx/format/proto.h"
#include "support/result.h"

namespace dycl::backends::ort {

// One flag per input and output.
struct PortFlags {
  std::vector<bool> inputs, outputs;

  static PortFlags none(const onnx::Graph& graph) {
    return {std::vector<bool>(graph.inputs.size()), std::vector<bool>(graph.outputs.size())};
  }
  bool any() const;
  bool operator==(const PortFlags&) const = default;
};

// Adds anchors at the flagged ports.
void add_anchors(onnx::Graph& graph, const PortFlags& ports);

// Of an optimised graph with anchors: which of them the optimiser made blocked, and which of
// those meet blocked work inside (the port saves a conversion).
struct AnchorReport {
  PortFlags blocked, natural;
};
AnchorReport inspect_anchors(const onnx::Graph& graph, const PortFlags& anchored);

// Takes the anchors off; the ports then carry blocked tensors. An error if
// one of them was not made blocked.
Result<void> remove_anchors(onnx::Graph& graph, const PortFlags& anchored);

// Whether any op works on the blocked layout.
bool has_blocked_ops(const onnx::Graph& graph);

// Whether the optimiser could find a use for it in a graph as exported: it starts
// at convolutions and poolings (anchors included).
bool has_seeds(const onnx::Graph& graph);

}  // namespace dycl::backends::ort
