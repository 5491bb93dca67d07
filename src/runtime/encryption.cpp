// SPDX-License-Identifier: Apache-2.0
#include "runtime/encryption.h"

#include <sodium.h>

#include <cstring>

#include "runtime/container.h"

namespace dycl::runtime {
namespace {

static_assert(sizeof(KeyBytes) == crypto_aead_xchacha20poly1305_ietf_KEYBYTES);
static_assert(sizeof(EncryptedHeader::nonce) == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES);
static_assert(kEncryptionProof == crypto_aead_xchacha20poly1305_ietf_ABYTES);

Error refused(std::string message, std::string help) {
  return {ErrorKind::InvalidPackage, std::move(message), std::move(help), {}, {}};
}

// A key that is wiped when it is not needed any more.
struct SecretKey {
  KeyBytes bytes;
  explicit SecretKey(const KeyBytes& of) : bytes(of) {}
  SecretKey(const SecretKey&) = delete;
  SecretKey& operator=(const SecretKey&) = delete;
  ~SecretKey() { sodium_memzero(bytes.data(), bytes.size()); }

  KeyBytes name() const {
    constexpr std::string_view kWhat = "name of a key of DyCL packages";
    KeyBytes name{};
    crypto_generichash(name.data(), name.size(), reinterpret_cast<const unsigned char*>(kWhat.data()), kWhat.size(),
                       bytes.data(), bytes.size());
    return name;
  }
};

const unsigned char* bytes_of(const EncryptedHeader& header) { return reinterpret_cast<const unsigned char*>(&header); }

}  // namespace

bool is_encrypted(std::span<const std::uint8_t> file) {
  return file.size() >= kEncryptedMagic.size() &&
         std::memcmp(file.data(), kEncryptedMagic.data(), kEncryptedMagic.size()) == 0;
}

Error no_key_for_encrypted() {
  return refused("the package is encrypted, and no key is given",
                 "give its decryption_key, or --decryption-key; where there is none: `dycl decrypt` first");
}

std::string new_encryption_key() {
  KeyBytes key;
  randombytes_buf(key.data(), key.size());
  std::string text = text_of_key(kEncryptionKey, key);
  sodium_memzero(key.data(), key.size());
  return text;
}

Result<std::vector<std::uint8_t>> encrypted_file(std::span<const std::uint8_t> file, const std::string& key) {
  DYCL_TRY(start_sodium());
  DYCL_ASSIGN(const KeyBytes given, read_key(kEncryptionKey, key));
  const SecretKey secret(given);
  if (is_encrypted(file)) return refused("the package is encrypted already", "`dycl decrypt` it first");
  if (!has_table(file)) return damaged("section table", "the file ends inside it");
  EncryptedHeader header{kEncryptedMagic, secret.name(), {}};
  randombytes_buf(header.nonce.data(), header.nonce.size());
  std::vector<std::uint8_t> bytes(sizeof header + file.size() + kEncryptionProof);
  std::memcpy(bytes.data(), &header, sizeof header);
  crypto_aead_xchacha20poly1305_ietf_encrypt(bytes.data() + sizeof header, nullptr, file.data(), file.size(),
                                             bytes_of(header), sizeof header, nullptr, header.nonce.data(),
                                             secret.bytes.data());
  return bytes;
}

Result<std::size_t> decrypt_in_place(std::span<std::uint8_t> file, const DecryptionKey& key) {
  DYCL_TRY(start_sodium());
  if (!is_encrypted(file))
    return refused("the package is not encrypted, and a key is given", "leave the key away if that is as it should be");
  EncryptedHeader header;
  if (file.size() < sizeof header + kEncryptionProof) return damaged("header", "the file ends inside it");
  std::memcpy(&header, file.data(), sizeof header);
  DYCL_ASSIGN(std::string text, key(hex_of(header.key_name)));
  const auto given = read_key(kEncryptionKey, text);
  sodium_memzero(text.data(), text.size());
  if (!given) return given.error();
  const SecretKey secret(*given);
  const KeyBytes name = secret.name();
  if (sodium_memcmp(name.data(), header.key_name.data(), name.size()) != 0)
    return refused("the package is encrypted with another key, " + hex_of(header.key_name),
                   "the key given has the name " + hex_of(name));
  const auto sealed = file.subspan(sizeof header);
  if (crypto_aead_xchacha20poly1305_ietf_decrypt(sealed.data(), nullptr, nullptr, sealed.data(), sealed.size(),
                                                 bytes_of(header), sizeof header, header.nonce.data(),
                                                 secret.bytes.data()) != 0)
    return refused("the package was changed after it was encrypted, or is damaged", "get it from its maker again");
  const std::size_t size = sealed.size() - kEncryptionProof;
  std::memmove(file.data(), sealed.data(), size);
  return size;
}

}  // namespace dycl::runtime
