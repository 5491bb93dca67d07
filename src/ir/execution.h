// SPDX-License-Identifier: Apache-2.0
// One run of the reference interpreter (ir/interpret.h). Control flow, arguments and
// states are in interpret.cpp, ops in execute_ops.cpp.
#pragma once

#include <optional>

#include "ir/interpret.h"

namespace dycl::ir {

class Execution {
 public:
  Execution(Interpreter& interpreter, const Function& function, const RunOptions& options, RunTrace& trace);
  Result<RunOutcome> run(std::span<const HostValue> arguments);

 private:
  Result<void> load_states();
  Result<void> bind_arguments(std::span<const HostValue> arguments);
  Result<const Edge*> choose(BlockId block);
  Result<void> follow(BlockId from, const Edge& edge);
  Result<RunOutcome> finish(const Return& exit);
  Error raised(const Block& block, const Raise& exit);

  Result<void> step(const Op& op);
  Result<std::vector<HostValue>> tensor_op(const Op& op);
  Result<std::vector<HostValue>> host_op(const Op& op);
  Result<HostValue> read_tensor(const Op& op);
  Result<HostValue> list_op(const Op& op);
  Result<std::vector<HostValue>> list_pop(const Op& op);
  Result<HostValue> list_to_tensor(const Op& op);
  Result<HostValue> list_join(const Op& op, bool stack);
  Result<HostValue> draw(const Op& op);
  Result<std::vector<HostValue>> change_generator(const Op& op);
  Result<std::vector<HostValue>> call(const Op& op);
  Result<std::vector<HostValue>> host_call(const Op& op);

  const HostValue& get(ValueId v) const { return *values_[v.index]; }
  Result<void> set(ValueId v, HostValue value, SourceSpan span);
  Error failure(std::string type, std::string message, SourceSpan span) const;
  Result<std::shared_ptr<const Tensor>> weight(const std::string& name);

  Interpreter& interpreter_;
  const Program& program_;
  const Function& function_;
  const RunOptions& options_;
  RunTrace& trace_;
  Random random_;
  const Dominators* dominators_ = nullptr;
  std::vector<std::optional<HostValue>> values_;
  std::vector<std::int64_t> arrivals_;  // per block: back edges followed to it since its loop was entered
  std::map<std::string, HostValue> states_;
  std::map<std::string, HostValue> kept_;  // what `keep` ops named so far
  SymbolValues symbols_;
};

}  // namespace dycl::ir
