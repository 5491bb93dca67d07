// SPDX-License-Identifier: Apache-2.0
#include "ir/host_ops.h"

#include <set>

#include "support/python_str.h"
#include "support/random.h"
#include "support/scalar_ops.h"

namespace dycl::ir {

namespace {

using Types = std::vector<Type>;
using Inferred = Result<Types>;

// What an inference rule sees.
struct Site {
  const Program& program;
  const Function& function;
  const Op& op;
  const FunctionIndex* index;

  std::size_t count() const { return op.operands.size(); }
  const Type& type(std::size_t i) const { return function.type_of(op.operands[i]); }
};

Error wrong(std::string message) { return Error{ErrorKind::InvalidModel, std::move(message), {}, {}, {}}; }
Error undetermined() { return Error{ErrorKind::Unsupported, {}, {}, {}, {}}; }

Result<void> expect_count(const Site& site, std::size_t count) {
  if (site.count() == count) return {};
  return wrong("takes " + std::to_string(count) + (count == 1 ? " operand, got " : " operands, got ") +
               std::to_string(site.count()));
}

Result<void> expect_kind(const Site& site, std::size_t i, Type::Kind kind, const char* what) {
  if (site.type(i).kind == kind) return {};
  return wrong("operand " + std::to_string(i + 1) + " must be " + what + ", not " + to_string(site.type(i)));
}

Result<void> expect_tensor(const Site& s, std::size_t i) { return expect_kind(s, i, Type::Kind::Tensor, "a tensor"); }
Result<void> expect_int(const Site& s, std::size_t i) { return expect_kind(s, i, Type::Kind::Int, "int"); }
Result<void> expect_list(const Site& s, std::size_t i) {
  DYCL_TRY(expect_kind(s, i, Type::Kind::List, "a list"));
  if (s.type(i).element.size() != 1)
    return wrong("operand " + std::to_string(i + 1) + " is a list without an element type");
  return {};
}
Result<void> expect_optional(const Site& s, std::size_t i) {
  DYCL_TRY(expect_kind(s, i, Type::Kind::Optional, "an optional"));
  if (s.type(i).element.size() != 1)
    return wrong("operand " + std::to_string(i + 1) + " is an optional without an element type");
  return {};
}
Result<void> expect_scalar(const Site& site, std::size_t i) {
  if (site.type(i).is_scalar()) return {};
  return wrong("operand " + std::to_string(i + 1) + " must be bool, int or float, not " + to_string(site.type(i)));
}

template <typename T>
Result<T> expect_attr(const Site& site, const char* key, const char* what) {
  const Attr* attr = site.op.attr(key);
  if (!attr) return wrong("needs the attribute " + std::string(key));
  if (const T* value = std::get_if<T>(attr)) return *value;
  return wrong("attribute " + std::string(key) + " must be " + what);
}

Result<DType> expect_dtype(const Site& site) {
  DYCL_ASSIGN(const std::string name, expect_attr<std::string>(site, "dtype", "a string"));
  if (auto dtype = dtype_named(name)) return *dtype;
  return wrong("there is no dtype \"" + name + "\"");
}

Result<Type> join_or_error(const Type& a, const Type& b) {
  if (auto joined = join(a, b)) return *joined;
  return wrong("types " + to_string(a) + " and " + to_string(b) + " do not go together");
}

// ---- rules, in the order of docs/ir.md ----------------------------------------------

Inferred infer_const(const Site& s) {
  DYCL_TRY(expect_count(s, 0));
  const Attr* value = s.op.attr("value");
  if (!value) return wrong("needs the attribute value");
  if (std::holds_alternative<bool>(*value)) return Types{Type::boolean()};
  if (std::holds_alternative<std::int64_t>(*value)) return Types{Type::integer()};
  if (std::holds_alternative<double>(*value)) return Types{Type::floating()};
  if (const auto* literal = std::get_if<TensorLiteral>(value)) return Types{type_of(*literal)};
  return wrong("the value must be bool, int, float or a tensor literal");
}

Inferred infer_weight(const Site& s) {
  DYCL_TRY(expect_count(s, 0));
  DYCL_ASSIGN(const std::string name, expect_attr<std::string>(s, "name", "a string"));
  auto it = s.program.weights.find(name);
  if (it == s.program.weights.end()) return wrong("there is no weight @" + name);
  return Types{it->second.type};
}

Inferred infer_item(const Site& s) {
  DYCL_TRY(expect_count(s, 1));
  DYCL_TRY(expect_tensor(s, 0));
  auto type = scalar_type_of(s.type(0).dtype);
  if (!type) return wrong("no scalar can hold an element of " + to_string(s.type(0)));
  return Types{*type};
}

Inferred infer_to_tensor(const Site& s) {
  DYCL_TRY(expect_count(s, 1));
  DYCL_TRY(expect_scalar(s, 0));
  DYCL_ASSIGN(const DType dtype, expect_dtype(s));
  return Types{Type::tensor(dtype, {})};
}

Inferred infer_dim(const Site& s) {
  DYCL_TRY(expect_count(s, 1));
  DYCL_TRY(expect_tensor(s, 0));
  DYCL_ASSIGN(const std::int64_t axis, expect_attr<std::int64_t>(s, "axis", "an int"));
  if (axis < 0) return wrong("axis must be >= 0");
  const auto& shape = s.type(0).shape;
  if (shape && axis >= static_cast<std::int64_t>(shape->size()))
    return wrong("axis " + std::to_string(axis) + " is out of range for " + to_string(s.type(0)));
  return Types{Type::integer()};
}

Inferred infer_size(const Site& s) {
  DYCL_TRY(expect_count(s, 1));
  DYCL_TRY(expect_tensor(s, 0));
  return Types{Type::integer()};
}

Inferred infer_select(const Site& s) {
  DYCL_TRY(expect_count(s, 3));
  DYCL_TRY(expect_kind(s, 0, Type::Kind::Bool, "bool"));
  DYCL_ASSIGN(Type joined, join_or_error(s.type(1), s.type(2)));
  return Types{std::move(joined)};
}

Inferred infer_list_new(const Site& s) {
  if (s.count() == 0) return undetermined();
  Type element = s.type(0);
  for (std::size_t i = 1; i < s.count(); ++i) {
    DYCL_ASSIGN(element, join_or_error(element, s.type(i)));
  }
  return Types{Type::list(std::move(element))};
}

// list.append, list.set, list.insert: the list, perhaps an index, the element.
Inferred infer_list_with(const Site& s, bool indexed) {
  DYCL_TRY(expect_count(s, indexed ? 3 : 2));
  DYCL_TRY(expect_list(s, 0));
  if (indexed) DYCL_TRY(expect_int(s, 1));
  DYCL_ASSIGN(Type element, join_or_error(s.type(0).element[0], s.type(indexed ? 2 : 1)));
  return Types{Type::list(std::move(element))};
}
Inferred infer_list_append(const Site& s) { return infer_list_with(s, false); }
Inferred infer_list_set(const Site& s) { return infer_list_with(s, true); }

Inferred infer_list_get(const Site& s) {
  DYCL_TRY(expect_count(s, 2));
  DYCL_TRY(expect_list(s, 0));
  DYCL_TRY(expect_int(s, 1));
  return Types{s.type(0).element[0]};
}

Inferred infer_list_len(const Site& s) {
  DYCL_TRY(expect_count(s, 1));
  DYCL_TRY(expect_list(s, 0));
  return Types{Type::integer()};
}

Inferred infer_list_concat(const Site& s) {
  DYCL_TRY(expect_count(s, 2));
  DYCL_TRY(expect_list(s, 0));
  DYCL_TRY(expect_list(s, 1));
  DYCL_ASSIGN(Type joined, join_or_error(s.type(0), s.type(1)));
  return Types{std::move(joined)};
}

Inferred infer_list_slice(const Site& s) {
  DYCL_TRY(expect_count(s, 3));
  DYCL_TRY(expect_list(s, 0));
  DYCL_TRY(expect_int(s, 1));
  DYCL_TRY(expect_int(s, 2));
  return Types{s.type(0)};
}

Inferred infer_list_pop(const Site& s) {
  DYCL_TRY(expect_count(s, 2));
  DYCL_TRY(expect_list(s, 0));
  DYCL_TRY(expect_int(s, 1));
  return Types{s.type(0), s.type(0).element[0]};
}

Inferred infer_list_from_tensor(const Site& s) {
  DYCL_TRY(expect_count(s, 1));
  DYCL_TRY(expect_tensor(s, 0));
  if (s.type(0).shape && s.type(0).shape->size() != 1)
    return wrong("the tensor must have one dim, not " + to_string(s.type(0)));
  auto element = scalar_type_of(s.type(0).dtype);
  if (!element) return wrong("no scalar can hold an element of " + to_string(s.type(0)));
  return Types{Type::list(std::move(*element))};
}

Inferred infer_list_to_tensor(const Site& s) {
  DYCL_TRY(expect_count(s, 1));
  DYCL_TRY(expect_list(s, 0));
  if (!s.type(0).element[0].is_scalar())
    return wrong("the list must hold scalars, not " + to_string(s.type(0).element[0]));
  DYCL_ASSIGN(const DType dtype, expect_dtype(s));
  return Types{Type::tensor(dtype, {Dim::opaque()})};
}

Inferred infer_list_join(const Site& s, bool stack) {
  DYCL_TRY(expect_count(s, 1));
  DYCL_TRY(expect_list(s, 0));
  const Type& element = s.type(0).element[0];
  if (!element.is_tensor()) return wrong("the list must hold tensors, not " + to_string(element));
  DYCL_ASSIGN(std::int64_t axis, expect_attr<std::int64_t>(s, "axis", "an int"));
  if (!element.shape) return Types{Type::tensor_of_unknown_rank(element.dtype)};
  const auto places = static_cast<std::int64_t>(element.shape->size()) + (stack ? 1 : 0);
  if (axis < -places || axis >= places)
    return wrong("axis " + std::to_string(axis) + " is out of range for elements of " + to_string(element));
  if (axis < 0) axis += places;
  std::vector<Dim> dims = *element.shape;
  if (stack)
    dims.insert(dims.begin() + axis, Dim::opaque());
  else
    dims[static_cast<std::size_t>(axis)] = Dim::opaque();
  return Types{Type::tensor(element.dtype, std::move(dims))};
}
Inferred infer_list_stack(const Site& s) { return infer_list_join(s, true); }
Inferred infer_list_cat(const Site& s) { return infer_list_join(s, false); }

Inferred infer_opt_none(const Site& s) {
  DYCL_TRY(expect_count(s, 0));
  return undetermined();
}
Inferred infer_opt_some(const Site& s) {
  DYCL_TRY(expect_count(s, 1));
  return Types{Type::optional(s.type(0))};
}
Inferred infer_opt_is_some(const Site& s) {
  DYCL_TRY(expect_count(s, 1));
  DYCL_TRY(expect_optional(s, 0));
  return Types{Type::boolean()};
}
Inferred infer_opt_get(const Site& s) {
  DYCL_TRY(expect_count(s, 1));
  DYCL_TRY(expect_optional(s, 0));
  return Types{s.type(0).element[0]};
}

Inferred infer_draw(const Site& s) {
  const DistributionInfo& drawn = *distribution_named(s.op.name);
  const std::size_t leading = drawn.parameters.size();
  if (s.count() < leading) return wrong("takes at least " + std::to_string(leading) + " operands");
  for (std::size_t i = 0; i < s.count(); ++i) {
    if (i < leading && drawn.parameters[i] == 'f')
      DYCL_TRY(expect_kind(s, i, Type::Kind::Float, "float"));
    else if (i < leading && drawn.parameters[i] == 't')
      DYCL_TRY(expect_tensor(s, i));
    else
      DYCL_TRY(expect_int(s, i));
  }
  DYCL_ASSIGN(const DType dtype, expect_dtype(s));
  if (!can_draw(drawn.distribution, dtype))
    return wrong("dtype " + std::string(name_of(dtype)) + " cannot be drawn");
  for (std::size_t i = 0; i < leading; ++i)
    if (drawn.parameters[i] == 't' && s.type(i).dtype != dtype)
      return wrong("operand " + std::to_string(i + 1) + " must be of " + std::string(name_of(dtype)) + ", not " +
                   to_string(s.type(i)));
  return Types{Type::tensor(dtype, std::vector<Dim>(s.count() - leading))};
}

Type random_state_type() {
  return Type::tensor(DType::U8, {Dim::of(static_cast<std::int64_t>(kRandomStateBytes))});
}

Inferred infer_rand_state(const Site& s) {
  DYCL_TRY(expect_count(s, 0));
  return Types{random_state_type()};
}

Inferred infer_rand_set_state(const Site& s) {
  DYCL_TRY(expect_count(s, 1));
  if (!fits(s.type(0), random_state_type()))
    return wrong("takes a tensor u8[" + std::to_string(kRandomStateBytes) + "]");
  return Types{};
}

Inferred infer_rand_seed(const Site& s) {
  DYCL_TRY(expect_count(s, 1));
  DYCL_TRY(expect_int(s, 0));
  return Types{};
}

Inferred infer_print(const Site& s) {
  for (std::size_t i = 0; i < s.count(); ++i) DYCL_TRY(expect_scalar(s, i));
  DYCL_ASSIGN(const std::string format, expect_attr<std::string>(s, "format", "a string"));
  const auto places = count_placeholders(format);
  if (!places) return wrong("the format has a lone brace; write {{ or }}");
  if (*places != s.count())
    return wrong("the format has " + std::to_string(*places) + " {} for " + std::to_string(s.count()) + " operands");
  return Types{};
}

Inferred infer_check(const Site& s) {
  DYCL_TRY(expect_count(s, 1));
  DYCL_TRY(expect_kind(s, 0, Type::Kind::Bool, "bool"));
  DYCL_TRY(expect_attr<std::string>(s, "message", "a string"));
  DYCL_TRY(expect_attr<std::string>(s, "type", "a string"));
  return Types{};
}

// A name that starts with @ is a state's.
Inferred infer_keep(const Site& s) {
  DYCL_ASSIGN(const auto names, expect_attr<std::vector<std::string>>(s, "names", "a list of strings"));
  if (names.size() != s.count())
    return wrong("has " + std::to_string(names.size()) + " names for " + std::to_string(s.count()) + " operands");
  if (names.empty()) return wrong("names nothing");
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty() || names[i] == "@") return wrong("a name is empty");
    if (!seen.insert(names[i]).second) return wrong("\"" + names[i] + "\" is named twice");
    if (names[i][0] != '@') continue;
    const auto state = s.program.states.find(names[i].substr(1));
    if (state == s.program.states.end()) return wrong("there is no state " + names[i]);
    if (!fits(s.type(i), state->second.type))
      return wrong("operand " + std::to_string(i + 1) + " is " + to_string(s.type(i)) + ", but the state " + names[i] +
                   " is " + to_string(state->second.type));
  }
  return Types{};
}

Inferred infer_call(const Site& s) {
  DYCL_ASSIGN(const std::string name, expect_attr<std::string>(s, "callee", "a string"));
  const Function* callee = s.index ? s.index->find(name) : s.program.find(name);
  if (!callee) return wrong("there is no function @" + name);
  DYCL_TRY(expect_count(s, callee->params.size()));
  for (std::size_t i = 0; i < s.count(); ++i) {
    const ValueId param = callee->params[i].value;
    if (!param.present() || param.index >= callee->values.size()) return wrong("@" + name + " is broken");
    if (!fits(s.type(i), callee->type_of(param)))
      return wrong("argument " + std::to_string(i + 1) + " is " + to_string(s.type(i)) + ", but @" + name + " takes " +
                   to_string(callee->type_of(param)));
  }
  Types types;
  for (const Output& result : callee->results) types.push_back(result.type);
  return types;
}

Inferred infer_host_call(const Site& s) {
  DYCL_TRY(expect_attr<std::string>(s, "name", "a string"));
  return undetermined();
}

Inferred infer_scalar(const Site& s) {
  const auto& signature = scalar::signature(*scalar::op_named(s.op.name));
  DYCL_TRY(expect_count(s, signature.operands.size()));
  for (std::size_t i = 0; i < s.count(); ++i) {
    const char letter = signature.operands[i];
    if (letter == 'b') DYCL_TRY(expect_kind(s, i, Type::Kind::Bool, "bool"));
    if (letter == 'i') DYCL_TRY(expect_kind(s, i, Type::Kind::Int, "int"));
    if (letter == 'f') DYCL_TRY(expect_kind(s, i, Type::Kind::Float, "float"));
  }
  return Types{signature.result == 'b'   ? Type::boolean()
               : signature.result == 'i' ? Type::integer()
                                         : Type::floating()};
}

struct Entry {
  HostOp op;
  Inferred (*infer)(const Site&);
  bool refinable = false;  // extents depend on values: a declared type may say more
};

constexpr bool kEffect = true, kPure = false, kFails = true, kSafe = false, kRefinable = true;

constexpr Entry kEntries[] = {
    {{"const", kPure, kSafe}, infer_const},
    {{"weight", kPure, kSafe}, infer_weight},
    {{"item", kPure, kFails}, infer_item},
    {{"to_tensor", kPure, kFails}, infer_to_tensor},
    {{"dim", kPure, kFails}, infer_dim},
    {{"size", kPure, kSafe}, infer_size},
    {{"select", kPure, kSafe}, infer_select},
    {{"list.new", kPure, kSafe}, infer_list_new},
    {{"list.append", kPure, kSafe}, infer_list_append},
    {{"list.get", kPure, kFails}, infer_list_get},
    {{"list.set", kPure, kFails}, infer_list_set},
    {{"list.len", kPure, kSafe}, infer_list_len},
    {{"list.concat", kPure, kSafe}, infer_list_concat},
    {{"list.slice", kPure, kSafe}, infer_list_slice},
    {{"list.pop", kPure, kFails}, infer_list_pop},
    {{"list.insert", kPure, kSafe}, infer_list_set},
    {{"list.from_tensor", kPure, kFails}, infer_list_from_tensor},
    {{"list.to_tensor", kPure, kFails}, infer_list_to_tensor, kRefinable},
    {{"list.stack", kPure, kFails}, infer_list_stack, kRefinable},
    {{"list.cat", kPure, kFails}, infer_list_cat, kRefinable},
    {{"opt.none", kPure, kSafe}, infer_opt_none},
    {{"opt.some", kPure, kSafe}, infer_opt_some},
    {{"opt.is_some", kPure, kSafe}, infer_opt_is_some},
    {{"opt.get", kPure, kFails}, infer_opt_get},
#define DYCL_X(name, text, parameters) {{text, kEffect, kFails}, infer_draw, kRefinable},
    DYCL_DISTRIBUTIONS(DYCL_X)
#undef DYCL_X
    {{"rand.state", kEffect, kSafe}, infer_rand_state},
    {{"rand.set_state", kEffect, kFails}, infer_rand_set_state},
    {{"rand.lend", kEffect, kFails}, infer_rand_set_state},
    {{"rand.give_back", kEffect, kFails}, infer_rand_state},
    {{"rand.seed", kEffect, kSafe}, infer_rand_seed},
    {{"print", kEffect, kSafe}, infer_print},
    {{"check", kEffect, kFails}, infer_check},
    {{"keep", kEffect, kSafe}, infer_keep},
    {{"call", kPure, kSafe}, infer_call},
    {{"host_call", kEffect, kFails}, infer_host_call},
};

const Entry* find_entry(std::string_view name) {
  static const auto* const table = [] {
    auto* map = new std::unordered_map<std::string_view, Entry>;
    for (const Entry& entry : kEntries) map->emplace(entry.op.name, entry);
    for (std::size_t i = 0; i < scalar::kOpCount; ++i) {
      const std::string_view op = scalar::kSignatures[i].name;
      map->emplace(op, Entry{{op, kPure, scalar::can_fault(static_cast<scalar::OpCode>(i))}, infer_scalar});
    }
    return map;
  }();
  auto it = table->find(name);
  return it == table->end() ? nullptr : &it->second;
}

// True if both could be the type of one value: they differ only where one says less.
bool compatible(const Type& a, const Type& b) {
  if (a.kind != b.kind || !a.is_tensor() || a.dtype != b.dtype) return false;
  if (!a.shape || !b.shape) return true;
  if (a.shape->size() != b.shape->size()) return false;
  for (std::size_t i = 0; i < a.shape->size(); ++i) {
    const Dim &x = (*a.shape)[i], &y = (*b.shape)[i];
    if (x.is_known() && y.is_known() && x != y) return false;
  }
  return true;
}

}  // namespace

const HostOp* host_op_named(std::string_view name) {
  const Entry* entry = find_entry(name);
  return entry ? &entry->op : nullptr;
}

std::size_t host_op_count() { return std::size(kEntries) + scalar::kOpCount; }

FunctionIndex::FunctionIndex(const Program& program) {
  for (const Function& function : program.functions) functions_.emplace(function.name, &function);
}

const Function* FunctionIndex::find(std::string_view name) const {
  auto it = functions_.find(name);
  return it == functions_.end() ? nullptr : it->second;
}

Result<std::vector<Type>> infer_types(const Program& program, const Function& function, const Op& op,
                                      const FunctionIndex* index) {
  const Entry* entry = find_entry(op.name);
  if (!entry) return wrong("there is no host op called " + op.name);
  for (ValueId operand : op.operands)
    if (operand.index >= function.values.size()) return wrong("a host op's operands must all be present");
  return entry->infer(Site{program, function, op, index});
}

bool may_declare(const Op& op, const Type& inferred, const Type& declared) {
  if (fits(inferred, declared)) return true;
  const Entry* entry = find_entry(op.name);
  return entry && entry->refinable && compatible(inferred, declared);
}

Type type_of(const TensorLiteral& literal) {
  std::vector<Dim> dims;
  for (std::int64_t extent : literal.shape) dims.push_back(Dim::of(extent));
  return Type::tensor(literal.dtype, std::move(dims));
}

std::optional<Type> scalar_type_of(DType dtype) {
  if (dtype == DType::Bool) return Type::boolean();
  if (!has_scalars(dtype)) return std::nullopt;
  if (is_floating(dtype)) return Type::floating();
  return Type::integer();
}

}  // namespace dycl::ir
