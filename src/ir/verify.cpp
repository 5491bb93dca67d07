// SPDX-License-Identifier: Apache-2.0
#include "ir/verify.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "ir/dim.h"
#include "ir/dominators.h"
#include "ir/edges.h"
#include "ir/host_ops.h"
#include "ir/print.h"
#include "ir/text.h"
#include "support/python_str.h"

namespace dycl::ir {

namespace {

constexpr int kMaxTypeDepth = 32;

class Errors {
 public:
  bool full() const { return list_.size() >= kMaxVerifyErrors; }
  void add(std::string message, SourceSpan span = {}) {
    if (!full()) list_.push_back({ErrorKind::InvalidModel, std::move(message), {}, span, {}});
  }
  std::vector<Error> take() { return std::move(list_); }

 private:
  std::vector<Error> list_;
};

// What is wrong with types, with the texts of dims that were fine remembered.
class TypeRules {
 public:
  explicit TypeRules(const Program& program) : program_(program) {}

  // Empty if nothing is.
  std::string problem(const Type& type, int depth = 0) {
    if (depth > kMaxTypeDepth) return "T1: the type is nested too deeply";
    const bool container = type.kind == Type::Kind::List || type.kind == Type::Kind::Optional;
    if (type.element.size() != (container ? 1U : 0U))
      return "T1: the type has " + std::to_string(type.element.size()) + " element types";
    if (container) return problem(type.element[0], depth + 1);
    if (!type.is_tensor()) return {};
    if (size_of(type.dtype) == 0) return "T1: unknown dtype";
    if (!type.shape) return {};
    for (const Dim& dim : *type.shape) {
      if (!dim.is_symbolic() || good_.count(dim.expr)) {
        if (dim.is_known() && !dim.expr.empty()) return "T2: a dim is both known and symbolic";
        continue;
      }
      std::string what = problem(dim);
      if (!what.empty()) return what;
      good_.insert(dim.expr);
    }
    return {};
  }

 private:
  std::string problem(const Dim& dim) const {
    const Result<Dim> parsed = parse_dim(dim.expr);
    if (!parsed) return "T2: " + parsed.error().message;
    if (*parsed != dim) return "T2: dim " + dim.expr + " is not canonical; it should be " + to_string(*parsed);
    for (const std::string& name : symbols_of(dim))
      if (!program_.symbols.count(name)) return "T2: symbol " + name + " is not declared";
    if (dim.expr[0] == '-' && symbols_of(dim).empty()) return "T2: dim " + dim.expr + " is negative";
    return {};
  }

  const Program& program_;
  std::unordered_set<std::string> good_;
};

std::string literal_problem(const TensorLiteral& literal) {
  const std::int64_t count = element_count(literal.shape);
  const std::size_t width = size_of(literal.dtype);
  if (count < 0 || width == 0 || literal.bytes.size() > kMaxLiteralBytes || literal.bytes.size() % width != 0 ||
      static_cast<std::uint64_t>(count) != literal.bytes.size() / width) {
    return "O4: a literal of " + std::to_string(literal.bytes.size()) + " bytes does not fit its shape, or exceeds " +
           std::to_string(kMaxLiteralBytes) + " bytes (then it should be a weight)";
  }
  if (literal.dtype == DType::Bool &&
      std::any_of(literal.bytes.begin(), literal.bytes.end(), [](std::uint8_t b) { return b > 1; }))
    return "O4: a literal's bools must be 0 or 1";
  return {};
}

class FunctionVerifier {
 public:
  FunctionVerifier(const Program& program, const Function& function, const FunctionIndex& index, TypeRules& types,
                   Errors& errors)
      : program_(program), function_(function), index_(index), types_(types), errors_(errors) {}

  void run() {
    check_interface();
    if (function_.blocks.empty()) return fail("F1: the function has no blocks");
    check_blocks();
    check_entry();
    collect_definitions();
    const Dominators dominators(function_);
    dominators_ = &dominators;
    for (std::uint32_t b = 0; b < function_.blocks.size() && !errors_.full(); ++b) check_block(b);
    if (function_.kind == FunctionKind::SubDnn) check_sub_dnn();
  }

 private:
  static constexpr std::uint32_t kParam = 0xffffffffU;  // defined by the function's parameters
  static constexpr std::uint32_t kUndefined = 0xfffffffeU;

  struct Definition {
    std::uint32_t block = kUndefined;
    std::uint32_t position = 0;  // 0: a block's parameter; else 1 + index of the op
  };

  // ---- reporting -------------------------------------------------------------------

  void fail(const std::string& message, SourceSpan span = {}) {
    const auto [rule, text] = split(message);
    errors_.add(rule + "@" + function_.name + ": " + text, span.known() ? span : function_.span);
  }
  void fail(const Block& block, const std::string& message) {
    const auto [rule, text] = split(message);
    errors_.add(rule + "@" + function_.name + " ^" + block.name + ": " + text,
                block.exit_span.known() ? block.exit_span : block.span);
  }
  void fail(const Block& block, const Op& op, const std::string& message) {
    if (errors_.full()) return;
    const auto [rule, text] = split(message);
    errors_.add(rule + "@" + function_.name + " ^" + block.name + " `" + print(program_, function_, op) + "`: " + text,
                op.span.known() ? op.span : block.span);
  }
  // "V2: text" -> "V2: ", "text".
  static std::pair<std::string, std::string> split(const std::string& message) {
    const std::size_t colon = message.find(": ");
    if (colon == std::string::npos || colon > 3) return {"", message};
    return {message.substr(0, colon + 2), message.substr(colon + 2)};
  }
  std::string name(ValueId v) {
    if (names_.empty()) names_ = value_names(function_);
    if (v.index < names_.size() && !names_[v.index].empty()) return "%" + names_[v.index];
    return "%?" + std::to_string(v.index);
  }

  bool exists(ValueId v) const { return v.index < function_.values.size(); }

  // ---- the function as a whole -----------------------------------------------------

  void check_interface() {
    std::set<std::string> read, written;
    for (const Param& param : function_.params) {
      if (!exists(param.value)) {
        fail("V1: a parameter is no value of the function");
        continue;
      }
      if (param.state.empty()) continue;
      auto it = program_.states.find(param.state);
      if (it == program_.states.end())
        fail("F4: there is no state @" + param.state);
      else if (it->second.type != function_.type_of(param.value))
        fail("F4: parameter " + name(param.value) + " has not the type of state @" + param.state);
      if (!read.insert(param.state).second) fail("F4: state @" + param.state + " is read by two parameters");
    }
    for (std::size_t i = 0; i < function_.results.size(); ++i) {
      const Output& result = function_.results[i];
      const std::string problem = types_.problem(result.type);
      if (!problem.empty()) fail(problem + " (result " + std::to_string(i + 1) + ")");
      if (result.state.empty()) continue;
      auto it = program_.states.find(result.state);
      if (it == program_.states.end())
        fail("F4: there is no state @" + result.state);
      else if (!fits(result.type, it->second.type))
        fail("F4: result " + std::to_string(i + 1) + " does not fit state @" + result.state);
      if (!written.insert(result.state).second) fail("F4: state @" + result.state + " is written by two results");
    }
  }

  void check_blocks() {
    std::unordered_set<std::string_view> names;
    for (const Block& block : function_.blocks) {
      if (block.name.empty())
        fail("F2: a block has no name", block.span);
      else if (!names.insert(block.name).second)
        fail("F2: two blocks are called ^" + block.name, block.span);
      if (block.loop_limit < 0) fail(block, "E5: the loop limit is negative");
    }
  }

  void check_entry() {
    if (!function_.blocks[0].params.empty()) fail(function_.blocks[0], "F1: the entry has parameters");
    for (const Block& block : function_.blocks)
      for_each_edge(block.exit, [&](const Edge& edge) {
        if (edge.target.index == 0) fail(block, "F1: an edge leads back to the entry");
      });
  }

  void collect_definitions() {
    definitions_.assign(function_.values.size(), {});
    for (const Param& param : function_.params) define(param.value, kParam, 0, nullptr);
    for (std::uint32_t b = 0; b < function_.blocks.size(); ++b) {
      const Block& block = function_.blocks[b];
      for (ValueId param : block.params) define(param, b, 0, &block);
      for (std::uint32_t i = 0; i < block.body.size(); ++i)
        for (ValueId result : block.body[i].results) define(result, b, i + 1, &block);
    }
  }

  void define(ValueId v, std::uint32_t block, std::uint32_t position, const Block* where) {
    const SourceSpan span = where ? where->span : function_.span;
    if (!exists(v))
      return fail("V1: a definition names value " + std::to_string(v.index) + ", which does not exist", span);
    Definition& definition = definitions_[v.index];
    if (definition.block != kUndefined) return fail("V1: " + name(v) + " is defined twice", span);
    definition = {block, position};
    const std::string problem = types_.problem(function_.type_of(v));
    if (!problem.empty()) fail(problem + " (" + name(v) + ")", position ? where->body[position - 1].span : span);
  }

  // ---- uses ------------------------------------------------------------------------

  // Empty if `v` may be used in block `b` at `position` (1 + index of the op; exits: after all ops).
  std::string use_problem(ValueId v, std::uint32_t b, std::uint32_t position) {
    if (!v.present()) return "V3: an operand is left out";
    if (!exists(v) || definitions_[v.index].block == kUndefined) return "V2: " + name(v) + " is not defined";
    const Definition& definition = definitions_[v.index];
    if (definition.block == kParam || !dominators_->reachable({b})) return {};
    if (definition.block == b) {
      if (definition.position < position) return {};
      return "V2: " + name(v) + " is used before its definition";
    }
    if (dominators_->reachable({definition.block}) && dominators_->dominates({definition.block}, {b})) return {};
    return "V2: " + name(v) + " is defined in ^" + function_.blocks[definition.block].name +
           ", which not every path to here passes";
  }

  void check_block(std::uint32_t b) {
    const Block& block = function_.blocks[b];
    for (std::uint32_t i = 0; i < block.body.size() && !errors_.full(); ++i) check_op(b, block, block.body[i], i + 1);
    const auto end = static_cast<std::uint32_t>(block.body.size() + 1);
    bool sound = true;
    for_each_exit_use(block.exit, [&](ValueId v) {
      const std::string problem = use_problem(v, b, end);
      if (problem.empty()) return;
      sound = false;
      fail(block, problem);
    });
    if (sound) check_exit(b, block);
  }

  // ---- ops -------------------------------------------------------------------------

  void check_op(std::uint32_t b, const Block& block, const Op& op, std::uint32_t position) {
    for (ValueId operand : op.operands) {
      if (!operand.present() && op.is_tensor_op()) continue;
      const std::string problem = use_problem(operand, b, position);
      if (!problem.empty()) return fail(block, op, problem);
    }
    if (!std::all_of(op.results.begin(), op.results.end(), [this](ValueId v) { return exists(v); }))
      return;  // V1 said so
    for (const auto& [key, attr] : op.attrs) {
      std::string problem;
      if (const auto* literal = std::get_if<TensorLiteral>(&attr)) problem = literal_problem(*literal);
      if (const auto* type = std::get_if<Type>(&attr)) problem = types_.problem(*type);
      if (!problem.empty()) return fail(block, op, problem);
    }
    if (op.is_tensor_op())
      check_tensor_op(block, op);
    else
      check_host_op(block, op);
  }

  void check_tensor_op(const Block& block, const Op& op) {
    if (op.results.empty()) return fail(block, op, "O1: a tensor op has at least one result");
    for (ValueId v : op.operands)
      if (v.present() && !function_.type_of(v).is_tensor())
        return fail(block, op, "O1: " + name(v) + " is no tensor but " + to_string(function_.type_of(v)));
    for (ValueId v : op.results)
      if (!function_.type_of(v).is_tensor())
        return fail(block, op, "O1: result " + name(v) + " is no tensor but " + to_string(function_.type_of(v)));
  }

  void check_host_op(const Block& block, const Op& op) {
    const auto inferred = infer_types(program_, function_, op, &index_);
    if (!inferred) {
      if (inferred.error().kind == ErrorKind::Unsupported) return check_carried_types(block, op);
      return fail(block, op, "O2: " + inferred.error().message);
    }
    if (inferred->size() != op.results.size())
      return fail(block, op,
                  "O2: there must be " + std::to_string(inferred->size()) + " results, not " +
                      std::to_string(op.results.size()));
    for (std::size_t i = 0; i < inferred->size(); ++i) {
      const Type& declared = function_.type_of(op.results[i]);
      if (may_declare(op, (*inferred)[i], declared)) continue;
      return fail(block, op, "O2: the result is " + to_string((*inferred)[i]) + ", declared as " + to_string(declared));
    }
    if (op.name == "call" && index_.find(std::get<std::string>(*op.attr("callee")))->kind != FunctionKind::SubDnn)
      fail(block, op, "O3: only sub-DNNs can be called");
  }

  // Ops whose results no operand determines.
  void check_carried_types(const Block& block, const Op& op) {
    if (op.name == "host_call") return;
    const Type::Kind kind = op.name == "opt.none" ? Type::Kind::Optional : Type::Kind::List;
    if (op.results.size() != 1)
      return fail(block, op, "O2: there must be 1 result, not " + std::to_string(op.results.size()));
    const Type& declared = function_.type_of(op.results[0]);
    if (declared.kind != kind) fail(block, op, "O2: the result cannot be " + to_string(declared));
  }

  // ---- exits -----------------------------------------------------------------------

  void check_exit(std::uint32_t b, const Block& block) {
    if (std::holds_alternative<std::monostate>(block.exit)) return fail(block, "E1: the block has no exit");
    for_each_edge(block.exit, [&](const Edge& edge) { check_edge(b, block, edge); });
    if (const auto* branch = std::get_if<Branch>(&block.exit)) {
      const Type& type = function_.type_of(branch->condition);
      if (type.kind != Type::Kind::Bool)
        fail(block, "E2: the condition " + name(branch->condition) + " must be bool, not " + to_string(type));
    } else if (const auto* choice = std::get_if<Switch>(&block.exit)) {
      check_switch(block, *choice);
    } else if (const auto* result = std::get_if<Return>(&block.exit)) {
      check_return(block, *result);
    } else if (const auto* failure = std::get_if<Raise>(&block.exit)) {
      check_raise(block, *failure);
    }
  }

  void check_edge(std::uint32_t b, const Block& block, const Edge& edge) {
    if (edge.target.index >= function_.blocks.size())
      return fail(block, "E1: an edge leads to a block that does not exist");
    const Block& target = function_.blocks[edge.target.index];
    if (edge.args.size() != target.params.size()) {
      return fail(block, "E1: ^" + target.name + " takes " + std::to_string(target.params.size()) + " arguments, got " +
                             std::to_string(edge.args.size()));
    }
    for (std::size_t i = 0; i < edge.args.size(); ++i) {
      if (!exists(target.params[i])) continue;
      const Type &from = function_.type_of(edge.args[i]), &to = function_.type_of(target.params[i]);
      if (!fits(from, to))
        fail(block, "E1: argument " + name(edge.args[i]) + " of ^" + target.name + " is " + to_string(from) +
                        ", but its parameter is " + to_string(to));
    }
    if (!dominators_->reachable({b})) return;
    const bool backward = dominators_->position(edge.target) <= dominators_->position({b});
    if (backward && !dominators_->dominates(edge.target, {b}))
      fail(block, "E5: the loop through ^" + target.name + " can be entered elsewhere than at its header");
  }

  void check_switch(const Block& block, const Switch& choice) {
    const Type& type = function_.type_of(choice.selector);
    if (type.kind != Type::Kind::Int)
      fail(block, "E2: the selector " + name(choice.selector) + " must be int, not " + to_string(type));
    if (choice.cases.size() != choice.targets.size()) fail(block, "E2: there must be one target for each case");
    std::unordered_set<std::int64_t> seen;
    for (std::int64_t value : choice.cases)
      if (!seen.insert(value).second) fail(block, "E2: case " + std::to_string(value) + " occurs twice");
  }

  void check_return(const Block& block, const Return& result) {
    if (result.values.size() != function_.results.size()) {
      return fail(block, "E3: returns " + std::to_string(result.values.size()) + " values for " +
                             std::to_string(function_.results.size()) + " results");
    }
    for (std::size_t i = 0; i < result.values.size(); ++i) {
      const Type& type = function_.type_of(result.values[i]);
      if (!fits(type, function_.results[i].type))
        fail(block, "E3: " + name(result.values[i]) + " is " + to_string(type) + ", but the result is " +
                        to_string(function_.results[i].type));
    }
  }

  void check_raise(const Block& block, const Raise& failure) {
    if (failure.type.empty()) fail(block, "E4: the exception has no type");
    const auto places = count_placeholders(failure.message);
    if (!places)
      fail(block, "E4: the message has a lone brace; write {{ or }}");
    else if (*places != failure.args.size())
      fail(block, "E4: the message has " + std::to_string(*places) + " {} for " + std::to_string(failure.args.size()) +
                      " arguments");
    for (ValueId v : failure.args)
      if (!function_.type_of(v).is_scalar())
        fail(block, "E4: " + name(v) + " must be bool, int or float, not " + to_string(function_.type_of(v)));
  }

  // ---- sub-DNNs --------------------------------------------------------------------

  void check_sub_dnn() {
    const Block& block = function_.blocks[0];
    if (function_.blocks.size() != 1) return fail("F3: a sub-DNN has one block");
    if (!std::holds_alternative<Return>(block.exit)) fail(block, "F3: a sub-DNN ends in return");
    for (const Param& param : function_.params) {
      if (!param.state.empty()) fail("F3: a sub-DNN has no states");
      if (exists(param.value) && !function_.type_of(param.value).is_tensor())
        fail("F3: parameter " + name(param.value) + " of a sub-DNN must be a tensor");
    }
    for (const Output& result : function_.results) {
      if (!result.state.empty()) fail("F3: a sub-DNN has no states");
      if (!result.type.is_tensor()) fail("F3: the results of a sub-DNN are tensors");
    }
    for (const Op& op : block.body) {
      const bool constant = op.name == "const" && attr_as<TensorLiteral>(op, "value");
      if (!op.is_tensor_op() && op.name != "weight" && !constant)
        fail(block, op, "F3: a sub-DNN has tensor ops, tensor constants and weights only");
    }
  }

  const Program& program_;
  const Function& function_;
  const FunctionIndex& index_;
  TypeRules& types_;
  Errors& errors_;
  const Dominators* dominators_ = nullptr;
  std::vector<Definition> definitions_;
  std::vector<std::string> names_;  // made when the first message needs them
};

// ---- declarations --------------------------------------------------------------------

void check_weight(const std::string& name, const Weight& weight, TypeRules& types, Errors& errors) {
  const std::string problem = types.problem(weight.type);
  if (!problem.empty()) return errors.add(problem + " (weight @" + name + ")");
  std::vector<std::int64_t> extents;
  bool known = weight.type.is_tensor() && weight.type.shape.has_value();
  if (known)
    for (const Dim& dim : *weight.type.shape) {
      known = known && dim.is_known();
      extents.push_back(dim.value);
    }
  if (!known)
    return errors.add("P4: weight @" + name + " must be a tensor with known dims, not " + to_string(weight.type));
  const std::int64_t count = element_count(extents);
  std::int64_t size;
  if (count < 0 || __builtin_mul_overflow(count, static_cast<std::int64_t>(size_of(weight.type.dtype)), &size))
    return errors.add("P4: weight @" + name + " is too large");
  if (weight.bytes.data && weight.bytes.size != static_cast<std::uint64_t>(size))
    errors.add("P4: weight @" + name + " has " + std::to_string(weight.bytes.size) + " bytes, but its type needs " +
               std::to_string(size));
}

bool initial_fits(const Program& program, const Type& type, const Attr& initial) {
  const auto is_weight = [&](const std::string& name, const Type& wanted) {
    auto it = program.weights.find(name);
    return it != program.weights.end() && fits(it->second.type, wanted);
  };
  switch (type.kind) {
    case Type::Kind::Bool: return std::holds_alternative<bool>(initial);
    case Type::Kind::Int: return std::holds_alternative<std::int64_t>(initial);
    case Type::Kind::Float: return std::holds_alternative<double>(initial);
    case Type::Kind::Tensor:
      return std::holds_alternative<std::string>(initial) && is_weight(std::get<std::string>(initial), type);
    case Type::Kind::Optional: {
      const auto* name = std::get_if<std::string>(&initial);
      return name && (name->empty() || is_weight(*name, type.element[0]));
    }
    case Type::Kind::List: break;
  }
  const Type& element = type.element[0];
  if (element.kind == Type::Kind::Int) return std::holds_alternative<std::vector<std::int64_t>>(initial);
  if (element.kind == Type::Kind::Float) return std::holds_alternative<std::vector<double>>(initial);
  const auto* names = std::get_if<std::vector<std::string>>(&initial);
  return names && element.is_tensor() &&
         std::all_of(names->begin(), names->end(), [&](const std::string& n) { return is_weight(n, element); });
}

void check_declarations(const Program& program, TypeRules& types, Errors& errors) {
  for (const auto& [name, symbol] : program.symbols) {
    if (!is_plain_name(name)) errors.add("P3: " + quoted(name) + " is no name for a symbol");
    if (symbol.min < 0 || symbol.min > symbol.max)
      errors.add("P3: the range of symbol " + name + " is empty or negative");
  }
  for (const auto& [name, weight] : program.weights) check_weight(name, weight, types, errors);
  for (const auto& [name, state] : program.states) {
    const std::string problem = types.problem(state.type);
    if (!problem.empty())
      errors.add(problem + " (state @" + name + ")");
    else if (!initial_fits(program, state.type, state.initial))
      errors.add("P5: the initial value of state @" + name + " is no " + to_string(state.type) + ": " +
                 to_string(state.initial));
  }
}

}  // namespace

std::vector<Error> verify(const Program& program) {
  Errors errors;
  TypeRules types(program);
  check_declarations(program, types, errors);
  if (program.functions.empty())
    errors.add("P1: the program has no function");
  else if (program.functions[0].kind != FunctionKind::Host)
    errors.add("P1: the first function must be func, not subdnn", program.functions[0].span);
  std::unordered_set<std::string_view> names;
  for (const Function& function : program.functions) {
    if (function.name.empty())
      errors.add("P2: a function has no name", function.span);
    else if (!names.insert(function.name).second)
      errors.add("P2: two functions are called @" + function.name, function.span);
  }
  const FunctionIndex index(program);
  for (const Function& function : program.functions) {
    if (errors.full()) break;
    FunctionVerifier(program, function, index, types, errors).run();
  }
  return errors.take();
}

}  // namespace dycl::ir
