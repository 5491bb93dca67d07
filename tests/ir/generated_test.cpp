// SPDX-License-Identifier: Apache-2.0
// Random programs run: the generator makes programs that end, and the interpreter is
// deterministic and keeps to its trace. The text form is fuzzed by ir_fuzz.
#include <gtest/gtest.h>

#include "generate/generate.h"
#include "ir/interpret.h"
#include "ir/print.h"

namespace dycl::ir {
namespace {

struct Ran {
  Result<RunOutcome> outcome;
  RunTrace trace;
};

Ran run(const Program& program, std::uint64_t seed, std::vector<std::uint32_t> forced = {}) {
  const auto evaluator = make_builtin_evaluator();
  auto interpreter = Interpreter::create(program, *evaluator);
  if (!interpreter) return {interpreter.error(), {}};
  RunTrace trace;
  RunOptions options;
  options.loop_limit = 1000;
  options.seed = seed;
  options.forced = std::move(forced);
  options.trace = &trace;
  Result<RunOutcome> outcome = interpreter->run(generate::generate_arguments(program, seed), options);
  return {std::move(outcome), std::move(trace)};
}

TEST(Generated, ProgramsRunToTheirEnd) {
  std::size_t decisions = 0, both = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const Program program = generate::generate_program(seed);
    const Ran ran = run(program, seed);
    ASSERT_TRUE(ran.outcome.ok()) << "seed " << seed << ": " << ran.outcome.error().message << "\n" << print(program);
    decisions += ran.trace.decisions.size();
    both += ran.outcome->states.size() == 2;
  }
  EXPECT_GT(decisions, 2000U);
  EXPECT_EQ(both, 1000U);
}

TEST(Generated, FailuresAreUserErrors) {
  int failed = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    generate::GenerateOptions options;
    options.failures = true;
    const Program program = generate::generate_program(seed, options);
    const Ran ran = run(program, seed);
    if (ran.outcome.ok()) continue;
    ++failed;
    ASSERT_EQ(ran.outcome.error().kind, ErrorKind::RuntimeFailure)
        << "seed " << seed << ": " << ran.outcome.error().message;
    ASSERT_FALSE(ran.outcome.error().type.empty());
  }
  EXPECT_GT(failed, 50);
  EXPECT_LT(failed, 900);
}

TEST(Generated, ForcingTheDecisionsTakenChangesNothing) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Program program = generate::generate_program(seed);
    const Ran first = run(program, seed);
    std::vector<std::uint32_t> outcomes;
    for (const Decision& decision : first.trace.decisions) outcomes.push_back(decision.outcome);
    const Ran second = run(program, seed, outcomes);
    ASSERT_TRUE(second.outcome.ok()) << seed;
    ASSERT_EQ(first.trace.printed, second.trace.printed);
    ASSERT_EQ(first.trace.decisions.size(), second.trace.decisions.size());
    for (std::size_t i = 0; i < first.outcome->results.size(); ++i)
      ASSERT_EQ(difference(first.outcome->results[i], second.outcome->results[i]), std::nullopt) << "seed " << seed;
  }
}

}  // namespace
}  // namespace dycl::ir
