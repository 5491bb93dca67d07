// SPDX-License-Identifier: Apache-2.0
// Structs -> bytes.
#include <protozero/pbf_writer.hpp>

#include "onnx/format/fields.h"
#include "onnx/format/proto.h"

namespace dycl::onnx {
namespace {

using protozero::pbf_writer;

void entry(pbf_writer& parent, field::Tag tag, const std::string& key, const std::string& value) {
  pbf_writer out(parent, tag);
  out.add_string(field::entry::kKey, key);
  out.add_string(field::entry::kValue, value);
}

void tensor(pbf_writer& parent, field::Tag tag, const Tensor& t) {
  pbf_writer out(parent, tag);
  for (const std::int64_t dim : t.dims) out.add_int64(field::tensor::kDims, dim);
  out.add_int32(field::tensor::kDataType, static_cast<int>(t.dtype));
  out.add_string(field::tensor::kName, t.name);
  if (!t.external) {
    out.add_bytes(field::tensor::kRawData, reinterpret_cast<const char*>(t.bytes.data), t.bytes.size);
    return;
  }
  entry(out, field::tensor::kExternalData, "location", t.external->location);
  entry(out, field::tensor::kExternalData, "offset", std::to_string(t.external->offset));
  if (t.external->length >= 0) entry(out, field::tensor::kExternalData, "length", std::to_string(t.external->length));
  out.add_int32(field::tensor::kDataLocation, 1);
}

void graph_fields(pbf_writer& out, const Graph& g);
void type_of(pbf_writer& out, const ValueInfo& info);

void attribute(pbf_writer& parent, const Attribute& a) {
  pbf_writer out(parent, field::node::kAttribute);
  out.add_string(field::attribute::kName, a.name);
  switch (a.kind) {
    case Attribute::Kind::Float: out.add_float(field::attribute::kF, a.f); break;
    case Attribute::Kind::Int: out.add_int64(field::attribute::kI, a.i); break;
    case Attribute::Kind::String: out.add_bytes(field::attribute::kS, a.s); break;
    case Attribute::Kind::Tensor: tensor(out, field::attribute::kT, a.tensor.front()); break;
    case Attribute::Kind::Graph: {
      pbf_writer body(out, field::attribute::kG);
      graph_fields(body, a.graph.front());
      break;
    }
    case Attribute::Kind::Floats:
      for (const float f : a.floats) out.add_float(field::attribute::kFloats, f);
      break;
    case Attribute::Kind::Ints:
      for (const std::int64_t i : a.ints) out.add_int64(field::attribute::kInts, i);
      break;
    case Attribute::Kind::Strings:
      for (const std::string& s : a.strings) out.add_bytes(field::attribute::kStrings, s);
      break;
    case Attribute::Kind::Type: {
      pbf_writer type(out, field::attribute::kTypeProto);
      if (a.type.front().dtype) type_of(type, a.type.front());
      break;
    }
  }
  out.add_int32(field::attribute::kType, static_cast<int>(a.kind));
}

void node(pbf_writer& parent, const Node& n) {
  pbf_writer out(parent, field::graph::kNode);
  for (const std::string& input : n.inputs) out.add_string(field::node::kInput, input);
  for (const std::string& output : n.outputs) out.add_string(field::node::kOutput, output);
  if (!n.name.empty()) out.add_string(field::node::kName, n.name);
  out.add_string(field::node::kOpType, n.op_type);
  for (const Attribute& a : n.attributes) attribute(out, a);
  if (!n.domain.empty()) out.add_string(field::node::kDomain, n.domain);
}

void tensor_type(pbf_writer& type, const ValueInfo& info) {
  pbf_writer out(type, field::type::kTensor);
  out.add_int32(field::type::kElemType, static_cast<int>(*info.dtype));
  if (!info.shape) return;
  // As bytes: a nested writer leaves out an empty message, but here one has a meaning
  // (a dim that is not known, a tensor without dims).
  std::string shape;
  pbf_writer dims(shape);
  for (const Dimension& dim : *info.shape) {
    std::string one;
    pbf_writer fields(one);
    if (dim.value >= 0)
      fields.add_int64(field::shape::kDimValue, dim.value);
    else if (!dim.param.empty())
      fields.add_string(field::shape::kDimParam, dim.param);
    dims.add_message(field::shape::kDim, one);
  }
  out.add_message(field::type::kShape, shape);
}

void type_of(pbf_writer& out, const ValueInfo& info) {
  const auto sequence = [&](pbf_writer& type) {
    if (!info.sequence) return tensor_type(type, info);
    pbf_writer of(type, field::type::kSequence);
    pbf_writer element(of, field::type::kElement);
    tensor_type(element, info);
  };
  if (!info.optional) return sequence(out);
  pbf_writer of(out, field::type::kOptional);
  pbf_writer element(of, field::type::kElement);
  sequence(element);
}

void value_info(pbf_writer& parent, field::Tag tag, const ValueInfo& info) {
  pbf_writer out(parent, tag);
  out.add_string(field::value_info::kName, info.name);
  if (info.dtype) {
    pbf_writer type(out, field::value_info::kType);
    type_of(type, info);
  }
  if (!info.doc.empty()) out.add_string(field::value_info::kDocString, info.doc);
}

void graph_fields(pbf_writer& out, const Graph& g) {
  for (const Node& n : g.nodes) node(out, n);
  out.add_string(field::graph::kName, g.name);
  for (const Tensor& t : g.initializers) tensor(out, field::graph::kInitializer, t);
  for (const ValueInfo& v : g.inputs) value_info(out, field::graph::kInput, v);
  for (const ValueInfo& v : g.outputs) value_info(out, field::graph::kOutput, v);
  for (const ValueInfo& v : g.value_infos) value_info(out, field::graph::kValueInfo, v);
}

}  // namespace

std::string write_model(const Model& model) {
  std::string bytes;
  pbf_writer out(bytes);
  out.add_int64(field::model::kIrVersion, model.ir_version);
  if (!model.producer_name.empty()) out.add_string(field::model::kProducerName, model.producer_name);
  if (!model.producer_version.empty()) out.add_string(field::model::kProducerVersion, model.producer_version);
  {
    pbf_writer g(out, field::model::kGraph);
    graph_fields(g, model.graph);
  }
  for (const auto& [domain, version] : model.opsets) {
    pbf_writer opset(out, field::model::kOpsetImport);
    opset.add_string(field::opset::kDomain, domain);
    opset.add_int64(field::opset::kVersion, version);
  }
  return bytes;
}

Attribute int_attribute(std::string name, std::int64_t value) {
  Attribute a;
  a.name = std::move(name);
  a.kind = Attribute::Kind::Int;
  a.i = value;
  return a;
}

Attribute ints_attribute(std::string name, std::vector<std::int64_t> values) {
  Attribute a;
  a.name = std::move(name);
  a.kind = Attribute::Kind::Ints;
  a.ints = std::move(values);
  return a;
}

}  // namespace dycl::onnx
