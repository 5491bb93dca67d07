// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace dycl {

// True if the bytes are well-formed UTF-8 (no surrogates, no overlong forms).
bool is_utf8(std::string_view bytes);

// How many characters (code points) the bytes hold; malformed bytes count one each.
std::size_t utf8_length(std::string_view bytes);

}  // namespace dycl
