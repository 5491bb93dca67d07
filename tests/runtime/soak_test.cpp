// SPDX-License-Identifier: Apache-2.0
// 64 threads over one Program, each with Runs that are cancelled, late, out of steps or memory at random: what ends by
// itself is right, what is ended says why, states count the runs that went through, and nothing is kept.
// Two seconds; DYCL_TEST_SECONDS=600 for test-long.
#include <malloc.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>

#include "support.h"

namespace dycl::testing {
namespace {

using runtime::Cancellation;
using runtime::RunOptions;
using Clock = std::chrono::steady_clock;

// Adds x to itself n times, keeps each step in a list, and counts its runs.
const std::string kText = R"(state @count: int = 0
func @main(%x: f32[16], %n: int, %count: int state @count) -> (f32[16], int, int state @count) {
^entry:
  %zero = const 0
  %one = const 1
  %l = list.new : list<f32[16]>
  goto ^head(%zero, %x, %l)
^head(%i: int, %h: f32[16], %k: list<f32[16]>) limit 1000000000000:
  %more = int.lt %i, %n
  branch %more, ^body, ^done
^body:
  %h.1 = call @add(%h, %x)
  %k.1 = list.append %k, %h.1
  %i.1 = int.add %i, %one
  goto ^head(%i.1, %h.1, %k.1)
^done:
  %m = list.len %k
  %count.1 = int.add %count, %one
  return %h, %m, %count.1
}
subdnn @add(%h: f32[16], %x: f32[16]) -> (f32[16]) {
^entry:
  %y = Add %h, %x : f32[16]
  return %y
}
)";
const Stubs kAdd = {{"add", "add 2 0 1 out 2"}};
constexpr int kThreads = 64;
constexpr std::int64_t kForever = 900'000'000'000;

// What other threads may cancel.
class Running {
 public:
  void put(int thread, std::shared_ptr<Cancellation> cancellation) {
    const std::lock_guard lock(mutex_);
    of_thread_[static_cast<std::size_t>(thread)] = std::move(cancellation);
  }
  void cancel(int thread) {
    const std::lock_guard lock(mutex_);
    if (const auto& found = of_thread_[static_cast<std::size_t>(thread)]) found->cancel();
  }

 private:
  std::mutex mutex_;
  std::array<std::shared_ptr<Cancellation>, kThreads> of_thread_;
};

struct Counts {
  std::atomic<long> finished{0}, cancelled{0}, late{0}, out_of_steps{0}, out_of_memory{0};
  std::atomic<long> wrong{0};
};

class Worker {
 public:
  Worker(ProgramPtr program, Running& running, Counts& counts, int number)
      : program_(std::move(program)), running_(running), counts_(counts), number_(number),
        random_(static_cast<unsigned>(number)), x_({16}, std::vector<float>(16, static_cast<float>(number + 1))) {}

  void work_until(Clock::time_point end) {
    while (Clock::now() < end) {
      Run run = must_create(program_);
      std::int64_t counted = 0;
      for (int round = 0; round < 50 && Clock::now() < end; ++round) {
        const bool through = one(run);
        counted += through;
        const auto state = run.state("count");
        if (!state || state->integer != counted) ++counts_.wrong;
        if (random_() % 16 == 0) {
          (void)run.reset_states();
          counted = 0;
        }
      }
    }
  }

 private:
  bool one(Run& run) {
    RunOptions options;
    const auto how = random_() % 5;
    const auto length = static_cast<std::int64_t>(random_() % 40);
    std::int64_t n = kForever;
    if (how == 0) n = length;
    if (how == 1) options.cancellation = std::make_shared<Cancellation>();
    if (how == 2) options.deadline = std::chrono::microseconds(1 + random_() % 2000);
    if (how == 3) options.step_limit = 1 + length;
    options.memory_limit = how == 4 ? 64 << 10 : 16 << 20;  // who waits for a turn to cancel may come late
    running_.put(number_, options.cancellation);
    run.set_options(options);
    const auto out = run.run({x_, Value::of(n)});
    running_.put(number_, nullptr);
    if (how == 0) {
      ++counts_.finished;
      const bool right = out && floats_of((*out)[0]) == std::vector<float>(16, static_cast<float>((number_ + 1) * (n + 1))) &&
                         (*out)[1].integer == n;
      if (!right) ++counts_.wrong;
      return out.ok();
    }
    const char* const types[] = {"", "Cancelled", "DeadlineExceeded", "StepLimitExceeded", "MemoryLimitExceeded"};
    std::atomic<long>* const kinds[] = {nullptr, &counts_.cancelled, &counts_.late, &counts_.out_of_steps,
                                        &counts_.out_of_memory};
    ++*kinds[how];
    const bool says_why = !out && out.error().kind == ErrorKind::Stopped &&
                          (out.error().type == types[how] || (how < 3 && out.error().type == types[4]));
    if (!says_why) ++counts_.wrong;
    return out.ok();
  }

  ProgramPtr program_;
  Running& running_;
  Counts& counts_;
  const int number_;
  std::mt19937 random_;
  Floats x_;
};

void soak(const ProgramPtr& program, std::chrono::duration<double> time, Counts& counts) {
  Running running;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(time);
  std::atomic<bool> working{true};
  std::thread canceller([&] {
    std::mt19937 random(1);
    while (working) {
      for (int i = 0; i < 8; ++i) running.cancel(static_cast<int>(random() % kThreads));
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] { Worker(program, running, counts, t).work_until(end); });
  for (std::thread& t : threads) t.join();
  working = false;
  canceller.join();
}

TEST(Soak, ThreadsCancelAtRandom) {
  const char* given = std::getenv("DYCL_TEST_SECONDS");
  const std::chrono::duration<double> time(given ? std::atof(given) : 2);
  const ProgramPtr program = must_load(kText, kAdd);
  Counts warm, counts;
  soak(program, std::min(time, std::chrono::duration<double>(0.5)), warm);  // threads of the library, its arenas
  const auto before = ::mallinfo2().uordblks + ::mallinfo2().hblkhd;
  soak(program, time, counts);
  const auto after = ::mallinfo2().uordblks + ::mallinfo2().hblkhd;
  EXPECT_EQ(warm.wrong + counts.wrong, 0);
  for (const auto* kind : {&counts.finished, &counts.cancelled, &counts.late, &counts.out_of_steps, &counts.out_of_memory})
    EXPECT_GT(*kind, 0);
  // mallinfo2 counts the main arena alone, where the other threads' chunks are not; what a thread left behind there is
  // the address sanitizer's to find.
  EXPECT_LE(after, before + (64 << 10)) << "nothing is kept";
  std::printf("%ld finished, %ld cancelled, %ld late, %ld out of steps, %ld out of memory; %ld wrong\n",
              counts.finished.load(), counts.cancelled.load(), counts.late.load(), counts.out_of_steps.load(),
              counts.out_of_memory.load(), counts.wrong.load());
}

}  // namespace
}  // namespace dycl::testing
