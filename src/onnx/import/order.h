// SPDX-License-Identifier: Apache-2.0
// Which nodes of a graph count, and in which order.
#pragma once

#include "onnx/format/proto.h"
#include "support/result.h"

namespace dycl::onnx {

// Puts each node behind those whose values it or its bodies read, and leaves others where they stand: tools that edit
// files append nodes, and ONNX Runtime takes them in any order. Nodes and initializers that no output needs go, for
// what nobody computes with may be of a type that DyCL lacks. So in bodies, too. An Error where nodes need each other,
// and where two give one name.
Result<void> order_nodes(Graph& graph);

}  // namespace dycl::onnx
