// SPDX-License-Identifier: Apache-2.0
// Many threads, one Program, a Run each.
#include <atomic>
#include <thread>

#include "support.h"

namespace dycl::testing {
namespace {

const std::string kText = R"(state @count: int = 0
weight @w: f32[2] = [1.0,1.0]
func @main(%x: f32[2], %n: int, %count: int state @count) -> (f32[2], list<f32[2]>, int state @count) {
^entry:
  %zero = const 0
  %one = const 1
  %w = weight @w
  %c = const f32[2] [0.5,0.5]
  %l = list.new %w, %c
  goto ^head(%zero, %x, %l)
^head(%i: int, %h: f32[2], %k: list<f32[2]>):
  %more = int.lt %i, %n
  branch %more, ^body, ^done
^body:
  %h.1 = call @add(%h, %w)
  %k.1 = list.append %k, %h.1
  %i.1 = int.add %i, %one
  goto ^head(%i.1, %h.1, %k.1)
^done:
  %count.1 = int.add %count, %one
  return %h, %k, %count.1
}
subdnn @add(%x: f32[2], %w: f32[2]) -> (f32[2]) {
^entry:
  %y = Add %x, %w : f32[2]
  return %y
}
)";

TEST(Threads, ShareAProgram) {
  auto program = must_load(kText, {{"add", "add 2 0 1 out 2"}});
  constexpr int kThreads = 8, kRuns = 200;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      auto run = Run::create(program);
      if (!run) {
        ++wrong;
        return;
      }
      const Floats x({2}, {static_cast<float>(t), 0});
      for (int i = 0; i < kRuns; ++i) {
        auto out = run->run({x, Value::of(std::int64_t{i % 7})});
        const bool ok = out && static_cast<const float*>((*out)[0].tensor.data)[0] == static_cast<float>(t + i % 7) &&
                        (*out)[1].elements.size() == static_cast<std::size_t>(2 + i % 7);
        if (!ok) ++wrong;
      }
      if (run->state("count")->integer != kRuns) ++wrong;
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, ARunKeepsItsProgram) {
  auto program = must_load(kText, {{"add", "add 2 0 1 out 2"}});
  auto run = must_create(program);
  program.reset();
  std::thread([&] { EXPECT_TRUE(run.run({Floats({2}, {1, 2}), Value::of(std::int64_t{3})})); }).join();
}

}  // namespace
}  // namespace dycl::testing
