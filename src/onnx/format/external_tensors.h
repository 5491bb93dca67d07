// SPDX-License-Identifier: Apache-2.0
// The tensors that a model stores outside itself, found in its bytes: for plug-ins, which hand on to an engine bytes
// that may come from a hostile file. On the way everything is bounded that an engine's loader recurses into or makes
// memory for: graphs within ops, types within types, ops, and tensors, which have no more elements than bytes could
// say. Reads fields as they come and makes no structs of the model; what is found points
// into the bytes. Header only, since plug-ins link no part of the compiler.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onnx/format/fields.h"
#include "onnx/format/protobuf.h"
#include "support/result.h"

namespace dycl::onnx {

// Thrown for what is not taken, in for_each_external and by its visitor; `why` is a clause: "it names a file".
struct RefusedModel {
  const char* why;
};

struct ExternalTensor {
  std::string_view name;
  std::int32_t dtype = 0;
  std::vector<std::int64_t> dims;
  std::vector<std::pair<std::string_view, std::string_view>> entries;  // key and value: "location", "offset", ...
  bool is_initializer = false;                                         // of the model's own graph
};

// Walks a model and calls `visit(const ExternalTensor&)`.
template <typename Visit>
class ExternalTensorWalk {
 public:
  ExternalTensorWalk(int max_depth, Visit visit) : max_depth_(max_depth), visit_(std::move(visit)) {}

  void model(protozero::pbf_reader reader) {
    bool has_graph = false;
    while (reader.next()) {
      if (reader.tag() == field::model::kGraph) {
        has_graph = true;
        graph(reader.get_message(), 0);
      } else if (reader.tag() == field::model::kFunctions) {
        throw RefusedModel{"it defines functions"};
      } else {
        reader.skip();
      }
    }
    if (!has_graph) throw RefusedModel{"it has no graph"};
  }

 private:
  static constexpr int kMaxTypeDepth = 8, kMaxRank = 64;
  static constexpr std::uint32_t kMaxNodes = 1U << 20;

  void graph(protozero::pbf_reader reader, int depth) {
    if (depth > max_depth_)
      throw RefusedModel{max_depth_ == 0 ? "it has graphs within ops" : "its graphs are nested too deeply"};
    while (reader.next()) {
      switch (reader.tag()) {
        case field::graph::kInitializer: tensor(reader.get_message(), depth == 0); break;
        case field::graph::kNode: node(reader.get_message(), depth); break;
        case field::graph::kInput:
        case field::graph::kOutput:
        case field::graph::kValueInfo: value_info(reader.get_message()); break;
        case field::graph::kSparseInitializer: throw RefusedModel{"it has sparse tensors"};
        default: reader.skip();
      }
    }
  }

  static void value_info(protozero::pbf_reader reader) {
    while (reader.next(field::value_info::kType)) type(reader.get_message(), 0);
  }

  // Sequences, optionals and the values of maps have types of their own.
  static void type(protozero::pbf_reader reader, int depth) {
    constexpr field::Tag kMap = 5;
    if (depth > kMaxTypeDepth) throw RefusedModel{"its types are nested too deeply"};
    while (reader.next()) {
      const bool holds_type =
          reader.tag() == field::type::kSequence || reader.tag() == field::type::kOptional || reader.tag() == kMap;
      if (holds_type)
        types_in(reader.get_message(), depth + 1);
      else
        reader.skip();
    }
  }

  static void types_in(protozero::pbf_reader holder, int depth) {
    while (holder.next()) {
      if (holder.wire_type() == protozero::pbf_wire_type::length_delimited)
        type(holder.get_message(), depth);
      else
        holder.skip();  // the type of a map's keys
    }
  }

  void node(protozero::pbf_reader reader, int depth) {
    if (++nodes_ > kMaxNodes) throw RefusedModel{"it has too many ops"};
    while (reader.next()) {
      if (reader.tag() == field::node::kAttribute)
        attribute(reader.get_message(), depth);
      else
        reader.skip();
    }
  }

  void attribute(protozero::pbf_reader reader, int depth) {
    while (reader.next()) {
      switch (reader.tag()) {
        case field::attribute::kT:
        case field::attribute::kTensors: tensor(reader.get_message(), false); break;
        case field::attribute::kG:
        case field::attribute::kGraphs: graph(reader.get_message(), depth + 1); break;
        case field::attribute::kTypeProto:
        case field::attribute::kTypeProtos: type(reader.get_message(), 0); break;
        case field::attribute::kSparseTensor:
        case field::attribute::kSparseTensors: throw RefusedModel{"it has sparse tensors"};
        default: reader.skip();
      }
    }
  }

  void tensor(protozero::pbf_reader reader, bool is_initializer) {
    const std::uint64_t size = reader.length();
    ExternalTensor found;
    found.is_initializer = is_initializer;
    bool external = false;
    while (reader.next()) {
      switch (reader.tag()) {
        case field::tensor::kName: found.name = text_of(reader); break;
        case field::tensor::kDataType: found.dtype = int32_of(reader); break;
        case field::tensor::kDims:
          if (reader.wire_type() == protozero::pbf_wire_type::varint)
            found.dims.push_back(reader.get_int64());
          else
            for (const auto dim : reader.get_packed_int64()) found.dims.push_back(dim);
          break;
        case field::tensor::kDataLocation: external = (int32_of(reader) != 0) || external; break;
        case field::tensor::kExternalData:
          external = true;
          found.entries.push_back(entry(reader.get_message()));
          break;
        default: reader.skip();
      }
    }
    if (found.dims.size() > kMaxRank) throw RefusedModel{"it has a tensor of too many dims"};
    if (external)
      visit_(found);
    else if (!fits(found.dims, size))
      throw RefusedModel{"it has a tensor of more elements than bytes"};
  }

  // No dtype has more than two elements in a byte.
  static bool fits(const std::vector<std::int64_t>& dims, std::uint64_t bytes) {
    std::int64_t count = 1;
    for (const std::int64_t n : dims) {
      if (n < 0 || __builtin_mul_overflow(count, n, &count)) return false;
    }
    return static_cast<std::uint64_t>(count) / 2 <= bytes;
  }

  static std::pair<std::string_view, std::string_view> entry(protozero::pbf_reader reader) {
    std::string_view key, value;
    while (reader.next()) {
      if (reader.tag() == field::entry::kKey)
        key = text_of(reader);
      else if (reader.tag() == field::entry::kValue)
        value = text_of(reader);
      else
        reader.skip();
    }
    return {key, value};
  }

  const int max_depth_;
  std::uint32_t nodes_ = 0;
  Visit visit_;
};

// Engines read other formats, too, which they know by four bytes behind the first four: ONNX Runtime's own, and
// TensorFlow's. A file may be a model of ONNX, and another one in such a format.
inline bool is_of_another_format(std::string_view bytes) {
  const std::string_view magic = bytes.substr(bytes.size() < 4 ? bytes.size() : 4, 4);
  return magic == "ORTM" || magic == "TFL3";
}

// Calls `visit`, which may throw RefusedModel, with every tensor of the model that lies outside it. Graphs within ops
// may be nested `max_depth` deep. An Error for a model that is damaged or refused: it defines functions, has sparse
// tensors, is nested deeper, or what the visitor says.
template <typename Visit>
Result<void> for_each_external(const void* bytes, std::size_t size, int max_depth, Visit visit) {
  const auto damaged = [](std::string why) { return Error{ErrorKind::InvalidPackage, std::move(why), {}, {}, {}}; };
  if (is_of_another_format({static_cast<const char*>(bytes), size})) return damaged("it is not a model of ONNX");
  try {
    ExternalTensorWalk<Visit>(max_depth, std::move(visit))
        .model(protozero::pbf_reader{static_cast<const char*>(bytes), size});
    return {};
  } catch (const RefusedModel& refused) {
    return damaged(refused.why);
  } catch (const protozero::exception& e) {
    return damaged(std::string("it is not a well-formed model (") + e.what() + ")");
  }
}

}  // namespace dycl::onnx
