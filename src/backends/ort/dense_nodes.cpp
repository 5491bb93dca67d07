// SPDX-License-Identifier: Apache-2.0
// Replaces nodes of a serialised model (dense_ops.h). Everything else is copied byte by byte.
#include <algorithm>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "backends/ort/dense_ops.h"
#include "onnx/format/fields.h"
#include "support/dtype.h"

namespace dycl::backends::ort {
namespace {

namespace field = onnx::field;
using protozero::data_view;
using protozero::pbf_reader;
using protozero::pbf_writer;

// Below this ONNX Runtime's own product is as fast and the padding of panels counts.
constexpr std::int64_t kLeastColumns = 16, kLeastElements = 4096;

std::string text(data_view view) { return {view.data(), view.size()}; }

struct Node {
  std::vector<std::string> inputs;
  std::string op_type, domain, activation;
  std::size_t outputs = 0;
  std::int64_t trans_a = 0;
  float alpha = 1, beta = 1;
  bool has_others = false;  // attributes we know nothing of
};

void read_attribute(pbf_reader reader, Node& node) {
  std::string name, value;
  std::int64_t integer = 0;
  float number = 0;
  while (reader.next()) {
    switch (reader.tag()) {
      case field::attribute::kName: name = text(reader.get_view()); break;
      case field::attribute::kI: integer = reader.get_int64(); break;
      case field::attribute::kF: number = reader.get_float(); break;
      case field::attribute::kS: value = text(reader.get_view()); break;
      default: reader.skip();
    }
  }
  if (name == "transA")
    node.trans_a = integer;
  else if (name == "alpha")
    node.alpha = number;
  else if (name == "beta")
    node.beta = number;
  else if (name == "activation")
    node.activation = value;
  else
    node.has_others = node.has_others || name != "transB";
}

Node read_node(pbf_reader reader) {
  Node node;
  while (reader.next()) {
    switch (reader.tag()) {
      case field::node::kInput: node.inputs.push_back(text(reader.get_view())); break;
      case field::node::kOutput:
        ++node.outputs;
        reader.skip();
        break;
      case field::node::kOpType: node.op_type = text(reader.get_view()); break;
      case field::node::kDomain: node.domain = text(reader.get_view()); break;
      case field::node::kAttribute: read_attribute(reader.get_message(), node); break;
      default: reader.skip();
    }
  }
  return node;
}

bool is_matrix(const std::string& name, const std::vector<WeightShape>& weights) {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (name != "w" + std::to_string(i)) continue;
    const std::vector<std::int64_t>& shape = weights[i].shape;
    return weights[i].dtype == static_cast<std::int32_t>(DType::F32) && shape.size() == 2 &&
           std::min(shape[0], shape[1]) > 0 && shape[0] * shape[1] >= kLeastElements;
  }
  return false;
}

std::int64_t columns_of(const std::string& name, bool transposed, const std::vector<WeightShape>& weights) {
  return weights[static_cast<std::size_t>(std::stoul(name.substr(1)))].shape[transposed ? 0 : 1];
}

bool transposed_of(pbf_reader reader) {
  while (reader.next(field::node::kAttribute)) {
    pbf_reader attribute = reader.get_message();
    std::string name;
    std::int64_t integer = 0;
    while (attribute.next()) {
      if (attribute.tag() == field::attribute::kName)
        name = text(attribute.get_view());
      else if (attribute.tag() == field::attribute::kI)
        integer = attribute.get_int64();
      else
        attribute.skip();
    }
    if (name == "transB") return integer != 0;
  }
  return false;
}

bool can_replace(const pbf_reader& message, const std::vector<WeightShape>& weights) {
  const Node node = read_node(message);
  const bool gemm = node.domain.empty() && node.op_type == "Gemm";
  const bool fused = node.domain == "com.microsoft" && node.op_type == "FusedGemm";
  const bool matmul = node.domain.empty() && node.op_type == "MatMul";
  if (!(gemm || fused || matmul) || node.has_others || node.outputs != 1) return false;
  if (node.inputs.size() < 2 || node.inputs.size() > (matmul ? 2 : 3) || !is_matrix(node.inputs[1], weights))
    return false;
  if (node.trans_a != 0 || node.alpha != 1.0F || (node.inputs.size() > 2 && node.beta != 1.0F)) return false;
  if (fused != !node.activation.empty()) return false;
  if (fused && node.activation != "Relu" && node.activation != "Sigmoid" && node.activation != "Tanh") return false;
  return columns_of(node.inputs[1], transposed_of(message), weights) >= kLeastColumns;
}

void write_node(pbf_reader reader, pbf_writer& out) {
  out.add_string(field::node::kOpType, "Dense");
  out.add_string(field::node::kDomain, "dycl");
  while (reader.next()) {
    const auto tag = reader.tag();  // reading the field may forget it
    switch (tag) {
      case field::node::kInput:
      case field::node::kOutput:
      case field::node::kName:
      case field::node::kAttribute: out.add_bytes(tag, reader.get_view()); break;
      default: reader.skip();
    }
  }
}

// Copies `message` and lets `change` write a field instead; it returns whether it did.
template <typename Change>
void copy_fields(pbf_reader reader, std::string& out, Change change) {
  const char* begin = reader.data().data();
  while (reader.next()) {
    pbf_reader at = reader;
    reader.skip();
    const char* end = reader.data().data();
    if (!change(at)) out.append(begin, end);
    begin = end;
  }
}

std::string graph_with_dense_ops(const pbf_reader& graph, const std::vector<WeightShape>& weights, int& replaced) {
  std::string out;
  copy_fields(graph, out, [&](pbf_reader& at) {
    if (at.tag() != field::graph::kNode) return false;
    const pbf_reader node = at.get_message();
    if (!can_replace(node, weights)) return false;
    ++replaced;
    pbf_writer writer(out);
    pbf_writer child(writer, field::graph::kNode);
    write_node(node, child);
    return true;
  });
  return out;
}

}  // namespace

std::optional<std::string> with_dense_ops(const void* bytes, std::size_t size,
                                          const std::vector<WeightShape>& weights) {
  if (weights.empty() || !dense::has_wide_vectors()) return std::nullopt;
  int replaced = 0;
  std::string out;
  copy_fields(pbf_reader(static_cast<const char*>(bytes), size), out, [&](pbf_reader& at) {
    if (at.tag() != field::model::kGraph) return false;
    const std::string graph = graph_with_dense_ops(at.get_message(), weights, replaced);
    pbf_writer(out).add_message(field::model::kGraph, graph);
    return true;
  });
  if (replaced == 0) return std::nullopt;
  pbf_writer writer(out);
  pbf_writer opset(writer, field::model::kOpsetImport);
  opset.add_string(field::opset::kDomain, "dycl");
  opset.add_int64(field::opset::kVersion, 1);
  opset.commit();
  return out;
}

}  // namespace dycl::backends::ort
