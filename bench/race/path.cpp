// SPDX-License-Identifier: Apache-2.0
#include "path.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>

#include "ir/host_ops.h"

namespace dycl::bench {
namespace {

// What a value of the program is on the path. Tensors are values of the path's block; a scalar may be
// one too, if it was read from there.
struct Known {
  ir::ValueId node;  // absent: none
  ir::HostValue value = ir::HostValue::of(false);
  std::vector<Known> items;  // of a list; of an optional at most one
};

ir::Type type_of(const ir::Tensor& tensor) {
  std::vector<ir::Dim> dims;
  for (const std::int64_t n : tensor.shape) dims.push_back(ir::Dim::of(n));
  return ir::Type::tensor(tensor.dtype, std::move(dims));
}

bool is_tensor(const ir::HostValue& value) {
  return std::holds_alternative<std::shared_ptr<const ir::Tensor>>(value.held);
}
bool is_list(const ir::HostValue& value) {
  return std::holds_alternative<std::shared_ptr<const ir::HostValue::List>>(value.held);
}

class Recorder final : public ir::RunObserver {
 public:
  explicit Recorder(const ir::Program& program)
      : program_(program), main_(program.main()), known_(main_.values.size()) {
    made_.name = "path";
    made_.kind = ir::FunctionKind::SubDnn;
    made_.blocks.resize(1);
    made_.blocks[0].name = "entry";
  }

  void argument(ir::ValueId parameter, const ir::HostValue& value) { known_[parameter.index] = admit(value); }

  void executed(const ir::Op& op, std::span<const ir::HostValue> results) override {
    if (op.is_tensor_op()) {
      tensor_op(op, results);
    } else if (op.name == "call" || op.name == "host_call") {
      refused_ = op.name;
    } else if (op.name == "list.pop") {
      list_pop(op);
    } else if (!op.results.empty()) {
      known_[op.results[0].index] = host_op(op, results[0]);
    }
  }

  void followed(const ir::Edge& edge) override {
    std::vector<Known> passed;
    for (const ir::ValueId arg : edge.args) passed.push_back(at(arg));
    const auto& params = main_.block(edge.target).params;
    for (std::size_t i = 0; i < passed.size(); ++i) known_[params[i].index] = std::move(passed[i]);
    last_ = edge.target.index;
  }

  Result<Path> finish(const ir::Program& program) {
    if (!refused_.empty()) return Error{ErrorKind::Unsupported, "no oracle of a program with " + refused_, {}, {}, {}};
    const auto* exit = std::get_if<ir::Return>(&main_.blocks[last_].exit);
    DYCL_CHECK(exit, "the path ends in a return");
    Path path;
    path.inputs = std::move(inputs_);
    std::vector<ir::ValueId> results;
    for (const ir::ValueId value : exit->values) give(at(value), results);
    for (const ir::ValueId condition : conditions_) add(results, condition);
    for (const ir::ValueId result : results) path.expected.push_back(contents(result));
    for (const ir::ValueId result : results) made_.results.push_back({made_.type_of(result), {}, {}});
    made_.blocks[0].exit = ir::Return{std::move(results)};
    drop_dead();
    for (const ir::Op& op : made_.blocks[0].body)
      if (const auto* name = ir::attr_as<std::string>(op, "name"); op.name == "weight" && name)
        path.program.weights.emplace(*name, program.weights.at(*name));
    path.program.functions.push_back(std::move(made_));
    return path;
  }

 private:
  const Known& at(ir::ValueId value) const { return known_[value.index]; }

  const ir::Tensor& contents(ir::ValueId node) const { return contents_.at(node.index).tensor(); }

  ir::ValueId emit(std::string name, std::vector<ir::ValueId> operands, const ir::HostValue& result,
                   std::map<std::string, ir::Attr> attrs) {
    const ir::ValueId made = made_.add_value(type_of(result.tensor()));
    made_.blocks[0].body.push_back({std::move(name), std::move(operands), {made}, std::move(attrs), {}});
    contents_.emplace(made.index, result);
    return made;
  }
  ir::ValueId constant(const ir::HostValue& value) {
    const ir::Tensor& tensor = value.tensor();
    return emit("const", {}, value, {{"value", ir::TensorLiteral{tensor.dtype, tensor.shape, tensor.bytes}}});
  }
  ir::ValueId integers(const std::vector<std::int64_t>& elements) {
    return constant(
        ir::HostValue::of(ir::Tensor::of(DType::I64, {static_cast<std::int64_t>(elements.size())}, elements)));
  }

  Known admit(const ir::HostValue& value) {
    Known known;
    if (is_tensor(value)) {
      known.node = made_.add_value(type_of(value.tensor()));
      made_.params.push_back({known.node, {}});
      inputs_.push_back(value.tensor());
      contents_.emplace(known.node.index, value);
    } else if (is_list(value)) {
      for (const ir::HostValue& item : value.items()) known.items.push_back(admit(item));
    } else if (!value.is_scalar()) {
      if (value.inside()) known.items.push_back(admit(*value.inside()));
    } else {
      known.value = value;
    }
    return known;
  }

  void tensor_op(const ir::Op& op, std::span<const ir::HostValue> results) {
    ir::Op copy = op;
    for (ir::ValueId& operand : copy.operands)
      if (operand.present()) operand = at(operand).node;
    for (std::size_t i = 0; i < copy.results.size(); ++i) {
      if (!copy.results[i].present()) continue;
      const ir::ValueId made = made_.add_value(type_of(results[i].tensor()));
      known_[copy.results[i].index] = Known{made, ir::HostValue::of(false), {}};
      contents_.emplace(made.index, results[i]);
      copy.results[i] = made;
    }
    made_.blocks[0].body.push_back(std::move(copy));
  }

  Known host_op(const ir::Op& op, const ir::HostValue& result) {
    Known known;
    if (op.name == "item" || op.name == "list.from_tensor") add(conditions_, at(op.operands[0]).node);
    if (op.name == "item") known.node = at(op.operands[0]).node;
    if (op.name == "select") return at(op.operands[at(op.operands[0]).value.boolean() ? 1 : 2]);
    if (op.name == "opt.get") return at(op.operands[0]).items.at(0);
    if (op.name == "opt.some") known.items = {at(op.operands[0])};
    if (op.name == "list.get") return element(op);
    if (result.is_scalar()) known.value = result;
    if (is_list(result)) known.items = list_op(op, result);
    if (is_tensor(result)) known.node = tensor_result(op, result);
    return known;
  }

  Known element(const ir::Op& op) const {
    const auto& items = at(op.operands[0]).items;
    const std::int64_t index = at(op.operands[1]).value.integer();
    return items.at(static_cast<std::size_t>(index < 0 ? index + static_cast<std::int64_t>(items.size()) : index));
  }

  // Places are found as the interpreter found them: the length of the result says what was cut.
  std::vector<Known> list_op(const ir::Op& op, const ir::HostValue& result) {
    std::vector<Known> items;
    if (op.name == "list.new") {
      for (const ir::ValueId operand : op.operands) items.push_back(at(operand));
      return items;
    }
    if (op.name == "list.from_tensor") {
      for (const ir::HostValue& item : result.items()) items.push_back({{}, item, {}});
      return items;
    }
    items = at(op.operands[0]).items;
    const auto size = static_cast<std::int64_t>(items.size());
    const auto place = [&](std::size_t operand) {
      const std::int64_t index = at(op.operands[operand]).value.integer();
      return static_cast<std::ptrdiff_t>(std::clamp<std::int64_t>(index < 0 ? index + size : index, 0, size));
    };
    if (op.name == "list.append") items.push_back(at(op.operands[1]));
    if (op.name == "list.concat")
      for (const Known& item : std::vector<Known>(at(op.operands[1]).items)) items.push_back(item);
    if (op.name == "list.set") items.at(static_cast<std::size_t>(place(1))) = at(op.operands[2]);
    if (op.name == "list.insert") items.insert(items.begin() + place(1), at(op.operands[2]));
    if (op.name == "list.slice") {
      const auto from = place(1), until = std::max(from, place(2));
      items = std::vector<Known>(items.begin() + from, items.begin() + until);
    }
    return items;
  }

  void list_pop(const ir::Op& op) {
    std::vector<Known> items = at(op.operands[0]).items;
    std::int64_t index = at(op.operands[1]).value.integer();
    if (index < 0) index += static_cast<std::int64_t>(items.size());
    Known item = items.at(static_cast<std::size_t>(index));
    items.erase(items.begin() + index);
    known_[op.results[0].index] = Known{{}, ir::HostValue::of(false), std::move(items)};
    if (op.results[1].present()) known_[op.results[1].index] = std::move(item);
  }

  ir::ValueId tensor_result(const ir::Op& op, const ir::HostValue& result) {
    if (op.name == "weight")
      return emit("weight", {}, result, {{"name", first_like(*ir::attr_as<std::string>(op, "name"))}});
    if (op.name == "to_tensor") return from_scalar(at(op.operands[0]), result);
    if (op.name == "list.stack" || op.name == "list.cat") return join(op, result);
    return constant(result);  // const, list.to_tensor, rand.*
  }

  // Copies of a weight under other names would cost the oracle its caches.
  const std::string& first_like(const std::string& name) {
    const ir::Weight& weight = program_.weights.at(name);
    const std::string_view bytes(reinterpret_cast<const char*>(weight.bytes.data), weight.bytes.size);
    auto& alike = weights_[std::hash<std::string_view>()(bytes)];
    for (const std::string& other : alike) {
      const ir::Weight& known = program_.weights.at(other);
      if (known.type == weight.type && known.bytes.size == weight.bytes.size &&
          std::equal(bytes.begin(), bytes.end(), reinterpret_cast<const char*>(known.bytes.data)))
        return other;
    }
    alike.push_back(name);
    return alike.back();
  }

  ir::ValueId from_scalar(const Known& scalar, const ir::HostValue& result) {
    if (!scalar.node.present()) return constant(result);
    ir::ValueId node = scalar.node;
    ir::Tensor flat = contents(node);
    if (!flat.shape.empty()) {
      flat.shape.clear();
      const ir::ValueId shape = integers({});
      node = emit("Reshape", {node, shape}, ir::HostValue::of(flat), {});
    }
    const DType wanted = result.tensor().dtype;
    if (flat.dtype == wanted) return node;
    return emit("Cast", {node}, result, {{"to", static_cast<std::int64_t>(wanted)}});
  }

  ir::ValueId join(const ir::Op& op, const ir::HostValue& result) {
    const auto& items = at(op.operands[0]).items;
    std::int64_t axis = *ir::attr_as<std::int64_t>(op, "axis");
    if (axis < 0) axis += result.tensor().rank();
    std::vector<ir::ValueId> parts;
    for (const Known& item : items) {
      parts.push_back(item.node);
      if (op.name == "list.cat") continue;
      ir::Tensor one = contents(item.node);
      one.shape.insert(one.shape.begin() + axis, 1);
      parts.back() = emit("Unsqueeze", {item.node, integers({axis})}, ir::HostValue::of(std::move(one)), {});
    }
    return emit("Concat", std::move(parts), result, {{"axis", axis}});
  }

  void give(const Known& known, std::vector<ir::ValueId>& results) const {
    for (const Known& item : known.items) give(item, results);
    if (known.node.present()) add(results, known.node);
  }
  static void add(std::vector<ir::ValueId>& to, ir::ValueId value) {
    if (std::ranges::find(to, value) == to.end()) to.push_back(value);
  }

  void drop_dead() {
    std::vector<bool> needed(made_.values.size());
    for (const ir::ValueId v : std::get<ir::Return>(made_.blocks[0].exit).values) needed[v.index] = true;
    auto& body = made_.blocks[0].body;
    std::vector<bool> stays(body.size());
    for (std::size_t i = body.size(); i-- > 0;) {
      stays[i] = std::ranges::any_of(body[i].results, [&](ir::ValueId v) { return v.present() && needed[v.index]; });
      if (!stays[i]) continue;
      for (const ir::ValueId v : body[i].operands)
        if (v.present()) needed[v.index] = true;
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < body.size(); ++i) {
      if (!stays[i]) continue;
      if (next != i) body[next] = std::move(body[i]);
      ++next;
    }
    body.resize(next);
  }

  const ir::Program& program_;
  const ir::Function& main_;
  std::map<std::size_t, std::vector<std::string>> weights_;  // by hash of their bytes
  std::vector<Known> known_;
  ir::Function made_;
  std::map<std::uint32_t, ir::HostValue> contents_;  // tensors by value of the path, shared with the interpreter
  std::vector<ir::Tensor> inputs_;
  std::vector<ir::ValueId> conditions_;
  std::uint32_t last_ = 0;
  std::string refused_;
};

}  // namespace

Result<Path> path_of(const ir::Program& program, ir::TensorEvaluator& evaluator,
                     const std::vector<ir::HostValue>& arguments) {
  Recorder recorder(program);
  std::size_t next = 0;
  for (const ir::Param& param : program.main().params) {
    if (param.state.empty()) {
      if (next >= arguments.size()) break;  // the interpreter says so
      recorder.argument(param.value, arguments[next++]);
      continue;
    }
    DYCL_ASSIGN(const ir::HostValue state, ir::initial_state(program, program.states.at(param.state)));
    recorder.argument(param.value, state);
  }
  DYCL_ASSIGN(ir::Interpreter interpreter, ir::Interpreter::create(program, evaluator));
  ir::RunTrace trace;
  ir::RunOptions options;
  options.trace = &trace;
  options.observer = &recorder;
  DYCL_ASSIGN(ir::RunOutcome outcome, interpreter.run(arguments, options));
  DYCL_ASSIGN(Path path, recorder.finish(program));
  path.results = std::move(outcome.results);
  path.decisions = std::move(trace.decisions);
  return path;
}

}  // namespace dycl::bench
