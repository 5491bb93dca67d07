// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace dycl {

// True if the bytes are well-formed UTF-8 (no surrogates, no overlong forms).
bool is_utf8(std::string_view bytes);

// The bytes with malformed ones written as \xff.
std::string as_utf8(std::string bytes);

// How many characters (code points) the bytes hold; malformed bytes count one each.
std::size_t utf8_length(std::string_view bytes);

// A stranger's text for a terminal or a log: characters that steer a terminal or turn the direction of what follows,
// and malformed bytes, become what they would be written as: \x1b. Lines and tabs stay, but for `one_line`: a name.
std::string printable(std::string_view text);
std::string one_line(std::string_view text);

// What a model prints, as it goes to a stream: as it is, but printable where a terminal is at the other end.
void put_printed(std::FILE* stream, std::string_view text);

}  // namespace dycl
