// SPDX-License-Identifier: Apache-2.0
#include "support/python_str.h"

#include <charconv>
#include <cmath>

namespace dycl {

std::string python_str(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  // Shortest digits in scientific form, "d.ddde+XX", then Python's choice of notation.
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  std::string sign;
  if (text.front() == '-') {
    sign = "-";
    text.remove_prefix(1);
  }
  const std::size_t e = text.find('e');
  std::string digits(1, text[0]);
  if (e > 2) digits += text.substr(2, e - 2);
  int exponent = 0;
  const std::string_view exponent_text = text.substr(e + 1 + (text[e + 1] == '+' ? 1 : 0));
  std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);
  const int count = static_cast<int>(digits.size());

  if (exponent < -4 || exponent >= 16) {
    std::string mantissa = digits.substr(0, 1);
    if (count > 1) mantissa += "." + digits.substr(1);
    const std::string power = std::to_string(std::abs(exponent));
    return sign + mantissa + (exponent < 0 ? "e-" : "e+") + (power.size() < 2 ? "0" : "") + power;
  }
  if (exponent < 0) return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  if (count <= exponent + 1)
    return sign + digits + std::string(static_cast<std::size_t>(exponent + 1 - count), '0') + ".0";
  const std::size_t before_point = static_cast<std::size_t>(exponent) + 1;
  return sign + digits.substr(0, before_point) + "." + digits.substr(before_point);
}

std::string python_str(std::int64_t value) { return std::to_string(value); }
std::string python_str(bool value) { return value ? "True" : "False"; }

std::string python_str(const scalar::Scalar& value) {
  switch (value.kind) {
    case scalar::Kind::Bool: return python_str(value.b);
    case scalar::Kind::Int: return python_str(value.i);
    case scalar::Kind::Float: return python_str(value.f);
  }
  return {};
}

std::optional<std::size_t> count_placeholders(std::string_view format) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '{' && format[i] != '}') continue;
    const char next = i + 1 < format.size() ? format[i + 1] : '\0';
    if (format[i] == '{' && next == '}')
      ++count;
    else if (next != format[i])
      return std::nullopt;
    ++i;
  }
  return count;
}

std::string format_message(std::string_view format, std::span<const scalar::Scalar> values) {
  std::string out;
  std::size_t used = 0;
  for (std::size_t i = 0; i < format.size(); ++i) {
    const char c = format[i];
    const char next = i + 1 < format.size() ? format[i + 1] : '\0';
    if (c == '{' && next == '}' && used < values.size()) {
      out += python_str(values[used++]);
      ++i;
    } else {
      out += c;
      if ((c == '{' || c == '}') && next == c) ++i;
    }
  }
  return out;
}

}  // namespace dycl
