// SPDX-License-Identifier: Apache-2.0
#include "support/utf8.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>

namespace dycl {

namespace {

// The length of the well-formed sequence at `text[at]`, or 0.
std::size_t sequence_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(at);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  const std::uint8_t second = byte(at + 1);
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f)) return 0;
  if ((lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) return 0;
  return length;
}

std::uint32_t code_point(std::string_view sequence) {
  const auto lead = static_cast<std::uint8_t>(sequence[0]);
  if (sequence.size() == 1) return lead;
  std::uint32_t point = lead & (0x7fU >> sequence.size());
  for (const char c : sequence.substr(1)) point = point << 6 | (static_cast<std::uint8_t>(c) & 0x3fU);
  return point;
}

bool steers(std::uint32_t point) {
  const bool control = point < 0x20 || (point >= 0x7f && point < 0xa0);
  const bool turns = point == 0x61c || point == 0x200e || point == 0x200f || (point >= 0x202a && point <= 0x202e) ||
                     (point >= 0x2066 && point <= 0x2069);
  return control || turns || point == 0x2028 || point == 0x2029;  // separators of lines and paragraphs
}

std::string shown(std::string_view text, std::string_view kept) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = sequence_length(text, i);
    const auto sequence = text.substr(i, length ? length : 1);
    const std::uint32_t point = length ? code_point(sequence) : static_cast<std::uint8_t>(text[i]);
    if (length && (!steers(point) || (length == 1 && kept.find(text[i]) != kept.npos))) {
      out += sequence;
    } else {
      char escape[16];
      std::snprintf(escape, sizeof escape, point < 0x100 ? "\\x%02x" : "\\u%04x", static_cast<unsigned>(point));
      out += escape;
    }
    i += sequence.size();
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return shown(text, "\n\t"); }
std::string one_line(std::string_view text) { return shown(text, ""); }

void put_printed(std::FILE* stream, std::string_view text) {
  if (!::isatty(::fileno(stream))) {
    std::fwrite(text.data(), 1, text.size(), stream);
    return;
  }
  const std::string safe = printable(text);
  std::fwrite(safe.data(), 1, safe.size(), stream);
}

bool is_utf8(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size();) {
    const std::size_t length = sequence_length(bytes, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

std::string as_utf8(std::string bytes) {
  if (is_utf8(bytes)) return bytes;
  std::string out;
  for (std::size_t i = 0; i < bytes.size();) {
    const std::size_t length = sequence_length(bytes, i);
    out += length ? bytes.substr(i, length) : one_line(bytes.substr(i, 1));
    i += length ? length : 1;
  }
  return out;
}

std::size_t utf8_length(std::string_view bytes) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < bytes.size(); ++count) {
    const std::size_t length = sequence_length(bytes, i);
    i += length ? length : 1;
  }
  return count;
}

}  // namespace dycl
