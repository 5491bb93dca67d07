// SPDX-License-Identifier: Apache-2.0
#include "runtime/key_text.h"

#include <sodium.h>
#include <unistd.h>

#include <cstring>

#include "support/files.h"

namespace dycl::runtime {

Result<void> start_sodium() {
  if (sodium_init() < 0) return Error{ErrorKind::Missing, "libsodium cannot be initialised", {}, {}, {}};
  return {};
}

std::string hex_of(std::span<const std::uint8_t> bytes) {
  std::string hex(2 * bytes.size() + 1, '\0');
  sodium_bin2hex(hex.data(), hex.size(), bytes.data(), bytes.size());
  hex.pop_back();
  return hex;
}

std::string text_of_key(const char* kind, std::span<const std::uint8_t> bytes) { return kind + hex_of(bytes); }

Result<KeyBytes> read_key(const char* kind, const std::string& given) {
  const auto wrong = [&](const std::string& what) {
    return Error{
        ErrorKind::InvalidInput,
        what,
        "a key is a text that begins with " + std::string(kind) + ", or the file that `dycl keygen` wrote it to",
        {},
        {}};
  };
  std::string text = given;
  if (!given.starts_with(kind)) {
    constexpr std::size_t kLongest = 1024;
    DYCL_ASSIGN(const OpenFile file, open_regular_file(given, {ErrorKind::InvalidInput, ErrorKind::Missing}));
    text.resize(kLongest);
    const ssize_t size = ::read(file.descriptor.number(), text.data(), kLongest);
    if (size <= 0) return Error{ErrorKind::Missing, "cannot read the key file " + given, {}, {}, {}};
    text.resize(static_cast<std::size_t>(size));
    if (!text.starts_with(kind)) return wrong(given + " holds no key of this kind");
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  KeyBytes bytes{};
  std::size_t size = 0;
  const char* end = nullptr;
  const char* hex = text.c_str() + std::strlen(kind);
  const std::size_t length = std::strlen(hex);
  const bool read =
      length == 2 * bytes.size() && sodium_hex2bin(bytes.data(), bytes.size(), hex, length, nullptr, &size, &end) == 0;
  sodium_memzero(text.data(), text.size());
  if (!read || size != bytes.size()) return wrong("a key of 64 hexadecimal digits is expected");
  return bytes;
}

}  // namespace dycl::runtime
