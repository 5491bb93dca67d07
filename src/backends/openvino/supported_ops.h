// SPDX-License-Identifier: Apache-2.0
// Which sub-DNNs OpenVINO computes as the reference does. Its CPU engine narrows int64 to int32
// and f64 to f32, reads outside a tensor for an index out of range, saturates
// casts and small integers, and orders equal elements of TopK as it likes: none of
// that is an error there, so such ops are refused here and go to another engine. What it computes
// differently for NaN alone is taken where legalize.h can write it in other ops.
//
// Taken: f32 and bool tensors, with integer constants (shapes, axes, indices) and
// indices as results (ArgMax, Shape). An op that is not in the table is refused.
#pragma once

#include <vector>

#include "backends/backend.h"
#include "ir/program.h"

namespace dycl::backends::openvino {

std::vector<Refusal> refusals(const ir::Program& program, const ir::Function& sub_dnn);

}  // namespace dycl::backends::openvino
