// SPDX-License-Identifier: Apache-2.0
// Every pass, and the whole pipeline, keeps what a program shows: on generated programs
// with branches and loops the reference interpreter gives the same results, states,
// printed text and errors before and after, and the program stays valid.
//
//   passes_property [first seed] [how many]
//
// Prints the seed, the pass and the program when it fails.
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>

#include "generate/generate.h"
#include "ir/interpret.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "passes/pipeline.h"

namespace {

using namespace dycl;

// What a run shows.
struct Shown {
  Result<ir::RunOutcome> outcome;
  std::string printed;
};

Shown show(const ir::Program& program, const std::vector<ir::HostValue>& arguments, ir::TensorEvaluator& evaluator) {
  ir::RunTrace trace;
  ir::RunOptions options;
  options.loop_limit = 10'000;
  options.trace = &trace;
  auto interpreter = ir::Interpreter::create(program, evaluator);
  if (!interpreter) return {interpreter.error(), {}};
  Result<ir::RunOutcome> outcome = interpreter->run(arguments, options);
  return {std::move(outcome), trace.printed};
}

std::string values_differ(const std::vector<ir::HostValue>& now, const std::vector<ir::HostValue>& then) {
  if (now.size() != then.size()) return "another number of results";
  for (std::size_t i = 0; i < now.size(); ++i)
    if (const auto text = ir::difference(now[i], then[i])) return "result " + std::to_string(i) + ": " + *text;
  return {};
}

// Empty if both show the same.
std::string differ(const Shown& now, const Shown& then) {
  if (now.printed != then.printed) return "printed \"" + now.printed + "\" instead of \"" + then.printed + "\"";
  if (now.outcome.ok() != then.outcome.ok())
    return now.outcome.ok() ? "no error, but before: " + then.outcome.error().message
                            : "a new error: " + now.outcome.error().message;
  if (!now.outcome.ok()) {
    const Error &a = now.outcome.error(), &b = then.outcome.error();
    if (a.type == b.type && a.message == b.message) return {};
    return "the error " + a.type + ": " + a.message + " instead of " + b.type + ": " + b.message;
  }
  if (std::string text = values_differ(now.outcome->results, then.outcome->results); !text.empty()) return text;
  for (const auto& [name, value] : then.outcome->states) {
    const auto it = now.outcome->states.find(name);
    if (it == now.outcome->states.end()) return "state " + name + " is gone";
    if (const auto text = ir::difference(it->second, value)) return "state " + name + ": " + *text;
  }
  return {};
}

generate::GenerateOptions options_for(std::uint64_t seed) {
  generate::GenerateOptions options;
  options.size = 20 + static_cast<int>(seed % 5) * 20;
  options.failures = seed % 3 == 0;
  options.effects = seed % 4 != 1;
  options.calls = seed % 2 == 0;
  return options;
}

class Property {
 public:
  Property() : evaluator_(ir::make_builtin_evaluator()) {
    std::set<std::string> names;
    for (const passes::PassEntry& entry : passes::pipeline())
      if (names.insert(entry.name).second) trials_.push_back({entry.name});
    trials_.emplace_back();  // the whole table
  }

  // The number of trials that failed.
  int check(std::uint64_t seed) {
    const ir::Program program = generate::generate_program(seed, options_for(seed));
    const auto arguments = generate::generate_arguments(program, seed);
    const Shown then = show(program, arguments, *evaluator_);
    errors_ += !then.outcome.ok();
    int failed = 0;
    for (const auto& trial : trials_) failed += !passes_trial(seed, program, trial, arguments, then);
    return failed;
  }

  int errors() const { return errors_; }
  // By pass; a pass that never changes anything is not tested.
  const std::map<std::string, int>& changes() const { return changes_; }

 private:
  bool passes_trial(std::uint64_t seed, const ir::Program& program, const std::vector<std::string>& only,
                    const std::vector<ir::HostValue>& arguments, const Shown& then) {
    ir::Program copy = program;
    std::string problem;
    try {
      passes::PipelineOptions options;
      options.only = only;
      const auto ran = passes::run_pipeline(copy, options);
      if (!ran) problem = ran.error().message;
      else problem = differ(show(copy, arguments, *evaluator_), then);
      if (ran)
        for (const passes::PassTiming& pass : *ran) changes_[pass.name] += pass.changes;
    } catch (const std::exception& e) {
      problem = e.what();
    }
    if (problem.empty()) return true;
    std::cerr << "seed " << seed << ", " << (only.empty() ? "the whole pipeline" : only[0]) << ": " << problem << "\n";
    if (!shown_one_) std::cerr << ir::print(program, {.inline_weights = true}) << "// became\n" << ir::print(copy) << "\n";
    shown_one_ = true;
    return false;
  }

  std::unique_ptr<ir::TensorEvaluator> evaluator_;
  std::vector<std::vector<std::string>> trials_;
  std::map<std::string, int> changes_;
  int errors_ = 0;
  bool shown_one_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const std::uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 2000;
  Property property;
  int failed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) failed += property.check(seed);
  std::cout << count << " programs (" << property.errors() << " end in an error), " << failed << " failures\n";
  for (const auto& [pass, changes] : property.changes()) {
    std::cout << "  " << pass << ": " << changes << " changes\n";
    if (changes == 0 && count >= 1000) ++failed;
  }
  return failed == 0 ? 0 : 1;
}
