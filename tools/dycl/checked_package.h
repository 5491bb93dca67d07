// SPDX-License-Identifier: Apache-2.0
// The package that a command reads: the file itself or, where a signature is required, a copy in memory of which the
// signature was checked, so that what is read is what was checked however often it is opened.
#pragma once

#include <CLI/CLI.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/container.h"

namespace dycl::tools {

class CheckedPackage {
 public:
  // Without keys: the file as it is.
  static Result<CheckedPackage> open(const std::filesystem::path& path, const std::vector<std::string>& keys);

  const std::filesystem::path& path() const { return path_; }

 private:
  CheckedPackage(std::filesystem::path path, std::optional<runtime::MappedFile> copy)
      : path_(std::move(path)), copy_(std::move(copy)) {}

  std::filesystem::path path_;
  std::optional<runtime::MappedFile> copy_;
};

// --require-signature
CLI::Option* add_signature_option(CLI::App& command, std::vector<std::string>& keys);

}  // namespace dycl::tools
