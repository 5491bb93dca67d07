// SPDX-License-Identifier: Apache-2.0
// Keys of packages (docs/trust.md): a text, the key's kind and 64 hexadecimal digits, or the file that holds it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "support/result.h"

namespace dycl::runtime {

inline constexpr const char* kPublicKey = "dycl-public-key:";
inline constexpr const char* kSecretKey = "dycl-secret-key:";
inline constexpr const char* kEncryptionKey = "dycl-encryption-key:";

using KeyBytes = std::array<std::uint8_t, 32>;

Result<void> start_sodium();  // before any other call of libsodium

std::string text_of_key(const char* kind, std::span<const std::uint8_t> bytes);

// A key of this kind, given as its text or as a file's name. The caller wipes what is secret.
Result<KeyBytes> read_key(const char* kind, const std::string& given);

std::string hex_of(std::span<const std::uint8_t> bytes);

}  // namespace dycl::runtime
