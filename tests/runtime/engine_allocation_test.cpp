// SPDX-License-Identifier: Apache-2.0
// Memory that runs out while ONNX Runtime loads and runs a program: an error, or an end inside of ONNX Runtime, which
// not everywhere expects it; never one in our own code. Each attempt is a process of its own, which says where it ended.
// Some 50 of the allocations; DYCL_TEST_ROUNDS=n tries n times as many.
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "dycl/dycl.h"
#include "support.h"

namespace {
std::atomic<long> allocations{0};
std::atomic<long> fails_at{-1};

[[maybe_unused]] bool is_out_of_memory() { return ++allocations == fails_at; }
}  // namespace

#include "failing_malloc.h"

#ifdef DYCL_COUNTS_ALLOCATIONS
extern "C" __attribute__((visibility("default"))) int posix_memalign(void** p, std::size_t a, std::size_t n) {
  *p = is_out_of_memory() ? nullptr : __libc_memalign(a, n);
  return *p ? 0 : 12;
}
#endif

namespace dycl::testing {
namespace {

enum Outcome { kRan = 0, kError = 1, kWrong = 2, kNoKind = 3, kEndedInEngine = 4, kEndedInOurs = 5 };

// Where a signal or an exception that nobody caught comes from: the first frame that is not the C or C++ library's.
void say_where(int) {
  void* frames[64];
  const int count = ::backtrace(frames, 64);
  for (int i = 2; i < count; ++i) {  // behind this function and the signal's trampoline
    Dl_info info{};
    if (!::dladdr(frames[i], &info) || !info.dli_fname) continue;
    const std::string_view file = info.dli_fname;
    if (file.find("/libc.so") != file.npos || file.find("libstdc++") != file.npos || file.find("libgcc_s") != file.npos)
      continue;
    ::_exit(file.find("onnxruntime") != file.npos ? kEndedInEngine : kEndedInOurs);
  }
  ::_exit(kEndedInOurs);
}

// What an attempt tells of itself.
struct Told {
  long allocations = 0;
  float result[8] = {};
};

// Through the C ABI, from which no exception may come.
Outcome refused(dycl_error* error) {
  const bool says_why = *dycl_error_message(error) != '\0';
  dycl_error_free(error);
  return says_why ? kError : kNoKind;
}

Outcome load_and_run(Told& told) {
  dycl_load_options options{};
  options.struct_size = sizeof options;
  options.plugin_folder = DYCL_PLUGINS;
  options.threads = 1;
  dycl_program* program = nullptr;
  dycl_run* run = nullptr;
  if (dycl_error* error = dycl_program_load(DYCL_GOLDEN, &options, &program)) return refused(error);
  if (dycl_error* error = dycl_run_create(program, &run)) return refused(error);
  float x[8] = {0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F};
  std::int64_t shape[2] = {1, 8};
  dycl_value argument{};
  argument.kind = DYCL_TENSOR;
  argument.as.tensor = {x, {1, 0}, 2, {2, 32, 1}, shape, nullptr, 0};
  for (int round = 0; round < 2; ++round) {
    const dycl_value* results = nullptr;
    std::size_t count = 0;
    if (dycl_error* error = dycl_run_execute(run, &argument, 1, &results, &count)) return refused(error);
    if (count < 1 || results[0].kind != DYCL_TENSOR) return kWrong;
    const auto* made = static_cast<const float*>(results[0].as.tensor.data);
    if (round == 1 && !std::equal(made, made + 8, told.result)) return kWrong;
    std::copy(made, made + 8, told.result);
  }
  return kRan;
}

struct Attempt {
  int outcome;
  Told told;
};

// In a process of its own whose allocation `number` fails (0: none).
Attempt attempt(long number) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE}) ::signal(signal, say_where);
    void* warm[1];
    ::backtrace(warm, 1);  // loads what it needs
    allocations = 0;
    fails_at = number == 0 ? -1 : number;
    Told told;
    const Outcome outcome = load_and_run(told);
    fails_at = -1;
    told.allocations = allocations;
    ::_exit(::write(ends[1], &told, sizeof told) == sizeof told ? outcome : kWrong);
  }
  ::close(ends[1]);
  Attempt made{0, {}};
  if (::read(ends[0], &made.told, sizeof made.told) != sizeof made.told) made.told = {};
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  made.outcome = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return made;
}

TEST(EngineAllocation, OneThatFailsEndsNothingOfOurs) {
#if !defined(DYCL_COUNTS_ALLOCATIONS)
  GTEST_SKIP() << "the sanitizer owns malloc";
#endif
  const Attempt good = attempt(0);
  const long count = good.told.allocations;
  ASSERT_EQ(good.outcome, kRan);
  ASSERT_GT(count, 1000);
  const char* rounds = std::getenv("DYCL_TEST_ROUNDS");
  const long tries = 50 * (rounds ? std::atol(rounds) : 1);
  std::map<int, int> seen;
  for (long i = 0; i < tries; ++i) {
    const long number = 1 + i * (count - 1) / tries;
    const Attempt made = attempt(number);
    ++seen[made.outcome];
    const std::string where = "allocation " + std::to_string(number) + " of " + std::to_string(count);
    EXPECT_TRUE(made.outcome == kRan || made.outcome == kError || made.outcome == kEndedInEngine)
        << where << ": " << made.outcome;
    EXPECT_TRUE(made.outcome != kRan || std::ranges::equal(good.told.result, made.told.result)) << where;
  }
  EXPECT_GT(seen[kError], 5);
  std::printf("%d ran, %d were refused, %d ended inside of ONNX Runtime\n", seen[kRan], seen[kError],
              seen[kEndedInEngine]);
}

}  // namespace
}  // namespace dycl::testing
