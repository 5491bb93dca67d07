// SPDX-License-Identifier: Apache-2.0
#include "passes/substitution.h"

#include "passes/cfg.h"
#include "support/result.h"

namespace dycl::passes {

void Substitution::replace(ir::ValueId from, ir::ValueId to) {
  to = (*this)(to);
  DYCL_CHECK(from != to, "a value can't stand for itself");
  DYCL_CHECK(from.index < to_.size() && !to_[from.index].present(), "a value is replaced once");
  to_[from.index] = to;
}

ir::ValueId Substitution::operator()(ir::ValueId value) {
  const auto next = [&](ir::ValueId v) { return v.index < to_.size() ? to_[v.index] : ir::ValueId{}; };
  ir::ValueId end = value;
  for (ir::ValueId to = next(end); to.present(); to = next(end)) end = to;
  while (value != end) {
    const ir::ValueId to = to_[value.index];
    to_[value.index] = end;
    value = to;
  }
  return end;
}

void Substitution::rewrite(ir::Op& op) {
  for (ir::ValueId& operand : op.operands) operand = (*this)(operand);
}

void Substitution::rewrite(ir::Exit& exit) {
  for_each_exit_use(exit, [&](ir::ValueId& value) { value = (*this)(value); });
}

void Substitution::apply(ir::Function& function) {
  for (ir::Block& block : function.blocks) {
    for (ir::Op& op : block.body) rewrite(op);
    rewrite(block.exit);
  }
}

}  // namespace dycl::passes
