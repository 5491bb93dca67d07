// SPDX-License-Identifier: Apache-2.0
// Encrypted packages (docs/trust.md): XChaCha20-Poly1305 over the whole file, signature and all. The file is a header,
// what the package became, and 16 bytes that prove that whoever wrote header and package had the key. They are checked
// before a byte of the package is seen by anybody.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/key_text.h"
#include "support/result.h"

namespace dycl::runtime {

inline constexpr std::array<std::uint8_t, 8> kEncryptedMagic = {0x89, 'D', 'Y', 'C', 'L', 'E', 'N', '1'};

struct EncryptedHeader {
  std::array<std::uint8_t, 8> magic;
  // A keyed hash: tells a wrong key from damage, asks for the right one, and binds the file to one key, which the
  // cipher does not.
  KeyBytes key_name;
  std::array<std::uint8_t, 24> nonce;  // random
};
static_assert(sizeof(EncryptedHeader) == 64);
inline constexpr std::size_t kEncryptionProof = 16;

// The key's text, or the file that holds it, for the name of a key: 64 hexadecimal digits.
using DecryptionKey = std::function<Result<std::string>(const std::string& name)>;

bool is_encrypted(std::span<const std::uint8_t> file);
Error no_key_for_encrypted();  // of a reader that was given none

std::string new_encryption_key();  // its text; after start_sodium
Result<std::vector<std::uint8_t>> encrypted_file(std::span<const std::uint8_t> file, const std::string& key);

// `file` becomes the package that it holds: its first bytes, as many as are returned. A file that is not encrypted is
// refused: who gives a key expects that only those who have it wrote the file.
Result<std::size_t> decrypt_in_place(std::span<std::uint8_t> file, const DecryptionKey& key);

}  // namespace dycl::runtime
