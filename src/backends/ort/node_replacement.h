// SPDX-License-Identifier: Apache-2.0
// Nodes of a serialised model by nodes of our own: everything else is copied byte by byte.
#pragma once

#include <optional>
#include <string>

#include "onnx/format/fields.h"
#include "onnx/format/protobuf.h"

#include <protozero/pbf_writer.hpp>  // behind the reader, whose assertions are others

namespace dycl::backends::ort {

// Copies `message` and lets `change` write a field instead; it returns whether it did.
template <typename Change>
void copy_fields(protozero::pbf_reader reader, std::string& out, Change change) {
  const char* begin = reader.data().data();
  while (reader.next()) {
    protozero::pbf_reader at = reader;
    reader.skip();
    const char* end = reader.data().data();
    if (!change(at)) out.append(begin, end);
    begin = end;
  }
}

// The node under another name: operands, results and attributes stay.
inline void write_renamed(protozero::pbf_reader reader, const std::string& domain, const std::string& op_type,
                          protozero::pbf_writer& out) {
  namespace field = onnx::field;
  out.add_string(field::node::kOpType, op_type);
  out.add_string(field::node::kDomain, domain);
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

// The model with nodes of `domain`: `name_of` a node's message gives the op to put in its place, or nothing. Nothing if
// no node is replaced.
template <typename NameOf>
std::optional<std::string> with_nodes_replaced(const void* bytes, std::size_t size, const std::string& domain,
                                               NameOf name_of) {
  namespace field = onnx::field;
  using protozero::pbf_reader;
  using protozero::pbf_writer;
  int replaced = 0;
  const auto replace = [&](std::string& graph, pbf_reader& at) {
    if (at.tag() != field::graph::kNode) return false;
    const pbf_reader node = at.get_message();
    const std::optional<std::string> name = name_of(node);
    if (!name) return false;
    ++replaced;
    pbf_writer writer(graph);
    pbf_writer child(writer, field::graph::kNode);
    write_renamed(node, domain, *name, child);
    return true;
  };
  std::string out;
  copy_fields(pbf_reader(static_cast<const char*>(bytes), size), out, [&](pbf_reader& at) {
    if (at.tag() != field::model::kGraph) return false;
    std::string graph;
    copy_fields(at.get_message(), graph, [&](pbf_reader& field_at) { return replace(graph, field_at); });
    pbf_writer(out).add_message(field::model::kGraph, graph);
    return true;
  });
  if (replaced == 0) return std::nullopt;
  pbf_writer writer(out);
  pbf_writer opset(writer, field::model::kOpsetImport);
  opset.add_string(field::opset::kDomain, domain);
  opset.add_int64(field::opset::kVersion, 1);
  opset.commit();
  return out;
}

}  // namespace dycl::backends::ort
