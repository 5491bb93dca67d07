// SPDX-License-Identifier: Apache-2.0
// Random programs: interpreted as they are, and outlined, packaged and run. Results, states,
// prints, decisions and errors must be the same, bit for bit.
#include <cmath>
#include <cstdlib>

#include "generate/eval_artifacts.h"
#include "generate/generate.h"
#include "ir/interpret.h"
#include "ir/print.h"
#include "passes/outline.h"
#include "support.h"

namespace dycl::testing {
namespace {

using ir::HostValue;

// Keeps shapes and lists of a converted argument alive.
Value value_of(const HostValue& v) {
  if (const auto* b = std::get_if<bool>(&v.held)) return Value::of(*b);
  if (const auto* i = std::get_if<std::int64_t>(&v.held)) return Value::of(*i);
  if (const auto* f = std::get_if<double>(&v.held)) return Value::of(*f);
  if (std::holds_alternative<std::shared_ptr<const ir::Tensor>>(v.held)) {
    return Value::of(runtime::Tensor{v.tensor().bytes.data(), v.tensor().dtype, v.tensor().shape});
  }
  if (std::holds_alternative<HostValue::Optional>(v.held)) return v.inside() ? value_of(*v.inside()) : Value::none();
  std::vector<Value> items;
  for (const HostValue& item : v.items()) items.push_back(value_of(item));
  return Value::list(std::move(items));
}

bool same(const Value& actual, const HostValue& expected) {
  if (const auto* b = std::get_if<bool>(&expected.held))
    return actual.kind == Value::Kind::Bool && actual.boolean == *b;
  if (const auto* i = std::get_if<std::int64_t>(&expected.held))
    return actual.kind == Value::Kind::Int && actual.integer == *i;
  if (const auto* f = std::get_if<double>(&expected.held)) {
    return actual.kind == Value::Kind::Float &&
           (std::isnan(*f) ? std::isnan(actual.floating)
                           : actual.floating == *f && std::signbit(actual.floating) == std::signbit(*f));
  }
  if (std::holds_alternative<std::shared_ptr<const ir::Tensor>>(expected.held)) {
    const ir::Tensor& t = expected.tensor();
    return actual.kind == Value::Kind::Tensor && actual.tensor.dtype == t.dtype && shape_of(actual) == t.shape &&
           (t.bytes.empty() || std::memcmp(actual.tensor.data, t.bytes.data(), t.bytes.size()) == 0);
  }
  if (std::holds_alternative<HostValue::Optional>(expected.held)) {
    return expected.inside() ? same(actual, *expected.inside()) : actual.kind == Value::Kind::None;
  }
  if (actual.kind != Value::Kind::List || actual.elements.size() != expected.items().size()) return false;
  for (std::size_t i = 0; i < actual.elements.size(); ++i) {
    if (!same(actual.elements[i], expected.items()[i])) return false;
  }
  return true;
}

struct Tally {
  int compared = 0, failed_alike = 0, kept = 0, decisions = 0, calls = 0;
};

void compare_one(std::uint64_t seed, Tally& tally) {
  generate::GenerateOptions options;
  options.failures = seed % 3 == 0;
  const ir::Program original = generate::generate_program(seed, options);
  ir::Program outlined = original;
  passes::outline(outlined);
  const auto invalid = ir::verify(outlined);
  ASSERT_TRUE(invalid.empty()) << invalid.front().message;

  auto evaluator = ir::make_builtin_evaluator();
  auto interpreter = ir::Interpreter::create(original, *evaluator);
  ASSERT_TRUE(interpreter) << interpreter.error().message;
  auto loaded = load_program(outlined, eval_artifacts(outlined));
  ASSERT_TRUE(loaded) << loaded.error().message << "\n" << ir::print(outlined);
  auto run = must_create(*loaded);
  run.set_trace(true);
  run.set_loop_limit(2000);
  tally.calls += static_cast<int>((*loaded)->sub_dnns().size());

  std::map<std::string, HostValue> states;
  for (int round = 0; round < 3; ++round) {  // states go on from round to round
    const auto arguments = generate::generate_arguments(original, seed * 10 + static_cast<std::uint64_t>(round));
    ir::RunTrace trace;
    ir::RunOptions how;
    how.states = states;
    how.seed = seed + static_cast<std::uint64_t>(round);
    how.loop_limit = 2000;
    how.trace = &trace;
    auto expected = interpreter->run(arguments, how);

    std::string printed;
    run.set_print([&](std::string_view text) { printed += text; });
    run.set_seed(how.seed);
    std::vector<Value> values;
    for (const HostValue& a : arguments) values.push_back(value_of(a));
    auto actual = run.run(values);

    ASSERT_EQ(expected.ok(), actual.ok())
        << (expected ? actual.error().message : "interpreter: " + expected.error().message) << "\n"
        << ir::print(outlined);
    EXPECT_EQ(printed, trace.printed);
    ASSERT_EQ(run.trace().size(), trace.decisions.size());
    for (std::size_t i = 0; i < trace.decisions.size(); ++i)
      EXPECT_EQ(run.trace()[i].arm, trace.decisions[i].outcome) << i;
    tally.decisions += static_cast<int>(trace.decisions.size());
    if (!expected) {
      EXPECT_EQ(actual.error().kind, expected.error().kind);
      EXPECT_EQ(actual.error().type, expected.error().type) << expected.error().message;
      ++tally.failed_alike;
      ASSERT_EQ(run.kept().size(), trace.kept.size());
      for (const runtime::Kept& kept : run.kept()) {
        const HostValue& value = trace.kept.at(std::string(kept.name));
        EXPECT_TRUE(same(kept.value, value)) << kept.name;
        if (!kept.name.starts_with('@')) continue;
        const std::string name(kept.name.substr(1));
        EXPECT_TRUE(same(*run.state(name), value)) << "state " << name;
        states.insert_or_assign(name, value);
        ++tally.kept;
      }
      continue;
    }
    ASSERT_EQ(actual->size(), expected->results.size());
    for (std::size_t i = 0; i < actual->size(); ++i)
      EXPECT_TRUE(same((*actual)[i], expected->results[i])) << "result " << i;
    for (const auto& [name, value] : expected->states) {
      auto kept = run.state(name);
      ASSERT_TRUE(kept) << name;
      EXPECT_TRUE(same(*kept, value)) << "state " << name;
    }
    states = expected->states;
    ++tally.compared;
  }
}

TEST(Differential, PackagesRunLikeTheInterpreter) {
  const char* count = std::getenv("DYCL_TEST_PROGRAMS");
  const std::uint64_t programs = count ? std::strtoull(count, nullptr, 10) : 2000;
  const char* first = std::getenv("DYCL_TEST_SEED");
  const std::uint64_t start = first ? std::strtoull(first, nullptr, 10) : 1;
  Tally tally;
  for (std::uint64_t seed = start; seed < start + programs && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    compare_one(seed, tally);
  }
  // A generator that only made trivial programs would prove nothing.
  EXPECT_GT(tally.compared, static_cast<int>(programs));
  EXPECT_GT(tally.kept, static_cast<int>(programs) / 200);
  EXPECT_GT(tally.decisions, static_cast<int>(programs));
  EXPECT_GT(tally.calls, static_cast<int>(programs));
  std::printf("%d runs equal, %d failed alike (%d states kept), %d decisions, %d sub-DNNs\n", tally.compared,
              tally.failed_alike, tally.kept, tally.decisions, tally.calls);
}

}  // namespace
}  // namespace dycl::testing
