// SPDX-License-Identifier: Apache-2.0
// Reads the text form (docs/ir.md). The exact inverse of print(): the parsed
// program prints to the same bytes. Any text is safe to read: errors are values,
// nesting is bounded, time is linear. A parsed program is well-formed text, not
// yet a valid program: that is verify()'s to say.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"
#include "support/result.h"

namespace dycl::ir {

struct ParseOptions {
  // Gives ops, blocks and functions without a span their place in this very text,
  // so that later errors point into the .dyir (its name is added to the sources).
  bool spans_from_text = false;
};

struct ParseOutcome {
  std::optional<Program> program;  // absent if there are errors
  std::vector<Error> errors;       // at most kMaxParseErrors, in the order of the text;
                                   // their spans are places in the text
};
inline constexpr std::size_t kMaxParseErrors = 20;

ParseOutcome parse_all(std::string_view text, const std::string& file_name, const ParseOptions& options = {});

// The same with all errors drawn into the one Error's message: file:line:column, the
// line and a caret for each.
Result<Program> parse(std::string_view text, const std::string& file_name = "<text>", const ParseOptions& options = {});

// One type alone, e.g. "list<f32[2,N]>".
Result<Type> parse_type(std::string_view text);

// An error drawn on the text it speaks of:
//
//   model.dyir:3:7: error: there is no host op called int.plus
//     %c = int.plus %a, %b
//          ^
std::string draw_error(const Error& error, std::string_view text, const std::string& file_name);

}  // namespace dycl::ir
