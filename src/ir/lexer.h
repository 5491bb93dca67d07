// SPDX-License-Identifier: Apache-2.0
// Tokens of the text form, made one at a time as the parser asks for them: what
// `//` means depends on where it stands (a comment, or a division in a dim).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/source_span.h"

namespace dycl::ir {

struct Token {
  enum class Kind : std::uint8_t {
    End,
    Word,     // plain name: keyword, op, dtype
    Value,    // %name
    Block,    // ^name
    Global,   // @name
    Int,      // integer
    Real,     // double
    Hex,      // 0x...
    String,   // text, unescaped
    Span,     // @0:12:5-12:20
    Punct,    // one of ( ) [ ] { } < > , : = * and ->
    Invalid,  // text says why
  };

  Kind kind = Kind::End;
  std::size_t offset = 0;  // where it starts
  bool first_on_line = false;
  bool exact = true;  // Int: false if it does not fit in 64 bits as signed
  std::string text;   // Word, names (without the sigil), String, Punct, digits of a number
  std::int64_t integer = 0;
  std::uint64_t bits = 0;  // Hex; Int: the value if it fits in 64 bits as unsigned
  double real = 0;
  SourceSpan span;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next();

  // Raw access right behind the last token, for what is not made of tokens.
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  std::size_t offset() const { return at_; }
  std::string_view text() const { return text_; }
  void move_to(std::size_t offset) { at_ = offset; }

 private:
  bool skip_blanks();  // true if a line began on the way
  void lex_name(Token& token, Token::Kind kind);
  void lex_number(Token& token);
  void lex_string(Token& token);
  void lex_span(Token& token);

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace dycl::ir
