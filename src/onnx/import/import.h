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
#include <string>
#include <vector>

#include "ir/program.h"
#include "support/result.h"

namespace dycl::onnx {

struct ImportOptions {
  std::vector<std::string> overridable;  // inputs with a default value that callers may give; the others are constants
};

// Reads a whole ONNX file: one function, `main`, with If, Loop and Scan as blocks.
// An overridable input is an optional of the program, after the others; its default stands where it is none.
// Opsets 1 to 26; older forms of operators are rewritten where that is exact. Weights stored outside are mapped
// from `base_dir`, and only from below it.
Result<ir::Program> import_model(const ir::Bytes& message, const std::filesystem::path& base_dir,
                                const ImportOptions& options = {});

// The same, from a file: maps it and resolves external data beside it.
Result<ir::Program> import_file(const std::filesystem::path& path, const ImportOptions& options = {});

}  // namespace dycl::onnx
