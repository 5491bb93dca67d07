// SPDX-License-Identifier: Apache-2.0
// Maps files. A path from inside a model must stay below the model's folder, after links
// are resolved.
#pragma once

#include <filesystem>
#include <string>

#include "onnx/format/proto.h"
#include "support/result.h"

namespace dycl::onnx {

// Maps the bytes of every tensor that the model stores in other files: initializers and attributes, of bodies and
// functions, too. Their paths must stay below `base_dir`. Afterwards no tensor is external.
Result<void> map_external(Model& model, const std::filesystem::path& base_dir);
// The part of a file that `tensor.external` names.
Result<ir::Bytes> slice_external(const Tensor& tensor, const ir::Bytes& file, const std::string& file_name);
Result<ir::Bytes> map_file(const std::filesystem::path& path);

}  // namespace dycl::onnx
