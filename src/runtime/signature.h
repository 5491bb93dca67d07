// SPDX-License-Identifier: Apache-2.0
// Signed packages (docs/trust.md): ed25519 over the whole file. The signature is the file's last 64 bytes, the signer's
// public key and a magic number lie before it, and all bytes but the signature itself are signed; header and table of
// sections do not know of it. Keys are texts, "dycl-public-key:" or "dycl-secret-key:" and 64 hexadecimal digits.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/result.h"

namespace dycl::runtime {

using PublicKey = std::array<std::uint8_t, 32>;

struct SignatureTrailer {
  std::array<std::uint8_t, 8> magic;
  PublicKey key;
  std::array<std::uint8_t, 64> signature;
};
static_assert(sizeof(SignatureTrailer) == 104);
inline constexpr std::array<std::uint8_t, 8> kSignatureMagic = {'D', 'Y', 'C', 'L', 'S', 'I', 'G', '1'};

bool is_signed(std::span<const std::uint8_t> file);

// Whether one of these signed the file as it is. A key is its text or the name of the file that holds it.
Result<void> check_signature(std::span<const std::uint8_t> file, const std::vector<std::string>& trusted);

struct KeyPair {
  std::string public_key, secret_key;  // texts
};
Result<KeyPair> new_key_pair();

// The file with a signature, in place of the one it may have. `secret_key`: its text or its file's name.
Result<std::vector<std::uint8_t>> signed_file(std::span<const std::uint8_t> file, const std::string& secret_key);

}  // namespace dycl::runtime
