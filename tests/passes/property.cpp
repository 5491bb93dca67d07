// SPDX-License-Identifier: Apache-2.0
// Every pass, and the whole pipeline, keeps what a program shows: on generated programs
// with branches and loops the reference interpreter gives the same results, states,
// printed text and errors before and after, and the program stays valid.
//
//   passes_property [first seed] [how many]
//
// Prints the seed, the pass and the program when it fails.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>

#include "generate/generate.h"
#include "ir/edges.h"
#include "ir/host_ops.h"
#include "ir/interpret.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "passes/copy_tails.h"
#include "passes/outline.h"
#include "passes/pipeline.h"

namespace {

using namespace dycl;

// What a run shows.
struct Shown {
  Result<ir::RunOutcome> outcome;
  std::string printed;
  std::map<std::string, ir::HostValue> kept;
};

Shown show(const ir::Program& program, const std::vector<ir::HostValue>& arguments, ir::TensorEvaluator& evaluator) {
  ir::RunTrace trace;
  ir::RunOptions options;
  options.loop_limit = 10'000;
  options.trace = &trace;
  auto interpreter = ir::Interpreter::create(program, evaluator);
  if (!interpreter) return {interpreter.error(), {}, {}};
  Result<ir::RunOutcome> outcome = interpreter->run(arguments, options);
  return {std::move(outcome), trace.printed, std::move(trace.kept)};
}

std::string values_differ(const std::vector<ir::HostValue>& now, const std::vector<ir::HostValue>& then) {
  if (now.size() != then.size()) return "another number of results";
  for (std::size_t i = 0; i < now.size(); ++i)
    if (const auto text = ir::difference(now[i], then[i])) return "result " + std::to_string(i) + ": " + *text;
  return {};
}

std::string kept_differ(const std::map<std::string, ir::HostValue>& now,
                        const std::map<std::string, ir::HostValue>& then) {
  if (now.size() != then.size()) return "another number of values is kept";
  for (const auto& [name, value] : then) {
    const auto it = now.find(name);
    if (it == now.end()) return name + " is not kept";
    if (const auto text = ir::difference(it->second, value)) return "kept " + name + ": " + *text;
  }
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
    if (a.type == b.type && a.message == b.message) return kept_differ(now.kept, then.kept);
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

using Names = std::vector<std::string>;

generate::GenerateOptions options_for(std::uint64_t seed) {
  generate::GenerateOptions options;
  options.size = 20 + static_cast<int>(seed % 5) * 20;
  options.failures = seed % 3 == 0;
  options.effects = seed % 4 != 1;
  options.calls = seed % 2 == 0;
  return options;
}

// ---- programs made harder -----------------------------------------------------------

// Says less: no tensor's rank is known but for arguments, constants and states.
void blur_type(ir::Type& type) {
  type.shape.reset();
  for (ir::Type& element : type.element) blur_type(element);
}

std::optional<ir::Program> blurred(ir::Program program) {
  for (ir::Function& function : program.functions) {
    for (ir::Block& block : function.blocks) {
      for (const ir::ValueId param : block.params) blur_type(function.values[param.index].type);
      for (const ir::Op& op : block.body)
        for (const ir::ValueId result : op.results)
          if (op.name != "const" && op.name != "weight" && result.present())
            blur_type(function.values[result.index].type);
    }
    for (ir::Output& result : function.results)
      if (result.state.empty()) blur_type(result.type);
    if (function.kind == ir::FunctionKind::SubDnn)
      for (const ir::Param& param : function.params) blur_type(function.values[param.value.index].type);
  }
  // A state that is written from a blurred value is no valid program.
  return ir::verify(program).empty() ? std::optional(std::move(program)) : std::nullopt;
}

void read_instead(ir::Block& block, std::size_t from, ir::ValueId old, ir::ValueId now) {
  const auto change = [&](ir::ValueId& value) { value = value == old ? now : value; };
  for (std::size_t i = from; i < block.body.size(); ++i) std::ranges::for_each(block.body[i].operands, change);
  ir::for_each_exit_use(block.exit, change);
}

// Every sub-DNN also hands its first parameter through, and gives a constant; every
// call's block reads its argument, and a constant that follows the call, from there.
ir::Program with_idle_outputs(ir::Program program) {
  const auto literal = ir::TensorLiteral{DType::I64, {1}, std::vector<std::uint8_t>(8, 0)};
  for (ir::Function& f : program.functions) {
    if (f.kind != ir::FunctionKind::SubDnn || f.params.empty()) continue;
    const ir::Type type = f.type_of(f.params[0].value);
    const ir::ValueId same = f.add_value(type), zero = f.add_value(ir::type_of(literal));
    f.blocks[0].body.push_back({"Identity", {f.params[0].value}, {same}, {}, {}});
    f.blocks[0].body.push_back({"const", {}, {zero}, {{"value", literal}}, {}});
    for (const ir::ValueId value : {same, zero, zero}) {
      std::get<ir::Return>(f.blocks[0].exit).values.push_back(value);
      f.results.push_back({f.type_of(value), {}, {}});
    }
  }
  for (ir::Function& f : program.functions)
    for (ir::Block& block : f.blocks)
      for (std::size_t i = 0; i < block.body.size(); ++i) {
        if (block.body[i].name != "call" || block.body[i].operands.empty()) continue;
        const ir::ValueId argument = block.body[i].operands[0];
        const ir::ValueId same = f.add_value(
            program.find(std::get<std::string>(block.body[i].attrs.at("callee")))->results.rbegin()[2].type);
        const ir::ValueId zero = f.add_value(ir::type_of(literal)), twin = f.add_value(ir::type_of(literal));
        for (const ir::ValueId result : {same, zero, twin}) block.body[i].results.push_back(result);
        read_instead(block, i + 1, argument, same);
        // Something must read the constants: the size of both is 1 + 1.
        const ir::ValueId one = f.add_value(ir::Type::integer()), two = f.add_value(ir::Type::integer());
        const ir::ValueId alike = f.add_value(ir::Type::boolean());
        block.body.insert(block.body.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                          {ir::Op{"item", {zero}, {one}, {}, {}}, ir::Op{"item", {twin}, {two}, {}, {}},
                           ir::Op{"int.eq", {one, two}, {alike}, {}, {}},
                           ir::Op{"check", {alike}, {}, {{"message", "twins"}, {"type", "ValueError"}}, {}}});
        i += 4;
      }
  return program;
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
    if (const auto rough = blurred(program))
      for (const auto& trial : {Names{"propagate_shapes"}, Names{}})
        failed += !passes_trial(seed, *rough, trial, arguments, then);
    // Generated tensors are small, so that no join would be worth a copy: here every one is.
    ir::Program copied = program;
    changes_["copy_tails"] += passes::copy_tails(copied, 0);
    for (const auto& trial : {Names{"drop_dead"}, Names{}})
      failed += !passes_trial(seed, copied, trial, arguments, then);
    ir::Program outlined = program;
    passes::outline(outlined);
    const ir::Program idle = with_idle_outputs(std::move(outlined));
    for (const auto& trial : {Names{"identity_outputs"}, Names{"constant_outputs"}, Names{"share_subdnns"},
                              Names{"identity_outputs", "constant_outputs", "drop_dead", "share_subdnns"}})
      failed += !passes_trial(seed, idle, trial, arguments, then);
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
      if (!ran)
        problem = ran.error().message;
      else
        problem = differ(show(copy, arguments, *evaluator_), then);
      if (ran)
        for (const passes::PassTiming& pass : *ran) changes_[pass.name] += pass.changes;
    } catch (const std::exception& e) {
      problem = e.what();
    }
    if (problem.empty()) return true;
    std::cerr << "seed " << seed << ", " << (only.empty() ? "the whole pipeline" : only[0]) << ": " << problem << "\n";
    if (!shown_one_)
      std::cerr << ir::print(program, {.inline_weights = true}) << "// became\n" << ir::print(copy) << "\n";
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
