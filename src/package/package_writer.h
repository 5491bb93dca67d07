// SPDX-License-Identifier: Apache-2.0
// Writes a package (.dycl): lowers an outlined program to an execution plan and
// puts plan, artifacts, weights, metadata and debug information into one file.
// docs/package_format.md specifies the bytes; src/runtime reads them.
//
// The program must be outlined: `main` holds host ops and calls of sub-DNN
// functions only, and each function that is called has at least one artifact. Only weights
// that main, a state or an artifact names are stored. The file appears under its
// name complete or not at all (temporary file, fsync, rename), and is loaded back
// and validated before it gets its name.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backends/artifact.h"
#include "ir/program.h"
#include "support/result.h"

namespace dycl::package {

struct PackageOptions {
  std::string producer = "dycl";  // what made the package, with its version

  // Whether to store the strippable section: IR text, names, source spans and lines.
  bool debug_info = true;

  // The program's text form, printed by the caller (usually before outlining);
  // stored in the debug section. Empty: none.
  std::string ir_text;

  // Source text by file name (Program::sources). Lines that spans name are stored
  // in the debug section, so that run-time errors can show them.
  std::map<std::string, std::string> source_texts;

  // Sees the whole package before it gets its name; an error of its own ends the writing.
  std::function<Result<void>(const std::filesystem::path&)> check;
};

Result<void> write_package(const ir::Program& outlined, const std::vector<backends::SubDnnArtifacts>& artifacts,
                           const PackageOptions& options, const std::filesystem::path& path);

// Copies a package as it is, written like any other: complete or not at all, and checked before it gets its name.
Result<void> copy_package(const std::filesystem::path& from, const std::filesystem::path& to);

// The same with a signature by `secret_key` (runtime/signature.h), in place of the one it may have.
Result<void> sign_package(const std::filesystem::path& from, const std::filesystem::path& to,
                          const std::string& secret_key);

// The same encrypted, and decrypted again, with `key` (runtime/encryption.h).
Result<void> encrypt_package(const std::filesystem::path& from, const std::filesystem::path& to,
                             const std::string& key);
Result<void> decrypt_package(const std::filesystem::path& from, const std::filesystem::path& to,
                             const std::string& key);

// Copies a package without its debug section, and without its signature.
Result<void> strip_package(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace dycl::package
