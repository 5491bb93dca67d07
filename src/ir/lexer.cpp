// SPDX-License-Identifier: Apache-2.0
#include "ir/lexer.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "ir/text.h"

namespace dycl::ir {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }
bool is_name_char(char c) { return is_letter(c) || is_digit(c) || c == '.'; }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void invalidate(Token& token, std::string why) {
  token.kind = Token::Kind::Invalid;
  token.text = std::move(why);
}

}  // namespace

bool Lexer::skip_blanks() {
  bool new_line = at_ == 0;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') new_line = true;
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      ++at_;
    } else if (c == '/' && at_ + 1 < text_.size() && text_[at_ + 1] == '/') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else {
      break;
    }
  }
  return new_line;
}

Token Lexer::next() {
  Token token;
  token.first_on_line = skip_blanks();
  token.offset = at_;
  if (at_ >= text_.size()) return token;
  const char c = text_[at_];
  const char after = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
  if (is_letter(c)) {
    token.kind = Token::Kind::Word;
    while (at_ < text_.size() && is_name_char(text_[at_])) token.text += text_[at_++];
  } else if (c == '%') {
    lex_name(token, Token::Kind::Value);
  } else if (c == '^') {
    lex_name(token, Token::Kind::Block);
  } else if (c == '@') {
    if (is_digit(after))
      lex_span(token);
    else
      lex_name(token, Token::Kind::Global);
  } else if (is_digit(c) || (c == '-' && (is_digit(after) || after == 'i'))) {
    lex_number(token);
  } else if (c == '"') {
    lex_string(token);
  } else if (c == '-' && after == '>') {
    token.kind = Token::Kind::Punct;
    token.text = "->";
    at_ += 2;
  } else if (std::string_view("()[]{}<>,:=*").find(c) != std::string_view::npos) {
    token.kind = Token::Kind::Punct;
    token.text = c;
    ++at_;
  } else {
    const auto byte = static_cast<unsigned char>(c);
    invalidate(token, byte > 0x20 && byte < 0x7f ? "unexpected character '" + std::string(1, c) + "'"
                                                 : "unexpected byte " + std::to_string(byte));
    ++at_;
  }
  return token;
}

void Lexer::lex_name(Token& token, Token::Kind kind) {
  ++at_;
  if (peek() == '"') {
    lex_string(token);
    if (token.kind == Token::Kind::String) token.kind = kind;
    return;
  }
  while (at_ < text_.size() && is_name_char(text_[at_])) token.text += text_[at_++];
  const bool numbered = kind != Token::Kind::Global && is_number_name(token.text);
  if (is_plain_name(token.text) || numbered)
    token.kind = kind;
  else
    invalidate(token, token.text.empty() ? "a name must follow" : "'" + token.text + "' is no name; quote it");
}

void Lexer::lex_number(Token& token) {
  const std::size_t start = at_;
  if (text_[at_] == '-') ++at_;
  if (text_.substr(at_, 3) == "inf" && (at_ + 3 >= text_.size() || !is_name_char(text_[at_ + 3]))) {
    at_ += 3;
    token.kind = Token::Kind::Real;
    token.text = "-inf";
    token.real = -std::numeric_limits<double>::infinity();
    return;
  }
  if (text_[at_] == '0' && at_ + 2 < text_.size() && text_[at_ + 1] == 'x' && hex_value(text_[at_ + 2]) >= 0) {
    const auto end = std::from_chars(text_.data() + at_ + 2, text_.data() + text_.size(), token.bits, 16);
    at_ = static_cast<std::size_t>(end.ptr - text_.data());
    token.kind = Token::Kind::Hex;
    if (end.ec != std::errc()) invalidate(token, "the number does not fit in 64 bits");
    return;
  }
  while (at_ < text_.size() &&
         (is_digit(text_[at_]) || text_[at_] == '.' || text_[at_] == 'e' || text_[at_] == 'E' ||
          ((text_[at_] == '-' || text_[at_] == '+') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E'))))
    ++at_;
  token.text = std::string(text_.substr(start, at_ - start));
  const char *first = token.text.data(), *last = first + token.text.size();
  if (token.text.find_first_of(".eE") == std::string::npos) {
    token.kind = Token::Kind::Int;
    const auto as_signed = std::from_chars(first, last, token.integer);
    token.exact = as_signed.ec == std::errc();
    const auto as_unsigned =
        token.exact ? std::from_chars_result{last, std::errc()} : std::from_chars(first, last, token.bits);
    if (token.exact) token.bits = static_cast<std::uint64_t>(token.integer);
    if (as_unsigned.ec != std::errc() || as_unsigned.ptr != last)
      invalidate(token, "the number " + token.text.substr(0, 40) + " does not fit in 64 bits");
    return;
  }
  token.kind = Token::Kind::Real;
  const auto result = std::from_chars(first, last, token.real);
  if (result.ptr != last || result.ec == std::errc::invalid_argument)
    invalidate(token, "'" + token.text.substr(0, 40) + "' is no number");
  else if (result.ec != std::errc())
    invalidate(token, "the number " + token.text.substr(0, 40) + " does not fit in a float; write inf or 0.0");
}

void Lexer::lex_string(Token& token) {
  token.kind = Token::Kind::String;
  ++at_;
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
    if (text_[at_] != '\\') {
      token.text += text_[at_++];
      continue;
    }
    const char escape = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    at_ += 2;
    if (escape == 'n')
      token.text += '\n';
    else if (escape == 't')
      token.text += '\t';
    else if (escape == '"' || escape == '\\')
      token.text += escape;
    else if (escape == 'x' && at_ + 1 < text_.size() && hex_value(text_[at_]) >= 0 && hex_value(text_[at_ + 1]) >= 0) {
      token.text += static_cast<char>(hex_value(text_[at_]) * 16 + hex_value(text_[at_ + 1]));
      at_ += 2;
    } else {
      at_ = std::min(at_ - 1, text_.size());
      return invalidate(token, "unknown escape; there are \\\" \\\\ \\n \\t and \\xNN");
    }
  }
  if (peek() != '"') return invalidate(token, "the string does not end on its line");
  ++at_;
}

void Lexer::lex_span(Token& token) {
  ++at_;
  std::uint32_t* const parts[] = {&token.span.file, &token.span.line, &token.span.column, &token.span.end_line,
                                  &token.span.end_column};
  const char separators[] = {':', ':', '-', ':', '\0'};
  for (int i = 0; i < 5; ++i) {
    const auto end = std::from_chars(text_.data() + at_, text_.data() + text_.size(), *parts[i]);
    at_ = static_cast<std::size_t>(end.ptr - text_.data());
    const bool separated = separators[i] == '\0' || peek() == separators[i];
    if (end.ec != std::errc() || !separated)
      return invalidate(token, "a span looks like @0:12:5-12:20; other names that start with a digit must be quoted");
    if (separators[i] != '\0') ++at_;
  }
  token.kind = Token::Kind::Span;
}

}  // namespace dycl::ir
