// SPDX-License-Identifier: Apache-2.0
#include "support/python_str.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace dycl
