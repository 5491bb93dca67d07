// SPDX-License-Identifier: Apache-2.0
#include "onnx/import/block_importer.h"

#include <cctype>
#include <cstring>

#include "ir/dim.h"
#include "onnx/import/result_dtype.h"

namespace dycl::onnx {
namespace {

Error invalid(std::string message) { return {ErrorKind::InvalidModel, "ONNX: " + std::move(message), {}, {}, {}}; }

Error unsupported(std::string message, std::string help = {}) {
  return {ErrorKind::Unsupported, "ONNX: " + std::move(message), std::move(help), {}, {}};
}

std::string describe(const Node& node) {
  return (node.domain.empty() ? "" : node.domain + ".") + node.op_type +
         (node.name.empty() ? "" : " '" + node.name + "'");
}

ir::Type known_type(const Tensor& tensor) {
  std::vector<ir::Dim> dims;
  for (const std::int64_t dim : tensor.dims) dims.push_back(ir::Dim::of(dim));
  return ir::Type::tensor(tensor.dtype, std::move(dims));
}

bool same_bytes(const ir::Bytes& a, const ir::Bytes& b) {
  return a.size == b.size && (a.data == b.data || (a.data && b.data && std::memcmp(a.data, b.data, a.size) == 0));
}

constexpr std::size_t kLongestText = 1 << 20;  // of an attribute: it is written more than once

Result<ir::Attr> to_attr(const Attribute& a) {
  if (a.s.size() > kLongestText)
    return unsupported("attribute '" + a.name + "' is a text of " + std::to_string(a.s.size()) + " bytes");
  if (!a.refers_to.empty()) return invalid("attribute '" + a.name + "' refers to a call's outside of a function");
  switch (a.kind) {
    case Attribute::Kind::Float: return ir::Attr(static_cast<double>(a.f));
    case Attribute::Kind::Int: return ir::Attr(a.i);
    case Attribute::Kind::String: return ir::Attr(a.s);
    case Attribute::Kind::Ints: return ir::Attr(a.ints);
    case Attribute::Kind::Floats: return ir::Attr(std::vector<double>(a.floats.begin(), a.floats.end()));
    case Attribute::Kind::Strings: return ir::Attr(a.strings);
    case Attribute::Kind::Tensor: {
      const Tensor& t = a.tensor.front();
      const std::uint8_t* data = t.bytes.data;
      return ir::Attr(ir::TensorLiteral{t.dtype, t.dims, {data, data + t.bytes.size}});
    }
    case Attribute::Kind::Graph:
    case Attribute::Kind::Type: break;
  }
  return unsupported("attribute '" + a.name + "' holds a graph or a type");
}

// The tensor that a Constant node stands for.
Result<Tensor> constant_of(const Node& node) {
  if (node.attributes.size() != 1 || node.outputs.size() != 1) return invalid(describe(node) + " must hold one value");
  const Attribute& a = node.attributes.front();
  Tensor tensor;
  auto fill = [&](DType dtype, const auto& elements, bool scalar) {
    tensor.dtype = dtype;
    if (!scalar) tensor.dims = {static_cast<std::int64_t>(elements.size())};
    tensor.bytes = ir::Bytes::copy_of(elements.data(), elements.size() * sizeof(elements[0]));
  };
  if (a.name == "value" && a.kind == Attribute::Kind::Tensor)
    tensor = a.tensor.front();
  else if (a.name == "value_float" && a.kind == Attribute::Kind::Float)
    fill(DType::F32, std::vector{a.f}, true);
  else if (a.name == "value_int" && a.kind == Attribute::Kind::Int)
    fill(DType::I64, std::vector{a.i}, true);
  else if (a.name == "value_floats" && a.kind == Attribute::Kind::Floats)
    fill(DType::F32, a.floats, false);
  else if (a.name == "value_ints" && a.kind == Attribute::Kind::Ints)
    fill(DType::I64, a.ints, false);
  else
    return unsupported(describe(node) + " with '" + a.name + "'");
  tensor.name = node.outputs.front();
  return tensor;
}

const std::set<std::string> kRandom = {"Bernoulli",        "Multinomial",   "RandomNormal",
                                       "RandomNormalLike", "RandomUniform", "RandomUniformLike"};

}  // namespace

Error invalid_node(const Node& node, const std::string& what) { return invalid(describe(node) + " " + what); }

std::string spellable(const std::string& name) {
  constexpr std::size_t kLongest = 200;  // names are written more than once
  std::string out;
  for (const char c : std::string_view(name).substr(0, kLongest)) out += std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' ? c : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) || out[0] == '.') out.insert(0, "_");
  return out;
}

void BlockImporter::learn_types(const Graph& graph) {
  for (const auto* list : {&graph.value_infos, &graph.outputs})
    for (const ValueInfo& info : *list)
      if (info.dtype && !info.sequence && !info.optional) stated_[info.name] = *info.dtype;
}

Result<void> BlockImporter::bind(const std::string& name, ir::ValueId value) {
  if (name.empty()) return invalid("a value without a name");
  if (!values_.emplace(name, value).second) return invalid("'" + name + "' is defined twice");
  return {};
}

Result<ir::ValueId> BlockImporter::value(const std::string& name) const {
  for (const BlockImporter* scope = this; scope; scope = scope->outer_)
    if (const auto it = scope->values_.find(name); it != scope->values_.end()) return it->second;
  return invalid("'" + name + "' is used but not defined before");
}

ir::BlockId BlockImporter::new_block(const std::string& name) {
  function_.blocks.emplace_back();
  function_.blocks.back().name = name + std::to_string(function_.blocks.size() - 1);
  return {static_cast<std::uint32_t>(function_.blocks.size() - 1)};
}

ir::ValueId BlockImporter::emit(const std::string& name, std::vector<ir::ValueId> operands, ir::Type type,
                                std::map<std::string, ir::Attr> attrs) {
  ir::Op op;
  op.name = name;
  op.operands = std::move(operands);
  op.results = {function_.add_value(std::move(type))};
  op.attrs = std::move(attrs);
  const ir::ValueId result = op.results[0];
  function_.block(block_).body.push_back(std::move(op));
  return result;
}

void BlockImporter::check(ir::ValueId condition, std::string message, std::string exception) {
  ir::Op op;
  op.name = "check";
  op.operands = {condition};
  op.attrs = {{"message", std::move(message)}, {"type", std::move(exception)}};
  function_.block(block_).body.push_back(std::move(op));
}

ir::ValueId BlockImporter::extent(ir::ValueId tensor, std::int64_t axis) {
  if (axis >= 0) return emit("dim", {tensor}, ir::Type::integer(), {{"axis", axis}});
  const ir::ValueId shape = emit("Shape", {tensor}, ir::Type::tensor(DType::I64, {ir::Dim::opaque()}));
  ir::TensorLiteral place{DType::I64, {}, std::vector<std::uint8_t>(sizeof axis)};
  std::memcpy(place.bytes.data(), &axis, sizeof axis);
  const ir::Type scalar = ir::Type::tensor(DType::I64, {});
  const ir::ValueId one = emit("Gather", {shape, constant(place, scalar)}, scalar, {{"axis", std::int64_t{0}}});
  return emit("item", {one}, ir::Type::integer());
}

Result<void> BlockImporter::add_body(const Graph& graph) {
  learn_types(graph);
  for (const Tensor& t : graph.initializers) DYCL_TRY(add_initializer(t));
  for (const Node& node : graph.nodes) DYCL_TRY(add_node(node));
  return {};
}

// An expression over the program's symbols; anything else is known only at run time.
ir::Dim BlockImporter::symbolic(const std::string& text) const {
  constexpr std::size_t kLongest = 1000;
  if (text.empty() || text.size() > kLongest) return ir::Dim::opaque();
  const auto dim = ir::parse_dim(text);
  if (!dim || dim->is_known()) return ir::Dim::opaque();
  for (const std::string& symbol : ir::symbols_of(*dim))
    if (!program_.symbols.count(symbol)) return ir::Dim::opaque();
  return *dim;
}

ir::Type BlockImporter::type_from(const ValueInfo& info, DType dtype) const {
  const auto wrapped = [&](ir::Type type) { return info.optional ? ir::Type::optional(std::move(type)) : type; };
  if (info.sequence) return wrapped(ir::Type::list(ir::Type::tensor_of_unknown_rank(dtype)));
  if (!info.shape) return wrapped(ir::Type::tensor_of_unknown_rank(dtype));
  std::vector<ir::Dim> dims;
  for (const Dimension& dim : *info.shape) {
    dims.push_back(dim.value >= 0 ? ir::Dim::of(dim.value) : symbolic(dim.param));
  }
  return wrapped(ir::Type::tensor(dtype, std::move(dims)));
}

std::string BlockImporter::weight_named(const Tensor& tensor, const ir::Type& type) {
  const std::string base = spellable(tensor.name);
  std::string name = base;
  for (int n = 1;; ++n) {
    const auto it = program_.weights.find(name);
    if (it == program_.weights.end()) {
      program_.weights[name] = {type, tensor.bytes};
      return name;
    }
    if (it->second.type == type && same_bytes(it->second.bytes, tensor.bytes)) return name;
    name = base + "." + std::to_string(n);
  }
}

Result<ir::ValueId> BlockImporter::add_tensor(const Tensor& tensor) {
  const ir::Type type = known_type(tensor);
  ir::Op op;
  if (tensor.bytes.size <= ir::kMaxLiteralBytes) {
    op.name = "const";
    const std::uint8_t* data = tensor.bytes.data;
    op.attrs["value"] = ir::TensorLiteral{tensor.dtype, tensor.dims, {data, data + tensor.bytes.size}};
  } else {
    op.name = "weight";
    op.attrs["name"] = weight_named(tensor, type);
  }
  const ir::ValueId value = function_.add_value(type, spellable(tensor.name));
  op.results = {value};
  function_.block(block_).body.push_back(std::move(op));
  return value;
}

Result<void> BlockImporter::add_initializer(const Tensor& tensor) {
  DYCL_ASSIGN(const ir::ValueId value, add_tensor(tensor));
  return bind(tensor.name, value);
}

Result<void> BlockImporter::add_constant_node(const Node& node) {
  DYCL_ASSIGN(const Tensor tensor, constant_of(node));
  DYCL_ASSIGN(const ir::ValueId value, add_tensor(tensor));
  return bind(node.outputs.front(), value);
}

Result<std::vector<ir::ValueId>> BlockImporter::operands_of(const Node& node) const {
  std::vector<ir::ValueId> operands;
  for (const std::string& name : node.inputs) {
    if (name.empty()) {
      operands.emplace_back();
      continue;
    }
    const auto found = value(name);
    if (!found) return invalid(describe(node) + " uses '" + name + "', which is not defined before it");
    if (!function_.type_of(*found).is_tensor())
      return invalid(describe(node) + " uses '" + name + "', which is not a tensor");
    operands.push_back(*found);
  }
  return operands;
}

// What the graph states is a hint: its shapes may be wrong and are not used, its dtypes must be those of the operators.
Result<ir::Type> BlockImporter::type_of_result(const Node& node, std::size_t index,
                                               const std::vector<ir::ValueId>& operands) const {
  std::vector<std::optional<DType>> dtypes;
  dtypes.reserve(operands.size());
  for (const ir::ValueId v : operands)
    dtypes.push_back(v.present() ? std::optional(function_.type_of(v).dtype) : std::nullopt);
  const auto dtype = result_dtype(node, index, dtypes);
  const auto stated = stated_.find(node.outputs[index]);
  if (dtype && stated != stated_.end() && stated->second != *dtype)
    return invalid("'" + node.outputs[index] + "', a result of " + describe(node) + ", is " +
                   std::string(name_of(*dtype)) + ", but stated as " + std::string(name_of(stated->second)));
  if (dtype) return ir::Type::tensor_of_unknown_rank(*dtype);
  if (node.op_type == "ZipMap" && node.domain == "ai.onnx.ml")
    return unsupported("'" + node.outputs[index] + "', the result of " + describe(node) + ", is a list of maps",
                       "export without it; of scikit-learn: to_onnx(..., options={'zipmap': False})");
  if (stated != stated_.end()) return ir::Type::tensor_of_unknown_rank(stated->second);
  return unsupported("the type of '" + node.outputs[index] + "', a result of " + describe(node) + ", is not stated",
                     "run ONNX's shape inference on the model first");
}

// ONNX Runtime takes bounds of one element and one dim, unless it knows them while it loads: then they must be scalars.
void BlockImporter::make_scalars(std::vector<ir::ValueId>& operands) {
  for (ir::ValueId& operand : operands) {
    const ir::Type type = function_.type_of(operand);
    if (!type.shape || !type.shape->empty())
      operand = emit("Squeeze", {operand}, ir::Type::tensor_of_unknown_rank(type.dtype));
  }
}

// An average over a window that is larger than what it slides over, padding included: ONNX Runtime divides by other
// counts with its optimisations than without, and in older opsets. Where extents may be so small, the run fails there.
void BlockImporter::check_windows(const Node& node, ir::ValueId operand) {
  const auto ints = [&](const char* key) {
    const Attribute* a = node.attribute(key);
    return a ? a->ints : std::vector<std::int64_t>();
  };
  const Attribute *counts = node.attribute("count_include_pad"), *automatic = node.attribute("auto_pad");
  if (!counts || counts->i == 0 || (automatic && automatic->s.starts_with("SAME"))) return;
  const auto kernel = ints("kernel_shape"), pads = ints("pads"), dilations = ints("dilations");
  const ir::Type integer = ir::Type::integer();
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const std::int64_t reach = (kernel[i] - 1) * (i < dilations.size() ? dilations[i] : 1) + 1;
    const std::int64_t padding = pads.size() == 2 * kernel.size() ? pads[i] + pads[kernel.size() + i] : 0;
    const ir::ValueId least = constant(reach - padding, integer);
    const ir::ValueId there = extent(operand, static_cast<std::int64_t>(i) + 2);
    const ir::ValueId fits = emit("int.le", {least, there}, ir::Type::boolean());
    check(fits, "AveragePool: its window is larger than what it slides over", "ValueError");
  }
}

// The same list under another name; false for tensors.
Result<bool> BlockImporter::add_identity_of_sequence(const Node& node) {
  if (node.inputs.size() != 1 || node.outputs.size() != 1)
    return invalid(describe(node) + " must have one input and one output");
  const auto found = value(node.inputs[0]);
  if (!found || function_.type_of(*found).is_tensor()) return false;
  DYCL_TRY(bind(node.outputs[0], *found));
  return true;
}

Result<void> BlockImporter::add_node(const Node& node) {
  if (node.op_type.empty() || !std::isupper(static_cast<unsigned char>(node.op_type[0])))
    return invalid("'" + node.op_type + "' is not the name of an operator");
  if (node.domain.empty() && node.op_type == "Constant") return add_constant_node(node);
  if (is_control_flow(node)) return add_control_flow(*this, node);
  if (is_sequence_op(node)) return add_sequence_op(*this, node);
  if (node.domain.empty() && node.op_type == "Identity") {
    DYCL_ASSIGN(const bool same, add_identity_of_sequence(node));
    if (same) return {};
  }
  if (node.domain.empty() && kRandom.count(node.op_type))
    return unsupported(describe(node) + " draws random numbers inside the graph");
  ir::Op op;
  op.name = (node.domain.empty() ? "" : node.domain + ".") + node.op_type;
  DYCL_ASSIGN(op.operands, operands_of(node));
  if (op.name == "Range") make_scalars(op.operands);
  if (op.name == "AveragePool") check_windows(node, op.operands[0]);
  for (const Attribute& a : node.attributes) {
    if (a.kind == Attribute::Kind::Graph)
      return unsupported(describe(node) + " holds a graph in a place where only straight-line operators are taken");
    DYCL_ASSIGN(ir::Attr attr, to_attr(a));
    if (!op.attrs.emplace(a.name, std::move(attr)).second)
      return invalid(describe(node) + " has attribute '" + a.name + "' twice");
  }
  std::size_t count = node.outputs.size();
  while (count > 0 && node.outputs[count - 1].empty()) --count;
  for (std::size_t i = 0; i < count; ++i) {  // one left out in the middle becomes a value that nobody uses
    const std::string& name = node.outputs[i];
    DYCL_ASSIGN(ir::Type type, type_of_result(node, i, op.operands));
    op.results.push_back(function_.add_value(std::move(type), name.empty() ? "" : spellable(name)));
    if (!name.empty()) DYCL_TRY(bind(name, op.results.back()));
  }
  function_.block(block_).body.push_back(std::move(op));
  return {};
}

}  // namespace dycl::onnx
