// SPDX-License-Identifier: Apache-2.0
// Builds one ONNX model with graphs inside graphs: names that are unique in the whole model, constants
// stored once in the outermost graph, and nodes appended to whatever graph is being written.
// Used by emit/onnx/writer.cpp and emit/onnx/host_ops.cpp; no ownership beyond the model, one thread.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/type.h"
#include "onnx/format/proto.h"
#include "support/result.h"

namespace dycl::emit {

class OnnxGraph {
 public:
  using Names = std::vector<std::string>;
  using Attributes = std::vector<onnx::Attribute>;

  explicit OnnxGraph(const ir::Program& program);

  onnx::Model& model() { return model_; }
  onnx::Graph& current() { return *stack_.back(); }
  bool outermost() const { return stack_.size() == 1; }
  std::size_t deepest() const { return deepest_; }

  // A name nobody else has, from a hint that may be empty.
  std::string fresh(const std::string& hint);

  // Appends a node to the current graph.
  Names node(const std::string& op, Names inputs, std::size_t outputs, Attributes attributes = {},
             const std::string& hint = {});
  std::string node(const std::string& op, Names inputs, Attributes attributes = {}, const std::string& hint = {}) {
    return node(op, std::move(inputs), 1, std::move(attributes), hint)[0];
  }

  // Constants, as initializers of the outermost graph.
  std::string constant(DType dtype, const std::vector<std::int64_t>& shape, const void* bytes, std::size_t size);
  std::string boolean(bool value);
  std::string integer(std::int64_t value);
  std::string floating(double value);
  std::string integers(const std::vector<std::int64_t>& values);
  std::string initializer(const std::string& hint, DType dtype, std::vector<std::int64_t> dims, ir::Bytes bytes);

  std::string cast(const std::string& value, DType to) {
    return node("Cast", {value}, {onnx::int_attribute("to", static_cast<int>(to))});
  }

  // `a` or `b`; the node is made once where both are asked for again in this graph or within it.
  std::string either(const std::string& a, const std::string& b);

  // `value`, but a failing run where `ok` (a bool known only at run time) is false: an index out of range.
  std::string checked(const std::string& value, const std::string& ok, const std::string& why);

  // Writes a graph apart: `fill` appends to it and names its outputs.
  Result<onnx::Graph> body(const std::string& name, const std::function<Result<void>()>& fill);

  // How the following nodes are called in messages of runtimes: "model.py:12".
  void at(std::string place) { place_ = std::move(place); }

 private:
  onnx::Model model_;
  std::vector<onnx::Graph*> stack_;
  std::vector<std::map<std::pair<std::string, std::string>, std::string>> eithers_{1};  // by open graph
  std::size_t deepest_ = 1;
  std::set<std::string> taken_;
  std::map<std::string, std::size_t> next_;
  std::map<std::string, std::string> constants_;
  std::string place_;
  std::size_t nodes_ = 0;
};

onnx::Attribute graph_attribute(std::string name, onnx::Graph graph);

// What a value is in ONNX: scalars are tensors without dims, lists and optionals sequences. An Error for what
// has no form (lists of lists).
Result<onnx::ValueInfo> onnx_type(const std::string& name, const ir::Type& type);

}  // namespace dycl::emit
