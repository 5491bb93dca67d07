// SPDX-License-Identifier: Apache-2.0
// The addresses in a model come from here alone: what the bytes name as an address or a
// file is refused or replaced.
#include <cstdio>
#include <protozero/pbf_reader.hpp>
#include <string_view>

#include "backends/openvino/model.h"
#include "onnx/format/fields.h"

namespace dycl::backends::openvino {
namespace {

namespace field = onnx::field;
using protozero::pbf_reader;

struct Refused {
  const char* why;
};

std::string_view text(pbf_reader& reader) {
  const auto view = reader.get_view();
  return {view.data(), view.size()};
}

struct External {
  std::string_view location, offset, length;
};

class Binder {
 public:
  Binder(std::string& model, const std::vector<GivenWeight>& weights) : model_(model), weights_(weights) {}

  void run() {
    pbf_reader reader(model_.data(), model_.size());
    while (reader.next()) {
      if (reader.tag() == field::model::kGraph)
        graph(reader.get_message());
      else if (reader.tag() == field::model::kFunctions)
        throw Refused{"it defines functions"};
      else
        reader.skip();
    }
  }

 private:
  void graph(pbf_reader reader) {
    while (reader.next()) {
      switch (reader.tag()) {
        case field::graph::kInitializer: tensor(reader.get_message(), true); break;
        case field::graph::kNode: node(reader.get_message()); break;
        case field::graph::kSparseInitializer: throw Refused{"it has sparse tensors"};
        default: reader.skip();
      }
    }
  }

  void node(pbf_reader reader) {
    while (reader.next()) {
      if (reader.tag() == field::node::kAttribute)
        attribute(reader.get_message());
      else
        reader.skip();
    }
  }

  void attribute(pbf_reader reader) {
    while (reader.next()) {
      switch (reader.tag()) {
        case field::attribute::kT:
        case field::attribute::kTensors: tensor(reader.get_message(), false); break;
        case field::attribute::kG:
        case field::attribute::kGraphs: throw Refused{"it has graphs within ops"};
        case field::attribute::kSparseTensor:
        case field::attribute::kSparseTensors: throw Refused{"it has sparse tensors"};
        default: reader.skip();
      }
    }
  }

  void tensor(pbf_reader reader, bool may_be_weight) {
    std::string_view name;
    External where;
    GivenWeight shape;
    bool external = false;
    while (reader.next()) {
      switch (reader.tag()) {
        case field::tensor::kName: name = text(reader); break;
        case field::tensor::kDataType: shape.dtype = reader.get_int32(); break;
        case field::tensor::kDims:
          if (reader.wire_type() == protozero::pbf_wire_type::varint)
            shape.shape.push_back(reader.get_int64());
          else
            for (const auto dim : reader.get_packed_int64()) shape.shape.push_back(dim);
          break;
        case field::tensor::kDataLocation: external = (reader.get_int32() != 0) || external; break;
        case field::tensor::kExternalData:
          external = true;
          entry(reader.get_message(), where);
          break;
        default: reader.skip();
      }
    }
    if (!external) return;
    if (!may_be_weight) throw Refused{"it wants a weight that the package does not give it"};
    bind(name, shape, where);
  }

  static void entry(pbf_reader reader, External& where) {
    std::string_view key, value;
    while (reader.next()) {
      if (reader.tag() == field::entry::kKey)
        key = text(reader);
      else if (reader.tag() == field::entry::kValue)
        value = text(reader);
      else
        reader.skip();
    }
    std::string_view* const place = key == "location" ? &where.location
                                    : key == "offset" ? &where.offset
                                    : key == "length" ? &where.length
                                                      : nullptr;
    // Twice the same key: which one counts would be OpenVINO's to say.
    if (!place || place->data()) throw Refused{"it stores a tensor in a way that is not known"};
    *place = value;
  }

  void bind(std::string_view name, const GivenWeight& shape, const External& where) {
    std::size_t i = 0;
    while (i < weights_.size() && name != "w" + std::to_string(i)) ++i;
    if (i == weights_.size() || weights_[i].dtype != shape.dtype || weights_[i].shape != shape.shape)
      throw Refused{"it wants a weight that the package does not give it"};
    if (where.location != kMemoryLocation || where.length != std::to_string(weights_[i].bytes) ||
        where.offset.size() != kAddressDigits)
      throw Refused{"it stores a tensor in a way that is not known"};
    char digits[kAddressDigits + 1];
    std::snprintf(digits, sizeof digits, "%0*llu", static_cast<int>(kAddressDigits),
                  static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(weights_[i].data)));
    model_.replace(static_cast<std::size_t>(where.offset.data() - model_.data()), kAddressDigits, digits);
  }

  std::string& model_;
  const std::vector<GivenWeight>& weights_;
};

Error damaged(const std::string& why) { return {ErrorKind::InvalidPackage, why, {}, {}, {}}; }

}  // namespace

Result<std::string> bind_weights(std::span<const std::uint8_t> model, const std::vector<GivenWeight>& weights) {
  std::string bound(model.begin(), model.end());
  try {
    Binder(bound, weights).run();
    return bound;
  } catch (const Refused& refused) {
    return damaged(refused.why);
  } catch (const protozero::exception& e) {
    return damaged(std::string("it is not a well-formed model (") + e.what() + ")");
  }
}

}  // namespace dycl::backends::openvino
