// SPDX-License-Identifier: Apache-2.0
// Programs from files: IR text (.dyir) with its weights beside it, or an ONNX model.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"
#include "support/result.h"

namespace dycl::driver {

struct ReadOptions {
  std::optional<std::filesystem::path> weights;  // of a .dyir; default: weights_path, if there
  bool spans_from_text = true;  // give ops of a .dyir that have no source line their place in the .dyir itself
  bool need_weights = true;     // a declared weight without bytes is an error; false suffices to print or rewrite IR
  std::vector<std::string> overridable = {};  // of an .onnx: inputs with a default value that callers may give
};

// By extension: .dyir or .onnx. The program is verified. Errors in IR text come
// with the guilty lines drawn into their message.
Result<ir::Program> read_program(const std::filesystem::path& path, const ReadOptions& options = {});

// Writes IR text to `path` and, if the program has weights with bytes, weights_path(path) beside it.
Result<void> write_program(const ir::Program& program, const std::filesystem::path& path);

Result<std::string> read_text(const std::filesystem::path& path);
Result<void> write_text(const std::string& text, const std::filesystem::path& path);

// `error` for people: "model.py:3:5: error: ..." and the help.
std::string render(const Error& error, const std::vector<std::string>& sources = {});

}  // namespace dycl::driver
