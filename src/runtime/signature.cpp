// SPDX-License-Identifier: Apache-2.0
#include "runtime/signature.h"

#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "runtime/container.h"
#include "support/files.h"

namespace dycl::runtime {
namespace {

constexpr const char* kPublic = "dycl-public-key:";
constexpr const char* kSecret = "dycl-secret-key:";
static_assert(sizeof(PublicKey) == crypto_sign_PUBLICKEYBYTES && crypto_sign_SEEDBYTES == 32);
static_assert(crypto_sign_BYTES == 64);

using Seed = std::array<std::uint8_t, crypto_sign_SEEDBYTES>;

Result<void> start_sodium() {
  if (sodium_init() < 0) return Error{ErrorKind::Missing, "libsodium cannot be initialised", {}, {}, {}};
  return {};
}

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

std::string text_of(const char* kind, std::span<const std::uint8_t> bytes) {
  std::string hex(2 * bytes.size() + 1, '\0');
  sodium_bin2hex(hex.data(), hex.size(), bytes.data(), bytes.size());
  hex.pop_back();
  return kind + hex;
}

// The 32 bytes of a key of this kind, given as its text or as a file's name.
Result<std::array<std::uint8_t, 32>> key_of(const char* kind, const std::string& given) {
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
  std::array<std::uint8_t, 32> bytes{};
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

}  // namespace

bool is_signed(std::span<const std::uint8_t> file) { return trailer_of(file).has_value(); }

Result<void> check_signature(std::span<const std::uint8_t> file, const std::vector<std::string>& trusted) {
  DYCL_TRY(start_sodium());
  if (trusted.empty())
    return Error{ErrorKind::InvalidInput, "a signature is required, and no key is named", "name one", {}, {}};
  std::vector<PublicKey> keys;
  for (const std::string& text : trusted) {
    DYCL_ASSIGN(const PublicKey key, key_of(kPublic, text));
    keys.push_back(key);
  }
  const auto trailer = trailer_of(file);
  if (!trailer) return refused("the package is not signed, and a signature is required", "`dycl sign` signs it");
  if (std::find(keys.begin(), keys.end(), trailer->key) == keys.end())
    return refused("the package is signed by " + text_of(kPublic, trailer->key) + ", which is not trusted",
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
  KeyPair pair{text_of(kPublic, key), text_of(kSecret, seed)};
  sodium_memzero(seed.data(), seed.size());
  sodium_memzero(secret.data(), secret.size());
  return pair;
}

Result<std::vector<std::uint8_t>> signed_file(std::span<const std::uint8_t> file, const std::string& secret_key) {
  DYCL_TRY(start_sodium());
  DYCL_ASSIGN(Seed seed, key_of(kSecret, secret_key));
  if (is_signed(file)) file = file.first(file.size() - sizeof(SignatureTrailer));
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
