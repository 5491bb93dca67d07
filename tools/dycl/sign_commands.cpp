// SPDX-License-Identifier: Apache-2.0
// dycl keygen, sign and check-signature: packages that can be known to come from somebody (docs/trust.md).
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "commands.h"
#include "package/package_writer.h"
#include "runtime/container.h"
#include "runtime/signature.h"
#include "support/files.h"

namespace dycl::tools {
namespace {

struct Options {
  std::string package, output, key;
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

int keygen(const Console& console, const Options& options) {
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

int sign(const Console& console, const Options& options) {
  const std::string& to = options.output.empty() ? options.package : options.output;
  if (const auto done = package::sign_package(options.package, to, options.key); !done)
    return console.fail(done.error());
  console.result(to + ": signed\n", {{"signed", to}});
  return 0;
}

int check(const Console& console, const Options& options) {
  const auto checked = runtime::Container::open_checked(options.package, [&](std::span<const std::uint8_t> file) {
    return runtime::check_signature(file, options.keys);
  });
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
  new_keys->add_option("name", of_keygen->output, "NAME.key and NAME.pub are written")->required();
  const auto [signing, of_sign] = add("sign", "Sign a package", sign);
  signing->add_option("package", of_sign->package, "model.dycl")->required();
  signing->add_option("--key", of_sign->key, "The secret key's file")->required();
  signing->add_option("-o,--output", of_sign->output, "Where the signed package goes; default: in its place");
  const auto [checking, of_check] = add("check-signature", "Check who signed a package", check);
  checking->add_option("package", of_check->package, "model.dycl")->required();
  checking->add_option("--key", of_check->keys, "A public key's file, or its text; may be repeated")
      ->required()
      ->allow_extra_args(false);
}

}  // namespace dycl::tools
