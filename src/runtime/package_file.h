// SPDX-License-Identifier: Apache-2.0
// A package's file as its reader may use it: mapped or, where it is encrypted or has to be signed, a copy in memory
// that nobody can change, decrypted first and then checked. Nothing in it is parsed before.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/container.h"
#include "runtime/encryption.h"

namespace dycl::runtime {

struct PackageKeys {
  std::optional<std::vector<std::string>> signers;  // one of them must have signed it (signature.h)
  DecryptionKey decryption;                         // none: it must not be encrypted

  bool any() const { return signers.has_value() || decryption != nullptr; }
};

Result<MappedFile> open_package_file(const std::filesystem::path& path, const PackageKeys& keys);
// The same of a package in memory.
Result<MappedFile> open_package_file(std::span<const std::uint8_t> package, const PackageKeys& keys);

}  // namespace dycl::runtime
