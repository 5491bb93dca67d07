// SPDX-License-Identifier: Apache-2.0
#include "backends/ort/model_check.h"

#include <algorithm>
#include <string>

#include "onnx/format/external_tensors.h"

namespace dycl::backends::ort {
namespace {

namespace field = onnx::field;
using protozero::pbf_reader;

constexpr int kMaxNesting = 8;

bool is_given(const onnx::ExternalTensor& tensor, const std::vector<WeightShape>& weights) {
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (tensor.name == "w" + std::to_string(i))
      return weights[i].dtype == tensor.dtype && weights[i].shape == tensor.dims;
  return false;
}

bool names_a_file(const onnx::ExternalTensor& tensor) {
  return std::any_of(tensor.entries.begin(), tensor.entries.end(),
                     [](const auto& entry) { return entry.first == "location" && entry.second != "null"; });
}

}  // namespace

Result<void> check_model(const void* bytes, std::size_t size, const std::vector<WeightShape>& weights) {
  return onnx::for_each_external(bytes, size, kMaxNesting, [&](const onnx::ExternalTensor& tensor) {
    if (names_a_file(tensor)) throw onnx::RefusedModel{"it names a file"};
    if (!tensor.is_initializer || !is_given(tensor, weights))
      throw onnx::RefusedModel{"it wants a weight that the package does not give it"};
  });
}

bool states_opset(const void* bytes, std::size_t size, std::string_view domain) {
  try {
    pbf_reader reader{static_cast<const char*>(bytes), size};
    while (reader.next(field::model::kOpsetImport)) {
      pbf_reader opset = reader.get_message();
      while (opset.next(field::opset::kDomain))
        if (onnx::text_of(opset) == domain) return true;
    }
  } catch (const protozero::exception&) {
  }
  return false;
}

}  // namespace dycl::backends::ort
