// SPDX-License-Identifier: Apache-2.0
// A place in the user's file. Line 0 means unknown.
#pragma once

#include <cstdint>

namespace dycl {

struct SourceSpan {
  std::uint32_t file = 0;  // index into Program::sources
  std::uint32_t line = 0;  // 1-based; 0: unknown
  std::uint32_t column = 0;      // 1-based, in characters
  std::uint32_t end_line = 0;
  std::uint32_t end_column = 0;  // one past the last character

  bool known() const { return line != 0; }
  bool operator==(const SourceSpan&) const = default;
};

}  // namespace dycl
