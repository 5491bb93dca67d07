// SPDX-License-Identifier: Apache-2.0
#include "emit/onnx/graph.h"

#include <algorithm>
#include <cctype>

#include "onnx/export.h"
#include "onnx/format/opsets.h"

namespace dycl::emit {

OnnxGraph::OnnxGraph(const ir::Program& program) {
  stack_.push_back(&model_.graph);
  model_.graph.name = "main";
  model_.producer_name = "dycl";
  model_.opsets = onnx::opsets_of(program);
}

std::string OnnxGraph::fresh(const std::string& hint) {
  std::string base;
  for (const char c : hint) base += std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' ? c : '_';
  if (base.empty()) base = "v";
  if (taken_.insert(base).second) return base;
  for (std::size_t& n = next_[base];;) {
    std::string name = base + "_" + std::to_string(++n);
    if (taken_.insert(name).second) return name;
  }
}

OnnxGraph::Names OnnxGraph::node(const std::string& op, Names inputs, std::size_t outputs, Attributes attributes,
                                 const std::string& hint) {
  onnx::Node n;
  const auto dot = op.rfind('.');
  n.op_type = dot == std::string::npos ? op : op.substr(dot + 1);
  n.domain = dot == std::string::npos ? "" : op.substr(0, dot);
  model_.opsets.emplace(n.domain, 1);
  n.name = (place_.empty() ? "" : place_ + " ") + n.op_type + "_" + std::to_string(nodes_++);
  while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
  n.inputs = std::move(inputs);
  n.attributes = std::move(attributes);
  for (std::size_t i = 0; i < outputs; ++i) n.outputs.push_back(fresh(hint));
  Names names = n.outputs;
  current().nodes.push_back(std::move(n));
  return names;
}

std::string OnnxGraph::initializer(const std::string& hint, DType dtype, std::vector<std::int64_t> dims,
                                   ir::Bytes bytes) {
  onnx::Tensor t;
  t.name = fresh(hint);
  t.dtype = dtype;
  t.dims = std::move(dims);
  t.bytes = std::move(bytes);
  model_.graph.initializers.push_back(t);
  return t.name;
}

std::string OnnxGraph::constant(DType dtype, const std::vector<std::int64_t>& shape, const void* bytes,
                                std::size_t size) {
  std::string key(1, static_cast<char>(dtype));
  key.append(reinterpret_cast<const char*>(shape.data()), shape.size() * sizeof(std::int64_t));
  key += "/";
  key.append(static_cast<const char*>(bytes), size);
  std::string& name = constants_[key];
  if (name.empty()) name = initializer("const", dtype, shape, ir::Bytes::copy_of(bytes, size));
  return name;
}

std::string OnnxGraph::boolean(bool value) {
  const std::uint8_t byte = value ? 1 : 0;
  return constant(DType::Bool, {}, &byte, 1);
}
std::string OnnxGraph::integer(std::int64_t value) { return constant(DType::I64, {}, &value, sizeof value); }
std::string OnnxGraph::floating(double value) { return constant(DType::F64, {}, &value, sizeof value); }
std::string OnnxGraph::integers(const std::vector<std::int64_t>& values) {
  return constant(DType::I64, {static_cast<std::int64_t>(values.size())}, values.data(), values.size() * 8);
}

std::string OnnxGraph::either(const std::string& a, const std::string& b) {
  const std::pair key(a, b);
  for (const auto& known : eithers_)
    if (const auto found = known.find(key); found != known.end()) return found->second;
  return eithers_.back()[key] = node("Or", {a, b});
}

std::string OnnxGraph::checked(const std::string& value, const std::string& ok, const std::string& why) {
  const std::string wrong =
      node("Cast", {node("Not", {ok})}, {onnx::int_attribute("to", static_cast<int>(DType::I64))});
  const std::string row = node("Reshape", {value, integers({1})});
  std::string out = node("Gather", {row, node("Mul", {wrong, integer(7)})});
  current().nodes.back().name = (place_.empty() ? "" : place_ + " ") + why + " #" + std::to_string(nodes_++);
  return out;
}

Result<onnx::Graph> OnnxGraph::body(const std::string& name, const std::function<Result<void>()>& fill) {
  onnx::Graph graph;
  graph.name = name;
  stack_.push_back(&graph);
  eithers_.emplace_back();
  deepest_ = std::max(deepest_, stack_.size());
  Result<void> filled = fill();
  stack_.pop_back();
  eithers_.pop_back();
  if (!filled) return std::move(filled).error();
  return graph;
}

onnx::Attribute graph_attribute(std::string name, onnx::Graph graph) {
  onnx::Attribute a;
  a.name = std::move(name);
  a.kind = onnx::Attribute::Kind::Graph;
  a.graph.push_back(std::move(graph));
  return a;
}

Result<onnx::ValueInfo> onnx_type(const std::string& name, const ir::Type& type) {
  onnx::ValueInfo info;
  info.name = name;
  if (type.is_tensor()) return onnx::value_info(name, type);
  if (type.is_scalar()) {
    info.dtype = type.dtype;  // Bool, I64, F64
    info.shape.emplace();
    return info;
  }
  const ir::Type& element = type.element.at(0);
  if (!element.is_tensor() && !element.is_scalar())
    return Error{ErrorKind::Unsupported,
                 "a value of type " + ir::to_string(type) + " has no form in ONNX",
                 "keep tensors and numbers in lists, not lists",
                 {},
                 {}};
  DYCL_ASSIGN(info, onnx_type(name, element));
  info.sequence = true;
  return info;
}

}  // namespace dycl::emit
