// SPDX-License-Identifier: Apache-2.0
// A compiled program in other forms: what `dycl emit` and the Python binding call.
#pragma once

#include <filesystem>
#include <string>

#include "emit/onnx/writer.h"
#include "ir/program.h"
#include "support/result.h"

namespace dycl::emit {

// The package's program as one ONNX model. Where the engine folded weights, their sub-DNNs are written as the
// engine optimised them: with its own operators only if `engine_ops`, and then a notice says so; else refused.
Result<OnnxReport> emit_onnx(const std::filesystem::path& package, const std::filesystem::path& model,
                             bool engine_ops);

// The same for a program that was not compiled yet: passes run first.
Result<OnnxReport> emit_onnx(ir::Program program, const std::filesystem::path& model);

// The package's host program as a C++ project in `folder`; see emit/cpp/writer.h. `name` may be empty: the
// package's own.
Result<void> emit_cpp(const std::filesystem::path& package, const std::string& name,
                      const std::filesystem::path& folder, bool watch = false);

}  // namespace dycl::emit
