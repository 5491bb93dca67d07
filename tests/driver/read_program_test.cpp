// SPDX-License-Identifier: Apache-2.0
#include "driver/read_program.h"

#include <gtest/gtest.h>

#include "../scratch.h"
#include "driver/weights_file.h"

namespace dycl::driver {
namespace {

using tests::Scratch;

constexpr const char* kText =
    "weight @w: f32[2]\n"
    "func @main(%x: f32[2]) -> (f32[2]) {\n"
    "^entry:\n"
    "  %w = weight @w\n"
    "  %y = Add %x, %w : f32[2]\n"
    "  return %y\n"
    "}\n";

TEST(ReadProgram, NeedsWeightsUnlessToldOtherwise) {
  const Scratch scratch;
  const auto path = scratch.write("m.dyir", kText);
  const auto without = read_program(path);
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.error().kind, ErrorKind::Missing);
  EXPECT_NE(without.error().message.find("m.safetensors"), std::string::npos);
  EXPECT_TRUE(read_program(path, {.weights = {}, .spans_from_text = false, .need_weights = false}).ok());
}

TEST(ReadProgram, ReadsBackWhatItWrites) {
  const Scratch scratch;
  auto program =
      read_program(scratch.write("m.dyir", kText), {.weights = {}, .spans_from_text = false, .need_weights = false});
  ASSERT_TRUE(program.ok()) << program.error().message;
  program->weights["w"].bytes = ir::Bytes::copy_of("01234567", 8);
  ASSERT_TRUE(write_program(*program, scratch / "out.dyir").ok());
  const auto again = read_program(scratch / "out.dyir");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->weights.at("w").bytes.size, 8U);
}

TEST(ReadProgram, DrawsErrorsOnTheText) {
  const Scratch scratch;
  std::string text = kText;
  text.replace(text.find("return %y"), 9, "return %z");
  const auto program = read_program(scratch.write("m.dyir", text));
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().kind, ErrorKind::InvalidModel);
  EXPECT_NE(program.error().message.find("m.dyir:6:"), std::string::npos) << program.error().message;
  EXPECT_NE(program.error().message.find("return %z"), std::string::npos) << program.error().message;
}

TEST(ReadProgram, SaysWhatIsMissingOrUnknown) {
  const Scratch scratch;
  EXPECT_EQ(read_program(scratch / "none.dyir").error().kind, ErrorKind::Missing);
  EXPECT_EQ(read_program(scratch / "none.txt").error().kind, ErrorKind::Missing);
  EXPECT_EQ(read_program(scratch.write("m.txt", "")).error().kind, ErrorKind::Unsupported);
}

}  // namespace
}  // namespace dycl::driver
