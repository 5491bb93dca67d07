// SPDX-License-Identifier: Apache-2.0
// The ops of the domain "torch" (backends/ort/selection_ops.h) by ONNX's own: sorted results of TopK, Sort and KthValue
// with the first of equal elements first, where torch's own order of them has no ONNX form. What is nothing but such an
// order (TopK without sorting) and Mode are refused.
#pragma once

#include "emit/onnx/graph.h"

namespace dycl::emit {

bool is_selection(const std::string& op);

// Values and indices; `op` is one that `is_selection`.
Result<OnnxGraph::Names> write_selection(OnnxGraph& graph, const std::string& op, const OnnxGraph::Names& operands,
                                         const OnnxGraph::Attributes& attributes);

inline constexpr const char* kSelectionNotice =
    "equal elements in results of topk, sort and kthvalue come in the order of their places, not in torch's";

}  // namespace dycl::emit
