// SPDX-License-Identifier: Apache-2.0
// Errors as values. A function that can fail because of its input (the user's
// model, a file, a missing vendor library) returns Result<T>: either a T or an
// Error that says where, what and what to do about it. A broken invariant of
// DyCL itself is a failed DYCL_CHECK, which throws InternalError.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "support/source_span.h"

namespace dycl {

// What kind of thing went wrong; also the exit code of the command line tools.
enum class ErrorKind : std::uint8_t {
  InvalidModel = 2,     // the user's program or IR text is wrong
  InvalidInput = 3,     // an argument of a run: count, dtype, shape, a guard
  InvalidPackage = 4,   // damaged, truncated or too new
  Missing = 5,          // a file, a plug-in or a vendor library is not there
  RuntimeFailure = 6,   // raise, loop limit, overflow, an engine's own failure
  Unsupported = 7,      // valid, but refused
  WriteFailed = 8,      // a file could not be written: no space, no permission, ...
  Stopped = 9,          // a run that its caller ended: deadline, cancellation, a limit
  Internal = 70,        // a bug in DyCL
};

// As --json and the attribute `kind` of Python's exceptions spell it.
inline const char* name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::InvalidModel: return "invalid_model";
    case ErrorKind::InvalidInput: return "invalid_input";
    case ErrorKind::InvalidPackage: return "invalid_package";
    case ErrorKind::Missing: return "missing";
    case ErrorKind::RuntimeFailure: return "runtime_failure";
    case ErrorKind::Unsupported: return "unsupported";
    case ErrorKind::WriteFailed: return "write_failed";
    case ErrorKind::Stopped: return "stopped";
    case ErrorKind::Internal: return "internal";
  }
  return "internal";
}

struct Error {
  ErrorKind kind = ErrorKind::InvalidModel;
  std::string message;  // one sentence, no trailing full stop needed
  std::string help;     // the remedy; may be empty
  SourceSpan span;      // where; may be unknown
  std::string type;     // a user exception's class name ("ValueError"), else empty
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}  // NOLINT

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  const Error& error() const& { return error_; }
  Error&& error() && { return std::move(error_); }

 private:
  Error error_;
  bool ok_ = true;
};

// A broken invariant of DyCL: never the user's fault.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace dycl

#define DYCL_STRINGIZE_(x) #x
#define DYCL_STRINGIZE(x) DYCL_STRINGIZE_(x)
#define DYCL_CHECK(condition, message)                                      \
  do {                                                                      \
    if (!(condition))                                                       \
      throw ::dycl::InternalError(std::string(__FILE__ ":" DYCL_STRINGIZE(__LINE__) ": ") + (message)); \
  } while (false)

// Returns the error of `expression` from the enclosing function, if it has one.
#define DYCL_TRY(expression)                                         \
  do {                                                               \
    if (auto dycl_result_ = (expression); !dycl_result_)             \
      return std::move(dycl_result_).error();                        \
  } while (false)

// DYCL_ASSIGN(auto x, f()): x is f()'s value, or its error is returned.
#define DYCL_CONCAT_(a, b) a##b
#define DYCL_CONCAT(a, b) DYCL_CONCAT_(a, b)
#define DYCL_ASSIGN(declaration, expression)                                   \
  auto DYCL_CONCAT(dycl_result_, __LINE__) = (expression);                     \
  if (!DYCL_CONCAT(dycl_result_, __LINE__))                                    \
    return std::move(DYCL_CONCAT(dycl_result_, __LINE__)).error();             \
  declaration = std::move(DYCL_CONCAT(dycl_result_, __LINE__)).value()
