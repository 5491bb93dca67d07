// SPDX-License-Identifier: Apache-2.0
// A sub-DNN cut at any of its ops computes what it computed.
#include <cstdlib>
#include <iostream>

#include "ir/interpret.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "passes/split_sub_dnn.h"

namespace {

using namespace dycl;

constexpr const char* kProgram = R"(weight @w: f32[2,2] = [1.0,2.0,3.0,4.0]

func @main(%x: f32[1,2], %z: f32[1,2]) -> (f32[1,2], f32[1,2], bool[1,2], f32[1,2]) {
^entry:
  %a, %b, %c, %d = call @s0(%x, %z)
  return %a, %b, %c, %d
}

subdnn @s0(%x: f32[1,2], %z: f32[1,2]) -> (f32[1,2], f32[1,2], bool[1,2], f32[1,2]) {
^entry:
  %w = weight @w
  %m = MatMul %x, %w : f32[1,2]
  %r = Relu %m : f32[1,2]
  %k = const f32[1,2] [1.5,2.5]
  %s = Add %r, %k : f32[1,2]
  %n = Neg %z : f32[1,2]
  %g = Greater %s, %n : bool[1,2]
  %t = Add %n, %k : f32[1,2]
  return %r, %s, %g, %t
}
)";

int fail(const std::string& what) {
  std::cerr << what << "\n";
  return 1;
}

}  // namespace

int main() {
  const auto parsed = ir::parse(kProgram);
  if (!parsed) return fail("the program does not parse");
  const auto evaluator = ir::make_builtin_evaluator();
  const std::vector<ir::HostValue> arguments = {
      ir::HostValue::of(ir::Tensor::of<float>(DType::F32, {1, 2}, {1, -3})),
      ir::HostValue::of(ir::Tensor::of<float>(DType::F32, {1, 2}, {0.5F, -9}))};
  const auto results = [&](const ir::Program& program) {
    auto interpreter = ir::Interpreter::create(program, *evaluator);
    return interpreter->run(arguments)->results;
  };
  const auto expected = results(*parsed);
  const std::size_t ops = parsed->functions[1].blocks[0].body.size();
  int cut = 0;
  for (std::size_t mask = 0; mask < (std::size_t{1} << ops); ++mask) {
    std::vector<bool> late(ops);
    for (std::size_t i = 0; i < ops; ++i) late[i] = (mask >> i & 1) != 0;
    ir::Program program = *parsed;
    if (!passes::split_sub_dnn(program, "s0", late)) continue;
    ++cut;
    if (const auto errors = ir::verify(program); !errors.empty())
      return fail(errors.front().message + "\n" + ir::print(program));
    const auto actual = results(program);
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (const auto text = ir::difference(actual[i], expected[i])) return fail(*text + "\n" + ir::print(program));
  }
  std::cout << cut << " cuts\n";
  return cut > 20 ? 0 : fail("too few cuts were possible");
}
