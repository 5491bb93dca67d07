// SPDX-License-Identifier: Apache-2.0
// dycl keygen, sign, check-signature, encrypt and decrypt: packages that can be known to come from somebody, and that
// not everybody can read (docs/trust.md).
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "checked_package.h"
#include "commands.h"
#include "package/package_writer.h"
#include "runtime/container.h"
#include "runtime/encryption.h"
#include "runtime/signature.h"
#include "support/files.h"

namespace dycl::tools {
namespace {

struct Options {
  std::string package, output, key;
  std::string decryption_key;
  bool encryption = false;  // the key that is made is to encrypt with
  std::vector<std::string> keys;
};

// A new file; one that is there stays as it is, for a secret key that is lost cannot be made again.
Result<void> write_new(const std::string& path, const std::string& text, ::mode_t mode) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  const std::string line = text + "\n";
  if (!file.is_open() || ::write(file.number(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    return Error{ErrorKind::WriteFailed,
                 "cannot write " + path + ": " + std::strerror(errno),
                 errno == EEXIST ? "give another name; keys are not overwritten" : "",
                 {},
                 {}};
  return {};
}

int encryption_keygen(const Console& console, const Options& options) {
  const std::string file = options.output + ".key";
  const auto made = [&]() -> Result<void> {
    DYCL_TRY(runtime::start_sodium());
    return write_new(file, runtime::new_encryption_key(), 0600);
  }();
  if (!made) return console.fail(made.error());
  console.result(file + ": the key to encrypt and decrypt with; for nobody but those who may read the packages\n",
                 {{"encryption_key_file", file}});
  return 0;
}

int keygen(const Console& console, const Options& options) {
  if (options.encryption) return encryption_keygen(console, options);
  const auto made = [&]() -> Result<std::string> {
    DYCL_ASSIGN(const runtime::KeyPair pair, runtime::new_key_pair());
    DYCL_TRY(write_new(options.output + ".key", pair.secret_key, 0600));
    DYCL_TRY(write_new(options.output + ".pub", pair.public_key, 0644));
    return pair.public_key;
  }();
  if (!made) return console.fail(made.error());
  console.result(options.output + ".key: the secret key, to sign with; keep it\n" + options.output +
                     ".pub: the public key, for those who run what it signed\n",
                 {{"secret_key_file", options.output + ".key"},
                  {"public_key_file", options.output + ".pub"},
                  {"public_key", *made}});
  return 0;
}

// By package::encrypt_package or decrypt_package.
template <auto write>
int rewrite(const Console& console, const Options& options, const char* what) {
  const std::string& to = options.output.empty() ? options.package : options.output;
  if (const auto done = write(options.package, to, options.key); !done) return console.fail(done.error());
  console.result(to + ": " + what + "\n", {{what, to}});
  return 0;
}

int encrypt(const Console& console, const Options& options) {
  return rewrite<package::encrypt_package>(console, options, "encrypted");
}

int decrypt(const Console& console, const Options& options) {
  return rewrite<package::decrypt_package>(console, options, "decrypted");
}

int sign(const Console& console, const Options& options) {
  return rewrite<package::sign_package>(console, options, "signed");
}

int check(const Console& console, const Options& options) {
  const auto checked = [&]() -> Result<void> {
    DYCL_ASSIGN(const auto package, CheckedPackage::open(options.package, options.keys, options.decryption_key));
    DYCL_TRY(runtime::Container::open(package.path()));
    return {};
  }();
  if (!checked) return console.fail(checked.error());
  console.result(options.package + ": the signature is right\n", {{"package", options.package}, {"signed", true}});
  return 0;
}

}  // namespace

void add_sign_commands(CLI::App& app, Console& console, Action& action) {
  const auto add = [&](const char* name, const char* what, int (*run)(const Console&, const Options&)) {
    CLI::App* command = app.add_subcommand(name, what);
    auto options = std::make_shared<Options>();
    add_output_options(*command, console);
    command->callback([options, &console, &action, run] { action = [=, &console] { return run(console, *options); }; });
    return std::pair(command, options);
  };
  const auto [new_keys, of_keygen] = add("keygen", "Make a pair of keys to sign packages with", keygen);
  new_keys->add_flag("--encryption", of_keygen->encryption, "One key, to encrypt packages with: NAME.key");
  new_keys->add_option("name", of_keygen->output, "NAME.key and NAME.pub are written")->required();
  for (const auto& [name, what, run] :
       {std::tuple("encrypt", "Encrypt a package", &encrypt), std::tuple("decrypt", "Decrypt a package", &decrypt)}) {
    const auto [command, of_command] = add(name, what, run);
    command->add_option("package", of_command->package, "model.dycl")->required();
    command->add_option("--key", of_command->key, "The key's file (`dycl keygen --encryption`)")->required();
    command->add_option("-o,--output", of_command->output, "Where the package goes; default: in its place");
  }
  const auto [signing, of_sign] = add("sign", "Sign a package", sign);
  signing->add_option("package", of_sign->package, "model.dycl")->required();
  signing->add_option("--key", of_sign->key, "The secret key's file")->required();
  signing->add_option("-o,--output", of_sign->output, "Where the signed package goes; default: in its place");
  const auto [checking, of_check] = add("check-signature", "Check who signed a package", check);
  checking->add_option("package", of_check->package, "model.dycl")->required();
  checking->add_option("--key", of_check->keys, "A public key's file, or its text; may be repeated")
      ->required()
      ->allow_extra_args(false);
  add_decryption_option(*checking, of_check->decryption_key);
}

}  // namespace dycl::tools
