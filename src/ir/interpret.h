// SPDX-License-Identifier: Apache-2.0
// The meaning of the IR: a slow, strict interpreter, the oracle of all tests. Host ops
// are computed here (through support/scalar_ops.h), tensor ops by a TensorEvaluator.
// Every value is checked against its declared type as it appears, so a pass that lies
// about a shape is found where it lies.
//
// An Interpreter keeps a reference to its program and evaluator and may run any number
// of times, one thread at a time. Runs are deterministic.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dominators.h"
#include "ir/host_ops.h"
#include "ir/host_value.h"
#include "ir/program.h"
#include "ir/tensor_evaluator.h"
#include "support/random.h"
#include "support/result.h"

namespace dycl::ir {

// One `branch` or `switch` passed. Outcome of a branch: 1 true, 0 false; of a switch:
// the index of the case taken, cases.size() for `otherwise`.
struct Decision {
  BlockId block;
  std::uint32_t outcome = 0;
  bool forced = false;
  bool operator==(const Decision&) const = default;
};

using HostFunction = std::function<Result<std::vector<HostValue>>(std::span<const HostValue>)>;

// What a run showed until it ended, also where it failed.
struct RunTrace {
  std::vector<Decision> decisions;
  std::string printed;
  std::map<std::string, HostValue> kept;  // of a run that ended by `raise`: what `keep` named, states as "@name"
};

// Watches a run: every op after it was computed, every edge before its arguments are passed on.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void executed(const Op& op, std::span<const HostValue> results) = 0;
  virtual void followed(const Edge& edge) = 0;
};

struct RunOptions {
  std::int64_t loop_limit = 1'000'000;      // for loops without a limit of their own
  std::vector<std::uint32_t> forced;        // outcomes of the first decisions, instead of evaluating them
  std::map<std::string, HostValue> states;  // present values; those not named: initial
  std::uint64_t seed = 0;                   // of rand.*
  std::map<std::string, HostFunction> host_functions;
  RunTrace* trace = nullptr;        // filled if given
  RunObserver* observer = nullptr;  // told if given; sub-DNNs that are called are one op
};

struct RunOutcome {
  std::vector<HostValue> results;           // without those that go to states
  std::map<std::string, HostValue> states;  // every state of the program, after the run
  SymbolValues symbols;                     // as the arguments bound them
};

class Interpreter {
 public:
  // The program must be valid: the first of verify()'s errors is returned otherwise.
  static Result<Interpreter> create(const Program& program, TensorEvaluator& evaluator);

  // Runs a function on arguments (those of its parameters that are no states). A wrong
  // argument is InvalidInput; everything that goes wrong later is RuntimeFailure (with
  // the Python exception's type and the span) or Unsupported (the evaluator's).
  Result<RunOutcome> run(const Function& function, std::span<const HostValue> arguments,
                         const RunOptions& options = {});
  Result<RunOutcome> run(std::span<const HostValue> arguments, const RunOptions& options = {}) {
    return run(program_->main(), arguments, options);
  }

 private:
  Interpreter(const Program& program, TensorEvaluator& evaluator)
      : program_(&program), evaluator_(&evaluator), functions_(program) {}
  friend class Execution;

  const Program* program_;
  TensorEvaluator* evaluator_;
  FunctionIndex functions_;
  std::map<std::string, std::shared_ptr<const Tensor>> weights_;  // as they are first used
  std::map<const Function*, std::shared_ptr<const Dominators>> loops_;
};

// The initial value of a state; an Error if it is a weight without bytes.
Result<HostValue> initial_state(const Program& program, const State& state);

}  // namespace dycl::ir
