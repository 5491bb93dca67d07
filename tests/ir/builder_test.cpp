// SPDX-License-Identifier: Apache-2.0
#include "ir/builder.h"

#include <gtest/gtest.h>

#include "ir/print.h"
#include "ir/verify.h"

namespace dycl::ir {
namespace {

TEST(Builder, BuildsWhatItSays) {
  Program program;
  FunctionBuilder f(program, "main");
  const ValueId x = f.param(Type::tensor(DType::F32, {Dim::of(2)}), "x");
  f.result(Type::integer(), "n");
  f.at(f.block("entry"));
  const ValueId n = f.host("int.add", {f.host("size", {x}), f.constant(std::int64_t{1})}, {}, "n");
  const BlockId a = f.block("next"), b = f.block("next");
  const ValueId p = f.block_param(b, Type::integer(), "p");
  f.branch(f.constant(true), {a, {}}, {b, {n}});
  f.at(a);
  f.raise("ValueError", "no {}", {n});
  f.at(b);
  f.give({p});
  EXPECT_TRUE(verify(program).empty());
  EXPECT_EQ(print(program),
            "func @main(%x: f32[2]) -> (%n: int) {\n"
            "^entry:\n"
            "  %0 = size %x\n"
            "  %1 = const 1\n"
            "  %n = int.add %0, %1\n"
            "  %2 = const true\n"
            "  branch %2, ^next, ^next.1(%n)\n"
            "^next:\n"
            "  raise \"ValueError\" \"no {}\" %n\n"
            "^next.1(%p: int):\n"
            "  return %p\n"
            "}\n");
}

TEST(Builder, RefusesMistakes) {
  Program program;
  FunctionBuilder f(program, "main");
  const ValueId x = f.param(Type::integer(), "x");
  EXPECT_THROW(f.constant(true), InternalError);  // no block yet
  f.at(f.block("entry"));
  EXPECT_THROW(f.host("float.add", {x, x}), InternalError);
  const auto wrong = f.try_host("float.add", {x, x});
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().message, "operand 1 must be float, not int");
  f.give({});
  EXPECT_THROW(f.give({}), InternalError);
}

}  // namespace
}  // namespace dycl::ir
