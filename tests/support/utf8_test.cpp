// SPDX-License-Identifier: Apache-2.0
#include "support/utf8.h"

#include <gtest/gtest.h>

#include "support/parse_json.h"

namespace dycl {
namespace {

TEST(Printable, TextStaysAndWhatSteersIsShown) {
  EXPECT_EQ(printable("f32[N,4]\tÄ 日本 🙂\n"), "f32[N,4]\tÄ 日本 🙂\n");
  EXPECT_EQ(printable(std::string_view("\x1b[2J\r\b\0\x7f", 8)), "\\x1b[2J\\x0d\\x08\\x00\\x7f");
  EXPECT_EQ(printable("a\xc2\x9b" "b\xe2\x80\xae" "c\xe2\x80\xa8" "d\xd8\x9c"), "a\\x9bb\\u202ec\\u2028d\\u061c");
  EXPECT_EQ(printable("\x9b\xff\xe2\x80"), "\\x9b\\xff\\xe2\\x80") << "malformed bytes";
  EXPECT_EQ(one_line("a\nb\tc"), "a\\x0ab\\x09c");
}

TEST(ParseJson, NestsAtMostSoDeep) {
  using json = nlohmann::json;
  EXPECT_EQ(parse_json<json>(R"([[1], "[[[[\"[[", {"[": 2}])", 2).dump(), R"([[1],"[[[[\"[[",{"[":2}])");
  EXPECT_TRUE(parse_json<json>("[[[1]]]", 2).is_discarded());
  EXPECT_TRUE(parse_json<json>(std::string(1'000'000, '[') + std::string(1'000'000, ']'), 64).is_discarded());
  EXPECT_TRUE(parse_json<json>("[[1]", 2).is_discarded());
  EXPECT_TRUE(parse_json<json>("]]]][", 2).is_discarded());
}

}  // namespace
}  // namespace dycl
