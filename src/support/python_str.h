// SPDX-License-Identifier: Apache-2.0
// Scalars as Python's str() and format() show them, and the `{}` messages of
// `raise`, `check` and `print`, shared by interpreter and runtime.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "support/scalar_ops.h"

namespace dycl {

// repr(x) of a Python float: the fewest digits that read back to x.
std::string python_str(double value);
std::string python_str(std::int64_t value);
std::string python_str(bool value);
std::string python_str(const scalar::Scalar& value);

// format(value, spec) of a Python number; as str() shows it if the spec is none of
// [[fill]align][sign][0][width][,|_][.precision][one of bdeEfFgGoxX%].
std::string python_format(const scalar::Scalar& value, std::string_view spec);

// How many `{}` or `{:spec}` a format holds (`{{` and `}}` are braces); nullopt if a brace stands alone.
std::optional<std::size_t> count_placeholders(std::string_view format);

// The format with each `{}` or `{:spec}` replaced by the next value. Missing values leave `{}`.
std::string format_message(std::string_view format, std::span<const scalar::Scalar> values);

}  // namespace dycl
