// SPDX-License-Identifier: Apache-2.0
// An emitted model becomes a file. What no node reads is dropped; weights of more than 1 GiB together lie in a second
// file beside it, since a protobuf message ends at 2 GiB.
#pragma once

#include <filesystem>

#include "onnx/format/proto.h"
#include "support/result.h"

namespace dycl::emit {

// Drops initializers that nobody reads; `model` names the second file where there is one ("model.onnx.data").
Result<void> save_model(onnx::Model& model, const std::filesystem::path& path);

}  // namespace dycl::emit
