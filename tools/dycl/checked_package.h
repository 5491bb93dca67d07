// SPDX-License-Identifier: Apache-2.0
// The package that a command reads: the file itself or, where it is encrypted or a signature is required, a copy in
// memory that was decrypted and checked, so that what is read is what was checked however often it is opened.
#pragma once

#include <CLI/CLI.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/package_file.h"

namespace dycl::tools {

class CheckedPackage {
 public:
  // Without keys: the file as it is.
  static Result<CheckedPackage> open(const std::filesystem::path& path, const std::vector<std::string>& signers,
                                     const std::string& decryption_key = {});

  const std::filesystem::path& path() const { return path_; }

 private:
  CheckedPackage(std::filesystem::path path, std::optional<runtime::MappedFile> copy)
      : path_(std::move(path)), copy_(std::move(copy)) {}

  std::filesystem::path path_;
  std::optional<runtime::MappedFile> copy_;
};

// --require-signature and --decryption-key
CLI::Option* add_signature_option(CLI::App& command, std::vector<std::string>& keys);
void add_decryption_option(CLI::App& command, std::string& key);

// Gives this key, whichever is asked for; none without one.
runtime::DecryptionKey decryption_by(const std::string& key);

}  // namespace dycl::tools
