// SPDX-License-Identifier: Apache-2.0
// What a decision costs on the host beyond the engine's own call: a chain of gates, each
// a call that gives a bool, an item, and a branch into a block with one more call. The
// engine does nothing, so the time of a run is ours.
#include <algorithm>
#include <chrono>

#include "support.h"

namespace dycl::testing {
namespace {

std::string gate_chain(int gates) {
  std::string text = "func @main(%x: f32[1,64,8,8]) -> (f32[1,64,8,8]) {\n^entry:\n  goto ^gate0(%x)\n";
  for (int i = 0; i < gates; ++i) {
    const std::string n = std::to_string(i), next = std::to_string(i + 1);
    text += "^gate" + n + "(%h" + n + ": f32[1,64,8,8]):\n  %c" + n + " = call @gate(%h" + n + ")\n  %b" + n +
            " = item %c" + n + " : bool\n  branch %b" + n + ", ^gate" + next + "(%h" + n + "), ^run" + n + "\n^run" +
            n + ":\n  %y" + n + " = call @block(%h" + n + ")\n  goto ^gate" + next + "(%y" + n + ")\n";
  }
  text += "^gate" + std::to_string(gates) + "(%out: f32[1,64,8,8]):\n  return %out\n}\n";
  text += "subdnn @gate(%x: f32[1,64,8,8]) -> (bool[1]) {\n^entry:\n  %y = Relu %x : bool[1]\n  return %y\n}\n";
  text +=
      "subdnn @block(%x: f32[1,64,8,8]) -> (f32[1,64,8,8]) {\n^entry:\n  %y = Relu %x : f32[1,64,8,8]\n  return "
      "%y\n}\n";
  return text;
}

// The least microseconds of a run per gate.
double cost_per_gate(int gates) {
  backends::Artifact a;
  a.backend = "null";
  a.target = "portable";
  auto loaded = load_program(parsed(gate_chain(gates)), {{"gate", {a}}, {"block", {a}}});
  EXPECT_TRUE(loaded) << loaded.error().message;
  auto run = must_create(*loaded);
  const Floats x({1, 64, 8, 8}, std::vector<float>(4096));
  const std::vector<Value> arguments = {x};
  double best = 1e9;
  for (int round = 0; round < 200000 / gates; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    const bool ok = run.run(arguments).ok();
    const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - begin;
    EXPECT_TRUE(ok);
    best = std::min(best, spent.count() / gates);
  }
  return best;
}

TEST(DecisionCost, StaysBelowAThirdOfAMicrosecond) {
#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "only an optimised build can be measured";
#endif
  for (int gates : {54, 3000}) {
    const double cost = cost_per_gate(gates);
    std::printf("%d gates: %.3f us per gate (two calls, one decision)\n", gates, cost);
    EXPECT_LT(cost, 0.3);
  }
}

}  // namespace
}  // namespace dycl::testing
