// SPDX-License-Identifier: Apache-2.0
#include "runtime/package_file.h"

#include "runtime/signature.h"

namespace dycl::runtime {
namespace {

MappedFile::Change decrypted_by(const PackageKeys& keys) {
  if (!keys.decryption) return nullptr;
  return [&](std::span<std::uint8_t> file) { return decrypt_in_place(file, keys.decryption); };
}

Result<MappedFile> checked(Result<MappedFile> file, const PackageKeys& keys) {
  if (file && keys.signers) DYCL_TRY(check_signature(file->bytes(), *keys.signers));
  return file;
}

}  // namespace

Result<MappedFile> open_package_file(const std::filesystem::path& path, const PackageKeys& keys) {
  if (!keys.any()) return MappedFile::open(path);
  return checked(MappedFile::read(path, decrypted_by(keys)), keys);
}

Result<MappedFile> open_package_file(std::span<const std::uint8_t> package, const PackageKeys& keys) {
  return checked(MappedFile::copy_of(package, decrypted_by(keys)), keys);
}

}  // namespace dycl::runtime
