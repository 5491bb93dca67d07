// SPDX-License-Identifier: Apache-2.0
#include "ir/dim.h"

#include <gtest/gtest.h>

#include "ir/program.h"
#include "support/random.h"
#include "support/scalar_ops.h"

namespace dycl::ir {
namespace {

std::string canonical(const std::string& text) {
  const Result<Dim> dim = parse_dim(text);
  return dim ? to_string(*dim) : "error: " + dim.error().message;
}

TEST(Dim, HasOneTextPerMeaning) {
  EXPECT_EQ(canonical("8"), "8");
  EXPECT_EQ(canonical("?"), "?");
  EXPECT_EQ(canonical("1+N"), "N+1");
  EXPECT_EQ(canonical("N*2-3+M*N"), "M*N+2*N-3");
  EXPECT_EQ(canonical("(N+1)*(N-1)"), "N*N-1");
  EXPECT_EQ(canonical("N-N+4"), "4");
  EXPECT_EQ(canonical("N-N-4"), "-4");
  EXPECT_EQ(canonical("(4*N+6)//2"), "2*N+3");
  EXPECT_EQ(canonical("(4*N+7)//4"), "N+1");
  EXPECT_EQ(canonical("(4*N+M)//4"), "M//4+N");
  EXPECT_EQ(canonical("(N+1)//2"), "(N+1)//2");
  EXPECT_EQ(canonical("N//2*2"), "2*(N//2)");
  EXPECT_EQ(canonical("-(N//2)"), "-(N//2)");
  EXPECT_EQ(canonical("-N//2"), "(-N)//2");
  EXPECT_EQ(canonical("N//2//3"), "(N//2)//3");
  EXPECT_EQ(canonical("N//-2"), "(-N)//2");
  EXPECT_EQ(canonical("(6*N+7)%3"), "1");
  EXPECT_EQ(canonical("(6*N+M)%3"), "M%3");
  EXPECT_EQ(canonical("max(N,3,max(M,N+1))"), "max(3,M,N+1)");
  EXPECT_EQ(canonical("min(N,N)"), "N");
  EXPECT_EQ(canonical("max(2,5)"), "5");
  EXPECT_EQ(canonical("-9223372036854775808"), "-9223372036854775808");
}

TEST(Dim, RefusesWhatIsNoExpression) {
  for (const char* text : {"", "N+", "(N", "N)", "N/2", "max(", "max(N", "3..4", "N N", "99999999999999999999", "N//0",
                           "N%0", "a-b-+", "é"})
    EXPECT_FALSE(parse_dim(text).ok()) << text;
  EXPECT_FALSE(parse_dim(std::string(500, '(') + "N" + std::string(500, ')')).ok());
  EXPECT_FALSE(parse_dim(std::string(900, '-') + "N").ok());
  EXPECT_FALSE(parse_dim("(A+B+C+D)*(A+B+C+D)*(A+B+C+D)*(A+B+C+D)*(E+F+G+H)*(E+F+G+H)").ok());
  EXPECT_FALSE(parse_dim("9223372036854775807*N*2").ok());
}

TEST(Dim, ArithmeticSimplifies) {
  const Dim n{-1, "N"};
  EXPECT_EQ(n + Dim::of(1), *parse_dim("N+1"));
  EXPECT_EQ((n + Dim::of(1)) - n, Dim::of(1));
  EXPECT_EQ(n * Dim::of(0), Dim::of(0));
  EXPECT_EQ(floordiv(n * Dim::of(6), Dim::of(2)), *parse_dim("3*N"));
  EXPECT_TRUE((n + Dim::opaque()).is_opaque());
  EXPECT_TRUE(floordiv(n, Dim::of(0)).is_opaque());
  EXPECT_TRUE((Dim::of(INT64_MAX) + Dim::of(1)).is_opaque());
  EXPECT_EQ(Dim::of(3) - Dim::of(5), constant_dim(-2));
}

TEST(Dim, Evaluates) {
  const SymbolValues values = {{"N", 7}, {"M", 0}};
  EXPECT_EQ(evaluate(*parse_dim("max(N//2,M)+N%4"), values), 6);
  EXPECT_EQ(evaluate(*parse_dim("(-N)//2"), values), -4);
  EXPECT_EQ(evaluate(Dim::of(5), {}), 5);
  EXPECT_EQ(evaluate(Dim::opaque(), values), std::nullopt);
  EXPECT_EQ(evaluate(*parse_dim("K"), values), std::nullopt);
  EXPECT_EQ(evaluate(*parse_dim("N//M"), values), std::nullopt);
}

TEST(Dim, NamesItsSymbols) {
  EXPECT_EQ(symbols_of(*parse_dim("max(N,max.len)*B+N")), (std::vector<std::string>{"B", "N", "max.len"}));
  EXPECT_TRUE(symbols_of(Dim::of(3)).empty());
}

TEST(Dim, Bounds) {
  const std::map<std::string, Symbol> symbols = {{"N", {1, 8}}, {"M", {0, INT64_MAX}}};
  const auto b = [&](const char* text) {
    const Interval i = bounds(*parse_dim(text), symbols);
    return std::pair(i.min, i.max);
  };
  EXPECT_EQ(b("2*N-1"), std::pair(std::int64_t{1}, std::int64_t{15}));
  EXPECT_EQ(b("(N+1)//2"), std::pair(std::int64_t{1}, std::int64_t{4}));
  EXPECT_EQ(b("N%4"), std::pair(std::int64_t{0}, std::int64_t{3}));
  EXPECT_EQ(b("max(N,3)"), std::pair(std::int64_t{3}, std::int64_t{8}));
  EXPECT_EQ(b("M+N").second, INT64_MAX);
}

// A random expression: its text, and its value computed beside it (nullopt: undefined).
struct Sample {
  std::string text;
  std::optional<std::int64_t> value;
};

Sample random_expression(Random& random, const SymbolValues& symbols, int depth) {
  if (depth == 0 || random.integer(0, 4) == 0) {
    if (random.integer(0, 2)) {
      const std::int64_t v = random.integer(0, 6);
      return {std::to_string(v), v};
    }
    auto it = symbols.begin();
    std::advance(it, random.integer(0, static_cast<std::int64_t>(symbols.size())));
    return {it->first, it->second};
  }
  const Sample a = random_expression(random, symbols, depth - 1), b = random_expression(random, symbols, depth - 1);
  const bool known = a.value && b.value;
  std::int64_t out = 0;
  switch (random.integer(0, 7)) {
    case 0: return {"(" + a.text + "+" + b.text + ")", known ? std::optional(*a.value + *b.value) : std::nullopt};
    case 1: return {"(" + a.text + "-" + b.text + ")", known ? std::optional(*a.value - *b.value) : std::nullopt};
    case 2: return {a.text + "*" + b.text, known ? std::optional(*a.value * *b.value) : std::nullopt};
    case 3:
      return {"max(" + a.text + ", " + b.text + ")",
              known ? std::optional(std::max(*a.value, *b.value)) : std::nullopt};
    case 4:
      return {"min(" + a.text + "," + b.text + ")", known ? std::optional(std::min(*a.value, *b.value)) : std::nullopt};
    case 5: {
      const bool fine = known && scalar::int_floordiv(*a.value, *b.value, &out) == scalar::Fault::None;
      return {"((" + a.text + ")//(" + b.text + "))", fine ? std::optional(out) : std::nullopt};
    }
    default: {
      const bool fine = known && scalar::int_mod(*a.value, *b.value, &out) == scalar::Fault::None;
      return {"((" + a.text + ")%(" + b.text + "))", fine ? std::optional(out) : std::nullopt};
    }
  }
}

TEST(Dim, CanonicalFormsKeepTheValue) {
  Random random(1);
  int compared = 0;
  for (int i = 0; i < 20000; ++i) {
    const SymbolValues symbols = {{"A", random.integer(0, 9)}, {"B", random.integer(1, 9)}};
    const Sample sample = random_expression(random, symbols, 3);
    // a*b of unparenthesised operands binds as written: only products of atoms and calls.
    const Result<Dim> dim = parse_dim(sample.text);
    if (!dim) continue;
    const Result<Dim> again = parse_dim(to_string(*dim));
    ASSERT_TRUE(again.ok()) << sample.text << " -> " << to_string(*dim);
    EXPECT_EQ(*again, *dim) << sample.text;
    if (!sample.value) continue;
    EXPECT_EQ(evaluate(*dim, symbols), sample.value) << sample.text << " -> " << to_string(*dim);
    const Interval range = bounds(*dim, {{"A", {0, 8}}, {"B", {1, 8}}});
    EXPECT_LE(range.min, *sample.value) << to_string(*dim);
    EXPECT_GE(range.max, *sample.value) << to_string(*dim);
    ++compared;
  }
  EXPECT_GT(compared, 10000);
}

}  // namespace
}  // namespace dycl::ir
