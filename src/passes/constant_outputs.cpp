// SPDX-License-Identifier: Apache-2.0
#include "passes/constant_outputs.h"

#include <unordered_map>

#include "passes/definitions.h"
#include "passes/effects.h"
#include "passes/substitution.h"

namespace dycl::passes {
namespace {

using Constants = std::unordered_map<std::string, std::vector<const ir::Op*>>;  // per result; nullptr: varies

std::vector<const ir::Op*> constants_of(const ir::Function& sub_dnn) {
  std::vector<const ir::Op*> constant(sub_dnn.values.size());
  for (const ir::Op& op : sub_dnn.blocks[0].body) {
    if (is_constant(op)) constant[op.results[0].index] = &op;
    if (op.name == "Identity") constant[op.results[0].index] = constant[op.operands[0].index];
  }
  std::vector<const ir::Op*> results;
  for (const ir::ValueId value : std::get<ir::Return>(sub_dnn.blocks[0].exit).values)
    results.push_back(constant[value.index]);
  return results;
}

class Rewriter {
 public:
  Rewriter(ir::Function& function, const Constants& constants)
      : function_(function), constants_(constants), reads_as_(function), used_(used_values(function)) {}

  int run() {
    for (ir::Block& block : function_.blocks) {
      std::vector<ir::Op> body;
      for (ir::Op& op : block.body) {
        if (op.name == "call") take_out(op, body);
        body.push_back(std::move(op));
      }
      block.body = std::move(body);
    }
    if (changed_ != 0) reads_as_.apply(function_);
    return changed_;
  }

 private:
  // Puts the constants among the call's results before the call.
  void take_out(const ir::Op& call, std::vector<ir::Op>& body) {
    const auto it = constants_.find(std::get<std::string>(call.attrs.at("callee")));
    if (it == constants_.end()) return;
    for (std::size_t i = 0; i < call.results.size(); ++i) {
      if (!it->second[i] || !used_[call.results[i].index]) continue;
      const ir::Value value = function_.values[call.results[i].index];
      ir::Op copy = *it->second[i];
      copy.results = {function_.add_value(value.type, value.hint)};
      reads_as_.replace(call.results[i], copy.results[0]);
      body.push_back(std::move(copy));
      ++changed_;
    }
  }

  ir::Function& function_;
  const Constants& constants_;
  Substitution reads_as_;
  const std::vector<bool> used_;
  int changed_ = 0;
};

}  // namespace

int constant_outputs(ir::Program& program) {
  Constants constants;
  for (const ir::Function& function : program.functions)
    if (function.kind == ir::FunctionKind::SubDnn) constants.emplace(function.name, constants_of(function));
  int changed = 0;
  for (ir::Function& function : program.functions)
    if (function.kind == ir::FunctionKind::Host) changed += Rewriter(function, constants).run();
  return changed;
}

}  // namespace dycl::passes
