// SPDX-License-Identifier: Apache-2.0
// Bytes -> structs. protozero checks every length against its buffer and throws;
// the two public functions turn that into an Error. Sizes are checked before
// anything is allocated for them, so a message can't ask for more than it holds.
#include <cstring>
#include <limits>

#include "onnx/format/fields.h"
#include "onnx/format/proto.h"
#include "onnx/format/protobuf.h"

namespace dycl::onnx {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

// Carries a refusal out of nested readers; caught in `guarded` below.
struct Refusal {
  ErrorKind kind;
  std::string message;
};

[[noreturn]] void refuse(std::string message) { throw Refusal{ErrorKind::Unsupported, std::move(message)}; }
[[noreturn]] void invalid(std::string message) { throw Refusal{ErrorKind::InvalidModel, std::move(message)}; }

// By TensorProto.DataType.
std::string elements_of(int code) {
  switch (code) {
    case 8: return "strings";
    case 21:
    case 22: return "4-bit integers";
    case 23: return "4-bit floats";
    case 24: return "exponents of 8 bits";
    case 25:
    case 26: return "2-bit integers";
    default: return "element type " + std::to_string(code);
  }
}

std::string text(pbf_reader& reader) {
  const auto view = reader.get_view();
  return {view.data(), view.size()};
}

// A repeated number may come packed or one by one, whatever the schema says.
template <typename T, typename One, typename Packed>
void repeated(pbf_reader& reader, std::vector<T>& out, pbf_wire_type single, One one, Packed packed) {
  if (reader.wire_type() == single) {
    out.push_back(static_cast<T>((reader.*one)()));
  } else if (reader.wire_type() == pbf_wire_type::length_delimited) {
    for (const auto value : (reader.*packed)()) out.push_back(static_cast<T>(value));
  } else {
    invalid("a repeated field has the wrong wire type");
  }
}

void repeated_int64(pbf_reader& reader, std::vector<std::int64_t>& out) {
  repeated(reader, out, pbf_wire_type::varint, &pbf_reader::get_int64, &pbf_reader::get_packed_int64);
}

// ---- tensors -------------------------------------------------------------------

struct TypedData {
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<std::int64_t> ints;  // int32_data, int64_data and uint64_data (bit for bit)
};

std::size_t checked_count(const Tensor& tensor) {
  std::size_t count = 1;
  bool empty = false;
  for (const std::int64_t dim : tensor.dims) {
    if (dim < 0) invalid("tensor '" + tensor.name + "' has a negative dim");
    if (dim == 0)
      empty = true;
    else if (count > std::numeric_limits<std::int64_t>::max() / 16 / static_cast<std::uint64_t>(dim))
      invalid("tensor '" + tensor.name + "' is too large");
    else
      count *= static_cast<std::size_t>(dim);
  }
  return empty ? 0 : count;
}

template <typename To, typename From>
void store(const std::vector<From>& from, std::string& to) {
  to.reserve(from.size() * sizeof(To));
  for (const From value : from) {
    const To element = static_cast<To>(value);
    to.append(reinterpret_cast<const char*>(&element), sizeof element);
  }
}

std::string raw_of(const TypedData& data, DType dtype) {
  std::string raw;
  switch (dtype) {
    case DType::F32:
    case DType::C64: store<float>(data.floats, raw); break;
    case DType::F64:
    case DType::C128: store<double>(data.doubles, raw); break;
    case DType::I64: store<std::int64_t>(data.ints, raw); break;
    case DType::U64: store<std::uint64_t>(data.ints, raw); break;
    case DType::U32: store<std::uint32_t>(data.ints, raw); break;
    case DType::I32: store<std::int32_t>(data.ints, raw); break;
    case DType::I16: store<std::int16_t>(data.ints, raw); break;
    case DType::U16:
    case DType::F16:
    case DType::BF16: store<std::uint16_t>(data.ints, raw); break;
    case DType::I8: store<std::int8_t>(data.ints, raw); break;
    case DType::F8E4M3FN:
    case DType::F8E4M3FNUZ:
    case DType::F8E5M2:
    case DType::F8E5M2FNUZ:
    case DType::U8: store<std::uint8_t>(data.ints, raw); break;
    case DType::Bool:
      for (const auto value : data.ints) raw.push_back(value != 0 ? 1 : 0);
      break;
  }
  return raw;
}

ExternalData to_external(const std::map<std::string, std::string>& entries, const std::string& name) {
  ExternalData external;
  auto number = [&](const char* key, std::int64_t fallback) {
    const auto it = entries.find(key);
    if (it == entries.end()) return fallback;
    std::size_t used = 0;
    std::int64_t value = -1;
    try {
      value = std::stoll(it->second, &used);
    } catch (const std::exception&) {
    }
    if (value < 0 || used != it->second.size())
      invalid("tensor '" + name + "' has a malformed external " + key + " '" + it->second + "'");
    return value;
  };
  const auto location = entries.find("location");
  if (location == entries.end() || location->second.empty())
    invalid("tensor '" + name + "' is external but names no file");
  external.location = location->second;
  external.offset = number("offset", 0);
  external.length = number("length", -1);
  return external;
}

std::pair<std::string, std::string> read_entry(pbf_reader reader) {
  std::pair<std::string, std::string> entry;
  while (reader.next()) {
    if (reader.tag() == field::entry::kKey)
      entry.first = text(reader);
    else if (reader.tag() == field::entry::kValue)
      entry.second = text(reader);
    else
      reader.skip();
  }
  return entry;
}

// ---- sparse tensors: dense from here on ---------------------------------------------

namespace sparse_tensor {
constexpr field::Tag kValues = 1, kIndices = 2, kDims = 3;
}
constexpr std::size_t kMostDense = std::size_t{1} << 28;  // bytes of a model's: what a few say must not fill the memory

// Where element `k` stands in the dense tensor: indices are places in it, or one for each axis.
std::size_t dense_place(const std::int64_t* indices, bool per_axis, std::size_t k, const Tensor& dense) {
  const std::size_t rank = dense.dims.size();
  std::int64_t place = per_axis ? 0 : indices[k];
  for (std::size_t axis = 0; per_axis && axis < rank; ++axis) {
    const std::int64_t index = indices[k * rank + axis];
    if (index < 0 || index >= dense.dims[axis])
      invalid("sparse tensor '" + dense.name + "' has an index outside of it");
    place = place * dense.dims[axis] + index;
  }
  if (place < 0 || static_cast<std::size_t>(place) >= dense.element_count())
    invalid("sparse tensor '" + dense.name + "' has an index outside of it");
  return static_cast<std::size_t>(place);
}

// `left`: bytes that the model's sparse tensors may still take.
Tensor dense_of(const Tensor& values, const Tensor& indices, std::vector<std::int64_t> dims, std::size_t& left) {
  if (values.external || indices.external) refuse("sparse tensor '" + values.name + "' has its data in other files");
  Tensor dense;
  dense.name = values.name;
  dense.dtype = values.dtype;
  dense.dims = std::move(dims);
  const std::size_t count = checked_count(dense), size = size_of(dense.dtype), held = values.element_count();
  if (count > left / size) refuse("the model's sparse tensors have more than 256 MB of elements");
  left -= count * size;
  const bool per_axis = indices.dims.size() == 2;
  const std::size_t numbers = per_axis ? dense.dims.size() : 1;
  if (values.dims.size() != 1 || indices.dtype != DType::I64 || indices.dims.empty() || indices.dims.size() > 2 ||
      static_cast<std::size_t>(indices.dims[0]) != held || indices.element_count() != held * numbers)
    invalid("sparse tensor '" + dense.name + "' has other indices than values");
  std::vector<std::int64_t> places(indices.element_count());
  if (!places.empty()) std::memcpy(places.data(), indices.bytes.data, indices.bytes.size);
  std::vector<std::uint8_t> bytes(count * size);
  for (std::size_t k = 0; k < held; ++k) {
    const std::size_t place = dense_place(places.data(), per_axis, k, dense);
    std::memcpy(bytes.data() + place * size, values.bytes.data + k * size, size);
  }
  dense.bytes = ir::Bytes::copy_of(bytes.data(), bytes.size());
  return dense;
}

class Reader {
 public:
  explicit Reader(const ir::Bytes& message) : message_(message) {}

  Model model(pbf_reader reader);
  Graph graph(pbf_reader reader, int depth);

 private:
  Tensor tensor(pbf_reader reader);
  Tensor dense_tensor(pbf_reader reader);
  Attribute attribute(pbf_reader reader, int depth);
  Node node(pbf_reader reader, int depth);
  static ValueInfo value_info(pbf_reader reader);
  static void hint(pbf_reader reader, Graph& graph);
  static void tensor_type(pbf_reader reader, ValueInfo& info);
  static void type(pbf_reader reader, ValueInfo& info);
  static void element_type(pbf_reader reader, ValueInfo& info, bool& kind, bool nested);
  static void opset_import(pbf_reader reader, std::map<std::string, std::int64_t>& opsets);
  Function function(pbf_reader reader);

  // Keeps the message alive where the caller gave an owner; copies otherwise.
  ir::Bytes slice(const char* data, std::size_t size) const {
    if (!message_.owner) return ir::Bytes::copy_of(data, size);
    return {message_.owner, reinterpret_cast<const std::uint8_t*>(data), size};
  }

  const ir::Bytes& message_;
  std::size_t dense_left_ = kMostDense;
};

Tensor Reader::tensor(pbf_reader reader) {
  Tensor tensor;
  TypedData typed;
  bool has_raw = false, is_external = false;
  std::map<std::string, std::string> external;
  int code = 0;
  protozero::data_view raw;
  while (reader.next()) {
    switch (reader.tag()) {
      case field::tensor::kName: tensor.name = text(reader); break;
      case field::tensor::kDims: repeated_int64(reader, tensor.dims); break;
      case field::tensor::kDataType: code = int32_of(reader); break;
      case field::tensor::kRawData:
        raw = reader.get_view();
        has_raw = true;
        break;
      case field::tensor::kFloatData:
        repeated(reader, typed.floats, pbf_wire_type::fixed32, &pbf_reader::get_float, &pbf_reader::get_packed_float);
        break;
      case field::tensor::kDoubleData:
        repeated(reader, typed.doubles, pbf_wire_type::fixed64, &pbf_reader::get_double,
                 &pbf_reader::get_packed_double);
        break;
      case field::tensor::kInt32Data:
      case field::tensor::kInt64Data: repeated_int64(reader, typed.ints); break;
      case field::tensor::kUint64Data:
        repeated(reader, typed.ints, pbf_wire_type::varint, &pbf_reader::get_uint64, &pbf_reader::get_packed_uint64);
        break;
      case field::tensor::kExternalData: external.insert(read_entry(reader.get_message())); break;
      case field::tensor::kDataLocation: is_external = int32_of(reader) == 1; break;
      case field::tensor::kStringData: refuse("tensor '" + tensor.name + "' is of strings, which DyCL lacks");
      case field::tensor::kSegment: refuse("tensor '" + tensor.name + "' is stored in segments");
      default: reader.skip();
    }
  }
  const auto dtype = dtype_of_code(code);
  if (!dtype) refuse("tensor '" + tensor.name + "' is of " + elements_of(code) + ", which DyCL lacks");
  tensor.dtype = *dtype;
  const std::size_t size = checked_count(tensor) * size_of(*dtype);
  if (is_external) {
    tensor.external = to_external(external, tensor.name);
    return tensor;
  }
  if (has_raw) {
    tensor.bytes = slice(raw.data(), raw.size());
  } else {
    const std::string converted = raw_of(typed, *dtype);
    tensor.bytes = ir::Bytes::copy_of(converted.data(), converted.size());
  }
  if (tensor.bytes.size != size)
    invalid("tensor '" + tensor.name + "' holds " + std::to_string(tensor.bytes.size) +
            " bytes where its shape needs " + std::to_string(size));
  return tensor;
}

// Of a sparse one.
Tensor Reader::dense_tensor(pbf_reader reader) {
  Tensor values, indices;
  std::vector<std::int64_t> dims;
  while (reader.next()) {
    switch (reader.tag()) {
      case sparse_tensor::kValues: values = tensor(reader.get_message()); break;
      case sparse_tensor::kIndices: indices = tensor(reader.get_message()); break;
      case sparse_tensor::kDims: repeated_int64(reader, dims); break;
      default: reader.skip();
    }
  }
  return dense_of(values, indices, std::move(dims), dense_left_);
}

// ---- values, nodes, graphs -------------------------------------------------------

void Reader::tensor_type(pbf_reader reader, ValueInfo& info) {
  while (reader.next()) {
    if (reader.tag() == field::type::kElemType) {
      const int code = int32_of(reader);
      info.dtype = dtype_of_code(code);
      if (!info.dtype && code != 0)
        refuse("'" + info.name + "' is of " + elements_of(code) + ", which DyCL lacks");
    } else if (reader.tag() == field::type::kShape) {
      info.shape.emplace();
      pbf_reader dims = reader.get_message();
      while (dims.next()) {
        if (dims.tag() != field::shape::kDim) {
          dims.skip();
          continue;
        }
        Dimension dim;
        pbf_reader one = dims.get_message();
        while (one.next()) {
          if (one.tag() == field::shape::kDimValue)
            dim.value = int64_of(one);
          else if (one.tag() == field::shape::kDimParam)
            dim.param = text(one);
          else
            one.skip();
        }
        if (dim.value < 0) dim.value = -1;
        info.shape->push_back(std::move(dim));
      }
    } else {
      reader.skip();
    }
  }
}

// A tensor, a sequence of them, or an optional one of either; anything else has no type that we know.
void Reader::type(pbf_reader reader, ValueInfo& info) {
  while (reader.next()) {
    switch (reader.tag()) {
      case field::type::kTensor: tensor_type(reader.get_message(), info); break;
      case field::type::kSequence: element_type(reader.get_message(), info, info.sequence, info.sequence); break;
      case field::type::kOptional:
        element_type(reader.get_message(), info, info.optional, info.sequence || info.optional);
        break;
      default: reader.skip();  // maps: no tensor type, refused where used
    }
  }
}

// Notes the kind before it looks inside, so that nesting ends.
void Reader::element_type(pbf_reader reader, ValueInfo& info, bool& kind, bool nested) {
  if (nested) refuse("'" + info.name + "' is a sequence or an optional of what DyCL lacks");
  kind = true;
  while (reader.next()) {
    if (reader.tag() == field::type::kElement)
      type(reader.get_message(), info);
    else
      reader.skip();
  }
}

ValueInfo Reader::value_info(pbf_reader reader) {
  ValueInfo info;
  while (reader.next()) {
    if (reader.tag() == field::value_info::kName)
      info.name = text(reader);
    else if (reader.tag() == field::value_info::kType)
      type(reader.get_message(), info);
    else
      reader.skip();
  }
  return info;
}

// What is stated of a value within: of a type that DyCL lacks it says nothing, and who makes the value is refused.
void Reader::hint(pbf_reader reader, Graph& graph) {
  try {
    graph.value_infos.push_back(value_info(reader));
  } catch (const Refusal& refusal) {
    if (refusal.kind != ErrorKind::Unsupported) throw;
  }
}

Attribute Reader::attribute(pbf_reader reader, int depth) {
  Attribute a;
  int kind = 0;
  while (reader.next()) {
    switch (reader.tag()) {
      case field::attribute::kName: a.name = text(reader); break;
      case field::attribute::kType: kind = int32_of(reader); break;
      case field::attribute::kF: a.f = reader.get_float(); break;
      case field::attribute::kI: a.i = int64_of(reader); break;
      case field::attribute::kS: a.s = text(reader); break;
      case field::attribute::kT: a.tensor.push_back(tensor(reader.get_message())); break;
      case field::attribute::kSparseTensor: a.tensor.push_back(dense_tensor(reader.get_message())); break;
      case field::attribute::kG: a.graph.push_back(graph(reader.get_message(), depth + 1)); break;
      case field::attribute::kFloats:
        repeated(reader, a.floats, pbf_wire_type::fixed32, &pbf_reader::get_float, &pbf_reader::get_packed_float);
        break;
      case field::attribute::kInts: repeated_int64(reader, a.ints); break;
      case field::attribute::kStrings: a.strings.push_back(text(reader)); break;
      case field::attribute::kTypeProto: type(reader.get_message(), a.type.emplace_back()); break;
      case field::attribute::kRefAttrName: a.refers_to = text(reader); break;
      case field::attribute::kTensors:
      case field::attribute::kGraphs:
      case field::attribute::kTypeProtos:
      case field::attribute::kSparseTensors:
        refuse("attribute '" + a.name + "' is of a kind that DyCL lacks (lists of tensors, graphs or types)");
      default: reader.skip();
    }
  }
  constexpr int kSparse = 11;
  if (kind == kSparse && a.name == "sparse_value") {  // of a Constant: another way to say the same
    a.name = "value";
    kind = static_cast<int>(Attribute::Kind::Tensor);
  }
  if ((kind < 1 || kind > 8) && kind != 13)
    refuse("attribute '" + a.name + "' is of kind " + std::to_string(kind));
  a.kind = static_cast<Attribute::Kind>(kind);
  if (!a.refers_to.empty()) return a;
  if ((a.kind == Attribute::Kind::Tensor) != (a.tensor.size() == 1) || a.tensor.size() > 1 ||
      (a.kind == Attribute::Kind::Graph) != (a.graph.size() == 1) || a.graph.size() > 1 ||
      (a.kind == Attribute::Kind::Type) != (a.type.size() == 1) || a.type.size() > 1)
    invalid("attribute '" + a.name + "' does not hold what its type says");
  return a;
}

Node Reader::node(pbf_reader reader, int depth) {
  Node node;
  while (reader.next()) {
    switch (reader.tag()) {
      case field::node::kInput: node.inputs.push_back(text(reader)); break;
      case field::node::kOutput: node.outputs.push_back(text(reader)); break;
      case field::node::kName: node.name = text(reader); break;
      case field::node::kOpType: node.op_type = text(reader); break;
      case field::node::kAttribute: node.attributes.push_back(attribute(reader.get_message(), depth)); break;
      case field::node::kDomain: node.domain = text(reader); break;
      case field::node::kOverload: node.overload = text(reader); break;
      default: reader.skip();
    }
  }
  if (node.domain == "ai.onnx") node.domain.clear();
  return node;
}

Graph Reader::graph(pbf_reader reader, int depth) {
  if (depth > kMaxNesting) refuse("graphs are nested deeper than " + std::to_string(kMaxNesting));
  Graph graph;
  while (reader.next()) {
    switch (reader.tag()) {
      case field::graph::kNode: graph.nodes.push_back(node(reader.get_message(), depth)); break;
      case field::graph::kName: graph.name = text(reader); break;
      case field::graph::kInitializer: graph.initializers.push_back(tensor(reader.get_message())); break;
      case field::graph::kInput: graph.inputs.push_back(value_info(reader.get_message())); break;
      case field::graph::kOutput: graph.outputs.push_back(value_info(reader.get_message())); break;
      case field::graph::kValueInfo: hint(reader.get_message(), graph); break;
      case field::graph::kSparseInitializer: graph.initializers.push_back(dense_tensor(reader.get_message())); break;
      default: reader.skip();
    }
  }
  return graph;
}

void Reader::opset_import(pbf_reader reader, std::map<std::string, std::int64_t>& opsets) {
  std::string domain;
  std::int64_t version = 0;
  while (reader.next()) {
    if (reader.tag() == field::opset::kDomain)
      domain = text(reader);
    else if (reader.tag() == field::opset::kVersion)
      version = int64_of(reader);
    else
      reader.skip();
  }
  opsets[domain == "ai.onnx" ? "" : domain] = version;
}

Function Reader::function(pbf_reader reader) {
  Function f;
  while (reader.next()) {
    switch (reader.tag()) {
      case field::function::kName: f.name = text(reader); break;
      case field::function::kDomain: f.domain = text(reader); break;
      case field::function::kOverload: f.overload = text(reader); break;
      case field::function::kInput: f.inputs.push_back(text(reader)); break;
      case field::function::kOutput: f.outputs.push_back(text(reader)); break;
      case field::function::kNode: f.body.nodes.push_back(node(reader.get_message(), 0)); break;
      case field::function::kValueInfo: hint(reader.get_message(), f.body); break;
      case field::function::kAttributeDefault: f.defaults.push_back(attribute(reader.get_message(), 0)); break;
      case field::function::kOpsetImport: opset_import(reader.get_message(), f.opsets); break;
      default: reader.skip();
    }
  }
  if (f.domain == "ai.onnx") f.domain.clear();
  f.body.name = f.name;
  return f;
}

Model Reader::model(pbf_reader reader) {
  Model model;
  model.ir_version = 0;
  bool has_graph = false;
  while (reader.next()) {
    switch (reader.tag()) {
      case field::model::kIrVersion: model.ir_version = int64_of(reader); break;
      case field::model::kProducerName: model.producer_name = text(reader); break;
      case field::model::kProducerVersion: model.producer_version = text(reader); break;
      case field::model::kFunctions: model.functions.push_back(function(reader.get_message())); break;
      case field::model::kGraph:
        if (has_graph) invalid("the model has two graphs");
        has_graph = true;
        model.graph = graph(reader.get_message(), 0);
        break;
      case field::model::kOpsetImport: opset_import(reader.get_message(), model.opsets); break;
      default: reader.skip();
    }
  }
  if (!has_graph) invalid("the file holds no ONNX graph");
  return model;
}

template <typename T, typename Read>
Result<T> guarded(const ir::Bytes& message, Read read) {
  try {
    return read(pbf_reader{reinterpret_cast<const char*>(message.data), message.size});
  } catch (const Refusal& refusal) {
    return Error{refusal.kind, "ONNX: " + refusal.message, {}, {}, {}};
  } catch (const protozero::exception& e) {
    return Error{ErrorKind::InvalidModel,
                 std::string("not a well-formed ONNX message (") + e.what() + ")",
                 "the file is truncated or not ONNX",
                 {},
                 {}};
  } catch (const std::bad_alloc&) {
    return Error{ErrorKind::InvalidModel, "an ONNX message needs more memory than there is", {}, {}, {}};
  }
}

}  // namespace

std::size_t Tensor::element_count() const {
  std::size_t count = 1;
  for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
  return count;
}

const Attribute* Node::attribute(const std::string& key) const {
  for (const Attribute& a : attributes)
    if (a.name == key) return &a;
  return nullptr;
}

Result<Model> read_model(const ir::Bytes& message) {
  return guarded<Model>(message, [&](pbf_reader reader) { return Reader(message).model(reader); });
}

}  // namespace dycl::onnx
