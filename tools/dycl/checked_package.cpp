// SPDX-License-Identifier: Apache-2.0
#include "checked_package.h"

namespace dycl::tools {

Result<CheckedPackage> CheckedPackage::open(const std::filesystem::path& path, const std::vector<std::string>& signers,
                                            const std::string& decryption_key) {
  runtime::PackageKeys keys = {std::nullopt, decryption_by(decryption_key)};
  if (!signers.empty()) keys.signers = signers;
  if (!keys.any()) return CheckedPackage(path, std::nullopt);
  auto copy = runtime::open_package_file(path, keys);
  if (!copy) {
    Error error = std::move(copy).error();
    if (error.kind == ErrorKind::InvalidPackage) error.message = path.string() + ": " + error.message;
    return error;
  }
  const std::filesystem::path copied = copy->path();
  return CheckedPackage(copied, std::move(*copy));
}

runtime::DecryptionKey decryption_by(const std::string& key) {
  if (key.empty()) return nullptr;
  return [key](const std::string&) -> Result<std::string> { return key; };
}

void add_decryption_option(CLI::App& command, std::string& key) {
  command.add_option("--decryption-key", key, "The package is encrypted: the key's file, or its text");
}

CLI::Option* add_signature_option(CLI::App& command, std::vector<std::string>& keys) {
  return command
      .add_option("--require-signature", keys,
                  "The package must be signed by this public key (its file, or its text); may be repeated")
      ->allow_extra_args(false);
}

}  // namespace dycl::tools
