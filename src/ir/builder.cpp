// SPDX-License-Identifier: Apache-2.0
#include "ir/builder.h"

#include "ir/host_ops.h"

namespace dycl::ir {

FunctionBuilder::FunctionBuilder(Program& program, std::string name, FunctionKind kind)
    : program_(&program), index_(program.functions.size()) {
  program.functions.emplace_back();
  function().name = std::move(name);
  function().kind = kind;
}

ValueId FunctionBuilder::param(Type type, std::string hint, std::string state) {
  const ValueId v = function().add_value(std::move(type), std::move(hint));
  function().params.push_back({v, std::move(state)});
  return v;
}

void FunctionBuilder::result(Type type, std::string name, std::string state) {
  function().results.push_back({std::move(type), std::move(name), std::move(state)});
}

BlockId FunctionBuilder::block(const std::string& name) {
  std::string unique = name;
  while (!block_names_.emplace(unique, 0).second) unique = name + "." + std::to_string(++block_names_[name]);
  function().blocks.emplace_back();
  function().blocks.back().name = std::move(unique);
  function().blocks.back().span = span_;
  return {static_cast<std::uint32_t>(function().blocks.size() - 1)};
}

ValueId FunctionBuilder::block_param(BlockId block, Type type, std::string hint) {
  const ValueId v = function().add_value(std::move(type), std::move(hint));
  function().block(block).params.push_back(v);
  return v;
}

ValueId FunctionBuilder::host(const std::string& name, std::vector<ValueId> operands, Attrs attrs, std::string hint) {
  const std::vector<ValueId> results = host_all(name, std::move(operands), std::move(attrs));
  DYCL_CHECK(results.size() == 1, name + " has not exactly one result");
  function().values[results[0].index].hint = std::move(hint);
  return results[0];
}

std::vector<ValueId> FunctionBuilder::host_all(const std::string& name, std::vector<ValueId> operands, Attrs attrs) {
  auto results = try_host(name, std::move(operands), std::move(attrs));
  DYCL_CHECK(results.ok(), name + ": " + results.error().message);
  return std::move(*results);
}

Result<std::vector<ValueId>> FunctionBuilder::try_host(const std::string& name, std::vector<ValueId> operands,
                                                       Attrs attrs) {
  Op op;
  op.name = name;
  op.operands = operands;
  op.attrs = attrs;
  DYCL_ASSIGN(std::vector<Type> types, infer_types(*program_, function(), op));
  return op_all(name, std::move(operands), std::move(types), std::move(attrs));
}

ValueId FunctionBuilder::op(const std::string& name, std::vector<ValueId> operands, Type type, Attrs attrs,
                            std::string hint) {
  const ValueId v = op_all(name, std::move(operands), {std::move(type)}, std::move(attrs))[0];
  function().values[v.index].hint = std::move(hint);
  return v;
}

std::vector<ValueId> FunctionBuilder::op_all(const std::string& name, std::vector<ValueId> operands,
                                             std::vector<Type> types, Attrs attrs) {
  DYCL_CHECK(current_.index < function().blocks.size(), "no block to put " + name + " into");
  Op op;
  op.name = name;
  op.operands = std::move(operands);
  op.attrs = std::move(attrs);
  op.span = span_;
  for (Type& type : types) op.results.push_back(function().add_value(std::move(type)));
  std::vector<ValueId> results = op.results;
  function().block(current_).body.push_back(std::move(op));
  return results;
}

void FunctionBuilder::jump(BlockId to, std::vector<ValueId> args) { leave(Goto{{to, std::move(args)}}); }

void FunctionBuilder::branch(ValueId condition, Edge if_true, Edge if_false) {
  leave(Branch{condition, std::move(if_true), std::move(if_false)});
}

void FunctionBuilder::choose(ValueId selector, std::vector<std::int64_t> cases, std::vector<Edge> targets,
                             Edge otherwise) {
  leave(Switch{selector, std::move(cases), std::move(targets), std::move(otherwise)});
}

void FunctionBuilder::give(std::vector<ValueId> values) { leave(Return{std::move(values)}); }

void FunctionBuilder::raise(std::string type, std::string message, std::vector<ValueId> args) {
  leave(Raise{std::move(type), std::move(message), std::move(args)});
}

void FunctionBuilder::leave(Exit exit) {
  DYCL_CHECK(current_.index < function().blocks.size(), "no block to end");
  Block& block = function().block(current_);
  DYCL_CHECK(std::holds_alternative<std::monostate>(block.exit), "^" + block.name + " has an exit already");
  block.exit = std::move(exit);
  block.exit_span = span_;
}

}  // namespace dycl::ir
