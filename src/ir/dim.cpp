// SPDX-License-Identifier: Apache-2.0
#include "ir/dim.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

#include "ir/program.h"
#include "support/scalar_ops.h"

namespace dycl::ir {

namespace {

constexpr std::size_t kMaxTerms = 64;   // of one sum
constexpr std::size_t kMaxText = 1024;  // characters of an expression
constexpr int kMaxDepth = 32;

using Int = std::int64_t;
using scalar::Fault;

// A product of atoms (symbols and kept calls, by their text), sorted. An atom is
// atomic for arithmetic; its text parses back to itself.
using Monomial = std::vector<std::string>;

struct Poly {
  std::map<Monomial, Int> terms;  // no zero coefficients

  static Poly of(Int value) {
    Poly p;
    if (value != 0) p.terms[{}] = value;
    return p;
  }
  static Poly atom(std::string text) {
    Poly p;
    p.terms[{std::move(text)}] = 1;
    return p;
  }
  bool is_constant() const { return terms.empty() || (terms.size() == 1 && terms.begin()->first.empty()); }
  Int constant() const {
    auto it = terms.find({});
    return it == terms.end() ? 0 : it->second;
  }
  bool operator==(const Poly&) const = default;
};
using MaybePoly = std::optional<Poly>;  // nullopt: overflow, too large, or undefined

bool add_term(Poly& sum, const Monomial& monomial, Int coefficient) {
  Int& slot = sum.terms[monomial];
  if (scalar::int_add(slot, coefficient, &slot) != Fault::None) return false;
  if (slot == 0) sum.terms.erase(monomial);
  return sum.terms.size() <= kMaxTerms;
}

MaybePoly add(const Poly& a, const Poly& b, Int scale = 1) {
  Poly sum = a;
  for (const auto& [monomial, coefficient] : b.terms) {
    Int scaled;
    if (scalar::int_mul(coefficient, scale, &scaled) != Fault::None) return std::nullopt;
    if (!add_term(sum, monomial, scaled)) return std::nullopt;
  }
  return sum;
}

MaybePoly mul(const Poly& a, const Poly& b) {
  Poly product;
  for (const auto& [ma, ca] : a.terms) {
    for (const auto& [mb, cb] : b.terms) {
      Monomial joined;
      std::merge(ma.begin(), ma.end(), mb.begin(), mb.end(), std::back_inserter(joined));
      Int coefficient;
      if (joined.size() > kMaxTerms || scalar::int_mul(ca, cb, &coefficient) != Fault::None) return std::nullopt;
      if (!add_term(product, joined, coefficient)) return std::nullopt;
    }
  }
  return product;
}

// ---- text ----------------------------------------------------------------------

// Atoms are symbols, max/min calls, or divisions; only the last need parentheses
// next to other operators.
bool is_division(const std::string& atom) {
  int depth = 0;
  for (char c : atom) {
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (depth == 0 && (c == '/' || c == '%')) return true;
  }
  return false;
}

int nesting_of(const std::string& text) {
  int depth = 0, deepest = 0;
  for (char c : text) {
    if (c == '(') deepest = std::max(deepest, ++depth);
    if (c == ')') --depth;
  }
  return deepest;
}

std::string product_text(const Monomial& monomial, Int coefficient) {
  // |INT64_MIN| has no positive form; unsigned arithmetic writes it all the same.
  const auto magnitude =
      coefficient < 0 ? 0 - static_cast<std::uint64_t>(coefficient) : static_cast<std::uint64_t>(coefficient);
  std::string text;
  if (magnitude != 1 || monomial.empty()) text = std::to_string(magnitude);
  for (const std::string& atom : monomial) {
    if (!text.empty()) text += '*';
    const bool alone = coefficient == 1 && monomial.size() == 1;
    text += !alone && is_division(atom) ? "(" + atom + ")" : atom;
  }
  return text;
}

std::string text_of(const Poly& poly) {
  if (poly.terms.empty()) return "0";
  std::string text;
  // Longer products first, the constant last; ties in order of names.
  std::vector<const std::pair<const Monomial, Int>*> order;
  for (const auto& term : poly.terms) order.push_back(&term);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->first.size() > b->first.size(); });
  for (const auto* term : order) {
    if (term->second < 0)
      text += '-';
    else if (!text.empty())
      text += '+';
    text += product_text(term->first, term->second);
  }
  return text;
}

// As an operand of `//` or `%`.
std::string operand_text(const Poly& poly) {
  const bool bare = poly.terms.empty() || (poly.terms.size() == 1 && poly.terms.begin()->second > 0 &&
                                           (poly.terms.begin()->first.empty() ||
                                            (poly.terms.begin()->second == 1 && poly.terms.begin()->first.size() == 1 &&
                                             !is_division(poly.terms.begin()->first[0]))));
  return bare ? text_of(poly) : "(" + text_of(poly) + ")";
}

MaybePoly kept(std::string text) {
  if (text.size() > kMaxText) return std::nullopt;
  return Poly::atom(std::move(text));
}

// ---- division, max, min ------------------------------------------------------------

// Splits a = c * divisible + rest.
void split_by(const Poly& a, Int c, Poly& divisible, Poly& rest) {
  for (const auto& [monomial, coefficient] : a.terms) {
    Int quotient = 0, remainder = 0;
    if (scalar::int_floordiv(coefficient, c, &quotient) != Fault::None ||
        scalar::int_mod(coefficient, c, &remainder) != Fault::None)
      remainder = coefficient, quotient = 0;
    if (!monomial.empty() && remainder != 0) remainder = coefficient, quotient = 0;
    if (quotient != 0) divisible.terms[monomial] = quotient;
    if (remainder != 0) rest.terms[monomial] = remainder;
  }
}

MaybePoly kept_division(const Poly& a, const char* op, const Poly& b) {
  return kept(operand_text(a) + op + operand_text(b));
}

MaybePoly divide(const Poly& a, const Poly& b) {
  if (b.is_constant()) {
    const Int c = b.constant();
    if (c == 0) return std::nullopt;
    if (c == -1) return add(Poly{}, a, -1);
    if (c < 0) {  // floor(a / c) == floor(-a / -c)
      const MaybePoly negated = add(Poly{}, a, -1);
      if (!negated || c == scalar::kIntMin) return std::nullopt;
      return divide(*negated, Poly::of(-c));
    }
    Poly divisible, rest;
    split_by(a, c, divisible, rest);
    // What is left of the constant lies in [0, c), so alone it adds nothing.
    if (rest.is_constant()) return divisible;
    const MaybePoly quotient = kept_division(rest, "//", b);
    return quotient ? add(divisible, *quotient) : std::nullopt;
  }
  return kept_division(a, "//", b);
}

MaybePoly modulo(const Poly& a, const Poly& b) {
  if (b.is_constant()) {
    const Int c = b.constant();
    if (c == 0) return std::nullopt;
    if (c > 0) {
      Poly divisible, rest;
      split_by(a, c, divisible, rest);
      if (rest.is_constant()) return rest;
      return kept_division(rest, "%", b);
    }
    if (a.is_constant()) {
      Int remainder;
      if (scalar::int_mod(a.constant(), c, &remainder) != Fault::None) return std::nullopt;
      return Poly::of(remainder);
    }
  }
  return kept_division(a, "%", b);
}

// max or min of any number of arguments; nested ones have been opened already.
MaybePoly extremum(std::vector<Poly> args, bool want_max) {
  std::vector<Poly> kept_args;
  for (Poly& arg : args) {
    bool covered = false;
    for (Poly& other : kept_args) {
      const MaybePoly difference = add(arg, other, -1);
      if (!difference || !difference->is_constant()) continue;
      const Int d = difference->constant();
      if (want_max ? d > 0 : d < 0) other = arg;
      covered = true;
      break;
    }
    if (!covered) kept_args.push_back(std::move(arg));
  }
  if (kept_args.size() == 1) return kept_args.front();
  std::vector<std::string> texts;
  texts.reserve(kept_args.size());
  for (const Poly& arg : kept_args) texts.push_back(text_of(arg));
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  std::string text = want_max ? "max(" : "min(";
  for (std::size_t i = 0; i < texts.size(); ++i) text += (i ? "," : "") + texts[i];
  return kept(text + ")");
}

// ---- parsing ---------------------------------------------------------------------

// One grammar for parsing, evaluating and bounding: `Domain` says what values are.
// Keeps going to a nullopt value on arithmetic trouble, but to a syntax error on
// bad text.
template <typename Domain>
class Reader {
 public:
  using V = typename Domain::Value;

  Reader(std::string_view text, Domain& domain) : text_(text), domain_(domain) {}

  // nullopt with empty `problem()`: arithmetic trouble, not syntax.
  std::optional<V> read() {
    auto value = sum(0);
    if (problem_.empty() && skip_space() != '\0') problem_ = "unexpected '" + std::string(1, text_[at_]) + "'";
    return problem_.empty() ? std::move(value) : std::nullopt;
  }
  const std::string& problem() const { return problem_; }

 private:
  char skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  std::optional<V> fail(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
    return std::nullopt;
  }
  template <typename F>
  std::optional<V> combine(std::optional<V> a, std::optional<V> b, F f) {
    return a && b ? f(*a, *b) : std::nullopt;
  }

  std::optional<V> sum(int depth) {
    auto value = product(depth);
    while (problem_.empty()) {
      if (take("+"))
        value = combine(value, product(depth), [&](auto& a, auto& b) { return domain_.add(a, b); });
      else if (take("-"))
        value = combine(value, product(depth), [&](auto& a, auto& b) { return domain_.sub(a, b); });
      else
        break;
    }
    return value;
  }
  std::optional<V> product(int depth) {
    auto value = unary(depth);
    while (problem_.empty()) {
      if (take("*"))
        value = combine(value, unary(depth), [&](auto& a, auto& b) { return domain_.mul(a, b); });
      else if (take("//"))
        value = combine(value, unary(depth), [&](auto& a, auto& b) { return domain_.div(a, b); });
      else if (take("%"))
        value = combine(value, unary(depth), [&](auto& a, auto& b) { return domain_.mod(a, b); });
      else
        break;
    }
    return value;
  }
  std::optional<V> unary(int depth) {
    if (depth > kMaxDepth) return fail("the expression is nested too deeply");
    if (take("-")) {
      if (std::isdigit(static_cast<unsigned char>(skip_space()))) return number(true);
      return combine(domain_.number(0), unary(depth + 1), [&](auto& a, auto& b) { return domain_.sub(a, b); });
    }
    return primary(depth);
  }
  std::optional<V> number(bool negative) {
    const std::size_t start = at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) ++at_;
    const std::string digits = (negative ? "-" : "") + std::string(text_.substr(start, at_ - start));
    Int value = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc())
      return fail("the number " + digits + " does not fit in 64 bits");
    return domain_.number(value);
  }
  std::optional<V> primary(int depth) {
    const char c = skip_space();
    if (c == '(') {
      ++at_;
      auto value = sum(depth + 1);
      if (problem_.empty() && !take(")")) return fail("expected ')'");
      return value;
    }
    if (std::isdigit(static_cast<unsigned char>(c))) return number(false);
    if (!std::isalpha(static_cast<unsigned char>(c)) && c != '_') return fail("expected a number or a symbol");
    const std::size_t start = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_' || text_[at_] == '.'))
      ++at_;
    const std::string name(text_.substr(start, at_ - start));
    if ((name == "max" || name == "min") && take("(")) return call(name == "max", depth);
    return domain_.symbol(name);
  }
  std::optional<V> call(bool want_max, int depth) {
    std::vector<V> args;
    bool all = true;
    do {
      auto arg = sum(depth + 1);
      if (!problem_.empty()) return std::nullopt;
      if (arg)
        args.push_back(std::move(*arg));
      else
        all = false;
    } while (take(","));
    if (!take(")")) return fail("expected ',' or ')'");
    return all ? domain_.extremum(std::move(args), want_max) : std::nullopt;
  }

  std::string_view text_;
  Domain& domain_;
  std::size_t at_ = 0;
  std::string problem_;
};

struct PolyDomain {
  using Value = Poly;
  MaybePoly number(Int v) { return Poly::of(v); }
  MaybePoly symbol(const std::string& name) { return Poly::atom(name); }
  MaybePoly add(const Poly& a, const Poly& b) { return ir::add(a, b); }
  MaybePoly sub(const Poly& a, const Poly& b) { return ir::add(a, b, -1); }
  MaybePoly mul(const Poly& a, const Poly& b) { return ir::mul(a, b); }
  MaybePoly div(const Poly& a, const Poly& b) { return divide(a, b); }
  MaybePoly mod(const Poly& a, const Poly& b) { return modulo(a, b); }
  // max(max(a,b),c) opens to max(a,b,c), so that equal sets get equal texts.
  MaybePoly extremum(std::vector<Poly> args, bool want_max) {
    std::vector<Poly> flat;
    const std::string_view head = want_max ? "max(" : "min(";
    for (Poly& arg : args) {
      if (arg.terms.size() != 1 || arg.terms.begin()->second != 1 || arg.terms.begin()->first.size() != 1 ||
          arg.terms.begin()->first[0].compare(0, head.size(), head) != 0) {
        flat.push_back(std::move(arg));
        continue;
      }
      const std::string text = arg.terms.begin()->first[0];
      for (std::string_view inner :
           split_arguments(std::string_view(text).substr(head.size(), text.size() - head.size() - 1))) {
        PolyDomain domain;
        MaybePoly poly = Reader<PolyDomain>(inner, domain).read();
        if (!poly) return std::nullopt;
        flat.push_back(std::move(*poly));
      }
    }
    if (flat.size() > kMaxTerms) return std::nullopt;
    return ir::extremum(std::move(flat), want_max);
  }
  static std::vector<std::string_view> split_arguments(std::string_view text) {
    std::vector<std::string_view> parts;
    int depth = 0;
    std::size_t start = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '(') ++depth;
      if (text[i] == ')') --depth;
      if (text[i] == ',' && depth == 0) {
        parts.push_back(text.substr(start, i - start));
        start = i + 1;
      }
    }
    parts.push_back(text.substr(start));
    return parts;
  }
};

struct ValueDomain {
  using Value = Int;
  const SymbolValues& symbols;

  template <typename F>
  static std::optional<Int> checked(F f, Int a, Int b) {
    Int out;
    return f(a, b, &out) == Fault::None ? std::optional<Int>(out) : std::nullopt;
  }
  std::optional<Int> number(Int v) { return v; }
  std::optional<Int> symbol(const std::string& name) {
    auto it = symbols.find(name);
    return it == symbols.end() ? std::nullopt : std::optional<Int>(it->second);
  }
  std::optional<Int> add(Int a, Int b) { return checked(scalar::int_add, a, b); }
  std::optional<Int> sub(Int a, Int b) { return checked(scalar::int_sub, a, b); }
  std::optional<Int> mul(Int a, Int b) { return checked(scalar::int_mul, a, b); }
  std::optional<Int> div(Int a, Int b) { return checked(scalar::int_floordiv, a, b); }
  std::optional<Int> mod(Int a, Int b) { return checked(scalar::int_mod, a, b); }
  std::optional<Int> extremum(const std::vector<Int>& args, bool want_max) {
    return want_max ? *std::max_element(args.begin(), args.end()) : *std::min_element(args.begin(), args.end());
  }
};

// Saturating interval arithmetic.
struct IntervalDomain {
  using Value = Interval;
  const std::map<std::string, Symbol>& symbols;

  template <typename F>
  static Int saturating(F f, Int a, Int b, bool negative_on_overflow) {
    Int out;
    if (f(a, b, &out) == Fault::None) return out;
    return negative_on_overflow ? INT64_MIN : INT64_MAX;
  }
  static Int plus(Int a, Int b) { return saturating(scalar::int_add, a, b, a < 0); }
  static Int times(Int a, Int b) { return saturating(scalar::int_mul, a, b, (a < 0) != (b < 0)); }

  std::optional<Interval> number(Int v) { return Interval{v, v}; }
  std::optional<Interval> symbol(const std::string& name) {
    auto it = symbols.find(name);
    return it == symbols.end() ? Interval{} : Interval{it->second.min, it->second.max};
  }
  std::optional<Interval> add(Interval a, Interval b) { return Interval{plus(a.min, b.min), plus(a.max, b.max)}; }
  std::optional<Interval> sub(Interval a, Interval b) {
    const auto negate = [](Int v) { return v == INT64_MIN ? INT64_MAX : -v; };
    return add(a, {negate(b.max), negate(b.min)});
  }
  std::optional<Interval> mul(Interval a, Interval b) {
    const Int corners[] = {times(a.min, b.min), times(a.min, b.max), times(a.max, b.min), times(a.max, b.max)};
    return Interval{*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
  }
  std::optional<Interval> div(Interval a, Interval b) {
    if (b.min <= 0) return Interval{INT64_MIN, INT64_MAX};
    Int corners[4];
    int i = 0;
    for (Int x : {a.min, a.max})
      for (Int y : {b.min, b.max}) {
        // Unbounded ends stay unbounded.
        if (x == INT64_MIN || x == INT64_MAX)
          corners[i++] = y == INT64_MAX ? (x < 0 ? -1 : 0) : x;
        else
          corners[i++] = saturating(scalar::int_floordiv, x, y, false);
      }
    return Interval{*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
  }
  std::optional<Interval> mod(Interval a, Interval b) {
    if (b.min <= 0) return Interval{INT64_MIN, INT64_MAX};
    if (a.min >= 0) return Interval{0, std::min(a.max, b.max == INT64_MAX ? b.max : b.max - 1)};
    return Interval{0, b.max == INT64_MAX ? b.max : b.max - 1};
  }
  std::optional<Interval> extremum(const std::vector<Interval>& args, bool want_max) {
    Interval all = args.front();
    for (const Interval& arg : args) {
      all.min = want_max ? std::max(all.min, arg.min) : std::min(all.min, arg.min);
      all.max = want_max ? std::max(all.max, arg.max) : std::min(all.max, arg.max);
    }
    return all;
  }
};

MaybePoly poly_of(const Dim& dim) {
  if (dim.is_known()) return Poly::of(dim.value);
  if (dim.is_opaque()) return std::nullopt;
  PolyDomain domain;
  return Reader<PolyDomain>(dim.expr, domain).read();
}

Dim dim_of(const MaybePoly& poly) {
  if (!poly) return Dim::opaque();
  if (poly->is_constant()) return constant_dim(poly->constant());
  std::string text = text_of(*poly);
  // Whatever we write must read back, so it stays well below what the reader refuses.
  if (text.size() > kMaxText || nesting_of(text) > kMaxDepth / 2 - 1) return Dim::opaque();
  return Dim{-1, std::move(text)};
}

template <typename F>
Dim combine(const Dim& a, const Dim& b, F f) {
  const MaybePoly pa = poly_of(a), pb = poly_of(b);
  return pa && pb ? dim_of(f(*pa, *pb)) : Dim::opaque();
}

}  // namespace

Dim constant_dim(std::int64_t value) { return value >= 0 ? Dim::of(value) : Dim{-1, std::to_string(value)}; }

Dim operator+(const Dim& a, const Dim& b) {
  return combine(a, b, [](const Poly& x, const Poly& y) { return add(x, y); });
}
Dim operator-(const Dim& a, const Dim& b) {
  return combine(a, b, [](const Poly& x, const Poly& y) { return add(x, y, -1); });
}
Dim operator*(const Dim& a, const Dim& b) { return combine(a, b, mul); }
Dim floordiv(const Dim& a, const Dim& b) { return combine(a, b, divide); }
Dim mod(const Dim& a, const Dim& b) { return combine(a, b, modulo); }
Dim dim_max(const Dim& a, const Dim& b) {
  return combine(a, b, [](const Poly& x, const Poly& y) { return PolyDomain().extremum({x, y}, true); });
}
Dim dim_min(const Dim& a, const Dim& b) {
  return combine(a, b, [](const Poly& x, const Poly& y) { return PolyDomain().extremum({x, y}, false); });
}

Result<Dim> parse_dim(std::string_view text) {
  const auto error = [&](const std::string& problem) {
    return Error{
        ErrorKind::InvalidModel, "bad dimension '" + std::string(text.substr(0, 80)) + "': " + problem, {}, {}, {}};
  };
  if (text == "?") return Dim::opaque();
  if (text.size() > kMaxText) return error("longer than " + std::to_string(kMaxText) + " characters");
  PolyDomain domain;
  Reader<PolyDomain> reader(text, domain);
  const MaybePoly poly = reader.read();
  if (!reader.problem().empty()) return error(reader.problem());
  const Dim dim = dim_of(poly);
  if (dim.is_opaque()) return error("it overflows, divides by zero, or has too many terms");
  return dim;
}

std::string to_string(const Dim& dim) {
  if (dim.is_known()) return std::to_string(dim.value);
  return dim.expr.empty() ? "?" : dim.expr;
}

std::optional<std::int64_t> evaluate(const Dim& dim, const SymbolValues& symbols) {
  if (dim.is_known()) return dim.value;
  if (dim.is_opaque()) return std::nullopt;
  ValueDomain domain{symbols};
  return Reader<ValueDomain>(dim.expr, domain).read();
}

Interval bounds(const Dim& dim, const std::map<std::string, Symbol>& symbols) {
  if (dim.is_known()) return {dim.value, dim.value};
  if (dim.is_opaque()) return {};
  IntervalDomain domain{symbols};
  const auto interval = Reader<IntervalDomain>(dim.expr, domain).read();
  return interval ? *interval : Interval{INT64_MIN, INT64_MAX};
}

std::vector<std::string> symbols_of(const Dim& dim) {
  std::set<std::string> names;
  const std::string& text = dim.expr;
  for (std::size_t i = 0; i < text.size();) {
    const auto word = [&](std::size_t k) {
      const auto c = static_cast<unsigned char>(text[k]);
      return std::isalnum(c) || c == '_' || c == '.';
    };
    if (!word(i)) {
      ++i;
      continue;
    }
    const std::size_t start = i;
    while (i < text.size() && word(i)) ++i;
    const std::string name = text.substr(start, i - start);
    const bool call = (name == "max" || name == "min") && i < text.size() && text[i] == '(';
    if (!call && !std::isdigit(static_cast<unsigned char>(name[0]))) names.insert(name);
  }
  return {names.begin(), names.end()};
}

}  // namespace dycl::ir
