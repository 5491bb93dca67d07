// SPDX-License-Identifier: Apache-2.0
#include "backends/ort/model_check.h"

#include <protozero/pbf_reader.hpp>
#include <string>

#include "onnx/format/fields.h"

namespace dycl::backends::ort {
namespace {

namespace field = onnx::field;
using protozero::pbf_reader;

struct Refused {
  const char* why;
};

std::string text(pbf_reader& reader) {
  const auto view = reader.get_view();
  return {view.data(), view.size()};
}

class Checker {
 public:
  explicit Checker(const std::vector<WeightShape>& weights) : weights_(weights) {}

  void model(pbf_reader reader) {
    while (reader.next()) {
      if (reader.tag() == field::model::kGraph)
        graph(reader.get_message(), 0);
      else if (reader.tag() == field::model::kFunctions)
        throw Refused{"it defines functions"};
      else
        reader.skip();
    }
  }

 private:
  void graph(pbf_reader reader, int depth) {
    if (depth > 8) throw Refused{"its graphs are nested too deeply"};
    while (reader.next()) {
      switch (reader.tag()) {
        case field::graph::kInitializer: tensor(reader.get_message(), depth == 0); break;
        case field::graph::kNode: node(reader.get_message(), depth); break;
        case field::graph::kSparseInitializer: throw Refused{"it has sparse tensors"};
        default: reader.skip();
      }
    }
  }

  void node(pbf_reader reader, int depth) {
    while (reader.next()) {
      if (reader.tag() == field::node::kAttribute)
        attribute(reader.get_message(), depth);
      else
        reader.skip();
    }
  }

  void attribute(pbf_reader reader, int depth) {
    while (reader.next()) {
      switch (reader.tag()) {
        case field::attribute::kT:
        case field::attribute::kTensors: tensor(reader.get_message(), false); break;
        case field::attribute::kG:
        case field::attribute::kGraphs: graph(reader.get_message(), depth + 1); break;
        case field::attribute::kSparseTensor:
        case field::attribute::kSparseTensors: throw Refused{"it has sparse tensors"};
        default: reader.skip();
      }
    }
  }

  void tensor(pbf_reader reader, bool may_be_weight) {
    std::string name;
    WeightShape shape;
    bool external = false;
    while (reader.next()) {
      switch (reader.tag()) {
        case field::tensor::kName: name = text(reader); break;
        case field::tensor::kDataType: shape.dtype = reader.get_int32(); break;
        case field::tensor::kDims:
          if (reader.wire_type() == protozero::pbf_wire_type::varint) {
            shape.shape.push_back(reader.get_int64());
          } else {
            for (const auto dim : reader.get_packed_int64()) shape.shape.push_back(dim);
          }
          break;
        case field::tensor::kDataLocation: external = (reader.get_int32() != 0) || external; break;
        case field::tensor::kExternalData:
          external = true;
          location(reader.get_message());
          break;
        default: reader.skip();
      }
    }
    if (!external) return;
    if (!may_be_weight || !is_given(name, shape)) throw Refused{"it wants a weight that the package does not give it"};
  }

  static void location(pbf_reader reader) {
    std::string key, value;
    while (reader.next()) {
      if (reader.tag() == field::entry::kKey)
        key = text(reader);
      else if (reader.tag() == field::entry::kValue)
        value = text(reader);
      else
        reader.skip();
    }
    if (key == "location" && value != "null") throw Refused{"it names a file"};
  }

  bool is_given(const std::string& name, const WeightShape& shape) const {
    for (std::size_t i = 0; i < weights_.size(); ++i)
      if (name == "w" + std::to_string(i)) return weights_[i].dtype == shape.dtype && weights_[i].shape == shape.shape;
    return false;
  }

  const std::vector<WeightShape>& weights_;
};

Error damaged(const std::string& why) { return {ErrorKind::InvalidPackage, why, {}, {}, {}}; }

}  // namespace

Result<void> check_model(const void* bytes, std::size_t size, const std::vector<WeightShape>& weights) {
  try {
    Checker(weights).model(pbf_reader{static_cast<const char*>(bytes), size});
    return {};
  } catch (const Refused& refused) {
    return damaged(refused.why);
  } catch (const protozero::exception& e) {
    return damaged(std::string("it is not a well-formed model (") + e.what() + ")");
  }
}

bool states_opset(const void* bytes, std::size_t size, std::string_view domain) {
  try {
    pbf_reader reader{static_cast<const char*>(bytes), size};
    while (reader.next(field::model::kOpsetImport)) {
      pbf_reader opset = reader.get_message();
      while (opset.next(field::opset::kDomain))
        if (text(opset) == domain) return true;
    }
  } catch (const protozero::exception&) {
  }
  return false;
}

}  // namespace dycl::backends::ort
