// SPDX-License-Identifier: Apache-2.0
// Errors of the core as Python exceptions. Two classes, both with the attributes
// kind, message, help, type and span (file name, line, column, end line, end
// column; None if unknown):
//
//   dycl.CompileError(Exception)   the model, the IR, a package or the set-up is wrong
//   dycl.RunError(RuntimeError)    a run failed; `type` is the Python exception
//                                  class the program asked for, if any
//
// An InternalError becomes dycl.InternalError(RuntimeError).
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "support/result.h"

namespace dycl::bindings {

void bind_errors(nanobind::module_& module);

// Raises `error` as CompileError, or RunError for the two kinds a run produces
// (InvalidInput, RuntimeFailure). `sources` turns the span's file into a name.
[[noreturn]] void raise(const Error& error, const std::vector<std::string>& sources = {});

// The same, but a CompileError whatever the kind: what went wrong was no run.
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
