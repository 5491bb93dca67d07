// SPDX-License-Identifier: Apache-2.0
// What every plug-in has at its C boundary: the table that its entry hands out, and how it reports failures over it: a
// status, and a text that the calling thread may ask for until its next call. Included once per plug-in: the text is
// its own.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "dycl/plugin.h"
#include "support/result.h"

namespace dycl::backends {

inline thread_local std::string t_last_error;  // NOLINT

inline dycl_plugin_status fail(dycl_plugin_status status, std::string message) {
  t_last_error = std::move(message);
  return status;
}

inline dycl_plugin_status status_of(const Error& error) {
  const auto code = error.kind == ErrorKind::Missing          ? DYCL_PLUGIN_MISSING
                    : error.kind == ErrorKind::Unsupported    ? DYCL_PLUGIN_UNSUPPORTED
                    : error.kind == ErrorKind::InvalidPackage ? DYCL_PLUGIN_BAD_ARTIFACT
                                                              : DYCL_PLUGIN_FAILED;
  return fail(code, error.message + (error.help.empty() ? "" : DYCL_PLUGIN_HELP + error.help));
}

// Runs `body`, which returns Result<void>; nothing it throws gets out.
template <typename Body>
dycl_plugin_status guarded(Body body) noexcept {
  try {
    const Result<void> result = body();
    return result ? DYCL_PLUGIN_OK : status_of(result.error());
  } catch (const std::bad_alloc&) {
    return fail(DYCL_PLUGIN_FAILED, "out of memory");
  } catch (const std::exception& e) {
    return fail(DYCL_PLUGIN_FAILED, e.what());
  }
}

// Engines have no options of their own so far: create_engine names the first that is given.
inline Result<void> refuse_options(const std::string& engine, const dycl_engine_options& options) {
  if (options.extra_count == 0) return {};
  return Error{ErrorKind::Unsupported,
               "the " + engine + " engine has no option '" + std::string(options.extra_keys[0]) + "'",
               {},
               {},
               {}};
}

// What accepts_target answers where artifacts fit one target alone; `mine` gives its key.
template <typename Mine>
int32_t accepts_only(const char* target, Mine mine) noexcept {
  try {
    const std::string key = mine();
    if (key == target) return 1;
    t_last_error = "artifacts are for " + std::string(target) + ", this machine is " + key;
  } catch (const std::exception& e) {
    t_last_error = e.what();
  }
  return 0;
}

inline const char* last_error() noexcept { return t_last_error.c_str(); }

// "engine 1.2", as a plug-in's table shows it; `library` is what opening the vendor's library gave.
template <typename Library>
std::string version_text(const std::string& engine, const Result<Library>& library) {
  return engine + (library ? " " + (*library)->version : " (not found)");
}

}  // namespace dycl::backends

// The entry of a plug-in, around functions of these names: create_engine, destroy_engine, accepts_target, load,
// destroy_session, create_context, destroy_context, run. `version` is a std::string, made at the first call;
// `interrupt` may be nullptr; `flags` are those of the table.
#define DYCL_PLUGIN_ENTRY(name, version, interrupt, flags)                                \
  extern "C" DYCL_PLUGIN_EXPORT const dycl_plugin* dycl_plugin_entry(uint32_t host_abi) { \
    static const std::string text = version;                                              \
    static const dycl_plugin table = {sizeof(dycl_plugin),                                \
                                      DYCL_PLUGIN_ABI,                                    \
                                      name,                                               \
                                      text.c_str(),                                       \
                                      create_engine,                                      \
                                      destroy_engine,                                     \
                                      accepts_target,                                     \
                                      load,                                               \
                                      destroy_session,                                    \
                                      create_context,                                     \
                                      destroy_context,                                    \
                                      run,                                                \
                                      dycl::backends::last_error,                         \
                                      interrupt,                                          \
                                      flags};                                             \
    return host_abi == DYCL_PLUGIN_ABI ? &table : nullptr;                                \
  }
