// SPDX-License-Identifier: Apache-2.0
#include "onnx/export.h"

#include <map>
#include <set>

#include "onnx/format/opsets.h"

namespace dycl::onnx {
namespace {

class Exporter {
 public:
  Exporter(const ir::Program& program, const ir::Function& function, std::string weight_location)
      : program_(program), function_(function), weight_location_(std::move(weight_location)) {}

  Result<ExportedModel> run();

 private:
  Result<void> inputs();
  Result<void> op(const ir::Op& op);
  Result<void> constant(const ir::Op& op);
  Result<void> weight(const ir::Op& op);
  Result<void> node(const ir::Op& op);
  Result<void> outputs();
  Result<std::string> name_of(ir::ValueId value) const;
  void note_reads();

  Error error(const std::string& what, SourceSpan span = {}) const {
    return {ErrorKind::InvalidModel, "sub-DNN @" + function_.name + ": " + what, {}, span, {}};
  }

  const ir::Program& program_;
  const ir::Function& function_;
  std::string weight_location_;
  ExportedModel out_;
  std::map<std::uint32_t, std::string> names_;       // by value
  std::set<std::uint32_t> read_;                     // the values that something reads
  std::map<std::string, std::string> weight_names_;  // program weight -> wN
};

// ONNX models state the version of every domain they use. Contrib domains have only 1.
void note_domain(Model& model, const ir::Program& program, const std::string& domain) {
  if (model.opsets.count(domain)) return;
  const auto stated = opsets_of(program);
  const auto it = stated.find(domain);
  model.opsets[domain] = it == stated.end() ? 1 : it->second;
}

Result<std::string> Exporter::name_of(ir::ValueId value) const {
  if (!value.present()) return std::string();
  const auto it = names_.find(value.index);
  if (it == names_.end()) return error("value " + std::to_string(value.index) + " is used before it is defined");
  return it->second;
}

void Exporter::note_reads() {
  const ir::Block& block = function_.blocks[0];
  for (const ir::Op& op : block.body)
    for (const ir::ValueId operand : op.operands)
      if (operand.present()) read_.insert(operand.index);
  if (const auto* exit = std::get_if<ir::Return>(&block.exit))
    for (const ir::ValueId value : exit->values) read_.insert(value.index);
}

Result<void> Exporter::inputs() {
  for (std::size_t i = 0; i < function_.params.size(); ++i) {
    const ir::ValueId value = function_.params[i].value;
    if (!function_.type_of(value).is_tensor()) return error("parameter " + std::to_string(i) + " is not a tensor");
    names_[value.index] = "in" + std::to_string(i);
    out_.model.graph.inputs.push_back(value_info(names_[value.index], function_.type_of(value)));
  }
  return {};
}

Result<void> Exporter::constant(const ir::Op& op) {
  const ir::Attr* value = op.attr("value");
  const auto* literal = value ? std::get_if<ir::TensorLiteral>(value) : nullptr;
  if (!literal || op.results.size() != 1) return error("a const that is not a tensor", op.span);
  Tensor t;
  t.name = "c" + std::to_string(op.results[0].index);
  t.dtype = literal->dtype;
  t.dims = literal->shape;
  t.bytes = ir::Bytes::copy_of(literal->bytes.data(), literal->bytes.size());
  names_[op.results[0].index] = t.name;
  out_.model.graph.initializers.push_back(std::move(t));
  return {};
}

Result<void> Exporter::weight(const ir::Op& op) {
  const ir::Attr* attr = op.attr("name");
  const auto* name = attr ? std::get_if<std::string>(attr) : nullptr;
  const auto it = name ? program_.weights.find(*name) : program_.weights.end();
  if (!name || it == program_.weights.end() || op.results.size() != 1)
    return error("a weight that the program lacks", op.span);
  auto [entry, is_new] = weight_names_.try_emplace(*name, "w" + std::to_string(out_.weights.size()));
  names_[op.results[0].index] = entry->second;
  if (!is_new) return {};
  Tensor t;
  t.name = entry->second;
  t.dtype = it->second.type.dtype;
  for (const ir::Dim& dim : *it->second.type.shape) t.dims.push_back(dim.value);
  std::string location = weight_location_;
  if (const auto at = location.find('%'); at != std::string::npos)
    location.replace(at, 1, std::to_string(out_.weights.size()));
  t.external = ExternalData{location, 0, static_cast<std::int64_t>(t.element_count() * size_of(t.dtype))};
  out_.model.graph.initializers.push_back(std::move(t));
  out_.weights.push_back(*name);
  return {};
}

Result<void> Exporter::node(const ir::Op& op) {
  Node n;
  const auto dot = op.name.rfind('.');
  n.op_type = dot == std::string::npos ? op.name : op.name.substr(dot + 1);
  n.domain = dot == std::string::npos ? "" : op.name.substr(0, dot);
  n.name = "n" + std::to_string(out_.model.graph.nodes.size());
  note_domain(out_.model, program_, n.domain);
  for (const ir::ValueId operand : op.operands) {
    DYCL_ASSIGN(std::string name, name_of(operand));
    n.inputs.push_back(std::move(name));
  }
  while (!n.inputs.empty() && n.inputs.back().empty()) n.inputs.pop_back();
  for (const auto& [key, attr] : op.attrs) {
    DYCL_ASSIGN(Attribute a, attribute_of(key, attr));
    n.attributes.push_back(std::move(a));
  }
  // Of ops of ours all results may be left out, and what nobody reads need not be computed (vectors of a spectrum).
  const bool may_leave_out = n.domain == "linalg";
  for (const ir::ValueId result : op.results) {
    if (!result.present() || (may_leave_out && !read_.count(result.index))) {
      n.outputs.emplace_back();
      continue;
    }
    names_[result.index] = "v" + std::to_string(result.index);
    n.outputs.push_back(names_[result.index]);
    out_.model.graph.value_infos.push_back(value_info(n.outputs.back(), function_.type_of(result)));
  }
  out_.model.graph.nodes.push_back(std::move(n));
  return {};
}

Result<void> Exporter::op(const ir::Op& op) {
  if (op.name == "const") return constant(op);
  if (op.name == "weight") return weight(op);
  if (!op.is_tensor_op()) return error("'" + op.name + "' is not a tensor op", op.span);
  return node(op);
}

// Renames the value's defining output where that is possible, so that the common case needs
// no extra node; else adds an Identity.
Result<void> Exporter::outputs() {
  const auto* exit = std::get_if<ir::Return>(&function_.blocks[0].exit);
  if (!exit || exit->values.size() != function_.results.size()) return error("it must return its results");
  Graph& graph = out_.model.graph;
  std::map<std::string, std::string> renamed;
  for (std::size_t i = 0; i < exit->values.size(); ++i) {
    DYCL_ASSIGN(const std::string name, name_of(exit->values[i]));
    if (name.empty()) return error("result " + std::to_string(i) + " is absent");
    const std::string output = "out" + std::to_string(i);
    graph.outputs.push_back(value_info(output, function_.results[i].type));
    if (name[0] == 'v' && !renamed.count(name)) {
      renamed[name] = output;
      continue;
    }
    Node identity;
    identity.op_type = "Identity";
    identity.name = "identity" + std::to_string(i);
    identity.inputs = {name};
    identity.outputs = {output};
    graph.nodes.push_back(std::move(identity));
  }
  auto rename = [&](std::string& name) {
    if (const auto it = renamed.find(name); it != renamed.end()) name = it->second;
  };
  for (Node& n : graph.nodes) {
    for (std::string& name : n.inputs) rename(name);
    for (std::string& name : n.outputs) rename(name);
  }
  std::erase_if(graph.value_infos, [&](const ValueInfo& info) { return renamed.count(info.name) != 0; });
  return {};
}

Result<ExportedModel> Exporter::run() {
  if (function_.blocks.size() != 1) return error("it must have one block");
  out_.model.graph.name = "sub_dnn";
  out_.model.producer_name = "dycl";
  note_domain(out_.model, program_, "");
  DYCL_TRY(inputs());
  note_reads();
  for (const ir::Op& each : function_.blocks[0].body) DYCL_TRY(op(each));
  DYCL_TRY(outputs());
  return std::move(out_);
}

}  // namespace

Result<Attribute> attribute_of(const std::string& key, const ir::Attr& attr) {
  using Kind = Attribute::Kind;
  Attribute a;
  a.name = key;
  if (const auto* i = std::get_if<std::int64_t>(&attr)) {
    a.kind = Kind::Int;
    a.i = *i;
  } else if (const auto* b = std::get_if<bool>(&attr)) {
    a.kind = Kind::Int;
    a.i = *b ? 1 : 0;
  } else if (const auto* f = std::get_if<double>(&attr)) {
    a.kind = Kind::Float;
    a.f = static_cast<float>(*f);
  } else if (const auto* s = std::get_if<std::string>(&attr)) {
    a.kind = Kind::String;
    a.s = *s;
  } else if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&attr)) {
    a.kind = Kind::Ints;
    a.ints = *ints;
  } else if (const auto* floats = std::get_if<std::vector<double>>(&attr)) {
    a.kind = Kind::Floats;
    a.floats.assign(floats->begin(), floats->end());
  } else if (const auto* strings = std::get_if<std::vector<std::string>>(&attr)) {
    a.kind = Kind::Strings;
    a.strings = *strings;
  } else if (const auto* t = std::get_if<ir::TensorLiteral>(&attr)) {
    a.kind = Kind::Tensor;
    a.tensor.push_back({{}, t->dtype, t->shape, ir::Bytes::copy_of(t->bytes.data(), t->bytes.size()), {}});
  } else {
    return Error{ErrorKind::InvalidModel, "attribute '" + key + "' has no ONNX form", {}, {}, {}};
  }
  return a;
}

ValueInfo value_info(std::string name, const ir::Type& type) {
  ValueInfo info;
  info.name = std::move(name);
  info.dtype = type.dtype;
  if (!type.shape) return info;
  info.shape.emplace();
  for (const ir::Dim& dim : *type.shape) info.shape->push_back({dim.is_known() ? dim.value : -1, dim.expr});
  return info;
}

Result<ExportedModel> export_sub_dnn(const ir::Program& program, const ir::Function& sub_dnn,
                                     const std::string& weight_location) {
  return Exporter(program, sub_dnn, weight_location).run();
}

}  // namespace dycl::onnx
