// SPDX-License-Identifier: Apache-2.0
// How every plug-in reports failures over its C table: a status, and a text that the calling
// thread may ask for until its next call. Included once per plug-in: the text is its own.
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
  return fail(code, error.message + (error.help.empty() ? "" : "; " + error.help));
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

}  // namespace dycl::backends
