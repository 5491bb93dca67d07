// SPDX-License-Identifier: Apache-2.0
#include "checked_package.h"

#include "runtime/signature.h"

namespace dycl::tools {

Result<CheckedPackage> CheckedPackage::open(const std::filesystem::path& path, const std::vector<std::string>& keys) {
  if (keys.empty()) return CheckedPackage(path, std::nullopt);
  DYCL_ASSIGN(runtime::MappedFile copy, runtime::MappedFile::read(path));
  if (auto checked = runtime::check_signature(copy.bytes(), keys); !checked) {
    Error error = std::move(checked).error();
    error.message = path.string() + ": " + error.message;
    return error;
  }
  const std::filesystem::path copied = copy.path();
  return CheckedPackage(copied, std::move(copy));
}

CLI::Option* add_signature_option(CLI::App& command, std::vector<std::string>& keys) {
  return command
      .add_option("--require-signature", keys,
                  "The package must be signed by this public key (its file, or its text); may be repeated")
      ->allow_extra_args(false);
}

}  // namespace dycl::tools
