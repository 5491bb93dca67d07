// SPDX-License-Identifier: Apache-2.0
// What every part of the parser stands on: the present token, what may follow it, and
// the errors so far. Functions named expect_* and take_* move on if they succeed;
// those that return bool return false after an error (fail returns false, so that
// `return fail(...)` reads well).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/lexer.h"
#include "ir/parse.h"
#include "support/result.h"

namespace dycl::ir {

// Offsets to lines and columns.
class LineMap {
 public:
  explicit LineMap(std::string_view text);
  SourceSpan span(std::size_t begin, std::size_t end, std::uint32_t file = 0) const;

 private:
  void locate(std::size_t offset, std::uint32_t& line, std::uint32_t& column) const;

  std::string_view text_;
  std::vector<std::size_t> starts_;
};

class TokenStream {
 protected:
  using Kind = Token::Kind;

  explicit TokenStream(std::string_view text) : lexer_(text), lines_(text) { advance(); }

  void advance() {
    last_end_ = lexer_.offset();
    token_ = lexer_.next();
  }
  bool full() const { return errors_.size() >= kMaxParseErrors; }

  bool fail_at(std::size_t offset, std::string message, std::string help = {}) {
    if (!full())
      errors_.push_back(
          {ErrorKind::InvalidModel, std::move(message), std::move(help), lines_.span(offset, offset + 1), {}});
    return false;
  }
  // At the token; where a line just ended too early, at its end.
  bool fail(std::string message) {
    if (token_.kind == Kind::Invalid) return fail_at(token_.offset, token_.text);
    const bool line_ended = (token_.first_on_line || token_.kind == Kind::End) && token_.offset != statement_;
    return fail_at(line_ended ? last_end_ : token_.offset, std::move(message));
  }

  bool at_punct(std::string_view text) const { return token_.kind == Kind::Punct && token_.text == text; }
  bool at_word(std::string_view text) const { return token_.kind == Kind::Word && token_.text == text; }
  bool take_punct(std::string_view text) {
    if (!at_punct(text)) return false;
    advance();
    return true;
  }
  bool take_word(std::string_view text) {
    if (!at_word(text)) return false;
    advance();
    return true;
  }
  bool expect_punct(std::string_view text) { return take_punct(text) || fail("expected '" + std::string(text) + "'"); }
  bool expect_name(Kind kind, std::string& name, const char* what) {
    if (token_.kind != kind) return fail(std::string("expected ") + what);
    name = std::move(token_.text);
    advance();
    return true;
  }
  bool expect_string(std::string& text) { return expect_name(Kind::String, text, "a string"); }
  bool expect_int(std::int64_t& value) {
    if (token_.kind != Kind::Int || !token_.exact) return fail("expected an integer");
    value = token_.integer;
    advance();
    return true;
  }
  bool expect_line_end() {
    if (token_.first_on_line || token_.kind == Kind::End || at_punct("}")) return true;
    return fail("unexpected text at the end of the line");
  }

  // After an error: goes on at the next line whose first token `fits`.
  template <typename Fits>
  void recover(std::size_t start, Fits fits) {
    if (token_.offset == start && token_.kind != Kind::End) advance();
    while (token_.kind != Kind::End && !(token_.first_on_line && fits())) advance();
  }

  Lexer lexer_;
  LineMap lines_;
  Token token_;
  std::size_t last_end_ = 0;   // of the token before
  std::size_t statement_ = 0;  // where the present line's statement starts
  std::vector<Error> errors_;
};

}  // namespace dycl::ir
