// SPDX-License-Identifier: Apache-2.0
// ONNX -> IR. Both functions take untrusted bytes; what DyCL cannot represent is
// refused with the node's name, nothing is approximated.
//
// Initializers and Constant nodes become `const` (up to kMaxLiteralBytes) or named
// weights. Names that the text form cannot spell are changed to ones it can. A
// result's type is the one the graph states for it, else a tensor of the dtype
// that the operator gives, of unknown rank.
#pragma once

#include <filesystem>

#include "ir/program.h"
#include "support/result.h"

namespace dycl::onnx {

// Reads a whole ONNX file: one function, `main`, with If, Loop and Scan as blocks.
// Opsets 1 to 26; older forms of operators are rewritten where that is exact. Weights stored outside are mapped
// from `base_dir`, and only from below it.
Result<ir::Program> import_model(const ir::Bytes& message, const std::filesystem::path& base_dir);

// The same, from a file: maps it and resolves external data beside it.
Result<ir::Program> import_file(const std::filesystem::path& path);

}  // namespace dycl::onnx
