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

namespace {

// [[fill]align][sign][0][width][grouping][.precision][type], read; 0 where there is none.
struct Spec {
  char fill = ' ';
  char align = '>';
  char sign = '-';
  std::size_t width = 0;
  char grouping = 0;
  int precision = -1;
  char type = 0;
};

bool is_align(char c) { return c == '<' || c == '>' || c == '=' || c == '^'; }

// Digits at the front as a number, at most `limit`; nullopt if there are none or it is larger.
std::optional<int> take_number(std::string_view& text, int limit) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0 || number > limit) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take_one_of(std::string_view& text, std::string_view choices, char& out) {
  if (text.empty() || choices.find(text.front()) == std::string_view::npos) return false;
  out = text.front();
  text.remove_prefix(1);
  return true;
}

std::optional<Spec> read_spec(std::string_view text) {
  Spec spec;
  const bool filled = text.size() > 1 && is_align(text[1]);
  if (filled) take_one_of(text, text.substr(0, 1), spec.fill);
  const bool aligned = take_one_of(text, "<>=^", spec.align);
  take_one_of(text, "+- ", spec.sign);
  if (!text.empty() && text.front() == '0') {
    if (!filled) spec.fill = '0';
    if (!aligned) spec.align = '=';
    text.remove_prefix(1);
  }
  if (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    const auto width = take_number(text, 1000);
    if (!width) return std::nullopt;
    spec.width = static_cast<std::size_t>(*width);
  }
  take_one_of(text, ",_", spec.grouping);
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    const auto precision = take_number(text, 100);
    if (!precision) return std::nullopt;
    spec.precision = *precision;
  }
  take_one_of(text, "bdeEfFgGoxX%", spec.type);
  return text.empty() ? std::optional(spec) : std::nullopt;
}

std::string digits_of(double magnitude, std::chars_format notation, int precision) {
  char buffer[512];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, magnitude, notation, precision);
  return error == std::errc{} ? std::string(buffer, end) : python_str(magnitude);
}

// As 'g', but with a digit behind the point, and one digit sooner with an exponent.
std::string short_digits(double magnitude, int precision) {
  const int digits = precision < 1 ? 1 : precision;
  const std::string scientific = digits_of(magnitude, std::chars_format::scientific, digits - 1);
  int exponent = 0;
  const char* at = scientific.data() + scientific.find('e') + 1;
  std::from_chars(at + (*at == '+'), scientific.data() + scientific.size(), exponent);
  if (exponent < -4 || exponent + 1 > digits - 1) {
    std::string mantissa = scientific.substr(0, scientific.find('e'));
    if (mantissa.find('.') != std::string::npos) {
      mantissa.erase(mantissa.find_last_not_of('0') + 1);
      if (mantissa.back() == '.') mantissa.pop_back();
    }
    return mantissa + scientific.substr(scientific.find('e'));
  }
  const std::string general = digits_of(magnitude, std::chars_format::general, digits);
  return general.find('.') == std::string::npos ? general + ".0" : general;
}

std::string float_digits(double magnitude, const Spec& spec) {
  if (std::isnan(magnitude)) return "nan";
  if (std::isinf(magnitude)) return "inf";
  const int precision = spec.precision < 0 ? 6 : spec.precision;
  switch (spec.type) {
    case 'e':
    case 'E': return digits_of(magnitude, std::chars_format::scientific, precision);
    case 'f':
    case 'F': return digits_of(magnitude, std::chars_format::fixed, precision);
    case '%': return digits_of(magnitude * 100.0, std::chars_format::fixed, precision);
    case 'g':
    case 'G': return digits_of(magnitude, std::chars_format::general, precision == 0 ? 1 : precision);
    default: return spec.precision < 0 ? python_str(magnitude) : short_digits(magnitude, spec.precision);
  }
}

std::string int_digits(std::uint64_t magnitude, char type) {
  const int base = type == 'b' ? 2 : type == 'o' ? 8 : type == 'x' || type == 'X' ? 16 : 10;
  char buffer[72];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, magnitude, base).ptr);
}

void group(std::string& digits, char separator) {
  std::size_t end = digits.find_first_not_of("0123456789");
  if (end == std::string::npos) end = digits.size();
  for (std::size_t at = end; at > 3; at -= 3) digits.insert(at - 3, 1, separator);
}

std::string padded(const std::string& sign, const std::string& digits, const Spec& spec) {
  const std::size_t size = sign.size() + digits.size();
  if (size >= spec.width) return sign + digits;
  const std::size_t missing = spec.width - size;
  const std::size_t left = spec.align == '<' ? 0 : spec.align == '^' ? missing / 2 : missing;
  const std::string before(left, spec.fill);
  const std::string after(missing - left, spec.fill);
  return spec.align == '=' ? sign + before + digits : before + sign + digits + after;
}

std::string formatted(bool negative, std::string digits, const Spec& spec) {
  if (spec.grouping) group(digits, spec.grouping);
  if (spec.type == 'E' || spec.type == 'F' || spec.type == 'G' || spec.type == 'X')
    for (char& c : digits)
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  if (spec.type == '%') digits += '%';
  return padded(negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign), digits, spec);
}

// The placeholder that begins at `text`: its length and its spec; nullopt if none does.
struct Placeholder {
  std::size_t length;
  std::string_view spec;
};

std::optional<Placeholder> placeholder(std::string_view text) {
  if (text.starts_with("{}")) return Placeholder{2, {}};
  if (!text.starts_with("{:")) return std::nullopt;
  const std::size_t end = text.find_first_of("{}", 2);
  if (end == std::string_view::npos || text[end] != '}') return std::nullopt;
  return Placeholder{end + 1, text.substr(2, end - 2)};
}

}  // namespace

std::string python_format(const scalar::Scalar& value, std::string_view text) {
  const auto spec = read_spec(text);
  if (text.empty() || !spec) return python_str(value);
  const bool is_float = value.kind == scalar::Kind::Float;
  if (!is_float && std::string_view("eEfFgG%").find(spec->type) == std::string_view::npos) {
    const std::int64_t number = value.kind == scalar::Kind::Bool ? value.b : value.i;
    const std::uint64_t magnitude =
        number < 0 ? -static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
    return formatted(number < 0, int_digits(magnitude, spec->type), *spec);
  }
  const double number = is_float                           ? value.f
                        : value.kind == scalar::Kind::Bool ? static_cast<double>(value.b)
                                                           : static_cast<double>(value.i);
  return formatted(std::signbit(number) && !std::isnan(number), float_digits(std::fabs(number), *spec), *spec);
}

std::optional<std::size_t> count_placeholders(std::string_view format) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '{' && format[i] != '}') continue;
    const char next = i + 1 < format.size() ? format[i + 1] : '\0';
    if (const auto found = placeholder(format.substr(i)); found) {
      ++count;
      i += found->length - 1;
      continue;
    }
    if (next != format[i]) return std::nullopt;
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
    const auto found = placeholder(format.substr(i));
    if (found && used < values.size()) {
      out += python_format(values[used++], found->spec);
      i += found->length - 1;
    } else {
      out += c;
      if ((c == '{' || c == '}') && next == c) ++i;
    }
  }
  return out;
}

}  // namespace dycl
