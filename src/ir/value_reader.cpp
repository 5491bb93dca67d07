// SPDX-License-Identifier: Apache-2.0
#include "ir/value_reader.h"

#include <cmath>
#include <limits>

#include "ir/dim.h"
#include "ir/text.h"

namespace dycl::ir {

namespace {

constexpr int kMaxTypeDepth = 32;
constexpr std::size_t kMaxRank = 256;

}  // namespace

Result<Type> ValueReader::read_type(std::string_view text) {
  ValueReader reader(text);
  Type type;
  if (reader.parse_type(type) && reader.token_.kind == Kind::End) return type;
  if (reader.errors_.empty()) reader.fail("unexpected text after the type");
  return reader.errors_.front();
}

bool ValueReader::parse_type(Type& type, int depth) {
  if (depth > kMaxTypeDepth) return fail("the type is nested too deeply");
  if (token_.kind != Kind::Word) return fail("expected a type");
  const auto dtype = dtype_named(token_.text);
  if (dtype && lexer_.peek() == '[') return tensor_type(*dtype, type);
  if (take_word("bool")) return type = Type::boolean(), true;
  if (take_word("int")) return type = Type::integer(), true;
  if (take_word("float")) return type = Type::floating(), true;
  if (at_word("list") || at_word("optional")) {
    const bool list = at_word("list");
    advance();
    Type element;
    if (!expect_punct("<") || !parse_type(element, depth + 1) || !expect_punct(">")) return false;
    type = list ? Type::list(std::move(element)) : Type::optional(std::move(element));
    return true;
  }
  return fail("'" + token_.text.substr(0, 40) + "' is no type");
}

// Dims are read raw: `//` is a division here.
bool ValueReader::tensor_type(DType dtype, Type& type) {
  const std::string_view text = lexer_.text();
  std::size_t at = lexer_.offset() + 1;
  std::vector<Dim> dims;
  bool any_rank = false, more = true;
  while (more) {
    const std::size_t start = at;
    int depth = 0;
    while (at < text.size() && text[at] != '\n' && text[at] != ']' && !(text[at] == ',' && depth == 0)) {
      if (text[at] == '(') ++depth;
      if (text[at] == ')') --depth;
      ++at;
    }
    if (at >= text.size() || text[at] == '\n') return fail_at(start, "the type does not end; expected ']'");
    more = text[at] == ',';
    std::string_view piece = text.substr(start, at - start);
    while (!piece.empty() && piece.front() == ' ') piece.remove_prefix(1);
    while (!piece.empty() && piece.back() == ' ') piece.remove_suffix(1);
    ++at;
    if (piece.empty() && !more && dims.empty() && !any_rank) break;  // f32[]
    if (piece == "*") {
      any_rank = true;
      continue;
    }
    Result<Dim> dim = parse_dim(piece);
    if (!dim) return fail_at(start, dim.error().message);
    if (dims.size() >= kMaxRank) return fail_at(start, "the type has more than " + std::to_string(kMaxRank) + " dims");
    dims.push_back(std::move(*dim));
  }
  if (any_rank && !dims.empty()) return fail("'*' stands alone, for a rank that is not known");
  type = any_rank ? Type::tensor_of_unknown_rank(dtype) : Type::tensor(dtype, std::move(dims));
  lexer_.move_to(at);
  advance();
  return true;
}

// A number, inf, nan or nan(0x...); leaves the token behind it.
bool ValueReader::number(Number& n) {
  n = {};
  n.text = token_.text;
  if (token_.kind == Kind::Int) {
    n.is_integer = true;
    n.fits_signed = token_.exact;
    n.integer = token_.integer;
    n.bits = token_.bits;
  } else if (token_.kind == Kind::Real) {
    n.real = token_.real;
  } else if (at_word("inf")) {
    n.real = std::numeric_limits<double>::infinity();
  } else if (at_word("nan")) {
    n.real = std::numeric_limits<double>::quiet_NaN();
    if (lexer_.peek() == '(') {
      advance();
      advance();
      if (token_.kind != Kind::Hex) return fail("expected the bits of a NaN, such as 0x7ff8000000000001");
      n.has_bits = true;
      n.bits = token_.bits;
      advance();
      if (!at_punct(")")) return fail("expected ')'");
    }
  } else {
    return fail("expected a number");
  }
  advance();
  return true;
}

bool ValueReader::elements(DType dtype, std::vector<std::uint8_t>& bytes) {
  if (!expect_punct("[")) return false;
  if (take_punct("]")) return true;
  do {
    const std::size_t offset = token_.offset;
    Number n;
    if (dtype == DType::Bool) {
      if (!at_word("true") && !at_word("false")) return fail("expected true or false");
      bytes.push_back(at_word("true") ? 1 : 0);
      advance();
      continue;
    }
    if (!number(n)) return false;
    if (const char* problem = append_element(dtype, n, bytes)) return fail_at(offset, problem);
  } while (take_punct(","));
  return expect_punct("]");
}

bool ValueReader::literal(Attr& attr) {
  const std::size_t offset = token_.offset;
  Type type;
  if (!parse_type(type)) return false;
  if (!type.is_tensor() || !type.shape) return fail_at(offset, "a literal has a tensor type with known dims");
  TensorLiteral out;
  out.dtype = type.dtype;
  for (const Dim& dim : *type.shape) {
    if (!dim.is_known()) return fail_at(offset, "a literal has a tensor type with known dims");
    out.shape.push_back(dim.value);
  }
  if (!elements(out.dtype, out.bytes)) return false;
  const std::int64_t count = element_count(out.shape);
  const std::size_t have = out.bytes.size() / size_of(out.dtype);
  if (count < 0 || static_cast<std::uint64_t>(count) != have || out.bytes.size() % size_of(out.dtype) != 0)
    return fail_at(offset, to_string(type) + " does not have " + std::to_string(have) + " elements");
  attr = std::move(out);
  return true;
}

bool ValueReader::attribute_value(Attr& attr) {
  if (token_.kind == Kind::String) {
    attr = std::move(token_.text);
    advance();
    return true;
  }
  if (token_.kind == Kind::Int || token_.kind == Kind::Real || at_word("inf") || at_word("nan"))
    return scalar_value(attr);
  if (at_word("true") || at_word("false")) {
    attr = at_word("true");
    advance();
    return true;
  }
  if (at_punct("[")) return list_value(attr);
  if (lexer_.peek() == '[') {
    if (at_word("ints")) return empty_list(attr, std::vector<std::int64_t>{});
    if (at_word("floats")) return empty_list(attr, std::vector<double>{});
    if (at_word("strings")) return empty_list(attr, std::vector<std::string>{});
    if (token_.kind == Kind::Word && dtype_named(token_.text)) return literal(attr);
  }
  if (at_word("type") && lexer_.peek() == ':') {
    advance();
    advance();
    Type type;
    if (!parse_type(type)) return false;
    attr = std::move(type);
    return true;
  }
  return fail("expected a value: a number, true, \"text\", [list], f32[2] [1.0,2.0] or type:f32[2]");
}

bool ValueReader::scalar_value(Attr& attr) {
  const std::size_t offset = token_.offset;
  Number n;
  if (!number(n)) return false;
  if (n.is_integer && !n.fits_signed) return fail_at(offset, "the number " + n.text + " does not fit in 64 bits");
  if (n.has_bits && !std::isnan(to_double(n))) return fail_at(offset, "these bits are no NaN");
  if (n.is_integer)
    attr = n.integer;
  else
    attr = to_double(n);
  return true;
}

bool ValueReader::empty_list(Attr& attr, Attr empty) {
  advance();
  attr = std::move(empty);
  return expect_punct("[") && expect_punct("]");
}

bool ValueReader::list_value(Attr& attr) {
  const std::size_t offset = token_.offset;
  advance();
  if (at_punct("]")) return fail("an empty list says what it holds: ints[], floats[] or strings[]");
  std::vector<std::int64_t> ints;
  std::vector<double> floats;
  std::vector<std::string> strings;
  do {
    Attr item;
    if (token_.kind == Kind::String) {
      strings.push_back(std::move(token_.text));
      advance();
      continue;
    }
    if (!scalar_value(item)) return false;
    if (const auto* i = std::get_if<std::int64_t>(&item))
      ints.push_back(*i);
    else
      floats.push_back(std::get<double>(item));
  } while (take_punct(","));
  if (!expect_punct("]")) return false;
  if ((!ints.empty()) + (!floats.empty()) + (!strings.empty()) != 1)
    return fail_at(offset, "a list holds values of one kind");
  if (!ints.empty())
    attr = std::move(ints);
  else if (!floats.empty())
    attr = std::move(floats);
  else
    attr = std::move(strings);
  return true;
}

}  // namespace dycl::ir
