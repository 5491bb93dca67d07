// SPDX-License-Identifier: Apache-2.0
// ONNX files as plain structs: the part of onnx.proto that DyCL reads or writes,
// field for field. `read_model` takes untrusted bytes: a damaged or hostile message
// is an error, never a crash; nesting is limited to kMaxNesting. Unknown fields are
// skipped; known ones that would change the meaning of a model and that we do not
// keep (strings, segments) are refused; sparse tensors are read as dense ones.
//
// Tensors point into the message they were read from (and keep it alive), so a
// large model is not copied. Values of a typed field (float_data, int32_data, ...)
// are converted to raw little-endian bytes while reading.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"
#include "support/dtype.h"
#include "support/result.h"

namespace dycl::onnx {

inline constexpr int kMaxNesting = 32;  // graphs within attributes of nodes of graphs ...
inline constexpr std::int64_t kOpset = 23;
inline constexpr std::int64_t kIrVersion = 10;

// Where a tensor's bytes lie when they are not in the model (data_location EXTERNAL).
struct ExternalData {
  std::string location;  // a path relative to the model's folder
  std::int64_t offset = 0;
  std::int64_t length = -1;  // -1: not stated
};

struct Tensor {
  std::string name;
  DType dtype = DType::F32;
  std::vector<std::int64_t> dims;  // none negative; their product fits the bytes
  ir::Bytes bytes;                 // row-major; data == nullptr when external
  std::optional<ExternalData> external;

  std::size_t element_count() const;
};

struct Dimension {
  std::int64_t value = -1;  // -1: not known
  std::string param;        // a symbol's name or expression, if any
};

struct ValueInfo {
  std::string name;
  std::optional<DType> dtype = {};                   // nullopt: no tensor type stated
  std::optional<std::vector<Dimension>> shape = {};  // nullopt: rank not stated
  bool sequence = false;                             // a sequence of such tensors
  bool optional = false;                             // of such a tensor or sequence
  std::string doc = {};                              // written, not read
};

struct Graph;

struct Attribute {
  // Numbers of AttributeProto.AttributeType.
  enum class Kind { Float = 1, Int = 2, String = 3, Tensor = 4, Graph = 5, Floats = 6, Ints = 7, Strings = 8, Type = 13 };

  std::string name;
  Kind kind = Kind::Int;
  float f = 0;
  std::int64_t i = 0;
  std::string s;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::vector<std::string> strings;
  std::vector<Tensor> tensor;   // Tensor: exactly one
  std::vector<Graph> graph;     // Graph: exactly one
  std::vector<ValueInfo> type;  // Type: exactly one, without a name
  std::string refers_to;        // in a function: the attribute of its call that gives the value
};

struct Node {
  std::string name, op_type, domain, overload;
  std::vector<std::string> inputs, outputs;  // an empty name: left out
  std::vector<Attribute> attributes;

  const Attribute* attribute(const std::string& key) const;
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<ValueInfo> inputs, outputs, value_infos;
};

// A function that a model defines: calls of it are nodes of its name. Read, never written.
struct Function {
  std::string name, domain, overload;
  std::vector<std::string> inputs, outputs;
  std::vector<Attribute> defaults;  // of attributes that a call leaves out
  std::map<std::string, std::int64_t> opsets;
  Graph body;  // nodes and value_infos
};

struct Model {
  std::int64_t ir_version = kIrVersion;
  std::map<std::string, std::int64_t> opsets;  // domain -> version; "" is ONNX itself
  std::string producer_name, producer_version;
  Graph graph;
  std::vector<Function> functions;
};

Result<Model> read_model(const ir::Bytes& message);

std::string write_model(const Model& model);

// Conveniences for those who build models.
Attribute int_attribute(std::string name, std::int64_t value);
Attribute ints_attribute(std::string name, std::vector<std::int64_t> values);

}  // namespace dycl::onnx
