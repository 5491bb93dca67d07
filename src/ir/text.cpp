// SPDX-License-Identifier: Apache-2.0
#include "ir/text.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "support/float_bits.h"
#include "support/utf8.h"

namespace dycl::ir {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || is_digit(c); }

std::string hexadecimal(std::uint64_t value) {
  char buffer[20];
  return "0x" + std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value, 16).ptr);
}

template <typename F>
std::string shortest(F value) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string nan_text(std::uint64_t bits, std::uint64_t usual) {
  return bits == usual ? "nan" : "nan(" + hexadecimal(bits) + ")";
}

std::string f16_text(std::uint16_t bits) {
  const float value = f16_to_float(bits);
  return std::isnan(value) ? nan_text(bits, 0x7e00) : shortest(value);
}

std::string bf16_text(std::uint16_t bits) {
  const float value = bf16_to_float(bits);
  return std::isnan(value) ? nan_text(bits, 0x7fc0) : shortest(value);
}

template <typename T, typename Show>
void append_all(std::string& out, std::span<const std::uint8_t> bytes, Show show) {
  for (std::size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + i, sizeof(T));
    if (i) out += ',';
    out += show(value);
  }
}

}  // namespace

bool is_plain_name(std::string_view name) {
  return !name.empty() && !is_digit(name[0]) && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_word(c) || c == '.'; });
}

bool is_number_name(std::string_view name) { return !name.empty() && std::all_of(name.begin(), name.end(), is_digit); }

std::string sanitized_hint(std::string_view hint) {
  std::string name;
  for (char c : hint) name += is_word(c) || c == '.' ? c : '_';
  if (name.find_first_not_of("_.0123456789") == std::string::npos && name.find('_') == std::string::npos) return {};
  if (is_digit(name[0]) || name[0] == '.') name.insert(0, "_");
  return name == "_" ? "__" : name;  // a lone _ is an absent operand
}

std::string_view hint_base(std::string_view name) {
  while (true) {
    const std::size_t dot = name.rfind('.');
    if (dot == std::string_view::npos || dot == 0 || !is_number_name(name.substr(dot + 1))) return name;
    name = name.substr(0, dot);
  }
}

std::string quoted(std::string_view text) {
  const bool raw = is_utf8(text);
  std::string out = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += std::string("\\") + c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !raw)) {
      constexpr char kDigits[] = "0123456789abcdef";
      out += std::string("\\x") + kDigits[byte >> 4] + kDigits[byte & 15];
    } else
      out += c;
  }
  return out + '"';
}

std::string name_text(std::string_view name) { return is_plain_name(name) ? std::string(name) : quoted(name); }

std::string float_text(double value) {
  if (std::isnan(value)) return nan_text(std::bit_cast<std::uint64_t>(value), 0x7ff8000000000000ULL);
  return shortest(value);
}

std::string float_text(float value) {
  if (std::isnan(value)) return nan_text(std::bit_cast<std::uint32_t>(value), 0x7fc00000U);
  return shortest(value);
}

void append_elements(std::string& out, DType dtype, std::span<const std::uint8_t> bytes) {
  const auto number = [](auto v) { return std::to_string(v); };
  const auto real = [](auto v) { return float_text(v); };
  switch (dtype) {
    case DType::F32:
    case DType::C64: return append_all<float>(out, bytes, real);
    case DType::F64:
    case DType::C128: return append_all<double>(out, bytes, real);
    case DType::F16: return append_all<std::uint16_t>(out, bytes, f16_text);
    case DType::BF16: return append_all<std::uint16_t>(out, bytes, bf16_text);
    case DType::Bool:
      return append_all<std::uint8_t>(out, bytes, [](std::uint8_t v) { return std::string(v ? "true" : "false"); });
    case DType::F8E4M3FN:
    case DType::F8E4M3FNUZ:
    case DType::F8E5M2:
    case DType::F8E5M2FNUZ:  // their bits
    case DType::U8: return append_all<std::uint8_t>(out, bytes, number);
    case DType::I8: return append_all<std::int8_t>(out, bytes, number);
    case DType::U16: return append_all<std::uint16_t>(out, bytes, number);
    case DType::I16: return append_all<std::int16_t>(out, bytes, number);
    case DType::U32: return append_all<std::uint32_t>(out, bytes, number);
    case DType::I32: return append_all<std::int32_t>(out, bytes, number);
    case DType::U64: return append_all<std::uint64_t>(out, bytes, number);
    case DType::I64: return append_all<std::int64_t>(out, bytes, number);
  }
}

std::int64_t element_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (std::int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) return -1;
  return count;
}

}  // namespace dycl::ir
