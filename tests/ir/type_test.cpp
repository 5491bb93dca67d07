// SPDX-License-Identifier: Apache-2.0
#include "ir/type.h"

#include <gtest/gtest.h>

#include "ir/parse.h"
#include "support/dtype.h"
#include "support/float_bits.h"

namespace dycl::ir {
namespace {

Type type(const char* text) { return *parse_type(text); }

TEST(Type, TextsReadBack) {
  for (const char* text :
       {"f32[2,N,N+1,?]", "f32[]", "bf16[*]", "bool", "bool[2]", "int", "float", "list<optional<i64[N//2]>>"})
    EXPECT_EQ(to_string(type(text)), text);
  for (const char* text : {"", "f33[2]", "f32", "f32[", "f32[2", "f32[2,]", "f32[*,2]", "list<", "list<int",
                           "list<int>>", "list", "int 3"})
    EXPECT_FALSE(parse_type(text).ok()) << text;
}

TEST(Type, FitsWhereItSaysAtLeastAsMuch) {
  EXPECT_TRUE(fits(type("f32[2,N]"), type("f32[2,N]")));
  EXPECT_TRUE(fits(type("f32[2,N]"), type("f32[?,?]")));
  EXPECT_TRUE(fits(type("f32[2,N]"), type("f32[*]")));
  EXPECT_TRUE(fits(type("list<f32[2]>"), type("list<f32[?]>")));
  EXPECT_FALSE(fits(type("f32[?,N]"), type("f32[2,N]")));
  EXPECT_FALSE(fits(type("f32[*]"), type("f32[2]")));
  EXPECT_FALSE(fits(type("f32[N]"), type("f32[M]")));
  EXPECT_FALSE(fits(type("f32[2]"), type("f64[2]")));
  EXPECT_FALSE(fits(type("int"), type("float")));
  EXPECT_FALSE(fits(type("int"), type("optional<int>")));
}

TEST(Type, JoinsToTheLeastCommonType) {
  EXPECT_EQ(join(type("f32[2,N]"), type("f32[3,N]")), type("f32[?,N]"));
  EXPECT_EQ(join(type("f32[2]"), type("f32[2,3]")), type("f32[*]"));
  EXPECT_EQ(join(type("optional<f32[2]>"), type("optional<f32[3]>")), type("optional<f32[?]>"));
  EXPECT_EQ(join(type("int"), type("int")), type("int"));
  EXPECT_FALSE(join(type("int"), type("float")));
  EXPECT_FALSE(join(type("f32[2]"), type("f16[2]")));
}

TEST(DType, NamesAndNumbersRoundTrip) {
  int known = 0;
  for (int code = 0; code < 40; ++code) {
    const auto dtype = dtype_of_code(code);
    if (!dtype) continue;
    ++known;
    EXPECT_EQ(dtype_named(name_of(*dtype)), dtype);
    EXPECT_GT(size_of(*dtype), 0U);
  }
  EXPECT_EQ(known, 19);
}

TEST(FloatBits, EveryHalfRoundTrips) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    EXPECT_EQ(float_to_f16(f16_to_float(half)), half);
    EXPECT_EQ(float_to_bf16(bf16_to_float(half)), half);
  }
  EXPECT_EQ(float_to_f16(65519.0F), 0x7bff);         // rounds down to the greatest half
  EXPECT_EQ(float_to_f16(65520.0F), 0x7c00);         // to infinity
  EXPECT_EQ(float_to_f16(1.0F + 0x1p-11F), 0x3c00);  // half to even
  EXPECT_EQ(float_to_f16(0x1p-25F), 0);
  EXPECT_EQ(float_to_bf16(1.0F + 0x1p-8F), 0x3f80);
}

}  // namespace
}  // namespace dycl::ir
