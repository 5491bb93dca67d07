// SPDX-License-Identifier: Apache-2.0
// Errors of the core as Python exceptions: the classes of dycl.errors, each for some kinds, with the attributes
// kind, message, help, type and span (file name, line, column, end line, end column; None if unknown):
//
//   dycl.CompileError   the model or its IR is wrong, or refused
//   dycl.InputError     an argument of a run
//   dycl.RunError       a run failed; `type` is the Python exception class the program asked for, if any
//   dycl.RunStopped     a run that its options ended; `type` says why
//   dycl.PackageError   a package or another file is missing, damaged or cannot be written
//
// An InternalError becomes dycl.InternalError(RuntimeError).
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "support/result.h"

namespace dycl::bindings {

void bind_errors(nanobind::module_& module);

// Raises `error` as the class for its kind. `sources` turns the span's file into a name.
[[noreturn]] void raise(const Error& error, const std::vector<std::string>& sources = {});

// The same, of a compilation: a CompileError also where an engine is missing or fails.
[[noreturn]] void raise_compile_error(const Error& error, const std::vector<std::string>& sources = {});

// The value of `result`, or its error raised.
template <typename T>
T unwrap(Result<T> result, const std::vector<std::string>& sources = {}) {
  if (!result) raise(result.error(), sources);
  return std::move(result).value();
}
inline void unwrap(const Result<void>& result, const std::vector<std::string>& sources = {}) {
  if (!result) raise(result.error(), sources);
}

}  // namespace dycl::bindings
