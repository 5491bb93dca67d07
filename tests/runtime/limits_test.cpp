// SPDX-License-Identifier: Apache-2.0
// Runs that end when they are told to: deadline, cancellation, limits of steps and memory.
#include <dlfcn.h>
#include <malloc.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "dycl/host.h"
#include "runtime/loaded_program.h"
#include "support.h"

namespace dycl::testing {
namespace {

using namespace std::chrono_literals;
using runtime::Cancellation;
using runtime::RunOptions;
using Clock = std::chrono::steady_clock;

// Ten rounds within ten rounds within ...: no loop is long, the whole is. Fourteen deep it takes weeks, so that a test
// in which it ends has shown that it was ended.
std::string nested(int depth) {
  std::string text =
      "func @main(%n: int) -> (int) {\n^entry:\n  %zero = const 0\n  %one = const 1\n  goto ^h0(%zero, %zero)\n";
  for (int d = 0; d < depth; ++d) {
    const std::string i = std::to_string(d);
    const std::string inner = d + 1 < depth ? "^h" + std::to_string(d + 1) + "(%zero, %t" + i + ")" : "^b" + i;
    text += "^h" + i + "(%i" + i + ": int, %t" + i + ": int):\n";
    text += "  %m" + i + " = int.lt %i" + i + ", %n\n";
    const std::string out = d == 0 ? "^done" : "^e" + i;
    text += "  branch %m" + i + ", " + inner + ", " + out + "\n";
    if (d + 1 == depth)
      text += "^b" + i + ":\n  %s" + i + " = int.add %t" + i + ", %one\n  %j" + i + " = int.add %i" + i +
              ", %one\n  goto ^h" + i + "(%j" + i + ", %s" + i + ")\n";
    if (d > 0) {
      const std::string o = std::to_string(d - 1);
      text += "^e" + i + ":\n  %j" + o + " = int.add %i" + o + ", %one\n  goto ^h" + o + "(%j" + o + ", %t" + i + ")\n";
    }
  }
  return text + "^done:\n  return %t0\n}\n";
}

Value number(std::int64_t n) { return Value::of(n); }

template <typename Body>
double milliseconds(Body body) {
  const auto begin = Clock::now();
  body();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

void expect_stopped(const Result<std::span<const Value>>& out, const std::string& type) {
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().kind, ErrorKind::Stopped);
  EXPECT_EQ(out.error().type, type) << out.error().message;
}

TEST(Limits, ADeadlineEndsNestedLoops) {
  auto run = must_create(must_load(nested(14)));
  run.set_options({.deadline = 100ms});
  for (int round = 0; round < 2; ++round) {
    const double took = milliseconds([&] {
      const auto out = run.run({number(10)});
      expect_stopped(out, "DeadlineExceeded");
      EXPECT_EQ(out.error().message, "the run took longer than its 0.1 s");
      EXPECT_TRUE(out.error().span.known()) << "the place in the model's source";
    });
    EXPECT_GE(took, 100);
    const auto out = run.run({number(1)});
    ASSERT_TRUE(out) << "the run is usable: " << out.error().message;
    EXPECT_EQ((*out)[0].integer, 1);
  }
}

TEST(Limits, ADeadlineThatHasPassedEndsTheRunAtItsFirstRound) {
  auto run = must_create(must_load(nested(14)));
  run.set_options({.deadline = -1ms});
  expect_stopped(run.run({number(10)}), "DeadlineExceeded");
  run.set_options({.deadline = std::chrono::nanoseconds::max()});
  EXPECT_TRUE(run.run({number(2)}));
}

TEST(Limits, AnotherThreadCancels) {
  auto run = must_create(must_load(nested(14)));
  const auto cancellation = std::make_shared<Cancellation>();
  run.set_options({.cancellation = cancellation});
  std::thread other([&] {
    std::this_thread::sleep_for(50ms);
    cancellation->cancel();
  });
  expect_stopped(run.run({number(10)}), "Cancelled");
  other.join();
  expect_stopped(run.run({number(1)}), "Cancelled");
  run.set_options({});
  EXPECT_TRUE(run.run({number(1)}));
}

// Steps are those of the whole run, and counted exactly.
TEST(Limits, StepsAreCountedOverAllLoops) {
  auto run = must_create(must_load(nested(3)));
  constexpr std::int64_t kSteps = 10 + 100 + 1000;
  run.set_options({.step_limit = kSteps});
  EXPECT_TRUE(run.run({number(10)}));
  run.set_options({.step_limit = kSteps - 1});
  const auto out = run.run({number(10)});
  expect_stopped(out, "StepLimitExceeded");
  EXPECT_EQ(out.error().message, "the run took more than 1109 steps");
  run.set_options({.deadline = 1h, .step_limit = kSteps});
  EXPECT_TRUE(run.run({number(10)}));
  run.set_options({.deadline = 1h, .step_limit = kSteps - 1});
  expect_stopped(run.run({number(10)}), "StepLimitExceeded");
}

const std::string kGrows = R"(func @main(%x: f32[64], %n: int) -> (int) {
^entry:
  %zero = const 0
  %one = const 1
  %l = list.new : list<f32[64]>
  goto ^head(%zero, %l)
^head(%i: int, %k: list<f32[64]>) limit 1000000000000:
  %more = int.lt %i, %n
  branch %more, ^body, ^done
^body:
  %y = call @double(%x)
  %k.1 = list.append %k, %y
  %i.1 = int.add %i, %one
  goto ^head(%i.1, %k.1)
^done:
  %m = list.len %k
  return %m
}
subdnn @double(%x: f32[64]) -> (f32[64]) {
^entry:
  %y = Add %x, %x : f32[64]
  return %y
}
)";
const Stubs kDouble = {{"double", "add 1 0 0 out 1"}};
constexpr std::int64_t kForever = 900'000'000'000;

TEST(Limits, MemoryOfALoopThatGrows) {
  auto run = must_create(must_load(kGrows, kDouble));
  const Floats x({64}, std::vector<float>(64, 1));
  run.set_options({.memory_limit = 1 << 20});
  for (int round = 0; round < 1000; ++round) {
    const auto out = run.run({x, number(kForever)});
    expect_stopped(out, "MemoryLimitExceeded");
    EXPECT_TRUE(out.error().span.known());
    ASSERT_TRUE(run.run({x, number(1000)})) << "round " << round;
  }
  run.set_options({.deadline = 100ms, .memory_limit = 64 << 20});
  const auto out = run.run({x, number(kForever)});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().kind, ErrorKind::Stopped);
}

// Recycled memory of one size makes room for another.
TEST(Limits, UnusedMemoryIsGivenBackFirst) {
  auto run = must_create(must_load(R"(func @main(%n: int) -> (f32[?]) {
^entry:
  %zero = const 0.0
  %one = const 1.0
  %x = rand.uniform %zero, %one, %n {dtype="f32"} : f32[?]
  return %x
}
)"));
  run.set_options({.memory_limit = 3 << 20});
  for (std::int64_t size = 500; size <= 500'000; size *= 2) {
    const auto out = run.run({number(size)});
    ASSERT_TRUE(out) << size << ": " << out.error().message;
  }
  expect_stopped(run.run({number(1'000'000)}), "MemoryLimitExceeded");
  EXPECT_TRUE(run.run({number(500'000)}));
}

// Numbers are chosen from a permutation that is up to 50 times as long as the result.
TEST(Limits, MemoryThatAChoiceTakesMeanwhile) {
  auto run = must_create(must_load(R"(func @main(%from: int, %n: int) -> (i64[?]) {
^entry:
  %x = rand.numpy_choice %from, %n {dtype="i64"} : i64[?]
  return %x
}
)"));
  run.set_options({.memory_limit = 16 << 20});
  expect_stopped(run.run({number(std::int64_t{1} << 32), number((std::int64_t{1} << 32) / 50 + 1)}),
                 "MemoryLimitExceeded");
  expect_stopped(run.run({number(10'000'000), number(200'001)}), "MemoryLimitExceeded");
  expect_stopped(run.run({number(std::int64_t{1} << 32), number(400'000)}), "MemoryLimitExceeded");
  for (int round = 0; round < 20; ++round)  // what it took is given back
    ASSERT_TRUE(run.run({number(1'000'000), number(20'001)})) << round;
  run.set_options({.step_limit = 10'000});
  expect_stopped(run.run({number(10'000'000), number(200'001)}), "StepLimitExceeded");
  ASSERT_TRUE(run.run({number(10'000), number(10'000)}));
}

TEST(Limits, MemoryOfAListOfNumbers) {
  auto run = must_create(must_load(R"(func @main(%n: int) -> (int) {
^entry:
  %zero = const 0
  %one = const 1
  %l = list.new %zero, %one
  goto ^head(%zero, %l)
^head(%i: int, %k: list<int>):
  %more = int.lt %i, %n
  branch %more, ^body, ^done
^body:
  %k.1 = list.concat %k, %k
  %i.1 = int.add %i, %one
  goto ^head(%i.1, %k.1)
^done:
  %m = list.len %k
  return %m
}
)"));
  run.set_options({.memory_limit = 16 << 20});
  expect_stopped(run.run({number(60)}), "MemoryLimitExceeded");
  const auto out = run.run({number(10)});
  ASSERT_TRUE(out);
  EXPECT_EQ((*out)[0].integer, 2048);
  run.set_options({.step_limit = 1000});
  expect_stopped(run.run({number(30)}), "StepLimitExceeded");
}

// A list of a hundred times the same list of a hundred times the same list ...: small here, endless when it is shown.
std::string same_lists(int depth, const std::string& end, bool from_caller = false) {
  std::string type = "list<int>", text = std::string("func @main(%n: int") +
                                         (from_caller ? ", %l0: list<int>" : "") + ") -> (RESULT) {\n^entry:\n";
  const auto often = [](const std::string& name) {
    std::string all = name;
    for (int i = 1; i < 100; ++i) all += ", " + name;
    return all;
  };
  if (!from_caller) text += "  %l0 = list.new " + often("%n") + " : list<int>\n";
  for (int d = 1; d < depth; ++d) {
    const std::string i = std::to_string(d);
    type = "list<" + type + ">";
    text += "  %l" + i + " = list.new " + often("%l" + std::to_string(d - 1)) + " : " + type + "\n";
  }
  text += "  goto ^end\n^end:\n" + end;
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (std::size_t at; (at = text.find(from)) != std::string::npos;) text.replace(at, from.size(), to);
  };
  replace("RESULT", end.find("LAST") < end.find("return") + 20 ? type : "int");
  replace("LAST", "%l" + std::to_string(depth - 1));
  return text + "}\n";
}

TEST(Limits, SharedListsThatAreGivenBack) {
  auto run = must_create(must_load(same_lists(6, "  return LAST\n")));
  run.set_options({.memory_limit = 16 << 20});
  expect_stopped(run.run({number(1)}), "MemoryLimitExceeded");
  run.set_options({});
  const auto out = run.run({number(1)});
  ASSERT_FALSE(out);
  EXPECT_NE(out.error().message.find("elements in all are given back"), std::string::npos) << out.error().message;
  auto smaller = must_create(must_load(same_lists(3, "  return LAST\n")));
  smaller.set_options({.step_limit = 100});
  expect_stopped(smaller.run({number(1)}), "StepLimitExceeded");
  smaller.set_options({.deadline = std::chrono::nanoseconds(-1)});
  expect_stopped(smaller.run({number(1)}), "DeadlineExceeded");
  smaller.set_options({.memory_limit = 400 << 20});
  for (int round = 0; round < 5; ++round) {  // the views of the last run are not held for ever
    const auto all = smaller.run({number(7)});
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ((*all)[0].elements[99].elements[99].elements[99].integer, 7);
  }
}

// The limit is asked before the engine is.
TEST(Limits, NoMemoryForAResultIsNoCall) {
  const std::string text = R"(func @main(%x: f32[1], %n: int) -> (f32[1048576]) {
^entry:
  %y = call @big(%x)
  return %y
}
subdnn @big(%x: f32[1]) -> (f32[1048576]) {
^entry:
  %s = const i64[1] [1048576]
  %y = Expand %x, %s : f32[1048576]
  return %y
}
)";
  auto run = must_create(must_load(text, {{"big", "fail out 0"}}));
  const Floats x({1}, {1});
  run.set_options({.memory_limit = 1 << 20});
  expect_stopped(run.run({x, number(0)}), "MemoryLimitExceeded");
}

// ---- inside one sub-DNN ------------------------------------------------------------

const std::string kWaits = R"(func @main(%x: f32[1]) -> (f32[1]) {
^entry:
  %y = call @waits(%x)
  %z = call @waits(%y)
  return %z
}
subdnn @waits(%x: f32[1]) -> (f32[1]) {
^entry:
  %y = Relu %x : f32[1]
  return %y
}
)";

long stub_runs() {
  void* library = dlopen(DYCL_TEST_PLUGINS "/libdycl_plugin_stub.so", RTLD_NOW | RTLD_NOLOAD);
  const auto counters = reinterpret_cast<void (*)(long*)>(dlsym(library, "stub_counters"));
  long out[4] = {};
  counters(out);
  dlclose(library);
  return out[3];
}

TEST(Limits, ADeadlineEndsACall) {
  auto run = must_create(must_load(kWaits, {{"waits", "relu 1 0 wait 60000 out 1"}}));
  run.set_options({.deadline = 100ms});
  const Floats x({1}, {1});
  const long before = stub_runs();
  const double took = milliseconds([&] {
    const auto out = run.run({x});
    expect_stopped(out, "DeadlineExceeded");
    EXPECT_EQ(out.error().span.line, 3U);
  });
  EXPECT_EQ(stub_runs() - before, 1);
  EXPECT_GE(took, 100);
  EXPECT_LT(took, 60000) << "the call was not waited for";
}

TEST(Limits, AnInterruptedCallIsNotTheNextOnes) {
  const auto program = must_load(kWaits, {{"waits", "relu 1 0 wait 20 out 1"}});
  auto run = must_create(program);
  const Floats x({1}, {1});
  for (int round = 0; round < 20; ++round) {
    const auto cancellation = std::make_shared<Cancellation>();
    run.set_options({.cancellation = cancellation});
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(round * 2));
      cancellation->cancel();
    });
    const auto first = run.run({x});
    if (!first) expect_stopped(first, "Cancelled");  // a busy machine may finish before the other thread wakes
    other.join();
    run.set_options({.deadline = 600s, .cancellation = std::make_shared<Cancellation>()});
    const auto out = run.run({x});
    ASSERT_TRUE(out) << out.error().message;
  }
}

TEST(Limits, ThreadsCancelAtRandom) {
  const auto program = must_load(kGrows, kDouble);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      auto run = must_create(program);
      const Floats x({64}, std::vector<float>(64, 1));
      for (int round = 0; round < 50; ++round) {
        const auto cancellation = std::make_shared<Cancellation>();
        run.set_options({.deadline = std::chrono::microseconds(500 + 100 * t), .cancellation = cancellation});
        std::thread other([&] { cancellation->cancel(); });
        const auto ended = run.run({x, number(kForever)});
        other.join();
        if (ended || ended.error().kind != ErrorKind::Stopped) ++wrong;
        run.set_options({});
        const auto out = run.run({x, number(100)});
        if (!out || (*out)[0].integer != 100) ++wrong;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Limits, AnEngineThatCannotBeInterruptedEndsAtTheNextStep) {
  backends::Artifact artifact = stub_artifact("");
  artifact.backend = "null";
  auto loaded = load_program(parsed(kGrows), {{"double", {artifact}}});
  ASSERT_TRUE(loaded) << loaded.error().message;
  auto run = must_create(*loaded);
  run.set_options({.deadline = 50ms});
  const Floats x({64}, std::vector<float>(64, 1));
  expect_stopped(run.run({x, number(kForever)}), "DeadlineExceeded");
}

// ---- again and again -------------------------------------------------------------------------

// Bytes that are allocated; 0 where a sanitizer owns malloc, which then looks for leaks itself.
std::size_t live_bytes() { return ::mallinfo2().uordblks + ::mallinfo2().hblkhd; }

TEST(Limits, AThousandEndsKeepNothing) {
  const Floats x({64}, std::vector<float>(64, 1)), one({1}, {1});
  auto loops = must_create(must_load(nested(14)));
  auto grows = must_create(must_load(kGrows, kDouble));
  auto waits = must_create(must_load(kWaits, {{"waits", "relu 1 0 wait 60000 out 1"}}));
  loops.set_options({.deadline = 300us});
  waits.set_options({.deadline = 300us});
  grows.set_options({.deadline = 1h, .memory_limit = 1 << 20});  // what it keeps for the next run is always as much
  const auto end_all = [&](int times) {
    for (int round = 0; round < times; ++round) {
      expect_stopped(loops.run({number(10)}), "DeadlineExceeded");
      expect_stopped(grows.run({x, number(kForever)}), "MemoryLimitExceeded");
      const long before = stub_runs();
      expect_stopped(waits.run({one}), "DeadlineExceeded");
      ASSERT_LE(stub_runs() - before, 1) << "no further call";
    }
  };
  end_all(100);
  const std::size_t before = live_bytes();
  end_all(1000);
  EXPECT_LE(live_bytes(), before + 1024);
  for (auto* run : {&loops, &grows}) run->set_options({});
  EXPECT_TRUE(loops.run({number(1)}));
  const auto out = grows.run({x, number(10)});
  ASSERT_TRUE(out);
  EXPECT_EQ((*out)[0].integer, 10);
}

// ---- emitted programs ----------------------------------------------------------------

// As `dycl emit` writes it: loops within loops, and a list that grows.
class Emitted : public host::Machine {
 public:
  explicit Emitted(const std::filesystem::path& package, std::uint64_t fingerprint)
      : Machine(package, fingerprint, test_options()) {}

  std::int64_t nested(const Value& x, std::int64_t n) {
    const Frame frame(*this, {x, number(n)});
    std::int64_t rounds = 0;
    Loop outer = limited(0);
    for (std::int64_t i = 0; i < n; ++i, outer.next()) {
      Loop inner = limited(0);
      for (std::int64_t j = 0; j < 10; ++j, inner.next()) ++rounds;
    }
    return rounds;
  }

  std::int64_t grows(const Value& x, std::int64_t n) {
    const Frame frame(*this, {x, number(n)});
    auto in = input<host::Tensor>(0);
    auto all = list<host::Tensor>();
    Loop loop = limited(0);
    for (std::int64_t i = 0; i < n; ++i) {
      all = append(std::move(all), call(0, in));
      loop.next();
    }
    return len(all);
  }
};

template <typename Body>
void expect_failure(const std::string& type, Body body) {
  try {
    body();
    ADD_FAILURE() << "no failure";
  } catch (const host::Failure& failure) {
    EXPECT_EQ(failure.error().kind, ErrorKind::Stopped);
    EXPECT_EQ(failure.error().type, type) << failure.error().message;
  }
}

TEST(Limits, OfEmittedPrograms) {
  const Scratch scratch;
  ASSERT_TRUE(package::write_package(parsed(kGrows), artifacts_of(kDouble), {}, scratch / "p.dycl"));
  const auto loaded = Program::load(scratch / "p.dycl", test_options());
  ASSERT_TRUE(loaded);
  const auto& code = (*loaded)->parts().plan.code;
  Emitted program(scratch / "p.dycl", runtime::checksum_of({reinterpret_cast<const std::uint8_t*>(code.data()),
                                                            code.size() * sizeof(std::uint32_t)}));
  const Floats x({64}, std::vector<float>(64, 1));
  program.run().set_options({.deadline = 50ms});
  expect_failure("DeadlineExceeded", [&] { program.nested(x, kForever); });
  expect_failure("DeadlineExceeded", [&] { program.grows(x, kForever); });
  program.run().set_options({.step_limit = 1000});
  expect_failure("StepLimitExceeded", [&] { program.nested(x, 100); });
  EXPECT_EQ(program.nested(x, 90), 900);
  program.run().set_options({.memory_limit = 1 << 20});
  for (int round = 0; round < 100; ++round) expect_failure("MemoryLimitExceeded", [&] { program.grows(x, kForever); });
  EXPECT_EQ(program.grows(x, 1000), 1000);
}

class EmittedChoice : public host::Machine {
 public:
  explicit EmittedChoice(const std::filesystem::path& package, std::uint64_t fingerprint)
      : Machine(package, fingerprint, test_options()) {}

  std::int64_t chosen(std::int64_t from, std::int64_t n) {
    const Frame frame(*this, {number(from), number(n)});
    return size(draw_integers("numpy_choice", type("i64[?]"), {from}, {n}));
  }
};

// As the walker does, they count what a choice takes meanwhile.
TEST(Limits, MemoryThatAChoiceOfEmittedProgramsTakesMeanwhile) {
  const Scratch scratch;
  ASSERT_TRUE(package::write_package(parsed(R"(func @main(%from: int, %n: int) -> (i64[?]) {
^entry:
  %x = rand.numpy_choice %from, %n {dtype="i64"} : i64[?]
  return %x
}
)"),
                                     {}, {}, scratch / "p.dycl"));
  const auto loaded = Program::load(scratch / "p.dycl", test_options());
  ASSERT_TRUE(loaded);
  const auto& code = (*loaded)->parts().plan.code;
  EmittedChoice program(scratch / "p.dycl",
                        runtime::checksum_of({reinterpret_cast<const std::uint8_t*>(code.data()),
                                              code.size() * sizeof(std::uint32_t)}));
  program.run().set_options({.memory_limit = 16 << 20});
  expect_failure("MemoryLimitExceeded", [&] { program.chosen(10'000'000, 200'001); });
  for (int round = 0; round < 20; ++round) EXPECT_EQ(program.chosen(1'000'000, 20'001), 20'001);  // it is given back
  program.run().set_options({.step_limit = 10'000});
  expect_failure("StepLimitExceeded", [&] { program.chosen(10'000'000, 200'001); });
}

}  // namespace
}  // namespace dycl::testing
