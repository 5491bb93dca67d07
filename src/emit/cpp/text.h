// SPDX-License-Identifier: Apache-2.0
// The spelling of emitted C++: names, literals, types, lines. Knows the language and nothing of programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/type.h"

namespace dycl::emit {

// Hints are printed with numbers that tell values apart: "x.3" -> "x".
std::string python_name(const std::string& hint);
// "my-model.v2" -> "my_model_v2"; never empty, never begins with a digit.
std::string identifier(const std::string& text);
std::string class_name(const std::string& name);  // my_model -> MyModel
std::string snake_name(const std::string& name);  // ResNet50 -> res_net50
// Of an emitted project from what the user calls it: an identifier whose files, class and CMake target hide nothing.
std::string project_name(const std::string& text);
std::string cpp_type(const ir::Type& type);  // of handles and scalars inside an emitted program
bool is_reserved(const std::string& name);   // a keyword, or a name that emitted code uses itself

std::string quoted(const std::string& text);
bool is_quoted(const std::string& line, std::size_t place);  // stands between quotes in a line of code
// The user's text for a comment of one line: without what compilers stumble over, cut to `most` bytes.
std::string comment_text(const std::string& text, std::size_t most);
std::string literal(double v);
std::string literal(std::int64_t v);

// An expression and how tightly it binds: 3 a name, call or literal, 2 unary, 1 binary.
struct Expression {
  std::string text;
  int binding = 3;
};
std::string inside(const Expression& e, int at_least = 3);

std::string tabs(int indent);
std::string joined(const std::vector<std::string>& parts);  // with ", " between

inline constexpr std::size_t kWidth = 120;
// Code with its long lines broken after commas; comments stay as they are.
std::string wrapped(const std::string& code);

}  // namespace dycl::emit
