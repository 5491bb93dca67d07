// SPDX-License-Identifier: Apache-2.0
// The ops of docs/ir.md, one by one.
#include <algorithm>

#include "ir/execution.h"
#include "ir/host_ops.h"
#include "ir/print.h"
#include "support/elements.h"
#include "support/python_str.h"

namespace dycl::ir {

namespace {

using Values = std::vector<HostValue>;

Values one(HostValue value) {
  Values values;
  values.push_back(std::move(value));
  return values;
}

// A Python index to a place in [0, size); false if out of range.
bool resolve(std::int64_t index, std::size_t size, std::size_t* place) {
  const auto count = static_cast<std::int64_t>(size);
  if (index < -count || index >= count) return false;
  *place = static_cast<std::size_t>(index < 0 ? index + count : index);
  return true;
}

// As bounds of slices and places to insert are read: clamped to [0, size].
std::size_t clamped(std::int64_t index, std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  if (index < 0) index = index < -count ? 0 : index + count;
  return static_cast<std::size_t>(std::min(index, count));
}

}  // namespace

Result<void> Execution::step(const Op& op) {
  Result<Values> results = op.is_tensor_op() ? tensor_op(op) : host_op(op);
  if (!results) {
    Error error = std::move(results).error();
    if (!error.span.known() || error.span == function_.span) error.span = op.span.known() ? op.span : error.span;
    return error;
  }
  if (options_.observer) options_.observer->executed(op, *results);
  for (std::size_t i = 0; i < op.results.size(); ++i) DYCL_TRY(set(op.results[i], std::move((*results)[i]), op.span));
  return {};
}

Result<Values> Execution::tensor_op(const Op& op) {
  std::vector<const Tensor*> operands;
  for (ValueId v : op.operands) operands.push_back(v.present() ? &get(v).tensor() : nullptr);
  std::vector<Type> types;
  for (ValueId v : op.results) types.push_back(function_.type_of(v));
  DYCL_ASSIGN(std::vector<Tensor> tensors, interpreter_.evaluator_->evaluate(op, operands, types));
  if (tensors.size() != op.results.size())
    return Error{ErrorKind::Internal,
                 "the evaluator gave " + std::to_string(tensors.size()) + " results for " + op.name,
                 {},
                 op.span,
                 {}};
  Values values;
  for (Tensor& tensor : tensors) values.push_back(HostValue::of(std::move(tensor)));
  return values;
}

Result<Values> Execution::host_op(const Op& op) {
  const std::string& name = op.name;
  if (const auto code = scalar::op_named(name)) {
    const scalar::Scalar a = get(op.operands[0]).scalar();
    const scalar::Scalar b = op.operands.size() > 1 ? get(op.operands[1]).scalar() : a;
    scalar::Scalar result;
    const scalar::Fault fault = scalar::apply(*code, a, b, &result);
    if (fault != scalar::Fault::None) return scalar::to_error(fault, op.span);
    return one(HostValue::of(result));
  }
  const auto single = [](Result<HostValue> value) -> Result<Values> {
    if (!value) return std::move(value).error();
    return one(std::move(*value));
  };
  if (name == "const") {
    const Attr& value = *op.attr("value");
    if (const auto* b = std::get_if<bool>(&value)) return one(HostValue::of(*b));
    if (const auto* i = std::get_if<std::int64_t>(&value)) return one(HostValue::of(*i));
    if (const auto* f = std::get_if<double>(&value)) return one(HostValue::of(*f));
    return one(HostValue::of(Tensor::of(std::get<TensorLiteral>(value))));
  }
  if (name == "weight") {
    DYCL_ASSIGN(auto tensor, weight(*attr_as<std::string>(op, "name")));
    return one(HostValue{std::move(tensor)});
  }
  if (name == "item" || name == "to_tensor" || name == "dim" || name == "size") return single(read_tensor(op));
  if (name == "select") return one(get(op.operands[get(op.operands[0]).boolean() ? 1 : 2]));
  if (name == "list.pop") return list_pop(op);
  if (name.starts_with("list.")) return single(list_op(op));
  if (name == "opt.none") return one(HostValue::none());
  if (name == "opt.some") return one(HostValue::some(get(op.operands[0])));
  if (name == "opt.is_some") return one(HostValue::of(get(op.operands[0]).inside() != nullptr));
  if (name == "opt.get") {
    const HostValue* inside = get(op.operands[0]).inside();
    if (!inside) return failure("TypeError", "the value is None", op.span);
    return one(*inside);
  }
  if (distribution_named(name)) return single(draw(op));
  if (name.starts_with("rand.")) return change_generator(op);
  if (name == "print") {
    std::vector<scalar::Scalar> args;
    for (ValueId v : op.operands) args.push_back(get(v).scalar());
    trace_.printed += format_message(*attr_as<std::string>(op, "format"), args);
    return Values{};
  }
  if (name == "check") {
    if (get(op.operands[0]).boolean()) return Values{};
    return failure(*attr_as<std::string>(op, "type"), *attr_as<std::string>(op, "message"), op.span);
  }
  if (name == "keep") {
    const auto& names = *attr_as<std::vector<std::string>>(op, "names");
    for (std::size_t i = 0; i < names.size(); ++i) kept_[names[i]] = get(op.operands[i]);
    return Values{};
  }
  if (name == "call") return call(op);
  if (name == "host_call") return host_call(op);
  return Error{ErrorKind::Internal, "the interpreter does not know " + name, {}, op.span, {}};
}

Result<HostValue> Execution::read_tensor(const Op& op) {
  scalar::Scalar value;
  scalar::Fault fault;
  if (op.name == "to_tensor") {
    Tensor out = Tensor::zeros(*dtype_named(*attr_as<std::string>(op, "dtype")), {});
    fault = store_element(out.dtype, get(op.operands[0]).scalar(), out.bytes.data());
    if (fault != scalar::Fault::None) return scalar::to_error(fault, op.span);
    return HostValue::of(std::move(out));
  }
  const Tensor& tensor = get(op.operands[0]).tensor();
  if (op.name == "size") return HostValue::of(tensor.count());
  if (op.name == "dim") {
    const std::int64_t axis = *attr_as<std::int64_t>(op, "axis");
    if (axis >= tensor.rank())
      return failure("IndexError",
                     "a tensor of shape " + shape_text(tensor.shape) + " has no dim " + std::to_string(axis), op.span);
    return HostValue::of(tensor.shape[static_cast<std::size_t>(axis)]);
  }
  if (tensor.count() != 1)
    return failure("RuntimeError",
                   "a Tensor with " + std::to_string(tensor.count()) + " elements cannot be converted to Scalar",
                   op.span);
  fault = load_element(tensor.dtype, tensor.bytes.data(), &value);
  if (fault != scalar::Fault::None) return scalar::to_error(fault, op.span);
  return HostValue::of(value);
}

Result<HostValue> Execution::list_op(const Op& op) {
  const std::string_view name = std::string_view(op.name).substr(5);
  if (name == "new") {
    Values items;
    for (ValueId v : op.operands) items.push_back(get(v));
    return HostValue::list(std::move(items));
  }
  if (name == "to_tensor") return list_to_tensor(op);
  if (name == "stack") return list_join(op, true);
  if (name == "cat") return list_join(op, false);
  if (name == "from_tensor") {
    const Tensor& tensor = get(op.operands[0]).tensor();
    if (tensor.rank() != 1)
      return failure("ValueError", "a list is made of a tensor with one dim, not of shape " + shape_text(tensor.shape),
                     op.span);
    Values items;
    for (std::size_t at = 0; at < tensor.bytes.size(); at += size_of(tensor.dtype)) {
      scalar::Scalar value;
      const scalar::Fault fault = load_element(tensor.dtype, tensor.bytes.data() + at, &value);
      if (fault != scalar::Fault::None) return scalar::to_error(fault, op.span);
      items.push_back(HostValue::of(value));
    }
    return HostValue::list(std::move(items));
  }

  const Values& list = get(op.operands[0]).items();
  std::size_t place = 0;
  if (name == "len") return HostValue::of(static_cast<std::int64_t>(list.size()));
  if (name == "get") {
    if (!resolve(get(op.operands[1]).integer(), list.size(), &place))
      return failure("IndexError", "list index out of range", op.span);
    return list[place];
  }
  Values copy = list;
  if (name == "append") copy.push_back(get(op.operands[1]));
  if (name == "concat") {
    const Values& second = get(op.operands[1]).items();
    copy.insert(copy.end(), second.begin(), second.end());
  }
  if (name == "set") {
    if (!resolve(get(op.operands[1]).integer(), list.size(), &place))
      return failure("IndexError", "list assignment index out of range", op.span);
    copy[place] = get(op.operands[2]);
  }
  if (name == "insert") {
    place = clamped(get(op.operands[1]).integer(), list.size());
    copy.insert(copy.begin() + static_cast<std::ptrdiff_t>(place), get(op.operands[2]));
  }
  if (name == "slice") {
    const std::size_t from = clamped(get(op.operands[1]).integer(), list.size());
    const std::size_t until = std::max(from, clamped(get(op.operands[2]).integer(), list.size()));
    copy.assign(list.begin() + static_cast<std::ptrdiff_t>(from), list.begin() + static_cast<std::ptrdiff_t>(until));
  }
  return HostValue::list(std::move(copy));
}

Result<Values> Execution::list_pop(const Op& op) {
  Values items = get(op.operands[0]).items();
  if (items.empty()) return failure("IndexError", "pop from empty list", op.span);
  std::size_t place;
  if (!resolve(get(op.operands[1]).integer(), items.size(), &place))
    return failure("IndexError", "pop index out of range", op.span);
  HostValue item = items[place];
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(place));
  return Values{HostValue::list(std::move(items)), std::move(item)};
}

Result<HostValue> Execution::list_to_tensor(const Op& op) {
  const Values& list = get(op.operands[0]).items();
  const DType dtype = *dtype_named(*attr_as<std::string>(op, "dtype"));
  Tensor out = Tensor::zeros(dtype, {static_cast<std::int64_t>(list.size())});
  for (std::size_t i = 0; i < list.size(); ++i) {
    const scalar::Fault fault = store_element(dtype, list[i].scalar(), out.bytes.data() + i * size_of(dtype));
    if (fault != scalar::Fault::None) return scalar::to_error(fault, op.span);
  }
  return HostValue::of(std::move(out));
}

Result<HostValue> Execution::list_join(const Op& op, bool stack) {
  const std::string verb = stack ? "stack" : "cat";
  const Values& list = get(op.operands[0]).items();
  if (list.empty()) return failure("RuntimeError", verb + " expects a non-empty list of tensors", op.span);
  const Tensor& first = list[0].tensor();
  const std::int64_t places = first.rank() + (stack ? 1 : 0);
  std::int64_t axis = *attr_as<std::int64_t>(op, "axis");
  if (axis < -places || axis >= places)
    return failure("IndexError",
                   verb + ": axis " + std::to_string(axis) + " is out of range for shape " + shape_text(first.shape),
                   op.span);
  const auto where = static_cast<std::size_t>(axis < 0 ? axis + places : axis);
  std::int64_t joined = 0;
  for (const HostValue& item : list) {
    const std::vector<std::int64_t>& shape = item.tensor().shape;
    bool agree = shape.size() == first.shape.size();
    for (std::size_t i = 0; agree && i < shape.size(); ++i)
      agree = shape[i] == first.shape[i] || (!stack && i == where);
    if (!agree)
      return failure(
          "RuntimeError",
          verb + ": tensors of shapes " + shape_text(first.shape) + " and " + shape_text(shape) + " do not go together",
          op.span);
    joined += stack ? 1 : shape[where];
  }
  std::vector<std::int64_t> shape = first.shape;
  if (stack)
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(where), joined);
  else
    shape[where] = joined;
  Tensor out{first.dtype, std::move(shape), {}};
  const std::int64_t outer = element_count(std::span(first.shape).first(where));
  for (std::int64_t o = 0; o < outer; ++o)
    for (const HostValue& item : list) {
      const std::vector<std::uint8_t>& bytes = item.tensor().bytes;
      const std::size_t row = bytes.size() / static_cast<std::size_t>(outer);
      const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(row * static_cast<std::size_t>(o));
      out.bytes.insert(out.bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(row));
    }
  return HostValue::of(std::move(out));
}

Result<HostValue> Execution::draw(const Op& op) {
  const DistributionInfo& drawn = *distribution_named(op.name);
  DrawParameters parameters;
  for (std::size_t i = 0; i < drawn.parameters.size(); ++i) {
    if (drawn.parameters[i] == 'i')
      parameters.whole[i] = get(op.operands[i]).integer();
    else if (drawn.parameters[i] == 't')
      parameters.tensor[i] = get(op.operands[i]).tensor().bytes;
    else
      parameters.real[i] = get(op.operands[i]).scalar().f;
  }
  std::vector<std::int64_t> shape;
  for (std::size_t i = drawn.parameters.size(); i < op.operands.size(); ++i) {
    shape.push_back(get(op.operands[i]).integer());
    if (shape.back() < 0)
      return failure("RuntimeError",
                     "trying to create a tensor with negative dimension " + std::to_string(shape.back()), op.span);
  }
  if (element_count(shape) < 0 || element_count(shape) > (std::int64_t{1} << 32))
    return failure("MemoryError", "no memory for a tensor of shape " + shape_text(shape), op.span);
  Tensor out = Tensor::zeros(*dtype_named(*attr_as<std::string>(op, "dtype")), std::move(shape));
  const auto count = static_cast<std::size_t>(out.count());
  if (auto error = fill_random(random_, drawn.distribution, parameters, out.dtype, out.bytes.data(), count))
    return failure("RuntimeError", *std::move(error), op.span);
  return HostValue::of(std::move(out));
}

Result<Values> Execution::change_generator(const Op& op) {
  if (op.name == "rand.seed") {
    random_.reseed(static_cast<std::uint64_t>(get(op.operands[0]).integer()));
    return Values{};
  }
  if (op.name == "rand.set_state" || op.name == "rand.lend") {
    const auto& state = get(op.operands[0]).tensor().bytes;
    if (!(op.name == "rand.lend" ? random_.lend(state) : random_.set_state(state)))
      return failure("RuntimeError", kInvalidRandomState, op.span);
    return Values{};
  }
  const std::optional<RandomState> state = op.name == "rand.give_back" ? random_.give_back() : random_.state();
  if (!state) return failure("RuntimeError", kNoRandomStateLent, op.span);
  Tensor out = Tensor::zeros(DType::U8, {static_cast<std::int64_t>(kRandomStateBytes)});
  std::copy(state->begin(), state->end(), out.bytes.begin());
  return Values{HostValue::of(std::move(out))};
}

// A sub-DNN has no states, decisions or effects of its own: a run of its own will do.
Result<Values> Execution::call(const Op& op) {
  const Function& callee = *interpreter_.functions_.find(*attr_as<std::string>(op, "callee"));
  Values arguments;
  for (ValueId v : op.operands) arguments.push_back(get(v));
  RunTrace trace;
  const RunOptions options;
  Execution inner(interpreter_, callee, options, trace);
  inner.symbols_ = symbols_;
  DYCL_ASSIGN(RunOutcome outcome, inner.run(arguments));
  return std::move(outcome.results);
}

Result<Values> Execution::host_call(const Op& op) {
  const std::string& name = *attr_as<std::string>(op, "name");
  auto it = options_.host_functions.find(name);
  if (it == options_.host_functions.end())
    return Error{ErrorKind::Missing, "no host function is registered as \"" + name + "\"", {}, op.span, {}};
  Values arguments;
  for (ValueId v : op.operands) arguments.push_back(get(v));
  DYCL_ASSIGN(Values results, it->second(arguments));
  if (results.size() != op.results.size())
    return failure("RuntimeError",
                   "host function \"" + name + "\" gave " + std::to_string(results.size()) + " results, not " +
                       std::to_string(op.results.size()),
                   op.span);
  return results;
}

}  // namespace dycl::ir
