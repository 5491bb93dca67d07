// SPDX-License-Identifier: Apache-2.0
#include "ir/interpret.h"

#include <new>
#include <stdexcept>

#include "ir/execution.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "support/python_str.h"

namespace dycl::ir {

namespace {

Error invalid_input(std::string message) { return {ErrorKind::InvalidInput, std::move(message), {}, {}, {}}; }

// Symbols that stand alone in a dim get the extent they meet.
void bind_symbols(const HostValue& value, const Type& type, const Program& program, SymbolValues& symbols) {
  if (type.kind == Type::Kind::Optional && std::holds_alternative<HostValue::Optional>(value.held)) {
    if (value.inside()) bind_symbols(*value.inside(), type.element[0], program, symbols);
  } else if (type.kind == Type::Kind::List &&
             std::holds_alternative<std::shared_ptr<const HostValue::List>>(value.held)) {
    for (const HostValue& item : value.items()) bind_symbols(item, type.element[0], program, symbols);
  }
  if (!type.is_tensor() || !type.shape || !std::holds_alternative<std::shared_ptr<const Tensor>>(value.held)) return;
  const Tensor& tensor = value.tensor();
  for (std::size_t i = 0; i < type.shape->size() && i < tensor.shape.size(); ++i) {
    const std::string& expr = (*type.shape)[i].expr;
    if (program.symbols.count(expr)) symbols.emplace(expr, tensor.shape[i]);
  }
}

Result<std::shared_ptr<const Tensor>> weight_tensor(const Program& program, const std::string& name) {
  const Weight& weight = program.weights.at(name);
  if (!weight.bytes.data) {
    return Error{
        ErrorKind::Missing, "weight @" + name + " has no bytes", "read the program together with its weights", {}, {}};
  }
  auto tensor = std::make_shared<Tensor>();
  tensor->dtype = weight.type.dtype;
  for (const Dim& dim : *weight.type.shape) tensor->shape.push_back(dim.value);
  tensor->bytes.assign(weight.bytes.data, weight.bytes.data + weight.bytes.size);
  return std::shared_ptr<const Tensor>(std::move(tensor));
}

}  // namespace

Result<HostValue> initial_state(const Program& program, const State& state) {
  const auto weight = [&](const std::string& name) -> Result<HostValue> {
    DYCL_ASSIGN(auto tensor, weight_tensor(program, name));
    return HostValue{std::move(tensor)};
  };
  if (const auto* b = std::get_if<bool>(&state.initial)) return HostValue::of(*b);
  if (const auto* i = std::get_if<std::int64_t>(&state.initial)) return HostValue::of(*i);
  if (const auto* f = std::get_if<double>(&state.initial)) return HostValue::of(*f);
  HostValue::List items;
  if (const auto* name = std::get_if<std::string>(&state.initial)) {
    if (name->empty()) return HostValue::none();
    DYCL_ASSIGN(HostValue value, weight(*name));
    return state.type.kind == Type::Kind::Optional ? HostValue::some(std::move(value)) : std::move(value);
  }
  if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&state.initial))
    for (std::int64_t v : *ints) items.push_back(HostValue::of(v));
  if (const auto* floats = std::get_if<std::vector<double>>(&state.initial))
    for (double v : *floats) items.push_back(HostValue::of(v));
  if (const auto* names = std::get_if<std::vector<std::string>>(&state.initial))
    for (const std::string& name : *names) {
      DYCL_ASSIGN(HostValue value, weight(name));
      items.push_back(std::move(value));
    }
  return HostValue::list(std::move(items));
}

Result<Interpreter> Interpreter::create(const Program& program, TensorEvaluator& evaluator) {
  std::vector<Error> errors = verify(program);
  if (!errors.empty()) return std::move(errors.front());
  return Interpreter(program, evaluator);
}

Result<RunOutcome> Interpreter::run(const Function& function, std::span<const HostValue> arguments,
                                    const RunOptions& options) {
  RunTrace ignored;
  RunTrace& trace = options.trace ? *options.trace : ignored;
  trace = {};
  try {
    return Execution(*this, function, options, trace).run(arguments);
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  return Error{ErrorKind::RuntimeFailure, "out of memory", {}, function.span, "MemoryError"};
}

// ---- Execution -----------------------------------------------------------------------

Execution::Execution(Interpreter& interpreter, const Function& function, const RunOptions& options, RunTrace& trace)
    : interpreter_(interpreter),
      program_(*interpreter.program_),
      function_(function),
      options_(options),
      trace_(trace),
      random_(options.seed),
      values_(function.values.size()),
      arrivals_(function.blocks.size(), 0) {}

Result<RunOutcome> Execution::run(std::span<const HostValue> arguments) {
  if (function_.kind == FunctionKind::Host) DYCL_TRY(load_states());
  DYCL_TRY(bind_arguments(arguments));
  std::shared_ptr<const Dominators>& loops = interpreter_.loops_[&function_];
  if (!loops) loops = std::make_shared<Dominators>(function_);
  dominators_ = loops.get();

  std::uint32_t block = 0;
  while (true) {
    for (const Op& op : function_.blocks[block].body) DYCL_TRY(step(op));
    const Exit& exit = function_.blocks[block].exit;
    if (const auto* result = std::get_if<Return>(&exit)) return finish(*result);
    if (const auto* failure = std::get_if<Raise>(&exit)) return raised(function_.blocks[block], *failure);
    DYCL_ASSIGN(const Edge* edge, choose({block}));
    if (options_.observer) options_.observer->followed(*edge);
    DYCL_TRY(follow({block}, *edge));
    block = edge->target.index;
  }
}

Result<void> Execution::load_states() {
  for (const auto& [name, state] : program_.states) {
    auto given = options_.states.find(name);
    if (given != options_.states.end()) {
      states_.emplace(name, given->second);
      continue;
    }
    // A state this function does not read may lack its weight's bytes.
    Result<HostValue> initial = initial_state(program_, state);
    if (initial)
      states_.emplace(name, std::move(*initial));
    else
      for (const Param& param : function_.params)
        if (param.state == name) return initial.error();
  }
  return {};
}

Result<void> Execution::bind_arguments(std::span<const HostValue> arguments) {
  std::size_t wanted = 0, next = 0;
  for (const Param& param : function_.params) wanted += param.state.empty();
  if (arguments.size() != wanted)
    return invalid_input("@" + function_.name + " takes " + std::to_string(wanted) + " arguments, got " +
                         std::to_string(arguments.size()));
  for (const Param& param : function_.params) {
    const HostValue& value = param.state.empty() ? arguments[next++] : states_.at(param.state);
    bind_symbols(value, function_.type_of(param.value), program_, symbols_);
    values_[param.value.index] = value;
  }
  for (const auto& [name, value] : symbols_) {
    const Symbol& symbol = program_.symbols.at(name);
    if (value < symbol.min || value > symbol.max) {
      return invalid_input("dim " + name + " is " + std::to_string(value) + ", outside [" + std::to_string(symbol.min) +
                           ", " + std::to_string(symbol.max) + "]");
    }
  }
  for (std::size_t i = 0; i < function_.params.size(); ++i) {
    const ValueId v = function_.params[i].value;
    if (auto problem = mismatch(*values_[v.index], function_.type_of(v), symbols_))
      return invalid_input("argument " + std::to_string(i + 1) + " of @" + function_.name + ": " + *problem);
  }
  return {};
}

Result<RunOutcome> Execution::finish(const Return& exit) {
  RunOutcome outcome;
  outcome.states = std::move(states_);
  for (std::size_t i = 0; i < exit.values.size(); ++i) {
    const Output& result = function_.results[i];
    if (auto problem = mismatch(get(exit.values[i]), result.type, symbols_))
      return failure("TypeError", "result " + std::to_string(i + 1) + ": " + *problem, {});
    if (result.state.empty())
      outcome.results.push_back(get(exit.values[i]));
    else
      outcome.states[result.state] = get(exit.values[i]);
  }
  outcome.symbols = std::move(symbols_);
  return outcome;
}

Error Execution::raised(const Block& block, const Raise& exit) {
  std::vector<scalar::Scalar> args;
  for (ValueId v : exit.args) args.push_back(get(v).scalar());
  trace_.kept = std::move(kept_);
  return failure(exit.type, format_message(exit.message, args), block.exit_span.known() ? block.exit_span : block.span);
}

Result<const Edge*> Execution::choose(BlockId b) {
  const Exit& exit = function_.block(b).exit;
  if (const auto* jump = std::get_if<Goto>(&exit)) return &jump->edge;
  const std::size_t place = trace_.decisions.size();
  const bool forced = place < options_.forced.size();
  std::uint32_t outcome = forced ? options_.forced[place] : 0;
  std::uint32_t outcomes = 2;
  if (const auto* branch = std::get_if<Branch>(&exit)) {
    if (!forced) outcome = get(branch->condition).boolean() ? 1 : 0;
  } else {
    const auto& choice = std::get<Switch>(exit);
    outcomes = static_cast<std::uint32_t>(choice.cases.size() + 1);
    if (!forced) {
      const std::int64_t selector = get(choice.selector).integer();
      while (outcome < choice.cases.size() && choice.cases[outcome] != selector) ++outcome;
    }
  }
  if (outcome >= outcomes)
    return invalid_input("forced decision " + std::to_string(place + 1) + " is " + std::to_string(outcome) + ", but ^" +
                         function_.block(b).name + " has " + std::to_string(outcomes) + " outcomes");
  trace_.decisions.push_back({b, outcome, forced});
  if (const auto* branch = std::get_if<Branch>(&exit)) return outcome ? &branch->if_true : &branch->if_false;
  const auto& choice = std::get<Switch>(exit);
  return outcome < choice.targets.size() ? &choice.targets[outcome] : &choice.otherwise;
}

Result<void> Execution::follow(BlockId from, const Edge& edge) {
  const Block& target = function_.block(edge.target);
  std::int64_t& arrivals = arrivals_[edge.target.index];
  if (!dominators_->is_back_edge(from, edge.target)) {
    arrivals = 0;
  } else {
    const std::int64_t limit = target.loop_limit > 0 ? target.loop_limit : options_.loop_limit;
    if (++arrivals > limit)
      return failure("RuntimeError",
                     "the loop at ^" + target.name + " ran more than " + std::to_string(limit) + " times", target.span);
  }
  // All arguments are read before any parameter is written.
  std::vector<HostValue> args;
  for (ValueId v : edge.args) args.push_back(get(v));
  for (std::size_t i = 0; i < args.size(); ++i) DYCL_TRY(set(target.params[i], std::move(args[i]), target.span));
  return {};
}

Result<void> Execution::set(ValueId v, HostValue value, SourceSpan span) {
  if (auto problem = mismatch(value, function_.type_of(v), symbols_))
    return failure("TypeError", "%" + value_names(function_)[v.index] + " in @" + function_.name + ": " + *problem,
                   span);
  values_[v.index] = std::move(value);
  return {};
}

Error Execution::failure(std::string type, std::string message, SourceSpan span) const {
  return {ErrorKind::RuntimeFailure, std::move(message), {}, span.known() ? span : function_.span, std::move(type)};
}

Result<std::shared_ptr<const Tensor>> Execution::weight(const std::string& name) {
  std::shared_ptr<const Tensor>& tensor = interpreter_.weights_[name];
  if (!tensor) {
    DYCL_ASSIGN(tensor, weight_tensor(program_, name));
  }
  return tensor;
}

}  // namespace dycl::ir
