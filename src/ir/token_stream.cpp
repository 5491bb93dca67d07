// SPDX-License-Identifier: Apache-2.0
#include "ir/token_stream.h"

#include <algorithm>

#include "support/utf8.h"

namespace dycl::ir {

LineMap::LineMap(std::string_view text) : text_(text) {
  starts_.push_back(0);
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') starts_.push_back(i + 1);
}

SourceSpan LineMap::span(std::size_t begin, std::size_t end, std::uint32_t file) const {
  SourceSpan s;
  s.file = file;
  locate(begin, s.line, s.column);
  locate(std::max(begin, end), s.end_line, s.end_column);
  return s;
}

void LineMap::locate(std::size_t offset, std::uint32_t& line, std::uint32_t& column) const {
  offset = std::min(offset, text_.size());
  const auto it = std::upper_bound(starts_.begin(), starts_.end(), offset) - 1;
  line = static_cast<std::uint32_t>(it - starts_.begin() + 1);
  column = static_cast<std::uint32_t>(utf8_length(text_.substr(*it, offset - *it)) + 1);
}

}  // namespace dycl::ir
