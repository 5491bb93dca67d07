// SPDX-License-Identifier: Apache-2.0
// Work that is shared out to processes: each task is done once, helpers come only where they pay, and a process that
// dies is an error that says so.
#include "backends/processes/parallel_tasks.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>

#include "backends/processes/worker.h"

namespace dycl::test {
namespace {

using backends::ParallelTasks;
using backends::Worker;
using Words = std::vector<std::string>;

struct Counted {
  std::vector<std::atomic<int>> done;
  std::atomic<int> by_helpers = 0;
  ParallelTasks work;

  Counted(std::size_t count, std::size_t helpers, double seconds) : done(count) {
    const auto task = [this, seconds](std::size_t i) {
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
      ++done[i];
    };
    work.helpers = helpers;
    work.here = task;
    work.there = [this, task](std::size_t, std::size_t i) {
      ++by_helpers;
      task(i);
    };
  }
  bool each_once() const {
    return std::all_of(done.begin(), done.end(), [](const auto& n) { return n == 1; });
  }
};

TEST(ParallelTasks, EveryTaskIsDoneOnce) {
  for (const std::size_t helpers : {0U, 1U, 3U}) {
    Counted counted(50, helpers, 0.001);
    counted.work.run(50);
    EXPECT_TRUE(counted.each_once());
    EXPECT_EQ(counted.by_helpers > 0, helpers > 0);
  }
}

TEST(ParallelTasks, FixedTasksAreAlwaysDoneByTheSame) {
  for (const std::size_t helpers : {0U, 1U, 2U, 9U}) {
    std::vector<std::size_t> by(7, 99);
    ParallelTasks work;
    work.helpers = helpers;
    work.is_fixed = true;
    work.here = [&](std::size_t i) { by[i] = 0; };
    work.there = [&](std::size_t helper, std::size_t i) { by[i] = helper; };
    work.run(by.size());
    for (std::size_t i = 0; i < by.size(); ++i) EXPECT_EQ(by[i], i % std::min<std::size_t>(helpers + 1, by.size()));
  }
}

TEST(ParallelTasks, NothingToDo) {
  Counted counted(1, 2, 0);
  counted.work.run(0);
  EXPECT_EQ(counted.done[0], 0);
}

TEST(ParallelTasks, WhatATaskThrowsComesOutAfterAllAreDone) {
  ParallelTasks work;
  std::atomic<int> done = 0;
  work.helpers = 2;
  work.here = [&](std::size_t i) {
    if (i == 3) throw std::runtime_error("three");
    ++done;
  };
  work.there = [&](std::size_t, std::size_t i) { work.here(i); };
  EXPECT_THROW(work.run(10), std::runtime_error);
  EXPECT_EQ(done, 9);
}

TEST(ParallelTasks, MemoryBoundsTheProcesses) {
  EXPECT_EQ(backends::processes_at_once(8, std::uint64_t{1} << 60), 1U);
  EXPECT_EQ(backends::processes_at_once(3, 1), 3U);
  EXPECT_GE(backends::processes_at_once(0, 1), 1U);
}

TEST(ParallelTasks, OneCoreIsOneProcess) {
  cpu_set_t before, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &before) && CPU_COUNT(&one) == 0) CPU_SET(cpu, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(backends::processes_at_once(0, 1), 1U);
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
}

struct Shell : Worker {
  explicit Shell(const std::string& script)
      : Worker("the helper", [script] {
          return Result<Words>(Words{"sh", "-c", script});
        }) {}
};

TEST(Workers, AnswerOneRequestAfterTheOther) {
  Shell worker("while read line; do echo '{\"n\": 1}'; done");
  for (int i = 0; i < 3; ++i) {
    const auto answer = worker.ask({{"a", i}}, 10);
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    EXPECT_EQ(answer->value("n", 0), 1);
  }
}

TEST(Workers, OneThatIsKilledIsAnErrorAndTheNextRequestStartsAnother) {
  Shell worker("read line; echo '{}'; read line; echo 'it hurts' >&2; kill -9 $$");
  ASSERT_TRUE(worker.ask({}, 10).ok());
  Worker::End end = Worker::End::Answered;
  const auto answer = worker.ask({}, 10, &end);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(end, Worker::End::Died);
  EXPECT_EQ(answer.error().message, "the helper was ended by signal 9 (it hurts)");
  EXPECT_TRUE(worker.ask({}, 10).ok());
}

TEST(Workers, OneThatEndsSaysWithWhichCode) {
  Shell worker("read line; exit 3");
  const auto answer = worker.ask({}, 10);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().message, "the helper ended with exit code 3");
}

TEST(Workers, OneThatTakesTooLongIsEnded) {
  Shell worker("read line; exec sleep 1000");
  Worker::End end = Worker::End::Answered;
  const auto answer = worker.ask({}, 0.2, &end);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(end, Worker::End::TooLong);
  EXPECT_EQ(worker.process(), -1);
}

TEST(Workers, NonsenseIsAnError) {
  Shell worker("read line; echo nonsense; sleep 1");
  const auto answer = worker.ask({}, 10);
  ASSERT_FALSE(answer.ok());
  EXPECT_NE(answer.error().message.find("not understood"), std::string::npos);
}

TEST(Workers, WhatCannotBeStartedIsMissing) {
  Worker worker("the helper", [] { return Result<Words>(Words{"/no/such/program"}); });
  const auto answer = worker.ask({}, 10);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().kind, ErrorKind::Missing);
}

}  // namespace
}  // namespace dycl::test
