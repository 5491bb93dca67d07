// SPDX-License-Identifier: Apache-2.0
#include "emit/cpp/expressions.h"

#include <algorithm>
#include <cmath>

#include "emit/cpp/sub_dnn_names.h"
#include "ir/host_ops.h"
#include "support/random.h"
#include "support/scalar_ops.h"

namespace dycl::emit {

CppExpressions::CppExpressions(const package::PackageProgram& package, const CppValues& values,
                               const CppVariables& variables)
    : values_(values), variables_(variables), sub_dnns_(cpp_sub_dnn_names(package)) {
  const auto& sub_dnns = package.plan.sub_dnns;
  for (std::size_t i = 0; i < sub_dnns.size(); ++i) sub_dnn_of_[sub_dnns[i].name] = sub_dnns_[i];
  // Constants have the numbers that package/lower_to_plan.cpp gives them.
  const ir::Function& original = package.program.main();
  std::uint32_t number = 0;
  const ir::Dominators dominators(original);
  for (std::uint32_t b : dominators.order())
    for (const ir::Op& op : original.blocks[b].body)
      if (package::is_constant_op(op)) constant_numbers_[op.results[0].index] = number++;
}

std::string CppExpressions::constants() const {
  std::string text;
  for (const auto& [v, number] : constant_numbers_) {
    if (values_.type_of({v}).is_scalar() || !values_.is_used({v})) continue;
    text += "  const Tensor " + variables_.name({v}) + " = constant<Tensor>(" + std::to_string(number) + ");\n";
  }
  return text;
}

std::string CppExpressions::type_member(const ir::Type& type) {
  const std::string text = ir::to_string(type);
  const auto known = types_.emplace(text, "type_" + std::to_string(types_.size()) + "_");
  if (known.second) members_ += "  std::uint32_t " + known.first->second + " = type(" + quoted(text) + ");\n";
  return known.first->second;
}

// A function of the host with the types that this call has.
std::string CppExpressions::host_function(const ir::Op& op) {
  const auto types = [&](const std::vector<ir::ValueId>& values) {
    std::vector<std::string> texts;
    texts.reserve(values.size());
    for (ir::ValueId v : values) texts.push_back(quoted(ir::to_string(values_.type_of(v))));
    return "{" + joined(texts) + "}";
  };
  const std::string& name = *ir::attr_as<std::string>(op, "name");
  const std::string text = "host_function(" + quoted(name) + ", " + types(op.operands) + ", " + types(op.results) + ")";
  auto& known = host_functions_[text];
  if (known.empty()) {
    known = "function_" + identifier(name) + "_" + std::to_string(host_functions_.size()) + "_";
    members_ += "  HostFunction " + known + " = " + text + ";\n";
  }
  return known;
}

// ---- operands --------------------------------------------------------------------------------------

Expression CppExpressions::of(ir::ValueId v, bool move) {
  if (const ir::Op* c = values_.constant(v); c && values_.type_of(v).is_scalar()) {
    if (const auto* b = ir::attr_as<bool>(*c, "value")) return {*b ? "true" : "false"};
    if (const auto* i = ir::attr_as<std::int64_t>(*c, "value")) return {literal(*i), *i < 0 ? 2 : 3};
    if (const auto* f = ir::attr_as<double>(*c, "value")) return {literal(*f), std::signbit(*f) ? 2 : 3};
  }
  if (values_.is_inlined(v)) return of(values_.definition(v));
  const std::string& name = variables_.name(v);
  return move ? Expression{"std::move(" + name + ")"} : Expression{name};
}

Expression CppExpressions::negation(ir::ValueId v) {
  // Comparisons of floats by order have no other way to say that they fail: NaN.
  static const std::map<std::string, const char*> opposites = {
      {"int.eq", "int.ne"}, {"int.ne", "int.eq"}, {"int.lt", "int.ge"},     {"int.ge", "int.lt"},
      {"int.gt", "int.le"}, {"int.le", "int.gt"}, {"float.eq", "float.ne"}, {"float.ne", "float.eq"}};
  if (values_.is_inlined(v)) {
    ir::Op op = values_.definition(v);
    if (op.name == "bool.not") return of(op.operands[0]);
    if (const auto it = opposites.find(op.name); it != opposites.end()) {
      op.name = it->second;
      return of(op);
    }
  }
  return {"!" + inside(of(v)), 2};
}

Expression CppExpressions::operand(const ir::Op& op, std::size_t i) {
  // What only looks at its operands takes them by reference.
  static const std::set<std::string> looks = {
      "item",           "dim",        "size",     "list.get",    "list.len", "list.slice", "list.from_tensor",
      "list.to_tensor", "list.stack", "list.cat", "opt.is_some", "opt.get"};
  const ir::ValueId v = op.operands[i];
  const bool moves = values_.dies_at(op, v) && !looks.count(op.name) && !values_.is_inlined(v) &&
                     !(op.name == "call" && assigns(op, v)) && !read_beside(op.operands, i);
  return of(v, moves);
}

// `x = call(kLayer, x)` lets go of the old x by itself.
bool CppExpressions::assigns(const ir::Op& op, ir::ValueId v) const {
  return std::any_of(op.results.begin(), op.results.end(), [&](ir::ValueId r) {
    return values_.is_used(r) && values_.folded(r) == CppValues::kNone && !values_.is_inlined(r) &&
           variables_.number(r) == variables_.number(v);
  });
}

// Arguments are computed in any order: what another one reads must not move.
bool CppExpressions::read_beside(const std::vector<ir::ValueId>& values, std::size_t i) const {
  for (std::size_t j = 0; j < values.size(); ++j) {
    if (j == i) continue;
    std::set<std::uint32_t> reads;
    values_.collect(values[j], reads);
    for (const std::uint32_t r : reads)
      if (variables_.number({r}) == variables_.number(values[i])) return true;
  }
  return false;
}

std::string CppExpressions::typed(ir::ValueId v) {
  const bool number = values_.constant(v) && values_.type_of(v).kind == ir::Type::Kind::Int;
  const std::string text = of(v).text;
  return number ? "std::int64_t{" + text + "}" : text;
}

std::string CppExpressions::arg(const ir::Op& op, std::size_t i) { return operand(op, i).text; }

std::string CppExpressions::args(const ir::Op& op, std::size_t from) {
  std::vector<std::string> parts;
  for (std::size_t i = from; i < op.operands.size(); ++i) parts.push_back(arg(op, i));
  return joined(parts);
}

// Arms of ?: must have one type: no moves.
std::string CppExpressions::plain(const ir::Op& op, std::size_t i) { return inside(of(op.operands[i]), 2); }

// ---- ops ---------------------------------------------------------------------------------------------

Expression CppExpressions::of(const ir::Op& op) {
  static const std::map<std::string, const char*> infix = {
      {"int.eq", "=="},   {"int.ne", "!="},   {"int.lt", "<"},    {"int.le", "<="},   {"int.gt", ">"},
      {"int.ge", ">="},   {"float.eq", "=="}, {"float.ne", "!="}, {"float.lt", "<"},  {"float.le", "<="},
      {"float.gt", ">"},  {"float.ge", ">="}, {"float.add", "+"}, {"float.sub", "-"}, {"float.mul", "*"},
      {"bool.and", "&&"}, {"bool.or", "||"},  {"bool.xor", "!="}, {"bool.eq", "=="},  {"int.and", "&"},
      {"int.or", "|"},    {"int.xor", "^"}};
  if (const auto it = infix.find(op.name); it != infix.end()) {
    const std::string left = inside(operand(op, 0), 2), right = inside(operand(op, 1), 2), sign = it->second;
    // Compilers suspect a mistake in `x <= x`; it asks for a NaN.
    static const std::map<std::string, std::string> functions = {
        {"==", "std::equal_to<>"},   {"!=", "std::not_equal_to<>"}, {"<", "std::less<>"},
        {"<=", "std::less_equal<>"}, {">", "std::greater<>"},       {">=", "std::greater_equal<>"}};
    if (const auto f = functions.find(sign); left == right && f != functions.end())
      return {f->second + "()(" + left + ", " + right + ")"};
    return {left + " " + sign + " " + right, 1};
  }
  if (op.name == "bool.not") return {"!" + inside(operand(op, 0)), 2};
  if (op.name == "int.not") return {"~" + inside(operand(op, 0)), 2};
  if (op.name == "float.neg") return {"-" + inside(operand(op, 0)), 2};
  if (scalar::op_named(op.name)) {
    std::string name = op.name;
    std::replace(name.begin(), name.end(), '.', '_');
    return {"dycl::host::" + name + "(" + args(op) + ")"};
  }
  return {host_expression(op)};
}

std::string CppExpressions::host_expression(const ir::Op& op) {
  const auto result = [&]() -> const ir::Type& { return values_.type_of(op.results[0]); };
  const auto element = [&](const ir::Type& list) { return cpp_type(list.element.at(0)); };
  const auto axis = [&] { return std::to_string(*ir::attr_as<std::int64_t>(op, "axis")); };
  const auto type = [&] { return type_member(result()); };
  if (op.name == "item") return "item<" + cpp_type(result()) + ">(" + arg(op, 0) + ")";
  if (op.name == "to_tensor") return "to_tensor(" + typed(op.operands[0]) + ", " + type() + ")";
  if (op.name == "dim") return "dim(" + arg(op, 0) + ", " + axis() + ")";
  if (op.name == "size") return "size(" + arg(op, 0) + ")";
  if (op.name == "select") return "(" + operand(op, 0).text + " ? " + plain(op, 1) + " : " + plain(op, 2) + ")";
  if (op.name == "list.new" || op.name == "opt.none" || op.name == "opt.some")
    return "list<" + element(result()) + ">(" + args(op) + ")";
  if (op.name == "list.append") return "append(" + args(op) + ")";
  if (op.name == "list.get") return "get(" + args(op) + ")";
  if (op.name == "list.set") return "set(" + args(op) + ")";
  if (op.name == "list.len") return "len(" + arg(op, 0) + ")";
  if (op.name == "list.concat") return "concat(" + args(op) + ")";
  if (op.name == "list.slice") return "slice(" + args(op) + ")";
  if (op.name == "list.pop") return "pop(" + args(op) + ")";
  if (op.name == "list.insert") return "insert(" + args(op) + ")";
  if (op.name == "list.from_tensor") return "to_list<" + element(result()) + ">(" + arg(op, 0) + ")";
  if (op.name == "list.to_tensor") return "list_to_tensor(" + arg(op, 0) + ", " + type() + ")";
  if (op.name == "list.stack") return "stack(" + arg(op, 0) + ", " + axis() + ", " + type() + ")";
  if (op.name == "list.cat") return "cat(" + arg(op, 0) + ", " + axis() + ", " + type() + ")";
  if (op.name == "opt.is_some") return "is_some(" + arg(op, 0) + ")";
  if (op.name == "opt.get") return "value_of(" + arg(op, 0) + ")";
  if (const DistributionInfo* drawn = distribution_named(op.name))
    return draw(op, drawn->parameters, type());
  if (op.name == "rand.state") return "random_state(" + type() + ")";
  if (op.name == "rand.set_state") return "set_random_state(" + arg(op, 0) + ")";
  if (op.name == "rand.lend") return "lend_random(" + arg(op, 0) + ")";
  if (op.name == "rand.give_back") return "give_back_random(" + type() + ")";
  if (op.name == "rand.seed") return "seed(" + arg(op, 0) + ")";
  if (op.name == "call") {
    const std::string& callee = sub_dnn_of_.at(*ir::attr_as<std::string>(op, "callee"));
    const std::string rest = op.operands.empty() ? "" : ", " + args(op);
    if (op.results.size() == 1) return "call(" + callee + rest + ")";
    return "call_many<" + std::to_string(op.results.size()) + ">(" + callee + rest + ")";
  }
  if (op.name == "print" || op.name == "check" || op.name == "keep") return effect(op);
  if (op.name == "host_call") {
    std::vector<std::string> types;
    for (ir::ValueId v : op.results) types.push_back(cpp_type(values_.type_of(v)));
    std::string rest;
    for (std::size_t i = 0; i < op.operands.size(); ++i)
      rest += ", " + (values_.constant(op.operands[i]) ? typed(op.operands[i]) : arg(op, i));
    return "call_host<" + joined(types) + ">(" + host_function(op) + rest + ")";
  }
  throw InternalError("no source for host op " + op.name);
}

// `draw("uniform", type_0_, {0.0, 1.0}, {2, 3})`
std::string CppExpressions::draw(const ir::Op& op, std::string_view parameters, const std::string& type) {
  std::vector<std::string> given, extents;
  for (std::size_t i = 0; i < op.operands.size(); ++i) (i < parameters.size() ? given : extents).push_back(arg(op, i));
  const std::string shape = "{" + joined(extents) + "}";
  if (op.name == "rand.int") return "integers(" + type + ", " + joined(given) + ", " + shape + ")";
  const std::string name = op.name.substr(std::string_view("rand.").size());
  const char* function = parameters.starts_with('t')   ? "draw_samples("
                         : parameters.starts_with('i') ? "draw_integers("
                                                       : "draw(";
  return function + quoted(name) + ", " + type + ", {" + joined(given) + "}, " + shape + ")";
}

std::string CppExpressions::effect(const ir::Op& op) {
  if (op.name == "check")
    return "check(" + arg(op, 0) + ", " + quoted(*ir::attr_as<std::string>(op, "type")) + ", " +
           quoted(*ir::attr_as<std::string>(op, "message")) + ")";
  if (op.name == "keep") return keep(op);
  std::string text = "print(" + quoted(*ir::attr_as<std::string>(op, "format"));
  for (ir::ValueId v : op.operands) text += ", " + typed(v);
  return text + ")";
}

// `keep("x_after", type_0_, x, "@count", type_1_, n)`
std::string CppExpressions::keep(const ir::Op& op) {
  const auto& names = *ir::attr_as<std::vector<std::string>>(op, "names");
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string value = values_.constant(op.operands[i]) ? typed(op.operands[i]) : arg(op, i);
    parts.insert(parts.end(), {quoted(names[i]), type_member(values_.type_of(op.operands[i])), value});
  }
  return "keep(" + joined(parts) + ")";
}

}  // namespace dycl::emit
