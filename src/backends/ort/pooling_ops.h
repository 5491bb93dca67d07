// SPDX-License-Identifier: Apache-2.0
// Max pooling by kernels of our own (backends/kernels/dense/pooling.h): ONNX Runtime's lose a NaN and give the lowest
// number for windows of -inf. The ops MaxPool and BlockedMaxPool (in ONNX Runtime's blocked layout) of the domain
// "dycl.pool" take the place of its nodes when a model is loaded: packages hold plain ONNX. The second result, if there
// is one, is each maximum's position in the whole operand: of several equal ones the first, of several NaNs the last,
// as in PyTorch.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backends/ort/custom_ops.h"

namespace dycl::backends::ort {

// The model with pooling ops of ours, or nothing if it has no node to replace. `block`: channels of a block in the
// blocked layout.
std::optional<std::string> with_pooling_ops(const void* bytes, std::size_t size, int block);

Result<std::unique_ptr<CustomOps>> make_pooling_ops(const OrtApi& api, int threads, int block);

}  // namespace dycl::backends::ort
