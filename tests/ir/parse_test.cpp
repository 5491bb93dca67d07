// SPDX-License-Identifier: Apache-2.0
// What texts of errors look like and corners of the text form; most of it is in files/.
#include "ir/parse.h"

#include <gtest/gtest.h>

#include "ir/equal.h"
#include "ir/print.h"
#include "ir/verify.h"

namespace dycl::ir {
namespace {

TEST(Parse, DrawsErrors) {
  const auto result =
      parse("func @f(%x: int) -> (int) {\n^entry:\n  %y = int.plus %x, %x\n  return %y\n}\n", "model.dyir");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message,
            "model.dyir:3:8: error: int.plus: there is no host op called int.plus\n"
            "    %y = int.plus %x, %x\n"
            "         ^");
  EXPECT_EQ(result.error().span.line, 3U);
}

TEST(Parse, CountsColumnsInCharacters) {
  const auto outcome = parse_all("meta \"\xc3\xa9\xc3\xa9\" 3\n", "t");
  ASSERT_EQ(outcome.errors.size(), 1U);
  EXPECT_EQ(outcome.errors[0].span.column, 11U);
}

TEST(Parse, GathersSeveralErrorsInOrder) {
  const auto outcome = parse_all(
      "symbol 3\nfunc @f() -> () {\n^a:\n  goto ^b\n^c:\n  %x = const\n  return %y\n}\nfunc @f() {\n^a:\n  return\n}\n",
      "t");
  std::vector<std::uint32_t> lines;
  for (const Error& error : outcome.errors) lines.push_back(error.span.line);
  EXPECT_EQ(lines, (std::vector<std::uint32_t>{1, 4, 7, 9}));
}

TEST(Parse, StopsAtTooManyErrors) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "symbol 3\n";
  EXPECT_EQ(parse_all(text, "t").errors.size(), kMaxParseErrors);
}

TEST(Parse, IsSafeOnDeepNesting) {
  std::string type = "func @f(%x: ";
  for (int i = 0; i < 100000; ++i) type += "list<";
  EXPECT_FALSE(parse(type, "t").ok());
  EXPECT_FALSE(parse("func @f(%x: f32[" + std::string(100000, '(') + "]) {", "t").ok());
  EXPECT_FALSE(parse(std::string(100000, '{'), "t").ok());
  EXPECT_FALSE(parse("state @s: int = " + std::string(100000, '['), "t").ok());
}

TEST(Parse, TakesTheEmptyText) {
  const auto program = parse("", "t");
  ASSERT_TRUE(program.ok());
  EXPECT_TRUE(program->functions.empty());
  EXPECT_EQ(print(*program), "");
  EXPECT_FALSE(verify(*program).empty());
}

TEST(Parse, PutsPlacesInTheTextWhereAsked) {
  const char* text =
      "func @f() -> (int) {\n^entry:\n  %y = const 3 @0:7:1-7:9\n  %z = int.neg %y\n  return %z\n}\nsource 0 "
      "\"a.py\"\n";
  const auto program = parse(text, "b.dyir", {.spans_from_text = true});
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->sources, (std::vector<std::string>{"a.py", "b.dyir"}));
  const Block& block = program->functions[0].blocks[0];
  EXPECT_EQ(block.body[0].span, (SourceSpan{0, 7, 1, 7, 9}));
  EXPECT_EQ(block.body[1].span, (SourceSpan{1, 4, 3, 4, 18}));
  EXPECT_EQ(block.exit_span.line, 5U);
}

TEST(Parse, InfersTypesWhateverTheOrderOfBlocks) {
  const char* text =
      "func @f(%c: int) -> (float) {\n^entry:\n  goto ^first\n^last:\n  %r = float.add %b, %b\n  return %r\n"
      "^first:\n  %b = int.to_float %c\n  goto ^last\n}\n";
  const auto program = parse(text, "t");
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_TRUE(verify(*program).empty());
  const auto again = parse(print(*program), "t");
  EXPECT_EQ(difference(*program, *again), std::nullopt);
}

TEST(Parse, RefusesTypesThatDependOnThemselves) {
  const auto outcome =
      parse_all("func @f(%c: bool) {\n^entry:\n  %a = select %c, %b, %b\n  %b = select %c, %a, %a\n  return\n}\n", "t");
  ASSERT_EQ(outcome.errors.size(), 2U);
  EXPECT_NE(outcome.errors[0].message.find("depends on itself"), std::string::npos);
}

TEST(Equal, SeesDifferences) {
  const auto p = [](const char* body) {
    return *parse("func @f(%x: int) -> (int) {\n^entry:\n" + std::string(body) + "}\n", "t");
  };
  const Program base = p("  %y = int.add %x, %x\n  return %y\n");
  EXPECT_FALSE(difference(base, p("  %y.1 = int.add %x, %x\n  return %y.1\n")));
  EXPECT_TRUE(difference(base, p("  %z = int.add %x, %x\n  return %z\n")));
  EXPECT_TRUE(difference(base, p("  %y = int.sub %x, %x\n  return %y\n")));
  EXPECT_TRUE(difference(base, p("  %y = int.add %x, %x\n  return %x\n")));
  EXPECT_TRUE(difference(base, p("  %y = int.add %x, %x @0:1:1-1:2\n  return %y\n")));
  EXPECT_TRUE(difference(p("  %y = const 0.0\n  return %x\n"), p("  %y = const -0.0\n  return %x\n")));
  EXPECT_FALSE(difference(p("  %y = const nan\n  return %x\n"), p("  %y = const nan\n  return %x\n")));
}

TEST(Print, NamesAreUniqueAndStable) {
  Program program;
  program.functions.emplace_back();
  Function& f = program.functions[0];
  f.name = "f";
  for (const char* hint : {"h", "h", "h.1", "", "3", "a b", "_", "h"})
    f.params.push_back({f.add_value(Type::integer(), hint), {}});
  EXPECT_EQ(value_names(f), (std::vector<std::string>{"h", "h.1", "h.2", "0", "1", "a_b", "__", "h.3"}));
}

TEST(Print, ShowsBrokenProgramsToo) {
  Program program;
  program.functions.emplace_back();
  Function& f = program.functions[0];
  f.blocks.resize(2);
  f.blocks[0].body.push_back({"Relu", {{9}}, {{8}}, {}, {}});
  f.blocks[0].exit = Goto{{{5}, {{7}}}};
  const std::string text = print(program);
  EXPECT_NE(text.find("%?8 = Relu %?9"), std::string::npos) << text;
  EXPECT_NE(text.find("goto ^?5(%?7)"), std::string::npos) << text;
}

}  // namespace
}  // namespace dycl::ir
