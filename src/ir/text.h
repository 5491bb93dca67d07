// SPDX-License-Identifier: Apache-2.0
// The smallest pieces of the text form, shared by printer and parser: names,
// strings, numbers and the elements of tensor literals.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ir/op.h"

namespace dycl::ir {

// [A-Za-z_][A-Za-z0-9_.]*
bool is_plain_name(std::string_view name);
bool is_number_name(std::string_view name);  // digits only

// A hint as it may stand after %: other characters become `_`; empty for a hint
// without letters, or one that is a number.
std::string sanitized_hint(std::string_view hint);

// The name without the `.1`, `.2` that make names unique.
std::string_view hint_base(std::string_view name);

// "text" with escapes; bytes that are no UTF-8 as \xNN.
std::string quoted(std::string_view text);

// The name itself if it is plain, else quoted.
std::string name_text(std::string_view name);

// The fewest digits that read back to the same bits; always with `.`, `e`, `inf`
// or `nan`. A NaN other than the usual one carries its bits: nan(0x7ff8000000000001).
std::string float_text(double value);
std::string float_text(float value);

// Appends the elements of a literal, comma separated, without brackets. `bytes`
// holds whole elements of `dtype`.
void append_elements(std::string& out, DType dtype, std::span<const std::uint8_t> bytes);

// How many elements a shape holds; negative on a negative extent or overflow.
std::int64_t element_count(std::span<const std::int64_t> shape);

}  // namespace dycl::ir
