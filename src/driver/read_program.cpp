// SPDX-License-Identifier: Apache-2.0
#include "driver/read_program.h"

#include <algorithm>

#include "driver/weights_file.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "onnx/import/import.h"
#include "support/files.h"

namespace dycl::driver {
namespace {

bool has_missing_weights(const ir::Program& program) {
  return std::any_of(program.weights.begin(), program.weights.end(),
                     [](const auto& entry) { return !entry.second.bytes.data; });
}

Result<void> find_weights(ir::Program& program, const std::filesystem::path& path, const ReadOptions& options) {
  if (!has_missing_weights(program)) return {};
  const auto file = options.weights.value_or(weights_path(path));
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored)) return attach_weights(program, file);
  if (!options.need_weights && !options.weights) return {};
  return Error{ErrorKind::Missing,
               "the weights of " + path.string() + " are not there: no file " + file.string(),
               "name the file with --weights",
               {},
               {}};
}

// On the text itself if the error points into it, else with the source's name.
std::string draw(const Error& error, const ir::Program& program, const std::string& text,
                 const std::filesystem::path& path) {
  const auto& sources = program.sources;
  const bool here = error.span.known() && error.span.file < sources.size() && sources[error.span.file] == path.string();
  return here ? ir::draw_error(error, text, path.string()) : render(error, sources);
}

// Everything wrong with a text that parses, drawn on its lines.
Error drawn_errors(const std::string& text, const std::filesystem::path& path) {
  const auto program = ir::parse(text, path.string(), {.spans_from_text = true});
  DYCL_CHECK(program.ok(), "a text that parsed does not parse again");
  const std::vector<Error> errors = ir::verify(*program);
  DYCL_CHECK(!errors.empty(), "spans changed what the verifier says");
  std::string drawn;
  for (const Error& error : errors) drawn += (drawn.empty() ? "" : "\n") + draw(error, *program, text, path);
  return {errors.front().kind, drawn, {}, {}, {}};
}

Result<ir::Program> read_dyir(const std::filesystem::path& path, const ReadOptions& options) {
  DYCL_ASSIGN(const std::string text, read_text(path));
  DYCL_ASSIGN(ir::Program program, ir::parse(text, path.string(), {.spans_from_text = options.spans_from_text}));
  if (!ir::verify(program).empty()) return drawn_errors(text, path);
  DYCL_TRY(find_weights(program, path, options));
  return program;
}

}  // namespace

Result<ir::Program> read_program(const std::filesystem::path& path, const ReadOptions& options) {
  if (path.extension() == ".dyir") return read_dyir(path, options);
  if (path.extension() == ".onnx") {
    DYCL_ASSIGN(ir::Program program, onnx::import_file(path, {options.overridable}));
    if (const auto errors = ir::verify(program); !errors.empty()) return errors.front();
    return program;
  }
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return Error{ErrorKind::Missing, "no file " + path.string(), {}, {}, {}};
  return Error{ErrorKind::Unsupported, path.string() + " is neither .dyir nor .onnx", {}, {}, {}};
}

Result<void> write_program(const ir::Program& program, const std::filesystem::path& path) {
  DYCL_TRY(write_text(ir::print(program, {.spans = true}), path));
  if (program.weights.empty() || has_missing_weights(program)) return {};
  return write_weights(program, weights_path(path));
}

Result<std::string> read_text(const std::filesystem::path& path) {
  DYCL_ASSIGN(const auto bytes, read_file(path, {ErrorKind::InvalidModel, ErrorKind::Missing}));
  return std::string(bytes.begin(), bytes.end());
}

Result<void> write_text(const std::string& text, const std::filesystem::path& path) {
  return write_file(path, text);
}

std::string render(const Error& error, const std::vector<std::string>& sources) {
  std::string text;
  if (error.span.known()) {
    if (error.span.file < sources.size()) text += sources[error.span.file] + ":";
    text += std::to_string(error.span.line) + ":" + std::to_string(error.span.column) + ": error: ";
  } else if (error.message.find(": error: ") == std::string::npos) {
    text += "error: ";
  }
  text += error.message;
  if (!error.help.empty()) text += "\n  help: " + error.help;
  return text;
}

}  // namespace dycl::driver
