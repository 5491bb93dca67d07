// SPDX-License-Identifier: Apache-2.0
// After warm-up a run of a program with static shapes allocates nothing, in our code or in
// the stub engine. Every allocation of the process is counted, malloc included.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <utility>

#include "dycl/dycl.h"
#include "support.h"

namespace {
std::atomic<long> allocations{0};
thread_local long allocations_until_none = -1;  // -1: memory does not run out

[[maybe_unused]] bool is_out_of_memory() {  // unused where a sanitizer owns malloc
  ++allocations;
  return allocations_until_none >= 0 && allocations_until_none-- == 0;
}
}  // namespace

#include "failing_malloc.h"

namespace dycl::testing {
namespace {

// Gates, a loop, a list that grows and is joined, states, an optional: everything static.
const std::string kGates = R"(state @hidden: f32[4] = @zeros
weight @zeros: f32[4] = [0.0,0.0,0.0,0.0]
func @main(%x: f32[4], %n: int, %hidden: f32[4] state @hidden) -> (f32[3,4], f32[4] state @hidden) {
^entry:
  %zero = const 0
  %one = const 1
  %three = const 3
  %t = const f32[] [0.0]
  goto ^head(%zero, %x)
^head(%i: int, %h: f32[4]):
  %more = int.lt %i, %n
  branch %more, ^gate, ^done
^gate:
  %c = call @positive(%h, %t)
  %g = item %c : bool
  %i.1 = int.add %i, %one
  branch %g, ^run, ^head(%i.1, %h)
^run:
  %h.1 = call @block(%h, %hidden)
  goto ^head(%i.1, %h.1)
^done:
  %l = list.new %h, %x
  %l.1 = list.append %l, %hidden
  %o = opt.some %h
  %h.2 = opt.get %o
  %m = list.len %l.1
  %s = list.stack %l.1 {axis=0} : f32[3,4]
  %k = to_tensor %m {dtype="i64"}
  %m.1 = item %k : int
  %ok = int.eq %m.1, %three
  check %ok {message="three", type="AssertionError"}
  return %s, %h.2
}
subdnn @positive(%x: f32[4], %t: f32[]) -> (bool[]) {
^entry:
  %s = ReduceSum %x {keepdims=0} : f32[]
  %c = Greater %s, %t : bool[]
  return %c
}
subdnn @block(%x: f32[4], %h: f32[4]) -> (f32[4]) {
^entry:
  %y = Sub %x, %h : f32[4]
  return %y
}
)";
const Stubs kGateStubs = {{"positive", "sum 2 0 gt 3 2 1 out 3"}, {"block", "sub 2 0 1 neg 3 2 out 3"}};

long allocations_of(runtime::Run& run, std::span<const Value> arguments, int times) {
  const long before = allocations;
  bool ok = true;
  for (int i = 0; i < times; ++i) ok = ok && run.run(arguments).ok();
  EXPECT_TRUE(ok);
  return allocations - before;
}

TEST(Allocation, NoneAfterWarmUp) {
#if !defined(DYCL_COUNTS_ALLOCATIONS)
  GTEST_SKIP() << "the sanitizer owns malloc";
#endif
  { const auto probe = std::make_unique<std::vector<int>>(100); }
  ASSERT_GT(allocations, 0) << "the counter counts";
  auto run = must_create(must_load(kGates, kGateStubs));
  const Floats x({4}, {1, 2, 3, 4}), y({4}, {-1, 2, -3, 4});
  const std::vector<Value> first = {x, Value::of(std::int64_t{9})}, second = {y, Value::of(std::int64_t{5})};
  EXPECT_GT(allocations_of(run, first, 3), 0);
  allocations_of(run, second, 3);
  EXPECT_EQ(allocations_of(run, first, 100), 0);
  ASSERT_TRUE(run.reset_states());
  EXPECT_EQ(allocations_of(run, first, 100), 0);
}

// A scalar, a tensor and two lists, which take memory to be made again.
const std::string kCounts = R"(state @count: int = 0
state @h: f32[2] = @zeros
state @seen: list<int> = [1,2,3]
state @more: list<int> = [4,5]
weight @zeros: f32[2] = [0.0,0.0]
func @main(%x: f32[2], %count: int state @count, %h: f32[2] state @h, %seen: list<int> state @seen, %more: list<int> state @more) -> (int state @count, f32[2] state @h, list<int> state @seen, list<int> state @more) {
^entry:
  %one = const 1
  %n = int.add %count, %one
  %seen.1 = list.append %seen, %n
  return %n, %x, %seen.1, %more
}
)";

std::int64_t count_in(dycl_run* run) {
  dycl_value value{};
  EXPECT_EQ(dycl_run_get_state(run, "count", &value), nullptr);
  return value.as.integer;
}

// Through the C ABI, where an exception would end the process.
TEST(Allocation, ResetWithoutMemoryIsAnErrorAndChangesNothing) {
#if !defined(DYCL_COUNTS_ALLOCATIONS)
  GTEST_SKIP() << "the sanitizer owns malloc";
#endif
  const Scratch scratch;
  ASSERT_TRUE(package::write_package(parsed(kCounts), {}, {}, scratch / "p.dycl"));
  dycl_program* program = nullptr;
  dycl_run* run = nullptr;
  ASSERT_EQ(dycl_program_load((scratch / "p.dycl").c_str(), nullptr, &program), nullptr);
  ASSERT_EQ(dycl_run_create(program, &run), nullptr);
  float data[2] = {1, 2};
  std::int64_t shape[1] = {2};
  dycl_value x{};
  x.kind = DYCL_TENSOR;
  x.as.tensor = {data, {1, 0}, 1, {2, 32, 1}, shape, nullptr, 0};
  const dycl_value* results = nullptr;
  std::size_t count = 0;
  long failures = 0;
  for (bool failed = true; failed; failures += failed) {
    ASSERT_EQ(dycl_run_execute(run, &x, 1, &results, &count), nullptr);
    const std::int64_t before = count_in(run);
    allocations_until_none = failures;
    dycl_error* error = dycl_run_reset_states(run);
    allocations_until_none = -1;
    failed = error != nullptr;
    if (failed) {
      EXPECT_STREQ(dycl_error_type(error), "MemoryError");
      EXPECT_EQ(dycl_error_kind_of(error), DYCL_RUNTIME_FAILURE);
    }
    EXPECT_EQ(count_in(run), failed ? before : 0);
    dycl_error_free(error);
  }
  EXPECT_GE(failures, 1);
  dycl_run_free(run);
  dycl_program_free(program);
}

// A state is shown once, however often it is asked for; a run that changes it shows it anew.
TEST(Allocation, AskingForAListKeepsNothing) {
#if !defined(DYCL_COUNTS_ALLOCATIONS)
  GTEST_SKIP() << "the sanitizer owns malloc";
#endif
  const Scratch scratch;
  ASSERT_TRUE(package::write_package(parsed(kCounts), {}, {}, scratch / "p.dycl"));
  dycl_program* program = nullptr;
  dycl_run* run = nullptr;
  ASSERT_EQ(dycl_program_load((scratch / "p.dycl").c_str(), nullptr, &program), nullptr);
  ASSERT_EQ(dycl_run_create(program, &run), nullptr);
  dycl_value first{}, value{};
  ASSERT_EQ(dycl_run_get_state(run, "seen", &first), nullptr);
  ASSERT_EQ(dycl_run_get_state(run, "more", &value), nullptr);
  const long before = allocations;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(dycl_run_get_state(run, "seen", &value), nullptr);
    ASSERT_EQ(value.as.list.items, first.as.list.items) << "views stay valid";
  }
  EXPECT_EQ(allocations - before, 0);
  EXPECT_EQ(value.as.list.count, 3U);
  dycl_value item{}, list{};
  item.kind = DYCL_INT;
  item.as.integer = 7;
  list.kind = DYCL_LIST;
  list.as.list.items = &item;
  list.as.list.count = 1;
  ASSERT_EQ(dycl_run_set_state(run, "seen", &list), nullptr);
  ASSERT_EQ(dycl_run_get_state(run, "seen", &value), nullptr);
  ASSERT_EQ(value.as.list.count, 1U);
  EXPECT_EQ(value.as.list.items[0].as.integer, 7);
  ASSERT_EQ(dycl_run_reset_states(run), nullptr);
  ASSERT_EQ(dycl_run_get_state(run, "seen", &value), nullptr);
  EXPECT_EQ(value.as.list.count, 3U);
  dycl_run_free(run);
  dycl_program_free(program);
}

// Every allocation of loading, of the first runs and of states fails in turn: an error that says so, states as they
// were, and the next call goes on.
TEST(Allocation, EveryOneMayFail) {
#if !defined(DYCL_COUNTS_ALLOCATIONS)
  GTEST_SKIP() << "the sanitizer owns malloc";
#endif
  const Scratch scratch;
  ASSERT_TRUE(package::write_package(parsed(kCounts), {}, {}, scratch / "p.dycl"));
  const std::string path = (scratch / "p.dycl").string();
  float data[2] = {1, 2};
  std::int64_t shape[1] = {2};
  dycl_value x{};
  x.kind = DYCL_TENSOR;
  x.as.tensor = {data, {1, 0}, 1, {2, 32, 1}, shape, nullptr, 0};
  const dycl_value* results = nullptr;
  std::size_t count = 0;
  // Calls `step` with one more allocation each time until it goes through; how often it failed.
  const auto until_it_works = [](auto step) {
    for (long allowed = 0; allowed < 100'000; ++allowed) {
      allocations_until_none = allowed;
      dycl_error* error = step();
      const bool unused = allocations_until_none >= 0;
      allocations_until_none = -1;
      if (!error && unused) return allowed;
      if (error) {
        EXPECT_EQ(dycl_error_kind_of(error), DYCL_RUNTIME_FAILURE) << dycl_error_text(error);
        EXPECT_STREQ(dycl_error_type(error), "MemoryError") << dycl_error_text(error);
        dycl_error_free(error);
      }
    }
    ADD_FAILURE() << "it never goes through";
    return 0L;
  };
  dycl_program* program = nullptr;
  EXPECT_GT(until_it_works([&] {
              dycl_program_free(program);
              return dycl_program_load(path.c_str(), nullptr, &program);
            }),
            10);
  dycl_run* run = nullptr;
  EXPECT_GT(until_it_works([&] {
              dycl_run_free(run);
              return dycl_run_create(program, &run);
            }),
            10);
  std::int64_t counted = 0;
  const auto execute = [&] {
    dycl_error* error = dycl_run_execute(run, &x, 1, &results, &count);
    const long paused = std::exchange(allocations_until_none, -1);
    counted += error == nullptr;
    dycl_value seen{};
    EXPECT_EQ(dycl_run_get_state(run, "seen", &seen), nullptr);
    EXPECT_EQ(count_in(run), counted);
    EXPECT_EQ(seen.as.list.count, static_cast<std::size_t>(counted + 3)) << "states change together";
    allocations_until_none = paused;
    return error;
  };
  EXPECT_GT(until_it_works(execute), 0);
  until_it_works(execute);
  dycl_value value{};
  until_it_works([&] { return dycl_run_get_state(run, "more", &value); });
  dycl_value item{}, list{};
  item.kind = DYCL_INT;
  list.kind = DYCL_LIST;
  list.as.list.items = &item;
  list.as.list.count = 1;
  EXPECT_GT(until_it_works([&] { return dycl_run_set_state(run, "more", &list); }), 0);
  until_it_works([&] { return dycl_run_reset_states(run); });
  dycl_run_free(run);
  dycl_program_free(program);
}

const char* const kRaises = R"(state @a: list<int> = [1]
state @b: list<int> = [1]
func @main(%n: int, %a: list<int> state @a, %b: list<int> state @b) -> (list<int> state @a, list<int> state @b) {
^entry:
  %a.1 = list.append %a, %n
  %b.1 = list.append %b, %n
  keep %a.1, %b.1 {names=["@a","@b"]}
  raise "ValueError" "no"
}
)";

// What a program wrote before it raised is kept together: without memory for all of it, states stay as they were.
TEST(Allocation, WhatARaiseLeavesIsAllOrNone) {
#if !defined(DYCL_COUNTS_ALLOCATIONS)
  GTEST_SKIP() << "the sanitizer owns malloc";
#endif
  const auto program = must_load(kRaises);
  int failures = 0;
  for (long allowed = 0;; ++allowed) {
    ASSERT_LT(allowed, 1000);
    auto run = must_create(program);
    const std::vector<Value> arguments = {Value::of(std::int64_t{7})};
    allocations_until_none = allowed;
    const auto out = run.run(arguments);
    const bool unused = std::exchange(allocations_until_none, -1) >= 0;
    ASSERT_FALSE(out);
    const std::size_t count = out.error().type == "ValueError" ? 2 : 1;
    failures += count == 1;
    EXPECT_EQ(run.kept().size(), count == 2 ? 2U : 0U) << allowed;
    for (const char* name : {"a", "b"}) {
      const auto state = run.state(name);
      ASSERT_TRUE(state);
      EXPECT_EQ(state->elements.size(), count) << name << " " << allowed << ": " << out.error().message;
    }
    if (unused) break;
  }
  EXPECT_GT(failures, 3);
}

// A state that there is no memory to show changes nothing of what the run counts as its own.
TEST(Allocation, AStateThatCannotBeShownCostsTheRunNothing) {
#if !defined(DYCL_COUNTS_ALLOCATIONS)
  GTEST_SKIP() << "the sanitizer owns malloc";
#endif
  std::string numbers = "1";
  for (int i = 0; i < 5000; ++i) numbers += ",1";
  auto run = must_create(must_load("state @s: list<int> = [" + numbers + R"(]
func @main(%n: int, %s: list<int> state @s) -> (int, list<int> state @s) {
^entry:
  %l = list.append %s, %n
  return %n, %l
}
)"));
  run.set_options({.memory_limit = 1 << 20});
  for (int round = 0; round < 3; ++round) {
    allocations_until_none = 0;
    EXPECT_THROW((void)run.state("s"), std::bad_alloc);
    allocations_until_none = -1;
    const auto out = run.run({Value::of(std::int64_t{1})});
    ASSERT_TRUE(out) << out.error().message;
  }
}

// Results of unknown shape are recycled too, once sizes repeat.
TEST(Allocation, UnknownShapesAreRecycled) {
#if !defined(DYCL_COUNTS_ALLOCATIONS)
  GTEST_SKIP() << "the sanitizer owns malloc";
#endif
  auto run = must_create(must_load(R"(func @main(%x: f32[4]) -> (f32[?]) {
^entry:
  %p = call @pos(%x)
  return %p
}
subdnn @pos(%x: f32[4]) -> (f32[?]) {
^entry:
  %y = Relu %x : f32[?]
  return %y
}
)",
                                   {{"pos", "positive 1 0 out 1"}}));
  const Floats x({4}, {1, 2, 3, 4}), y({4}, {-1, 2, -3, 4});
  const std::vector<Value> first = {x}, second = {y};
  allocations_of(run, first, 2);
  allocations_of(run, second, 2);
  EXPECT_EQ(allocations_of(run, first, 50) + allocations_of(run, second, 50), 0);
}

}  // namespace
}  // namespace dycl::testing
