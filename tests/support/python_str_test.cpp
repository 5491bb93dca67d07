// SPDX-License-Identifier: Apache-2.0
#include "support/python_str.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace dycl {
namespace {

using scalar::Scalar;

TEST(PythonStr, FillsPlaceholders) {
  const Scalar values[] = {Scalar::of(true), Scalar::of(std::int64_t{-3}), Scalar::of(2.0)};
  EXPECT_EQ(format_message("{} {} {}", values), "True -3 2.0");
  EXPECT_EQ(format_message("{{{}}} left {{}}", values), "{True} left {}");
  EXPECT_EQ(format_message("{}{}{}{}", values), "True-32.0{}");
  EXPECT_EQ(format_message("", values), "");
}

TEST(PythonStr, CountsPlaceholders) {
  EXPECT_EQ(count_placeholders("a {} b {}"), 2U);
  EXPECT_EQ(count_placeholders("{{}}"), 0U);
  EXPECT_EQ(count_placeholders("{{{}}}"), 1U);
  EXPECT_EQ(count_placeholders("{x}"), std::nullopt);
  EXPECT_EQ(count_placeholders("}"), std::nullopt);
  EXPECT_EQ(count_placeholders("{"), std::nullopt);
}

TEST(PythonStr, FormatsFloats) {
  const auto shown = [](double x, std::string_view spec) { return python_format(Scalar::of(x), spec); };
  EXPECT_EQ(shown(3.14159, ".2f"), "3.14");
  EXPECT_EQ(shown(-3.14159, "8.3f"), "  -3.142");
  EXPECT_EQ(shown(3.14159, "<8.1f"), "3.1     ");
  EXPECT_EQ(shown(3.14159, "*^9.1e"), "*3.1e+00*");
  EXPECT_EQ(shown(-0.5, "08.2f"), "-0000.50");
  EXPECT_EQ(shown(0.256, ".1%"), "25.6%");
  EXPECT_EQ(shown(1234567.891, ",.2f"), "1,234,567.89");
  EXPECT_EQ(shown(0.0001, "g"), "0.0001");
  EXPECT_EQ(shown(1e20, "G"), "1E+20");
  EXPECT_EQ(shown(2.5, "+.0f"), "+2");
  EXPECT_EQ(shown(1234.5, ".3"), "1.23e+03");
  EXPECT_EQ(shown(12.0, ".3"), "12.0");
  EXPECT_EQ(shown(2.0, "6"), "   2.0");
  EXPECT_EQ(shown(-0.0, ".1f"), "-0.0");
  EXPECT_EQ(shown(std::nan(""), "6.2f"), "   nan");
  EXPECT_EQ(shown(-INFINITY, "F"), "-INF");
}

TEST(PythonStr, FormatsIntegers) {
  const auto shown = [](std::int64_t x, std::string_view spec) { return python_format(Scalar::of(x), spec); };
  EXPECT_EQ(shown(42, "5d"), "   42");
  EXPECT_EQ(shown(-42, "05d"), "-0042");
  EXPECT_EQ(shown(255, "x"), "ff");
  EXPECT_EQ(shown(-5, "b"), "-101");
  EXPECT_EQ(shown(1234567, "_"), "1_234_567");
  EXPECT_EQ(shown(7, ".2f"), "7.00");
  EXPECT_EQ(shown(INT64_MIN, "d"), "-9223372036854775808");
  EXPECT_EQ(python_format(Scalar::of(true), "d"), "1");
  EXPECT_EQ(python_format(Scalar::of(true), ""), "True");
}

TEST(PythonStr, FillsFormattedPlaceholders) {
  const Scalar values[] = {Scalar::of(1.5), Scalar::of(std::int64_t{-3})};
  EXPECT_EQ(format_message("{{{:.2f}}} {:4d}", values), "{1.50}   -3");
  EXPECT_EQ(count_placeholders("{{{:.2f}}} {:4d}"), 2U);
  EXPECT_EQ(count_placeholders("{:"), std::nullopt);
  EXPECT_EQ(count_placeholders("{:{"), std::nullopt);
}

}  // namespace
}  // namespace dycl
