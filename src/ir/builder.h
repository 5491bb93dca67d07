// SPDX-License-Identifier: Apache-2.0
// Builds functions from C++, for tests and generators of programs. Host ops get their
// result types inferred (ir/host_ops.h); names of blocks are made unique.
//
//   Program program;
//   FunctionBuilder f(program, "main");
//   const ValueId x = f.param(Type::tensor(DType::F32, {Dim::of(2)}), "x");
//   f.result(Type::integer());
//   f.at(f.block("entry"));
//   const ValueId n = f.host("int.add", {f.host("size", {x}), f.constant(std::int64_t{1})});
//   f.give({n});
//
// A mistake of the caller (operands of the wrong type, no current block) is an
// InternalError; whoever builds from a user's input asks `try_host` instead. Holds a
// reference to the program; functions may be built one after another or interleaved.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/program.h"
#include "support/result.h"

namespace dycl::ir {

class FunctionBuilder {
 public:
  using Attrs = std::map<std::string, Attr>;

  // Appends an empty function. The first one is main.
  FunctionBuilder(Program& program, std::string name, FunctionKind kind = FunctionKind::Host);

  Function& function() { return program_->functions[index_]; }
  const Function& function() const { return program_->functions[index_]; }
  const Type& type_of(ValueId v) const { return function().type_of(v); }

  ValueId param(Type type, std::string hint = {}, std::string state = {});
  void result(Type type, std::string name = {}, std::string state = {});

  // A new block; its name gets .1, .2, ... if it is taken.
  BlockId block(const std::string& name);
  ValueId block_param(BlockId block, Type type, std::string hint = {});

  void at(BlockId block) { current_ = block; }  // where ops and exits go from now on
  BlockId current() const { return current_; }
  void written_at(SourceSpan span) { span_ = span; }  // the span of ops and exits from now on

  ValueId constant(std::int64_t value, std::string hint = {}) {
    return host("const", {}, {{"value", value}}, std::move(hint));
  }
  ValueId constant(double value, std::string hint = {}) {
    return host("const", {}, {{"value", value}}, std::move(hint));
  }
  ValueId constant(bool value, std::string hint = {}) { return host("const", {}, {{"value", value}}, std::move(hint)); }
  ValueId constant(TensorLiteral value, std::string hint = {}) {
    return host("const", {}, {{"value", std::move(value)}}, std::move(hint));
  }
  ValueId weight(const std::string& name, std::string hint = {}) {
    return host("weight", {}, {{"name", name}}, std::move(hint));
  }

  // A host op with exactly one result, its type inferred.
  ValueId host(const std::string& name, std::vector<ValueId> operands, Attrs attrs = {}, std::string hint = {});
  // Any host op, any number of results, types inferred.
  std::vector<ValueId> host_all(const std::string& name, std::vector<ValueId> operands, Attrs attrs = {});
  Result<std::vector<ValueId>> try_host(const std::string& name, std::vector<ValueId> operands, Attrs attrs = {});
  std::vector<ValueId> call(const std::string& callee, std::vector<ValueId> arguments) {
    return host_all("call", std::move(arguments), {{"callee", callee}});
  }

  // An op with the result types given: tensor ops, list.new, opt.none, host_call.
  ValueId op(const std::string& name, std::vector<ValueId> operands, Type type, Attrs attrs = {},
             std::string hint = {});
  std::vector<ValueId> op_all(const std::string& name, std::vector<ValueId> operands, std::vector<Type> types,
                              Attrs attrs = {});

  // Exits of the current block.
  void jump(BlockId to, std::vector<ValueId> args = {});
  void branch(ValueId condition, Edge if_true, Edge if_false);
  void choose(ValueId selector, std::vector<std::int64_t> cases, std::vector<Edge> targets, Edge otherwise);
  void give(std::vector<ValueId> values);  // return
  void raise(std::string type, std::string message, std::vector<ValueId> args = {});

 private:
  void leave(Exit exit);

  Program* program_;
  std::size_t index_;
  BlockId current_{0xffffffffU};
  SourceSpan span_;
  std::unordered_map<std::string, int> block_names_;  // name -> last suffix tried
};

// A literal of one dtype from its elements, e.g. literal(DType::F32, {2}, std::vector<float>{1, 2}).
template <typename T>
TensorLiteral literal(DType dtype, std::vector<std::int64_t> shape, const std::vector<T>& elements) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(elements.data());
  return {dtype, std::move(shape), std::vector<std::uint8_t>(bytes, bytes + elements.size() * sizeof(T))};
}

}  // namespace dycl::ir
