// SPDX-License-Identifier: Apache-2.0
// Which nodes of a model are dense ops (dense_ops.h).
#include <algorithm>

#include "backends/ort/dense_ops.h"
#include "backends/ort/node_replacement.h"
#include "support/dtype.h"

namespace dycl::backends::ort {
namespace {

namespace field = onnx::field;
using protozero::data_view;
using protozero::pbf_reader;

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
      case field::attribute::kI: integer = onnx::int64_of(reader); break;
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
        integer = onnx::int64_of(attribute);
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

}  // namespace

std::optional<std::string> with_dense_ops(const void* bytes, std::size_t size,
                                          const std::vector<WeightShape>& weights) {
  if (weights.empty() || !dense::has_wide_vectors()) return std::nullopt;
  return with_nodes_replaced(bytes, size, "dycl", [&](const pbf_reader& node) {
    return can_replace(node, weights) ? std::optional<std::string>("Dense") : std::nullopt;
  });
}

}  // namespace dycl::backends::ort
