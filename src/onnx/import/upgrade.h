// SPDX-License-Identifier: Apache-2.0
// Rewrites nodes of ONNX opsets 13 to 22 as opset 23 spells them, where that keeps
// the meaning exactly; refuses the rest by name. Constants it needs are appended
// to the graph's initializers.
#pragma once

#include "onnx/format/proto.h"

namespace dycl::onnx {

Result<void> upgrade(Graph& graph, std::int64_t from_opset);

}  // namespace dycl::onnx
