// SPDX-License-Identifier: Apache-2.0
#include "runtime/signature.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "runtime/container.h"
#include "runtime/encryption.h"
#include "runtime/key_text.h"

namespace dycl::runtime {
namespace {

static_assert(sizeof(PublicKey) == crypto_sign_PUBLICKEYBYTES && crypto_sign_SEEDBYTES == 32);
static_assert(crypto_sign_BYTES == 64);

using Seed = std::array<std::uint8_t, crypto_sign_SEEDBYTES>;

Error refused(std::string message, std::string help) {
  return {ErrorKind::InvalidPackage, std::move(message), std::move(help), {}, {}};
}

std::optional<SignatureTrailer> trailer_of(std::span<const std::uint8_t> file) {
  SignatureTrailer trailer;
  if (file.size() < sizeof(FileHeader) + sizeof trailer) return std::nullopt;
  std::memcpy(&trailer, file.data() + file.size() - sizeof trailer, sizeof trailer);
  if (trailer.magic != kSignatureMagic) return std::nullopt;
  return trailer;
}

}  // namespace

bool is_signed(std::span<const std::uint8_t> file) { return trailer_of(file).has_value(); }

Result<void> check_signature(std::span<const std::uint8_t> file, const std::vector<std::string>& trusted) {
  DYCL_TRY(start_sodium());
  if (trusted.empty())
    return Error{ErrorKind::InvalidInput, "a signature is required, and no key is named", "name one", {}, {}};
  std::vector<PublicKey> keys;
  for (const std::string& text : trusted) {
    DYCL_ASSIGN(const PublicKey key, read_key(kPublicKey, text));
    keys.push_back(key);
  }
  if (is_encrypted(file)) return no_key_for_encrypted();
  const auto trailer = trailer_of(file);
  if (!trailer) return refused("the package is not signed, and a signature is required", "`dycl sign` signs it");
  if (std::find(keys.begin(), keys.end(), trailer->key) == keys.end())
    return refused("the package is signed by " + text_of_key(kPublicKey, trailer->key) + ", which is not trusted",
                   "if it should be, add that key");
  if (crypto_sign_verify_detached(trailer->signature.data(), file.data(), file.size() - trailer->signature.size(),
                                  trailer->key.data()) != 0)
    return refused("the package was changed after it was signed", "get it from its maker again");
  return {};
}

Result<KeyPair> new_key_pair() {
  DYCL_TRY(start_sodium());
  Seed seed;
  randombytes_buf(seed.data(), seed.size());
  PublicKey key;
  std::array<std::uint8_t, crypto_sign_SECRETKEYBYTES> secret{};
  crypto_sign_seed_keypair(key.data(), secret.data(), seed.data());
  KeyPair pair{text_of_key(kPublicKey, key), text_of_key(kSecretKey, seed)};
  sodium_memzero(seed.data(), seed.size());
  sodium_memzero(secret.data(), secret.size());
  return pair;
}

Result<std::vector<std::uint8_t>> signed_file(std::span<const std::uint8_t> file, const std::string& secret_key) {
  DYCL_TRY(start_sodium());
  DYCL_ASSIGN(Seed seed, read_key(kSecretKey, secret_key));
  if (is_signed(file)) file = file.first(file.size() - sizeof(SignatureTrailer));
  if (is_encrypted(file)) return no_key_for_encrypted();
  if (!has_table(file)) return damaged("section table", "the file ends inside it");
  std::vector<std::uint8_t> bytes(file.begin(), file.end());
  bytes.resize(bytes.size() + sizeof(SignatureTrailer));
  set_file_size(bytes);
  SignatureTrailer trailer{kSignatureMagic, {}, {}};
  std::array<std::uint8_t, crypto_sign_SECRETKEYBYTES> secret{};
  crypto_sign_seed_keypair(trailer.key.data(), secret.data(), seed.data());
  std::uint8_t* place = bytes.data() + bytes.size() - sizeof trailer;
  std::memcpy(place, &trailer, sizeof trailer);
  crypto_sign_detached(place + offsetof(SignatureTrailer, signature), nullptr, bytes.data(),
                       bytes.size() - trailer.signature.size(), secret.data());
  sodium_memzero(seed.data(), seed.size());
  sodium_memzero(secret.data(), secret.size());
  return bytes;
}

}  // namespace dycl::runtime
