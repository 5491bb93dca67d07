// SPDX-License-Identifier: Apache-2.0
// Writes ops that OpenVINO computes differently when a NaN or an infinity arrives in terms of ops that it
// computes as the reference does. All operands are f32, or bool (supported_ops.h). Needs the graph's value infos.
//
//   Relu(x)          becomes  Max(0, x)          its maximum hands on a NaN on the right
//   Greater(a, b)    becomes  Less(b, a)
//   Exp(x)           becomes  Where(IsNaN(x), x, Exp(x))
//   MaxPool(x)       becomes  MaxPool(x), a NaN or -inf, as another MaxPool says what its windows have
//   ReduceMax(x)     likewise
//   Softmax(x)       becomes  Softmax(x) + ReduceSum(Where(x < inf, 0, NaN))
#pragma once

#include "onnx/format/proto.h"

namespace dycl::backends::openvino {

void legalize(onnx::Graph& graph);

}  // namespace dycl::backends::openvino
