// SPDX-License-Identifier: Apache-2.0
// If, Loop and Scan as blocks.
//
//   Loop(M, c, v...)         ^before:  goto ^header(0, c, v..., [])
//                            ^header(%i, %c, %v..., %outs...):
//                              branch i < M and c, ^body, ^after
//                            ^body:    ...; goto ^header(i + 1, c', v'..., outs + [o]...)
//                            ^after:   outs stacked along axis 0
//
// Scan is the same with the number of slices as M and a Gather for each slice. A
// stack of nothing has no shape of its own: the one that the body states for its elements
// stands for it, as in ONNX Runtime, with 0 for extents that it leaves open. Where it states
// no rank, the run fails there.
#include <algorithm>

#include "ir/host_ops.h"
#include "onnx/import/block_importer.h"

namespace dycl::onnx {
namespace {

Result<const Graph*> body_of(const Node& node, const char* key) {
  const Attribute* attribute = node.attribute(key);
  if (!attribute || attribute->kind != Attribute::Kind::Graph) return invalid_node(node, "has no " + std::string(key));
  return &attribute->graph.front();
}

ir::Type scalar_tensor(DType dtype) { return ir::Type::tensor(dtype, {}); }

// An optional operand, read to the host; `otherwise` emits the default.
template <typename Otherwise>
Result<ir::ValueId> host_scalar(BlockImporter& importer, const Node& node, std::size_t index, DType dtype,
                                ir::Type type, Otherwise otherwise) {
  if (index >= node.inputs.size() || node.inputs[index].empty()) return otherwise();
  DYCL_ASSIGN(const ir::ValueId tensor, importer.value(node.inputs[index]));
  if (importer.function().type_of(tensor).dtype != dtype)
    return invalid_node(node, "has a control input of another type");
  return importer.emit("item", {tensor}, std::move(type));
}

// Retypes a block parameter so that `type` fits it.
Result<void> widen(BlockImporter& importer, const Node& node, ir::ValueId param, const ir::Type& type) {
  ir::Type& declared = importer.function().values[param.index].type;
  const auto joined = ir::join(declared, type);
  if (!joined) return invalid_node(node, "merges values of different types");
  declared = *joined;
  return {};
}

Result<void> bind_outputs(BlockImporter& importer, const Node& node, const std::vector<ir::ValueId>& values) {
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    if (i >= values.size()) return invalid_node(node, "has more outputs than its body");
    importer.function().values[values[i].index].hint = spellable(node.outputs[i]);
    DYCL_TRY(importer.bind(node.outputs[i], values[i]));
  }
  return {};
}

// ---- If ------------------------------------------------------------------------------

Result<void> add_if(BlockImporter& importer, const Node& node) {
  DYCL_ASSIGN(const Graph* then_graph, body_of(node, "then_branch"));
  DYCL_ASSIGN(const Graph* else_graph, body_of(node, "else_branch"));
  if (then_graph->outputs.size() != else_graph->outputs.size())
    return invalid_node(node, "has arms with different outputs");
  DYCL_ASSIGN(const ir::ValueId condition, host_scalar(importer, node, 0, DType::Bool, ir::Type::boolean(), [&] {
                return Result<ir::ValueId>(invalid_node(node, "has no condition"));
              }));
  const ir::BlockId then_block = importer.new_block("then"), else_block = importer.new_block("else"),
                    join = importer.new_block("join");
  importer.end_block(ir::Branch{condition, {then_block, {}}, {else_block, {}}});
  std::vector<ir::ValueId> params;
  for (const auto& [graph, start] : {std::pair(then_graph, then_block), std::pair(else_graph, else_block)}) {
    BlockImporter arm = importer.inner(start);
    DYCL_TRY(arm.add_body(*graph));
    ir::Edge edge{join, {}};
    for (std::size_t i = 0; i < graph->outputs.size(); ++i) {
      DYCL_ASSIGN(const ir::ValueId value, arm.value(graph->outputs[i].name));
      edge.args.push_back(value);
      const ir::Type type = importer.function().type_of(value);
      if (start == then_block)
        params.push_back(importer.function().add_value(type));
      else
        DYCL_TRY(widen(importer, node, params[i], type));
    }
    arm.end_block(ir::Goto{std::move(edge)});
  }
  importer.function().block(join).params = params;
  importer.move_to(join);
  return bind_outputs(importer, node, params);
}

// ---- Loop and Scan -------------------------------------------------------------------

// What Loop and Scan have in common while they are built.
struct LoopParts {
  ir::ValueId trips;                 // int; absent: no bound
  ir::ValueId condition;             // bool, before the first trip
  std::vector<ir::ValueId> initial;  // carried tensors
  const Graph* body = nullptr;
  std::size_t first_carried_input = 0, first_carried_output = 0;
  bool is_loop = true;                                       // the body takes and gives a condition
  std::vector<std::pair<ir::ValueId, std::int64_t>> sliced;  // Scan: inputs and their axes
  std::vector<bool> sliced_backwards;
  std::vector<std::int64_t> stack_axes;  // per collected output
  std::vector<bool> prepended;
};

class LoopImporter {
 public:
  LoopImporter(BlockImporter& importer, const Node& node, LoopParts parts)
      : importer_(importer), node_(node), parts_(std::move(parts)) {}

  Result<void> run();

 private:
  std::size_t carried() const { return parts_.initial.size(); }
  std::size_t collected() const { return parts_.body->outputs.size() - parts_.first_carried_output - carried(); }

  Result<void> check() const;
  Result<void> enter();
  Result<void> bind_body_inputs(BlockImporter& body);
  Result<void> add_lists(const BlockImporter& body);
  Result<void> close(BlockImporter& body);
  Result<void> leave();
  Result<ir::Type> carried_type(std::size_t which) const;
  Result<void> check_lengths();
  ir::ValueId slice(BlockImporter& body, std::size_t which);
  ir::ValueId stack(std::size_t which);

  BlockImporter& importer_;
  const Node& node_;
  LoopParts parts_;
  ir::BlockId before_, header_, body_, after_;
  ir::ValueId index_, condition_;            // parameters of the header
  std::vector<ir::ValueId> values_, lists_;  // parameters of the header
  std::vector<ir::Type> element_types_;      // of collected outputs
  std::vector<bool> wrapped_;                // of carried values: an optional that the body gives an element for
};

Result<void> LoopImporter::check() const {
  const Graph& body = *parts_.body;
  if (body.inputs.size() != parts_.first_carried_input + carried() + parts_.sliced.size())
    return invalid_node(node_, "passes another number of values than its body takes");
  if (body.outputs.size() < parts_.first_carried_output + carried())
    return invalid_node(node_, "has a body that gives too few values");
  return {};
}

// A type that fits the first value and every later one, known before the body is read
// because everything inside builds on it.
Result<ir::Type> LoopImporter::carried_type(std::size_t which) const {
  const ir::Type& initial = importer_.function().type_of(parts_.initial[which]);
  const std::string& input = parts_.body->inputs[parts_.first_carried_input + which].name;
  const ValueInfo& output = parts_.body->outputs[parts_.first_carried_output + which];
  if (!initial.is_tensor() || output.name == input) return initial;
  return ir::Type::tensor_of_unknown_rank(initial.dtype);
}

// All sliced inputs have as many slices as the first.
Result<void> LoopImporter::check_lengths() {
  for (std::size_t i = 1; i < parts_.sliced.size(); ++i) {
    const ir::ValueId count = importer_.extent(parts_.sliced[i].first, parts_.sliced[i].second);
    const ir::ValueId same = importer_.emit("int.eq", {count, parts_.trips}, ir::Type::boolean());
    importer_.check(same, "Scan: its inputs have different lengths", "ValueError");
  }
  return {};
}

Result<void> LoopImporter::enter() {
  ir::Function& function = importer_.function();
  before_ = importer_.block();
  ir::Edge edge;
  edge.args = {importer_.constant(std::int64_t{0}, ir::Type::integer()), parts_.condition};
  edge.args.insert(edge.args.end(), parts_.initial.begin(), parts_.initial.end());
  edge.target = header_ = importer_.new_block("loop");
  body_ = importer_.new_block("body");
  after_ = importer_.new_block("after");
  importer_.end_block(ir::Goto{edge});

  index_ = function.add_value(ir::Type::integer(), "i");
  condition_ = function.add_value(ir::Type::boolean(), "go_on");
  for (std::size_t i = 0; i < carried(); ++i) {
    DYCL_ASSIGN(ir::Type type, carried_type(i));
    values_.push_back(function.add_value(std::move(type)));
  }
  std::vector<ir::ValueId>& params = function.block(header_).params;
  params = {index_, condition_};
  params.insert(params.end(), values_.begin(), values_.end());

  importer_.move_to(header_);
  ir::ValueId go_on = condition_;
  if (parts_.trips.present()) {
    const ir::ValueId below = importer_.emit("int.lt", {index_, parts_.trips}, ir::Type::boolean());
    go_on = importer_.emit("bool.and", {below, condition_}, ir::Type::boolean());
  }
  importer_.end_block(ir::Branch{go_on, {body_, {}}, {after_, {}}});
  return {};
}

ir::ValueId LoopImporter::slice(BlockImporter& body, std::size_t which) {
  const auto& [input, axis] = parts_.sliced[which];
  ir::ValueId at = index_;
  if (parts_.sliced_backwards[which]) {
    const ir::ValueId one = body.constant(std::int64_t{1}, ir::Type::integer());
    const ir::ValueId left = body.emit("int.sub", {parts_.trips, index_}, ir::Type::integer());
    at = body.emit("int.sub", {left, one}, ir::Type::integer());
  }
  const ir::ValueId place = body.emit("to_tensor", {at}, scalar_tensor(DType::I64), {{"dtype", std::string("i64")}});
  ir::Type part = ir::Type::tensor_of_unknown_rank(body.function().type_of(input).dtype);
  return body.emit("Gather", {input, place}, std::move(part), {{"axis", axis}});
}

Result<void> LoopImporter::bind_body_inputs(BlockImporter& body) {
  const std::vector<ValueInfo>& inputs = parts_.body->inputs;
  if (parts_.is_loop) {
    DYCL_TRY(body.bind(inputs[0].name,
                       body.emit("to_tensor", {index_}, scalar_tensor(DType::I64), {{"dtype", std::string("i64")}})));
    DYCL_TRY(body.bind(inputs[1].name, body.emit("to_tensor", {condition_}, scalar_tensor(DType::Bool),
                                                 {{"dtype", std::string("bool")}})));
  }
  for (std::size_t i = 0; i < carried(); ++i)
    DYCL_TRY(body.bind(inputs[parts_.first_carried_input + i].name, values_[i]));
  for (std::size_t i = 0; i < parts_.sliced.size(); ++i)
    DYCL_TRY(body.bind(inputs[parts_.first_carried_input + carried() + i].name, slice(body, i)));
  return {};
}

// The lists of collected outputs, whose types are known once the body is read.
Result<void> LoopImporter::add_lists(const BlockImporter& body) {
  ir::Function& function = importer_.function();
  for (std::size_t i = 0; i < collected(); ++i) {
    const std::string& name = parts_.body->outputs[parts_.first_carried_output + carried() + i].name;
    DYCL_ASSIGN(const ir::ValueId value, body.value(name));
    const ir::Type& type = function.type_of(value);
    if (!type.is_tensor()) return invalid_node(node_, "collects '" + name + "', which is no tensor");
    element_types_.push_back(ir::Type::tensor_of_unknown_rank(type.dtype));
    const ir::Type list = ir::Type::list(element_types_[i]);
    ir::Op empty;
    empty.name = "list.new";
    empty.results = {function.add_value(list)};
    std::get<ir::Goto>(function.block(before_).exit).edge.args.push_back(empty.results[0]);
    function.block(before_).body.push_back(std::move(empty));
    lists_.push_back(function.add_value(list));
    function.block(header_).params.push_back(lists_[i]);
  }
  return {};
}

// The end of the body: back to the header with new values.
Result<void> LoopImporter::close(BlockImporter& body) {
  const std::vector<ValueInfo>& outputs = parts_.body->outputs;
  const ir::ValueId one = body.constant(std::int64_t{1}, ir::Type::integer());
  ir::Edge back{header_, {body.emit("int.add", {index_, one}, ir::Type::integer()), condition_}};
  if (parts_.is_loop) {
    DYCL_ASSIGN(const ir::ValueId condition, body.value(outputs[0].name));
    if (body.function().type_of(condition).dtype != DType::Bool)
      return invalid_node(node_, "has a condition that is no bool");
    back.args[1] = body.emit("item", {condition}, ir::Type::boolean());
  }
  for (std::size_t i = 0; i < carried(); ++i) {
    DYCL_ASSIGN(ir::ValueId value, body.value(outputs[parts_.first_carried_output + i].name));
    const ir::Type& carried_as = body.function().type_of(values_[i]);
    wrapped_.push_back(carried_as.kind == ir::Type::Kind::Optional &&
                       ir::fits(body.function().type_of(value), carried_as.element[0]));
    if (wrapped_[i]) value = body.emit("opt.some", {value}, ir::Type(carried_as));
    if (!ir::fits(body.function().type_of(value), body.function().type_of(values_[i])))
      return invalid_node(
          node_, "carries '" + outputs[parts_.first_carried_output + i].name + "' with another type than stated");
    back.args.push_back(value);
  }
  for (std::size_t i = 0; i < collected(); ++i) {
    DYCL_ASSIGN(const ir::ValueId value, body.value(outputs[parts_.first_carried_output + carried() + i].name));
    const ir::Type type = ir::Type::list(element_types_[i]);
    if (parts_.prepended[i]) {
      const ir::ValueId zero = body.constant(std::int64_t{0}, ir::Type::integer());
      back.args.push_back(body.emit("list.insert", {lists_[i], zero, value}, type));
    } else {
      back.args.push_back(body.emit("list.append", {lists_[i], value}, type));
    }
  }
  body.end_block(ir::Goto{std::move(back)});
  return {};
}

// All collected elements as one tensor.
ir::ValueId LoopImporter::stack(std::size_t which) {
  const std::int64_t axis = parts_.stack_axes[which];
  const ValueInfo& info = parts_.body->outputs[parts_.first_carried_output + carried() + which];
  const ir::Type whole = ir::Type::tensor_of_unknown_rank(element_types_[which].dtype);
  const std::map<std::string, ir::Attr> attrs = {{"axis", axis}};
  const auto rank = static_cast<std::int64_t>(info.shape ? info.shape->size() : 0);
  if (!info.shape || axis > rank || axis < -rank - 1)
    return importer_.emit("list.stack", {lists_[which]}, whole, attrs);

  const ir::ValueId count = importer_.emit("list.len", {lists_[which]}, ir::Type::integer());
  const ir::ValueId some = importer_.emit("int.to_bool", {count}, ir::Type::boolean());
  const ir::BlockId full = importer_.new_block("stack"), empty = importer_.new_block("empty"),
                    join = importer_.new_block("stacked");
  importer_.end_block(ir::Branch{some, {full, {}}, {empty, {}}});
  importer_.move_to(full);
  importer_.end_block(ir::Goto{{join, {importer_.emit("list.stack", {lists_[which]}, whole, attrs)}}});
  importer_.move_to(empty);
  ir::TensorLiteral nothing{whole.dtype, {}, {}};
  for (const Dimension& dim : *info.shape) nothing.shape.push_back(std::max<std::int64_t>(dim.value, 0));
  nothing.shape.insert(nothing.shape.begin() + (axis < 0 ? axis + rank + 1 : axis), 0);
  const ir::Type nothing_type = ir::type_of(nothing);
  importer_.end_block(ir::Goto{{join, {importer_.constant(nothing, nothing_type)}}});
  const ir::ValueId result = importer_.function().add_value(whole);
  importer_.function().block(join).params = {result};
  importer_.move_to(join);
  return result;
}

Result<void> LoopImporter::leave() {
  importer_.move_to(after_);
  std::vector<ir::ValueId> outputs = values_;
  for (std::size_t i = 0; i < carried(); ++i)
    if (wrapped_[i])
      outputs[i] = importer_.emit("opt.get", {values_[i]}, ir::Type(importer_.function().type_of(values_[i]).element[0]));
  for (std::size_t i = 0; i < collected(); ++i) outputs.push_back(stack(i));
  return bind_outputs(importer_, node_, outputs);
}

Result<void> LoopImporter::run() {
  DYCL_TRY(check());
  DYCL_TRY(check_lengths());
  if (parts_.is_loop) {
    parts_.stack_axes.assign(collected(), 0);
    parts_.prepended.assign(collected(), false);
  }
  if (parts_.stack_axes.size() != collected() || parts_.prepended.size() != collected())
    return invalid_node(node_, "states another number of axes than it has outputs");
  DYCL_TRY(enter());
  BlockImporter body = importer_.inner(body_);
  DYCL_TRY(bind_body_inputs(body));
  DYCL_TRY(body.add_body(*parts_.body));
  DYCL_TRY(add_lists(body));
  DYCL_TRY(close(body));
  return leave();
}

Result<void> add_loop(BlockImporter& importer, const Node& node) {
  LoopParts parts;
  DYCL_ASSIGN(parts.body, body_of(node, "body"));
  if (parts.body->inputs.size() < 2 || parts.body->outputs.empty())
    return invalid_node(node, "has a body that is too small");
  DYCL_ASSIGN(parts.trips, host_scalar(importer, node, 0, DType::I64, ir::Type::integer(),
                                       [] { return Result<ir::ValueId>(ir::ValueId{}); }));
  DYCL_ASSIGN(parts.condition, host_scalar(importer, node, 1, DType::Bool, ir::Type::boolean(), [&] {
                return Result<ir::ValueId>(importer.constant(true, ir::Type::boolean()));
              }));
  for (std::size_t i = 2; i < node.inputs.size(); ++i) {
    DYCL_ASSIGN(const ir::ValueId value, importer.value(node.inputs[i]));
    parts.initial.push_back(value);
  }
  parts.first_carried_input = 2;
  parts.first_carried_output = 1;
  return LoopImporter(importer, node, std::move(parts)).run();
}

// A loop over the elements of the first sequence; other sequences give theirs at the same place, tensors are handed on.
Result<void> add_sequence_map(BlockImporter& importer, const Node& node) {
  DYCL_ASSIGN(const Graph* graph, body_of(node, "body"));
  if (graph->inputs.size() != node.inputs.size() || graph->outputs.size() != node.outputs.size())
    return invalid_node(node, "has a body of another number of inputs or outputs");
  ir::Function& function = importer.function();
  const ir::Type integer = ir::Type::integer();
  std::vector<ir::ValueId> inputs;
  for (const std::string& name : node.inputs) {
    DYCL_ASSIGN(const ir::ValueId value, importer.value(name));
    inputs.push_back(value);
  }
  if (function.type_of(inputs[0]).kind != ir::Type::Kind::List) return invalid_node(node, "maps what is no sequence");
  const ir::ValueId count = importer.emit("list.len", {inputs[0]}, integer);
  const ir::ValueId zero = importer.constant(std::int64_t{0}, integer);
  const ir::BlockId before = importer.block(), header = importer.new_block("map"), body_block = importer.new_block("body"),
                    after = importer.new_block("after");
  ir::Edge entry{header, {zero}};
  const ir::ValueId index = function.add_value(integer, "i");
  function.block(header).params = {index};
  importer.move_to(header);
  const ir::ValueId go_on = importer.emit("int.lt", {index, count}, ir::Type::boolean());
  importer.end_block(ir::Branch{go_on, {body_block, {}}, {after, {}}});

  BlockImporter body = importer.inner(body_block);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ir::Type& type = function.type_of(inputs[i]);
    const ir::ValueId value = type.kind == ir::Type::Kind::List
                                  ? body.emit("list.get", {inputs[i], index}, ir::Type(type.element[0]))
                                  : inputs[i];
    DYCL_TRY(body.bind(graph->inputs[i].name, value));
  }
  DYCL_TRY(body.add_body(*graph));
  ir::Edge back{header, {body.emit("int.add", {index, body.constant(std::int64_t{1}, integer)}, integer)}};
  std::vector<ir::ValueId> lists;
  importer.move_to(before);
  for (const ValueInfo& output : graph->outputs) {
    DYCL_ASSIGN(const ir::ValueId value, body.value(output.name));
    if (!function.type_of(value).is_tensor()) return invalid_node(node, "has a body that gives what is no tensor");
    const ir::Type list = ir::Type::list(ir::Type::tensor_of_unknown_rank(function.type_of(value).dtype));
    entry.args.push_back(importer.emit("list.new", {}, list));
    lists.push_back(function.add_value(list));
    function.block(header).params.push_back(lists.back());
    back.args.push_back(body.emit("list.append", {lists.back(), value}, list));
  }
  body.end_block(ir::Goto{std::move(back)});
  importer.end_block(ir::Goto{std::move(entry)});
  importer.move_to(after);
  return bind_outputs(importer, node, lists);
}

std::vector<std::int64_t> ints_of(const Node& node, const char* key, std::size_t count) {
  const Attribute* attribute = node.attribute(key);
  return attribute ? attribute->ints : std::vector<std::int64_t>(count, 0);
}

Result<void> add_scan(BlockImporter& importer, const Node& node) {
  LoopParts parts;
  parts.is_loop = false;
  DYCL_ASSIGN(parts.body, body_of(node, "body"));
  const Attribute* count = node.attribute("num_scan_inputs");
  if (!count || count->i < 1 || static_cast<std::size_t>(count->i) > node.inputs.size())
    return invalid_node(node, "has no scan inputs");
  const auto slices = static_cast<std::size_t>(count->i), states = node.inputs.size() - slices;
  if (parts.body->outputs.size() < states) return invalid_node(node, "has a body that gives too few values");
  const std::size_t outputs = parts.body->outputs.size() - states;
  const auto axes = ints_of(node, "scan_input_axes", slices),
             directions = ints_of(node, "scan_input_directions", slices);
  parts.stack_axes = ints_of(node, "scan_output_axes", outputs);
  const auto output_directions = ints_of(node, "scan_output_directions", outputs);
  if (axes.size() != slices || directions.size() != slices)
    return invalid_node(node, "states too few axes or directions");
  for (const std::int64_t direction : output_directions) parts.prepended.push_back(direction != 0);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    DYCL_ASSIGN(const ir::ValueId value, importer.value(node.inputs[i]));
    if (i < states) {
      parts.initial.push_back(value);
      continue;
    }
    parts.sliced.emplace_back(value, axes[i - states]);
    parts.sliced_backwards.push_back(directions[i - states] != 0);
  }
  parts.trips = importer.extent(parts.sliced[0].first, parts.sliced[0].second);
  parts.condition = importer.constant(true, ir::Type::boolean());
  return LoopImporter(importer, node, std::move(parts)).run();
}

}  // namespace

bool is_control_flow(const Node& node) {
  return node.domain.empty() && (node.op_type == "If" || node.op_type == "Loop" || node.op_type == "Scan" ||
                                 node.op_type == "SequenceMap");
}

Result<void> add_control_flow(BlockImporter& importer, const Node& node) {
  if (node.op_type == "If") return add_if(importer, node);
  if (node.op_type == "Loop") return add_loop(importer, node);
  if (node.op_type == "SequenceMap") return add_sequence_map(importer, node);
  return add_scan(importer, node);
}

}  // namespace dycl::onnx
