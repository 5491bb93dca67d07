// SPDX-License-Identifier: Apache-2.0
// Rules that no text can break, and how long verifying takes. The others have a
// file each in files/verify/.
#include "ir/verify.h"

#include <gtest/gtest.h>

#include <ctime>

#include "ir/builder.h"
#include "ir/parse.h"
#include "ir/print.h"

namespace dycl::ir {
namespace {

Program valid() {
  return *parse(
      "func @f(%x: int) -> (int) {\n^entry:\n  %y = int.add %x, %x\n  goto ^end(%y)\n^end(%z: int):\n  return %z\n}\n",
      "t");
}

// True if some error names the rule.
bool breaks(const Program& program, const std::string& rule) {
  for (const Error& error : verify(program))
    if (error.message.starts_with(rule + ":")) return true;
  return false;
}

TEST(Verify, TakesTheValid) { EXPECT_TRUE(verify(valid()).empty()); }

TEST(Verify, SeesWhatNoTextCanSay) {
  const auto broken = [](auto breaking) {
    Program p = valid();
    breaking(p.functions[0]);
    return p;
  };
  EXPECT_TRUE(breaks(broken([](Function& f) { f.blocks.clear(); }), "F1"));
  EXPECT_TRUE(breaks(broken([](Function& f) { f.blocks[1].name = "entry"; }), "F2"));
  EXPECT_TRUE(breaks(broken([](Function& f) { f.blocks[1].name.clear(); }), "F2"));
  EXPECT_TRUE(breaks(broken([](Function& f) { f.blocks[1].exit = {}; }), "E1"));
  EXPECT_TRUE(breaks(broken([](Function& f) { std::get<Goto>(f.blocks[0].exit).edge.target.index = 9; }), "E1"));
  EXPECT_TRUE(breaks(broken([](Function& f) { f.blocks[0].body[0].operands[0].index = 99; }), "V2"));
  EXPECT_TRUE(breaks(broken([](Function& f) { f.blocks[0].body[0].operands[0] = {}; }), "V3"));
  EXPECT_TRUE(breaks(broken([](Function& f) { f.blocks[0].body[0].results[0].index = 99; }), "V1"));
  EXPECT_TRUE(breaks(broken([](Function& f) { f.blocks[1].params.push_back(f.params[0].value); }), "V1"));
  EXPECT_TRUE(breaks(broken([](Function& f) { f.params[0].value.index = 77; }), "V1"));
  EXPECT_TRUE(breaks(broken([](Function& f) { f.values[0].type = Type{Type::Kind::List, DType::F32, {}, {}}; }), "T1"));
  EXPECT_TRUE(breaks(broken([](Function& f) { f.values[0].type = Type::tensor(DType::F32, {Dim{-1, "1+N"}}); }), "T2"));
  EXPECT_TRUE(breaks(broken([](Function& f) { f.values[0].type = Type::tensor(DType::F32, {Dim{3, "N"}}); }), "T2"));
  EXPECT_TRUE(breaks(broken([](Function& f) { f.name.clear(); }), "P2"));
  EXPECT_TRUE(breaks(broken([](Function& f) { std::get<Return>(f.blocks[1].exit).values[0] = {}; }), "V3"));
  EXPECT_TRUE(breaks(Program{}, "P1"));
}

TEST(Verify, ChecksLiterals) {
  const auto with = [](TensorLiteral literal) {
    Program p;
    FunctionBuilder f(p, "f");
    f.at(f.block("entry"));
    f.constant(std::move(literal));
    f.give({});
    return p;
  };
  EXPECT_TRUE(verify(with({DType::F32, {2}, std::vector<std::uint8_t>(8)})).empty());
  EXPECT_TRUE(breaks(with({DType::F32, {2}, std::vector<std::uint8_t>(7)}), "O4"));
  EXPECT_TRUE(breaks(with({DType::F32, {512}, std::vector<std::uint8_t>(2048)}), "O4"));
  EXPECT_TRUE(breaks(with({DType::Bool, {1}, {2}}), "O4"));
}

TEST(Verify, GivesBackAtMostSoManyErrors) {
  Program p;
  FunctionBuilder f(p, "f");
  f.at(f.block("entry"));
  for (int i = 0; i < 1000; ++i) f.op("nothing.such", {}, Type::integer());
  f.give({});
  EXPECT_EQ(verify(p).size(), kMaxVerifyErrors);
}

// Gates that run a block or skip it, as captured from a network with skipped layers.
Program chain_of_gates(int gates) {
  Program p;
  const Type tensor = Type::tensor(DType::F32, {Dim{-1, "N"}, Dim::of(8)});
  p.symbols["N"] = {1, 64};
  FunctionBuilder f(p, "main");
  ValueId x = f.param(tensor, "x");
  f.result(tensor);
  f.at(f.block("entry"));
  for (int i = 0; i < gates; ++i) {
    const ValueId score =
        f.host("item", {f.op("ReduceMean", {x}, Type::tensor(DType::F32, {}), {{"keepdims", std::int64_t{0}}})});
    const ValueId go = f.host("float.gt", {score, f.constant(0.0)});
    const BlockId run = f.block("run"), next = f.block("next");
    const ValueId joined = f.block_param(next, tensor, "x");
    f.branch(go, {run, {}}, {next, {x}});
    f.at(run);
    f.jump(next, {f.op("Tanh", {x}, tensor)});
    f.at(next);
    x = joined;
  }
  f.give({x});
  return p;
}

TEST(Verify, IsFastOnLongChains) {
  const Program p = chain_of_gates(3000);
  const std::clock_t start = std::clock();
  EXPECT_TRUE(verify(p).empty());
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
#if defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(seconds, 5.0);
#else
  EXPECT_LT(seconds, 0.5);
#endif
}

TEST(Print, AndParseAreFastOnLongChains) {
  const Program p = chain_of_gates(3000);
  const std::clock_t start = std::clock();
  EXPECT_TRUE(parse(print(p), "t").ok());
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
#if defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(seconds, 10.0);
#else
  EXPECT_LT(seconds, 1.0);
#endif
}

}  // namespace
}  // namespace dycl::ir
