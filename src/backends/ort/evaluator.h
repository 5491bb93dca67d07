// SPDX-License-Identifier: Apache-2.0
// Tensor ops of the reference interpreter, computed by ONNX Runtime with every
// optimisation off: any op it knows, one at a time, on one thread. A session is kept
// for each op with its attributes, dtypes and ranks. One thread at a time.
#pragma once

#include <memory>

#include "ir/tensor_evaluator.h"

namespace dycl::backends::ort {

Result<std::unique_ptr<ir::TensorEvaluator>> make_evaluator();

}  // namespace dycl::backends::ort
