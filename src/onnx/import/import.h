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
#include <map>
#include <string>

#include "ir/program.h"
#include "support/result.h"

namespace dycl::onnx {

// Reads a whole ONNX file: one function, `main`, with If, Loop and Scan as blocks.
// Opsets 13 to 23; older forms of operators are rewritten where that is exact. Weights stored outside are mapped
// from `base_dir`, and only from below it.
Result<ir::Program> import_model(const ir::Bytes& message, const std::filesystem::path& base_dir);

// The same, from a file: maps it and resolves external data beside it.
Result<ir::Program> import_file(const std::filesystem::path& path);

// Appends the nodes of a GraphProto (opset 23, straight line, in execution order) to
// `block` of `function`. `inputs` gives a value for each graph input by name; the
// graph's outputs come back by name. A node may carry its place in the user's source as
// metadata "dycl.span" = "file:line:column-line:column". On an error the block
// may hold some of the ops: discard the function.
Result<std::map<std::string, ir::ValueId>> append_nodes(ir::Program& program, ir::Function& function, ir::BlockId block,
                                                        const ir::Bytes& graph,
                                                        const std::map<std::string, ir::ValueId>& inputs);

}  // namespace dycl::onnx
