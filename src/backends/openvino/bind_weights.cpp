// SPDX-License-Identifier: Apache-2.0
// The addresses in a model come from here alone: what the bytes name as an address or a
// file is refused or replaced.
#include <cstdio>
#include <string_view>

#include "backends/openvino/model.h"
#include "onnx/format/external_tensors.h"

namespace dycl::backends::openvino {
namespace {

using onnx::RefusedModel;

struct Stored {
  std::string_view location, offset, length;
};

Stored place_of(const onnx::ExternalTensor& tensor) {
  Stored where;
  for (const auto& [key, value] : tensor.entries) {
    std::string_view* const part = key == "location" ? &where.location
                                   : key == "offset" ? &where.offset
                                   : key == "length" ? &where.length
                                                     : nullptr;
    // Twice the same key: which one counts would be OpenVINO's to say.
    if (!part || part->data()) throw RefusedModel{"it stores a tensor in a way that is not known"};
    *part = value;
  }
  return where;
}

// Writes the weight's address over the offset that `tensor` has in `model`, where its views point.
void bind(std::string& model, const onnx::ExternalTensor& tensor, const std::vector<GivenWeight>& weights) {
  const Stored where = place_of(tensor);
  std::size_t i = 0;
  while (i < weights.size() && tensor.name != "w" + std::to_string(i)) ++i;
  if (!tensor.is_initializer || i == weights.size() || weights[i].dtype != tensor.dtype ||
      weights[i].shape != tensor.dims)
    throw RefusedModel{"it wants a weight that the package does not give it"};
  if (where.location != kMemoryLocation || where.length != std::to_string(weights[i].bytes) ||
      where.offset.size() != kAddressDigits)
    throw RefusedModel{"it stores a tensor in a way that is not known"};
  char digits[kAddressDigits + 1];
  std::snprintf(digits, sizeof digits, "%0*llu", static_cast<int>(kAddressDigits),
                static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(weights[i].data)));
  model.replace(static_cast<std::size_t>(where.offset.data() - model.data()), kAddressDigits, digits);
}

}  // namespace

Result<std::string> bind_weights(std::span<const std::uint8_t> model, const std::vector<GivenWeight>& weights) {
  std::string bound(model.begin(), model.end());
  DYCL_TRY(onnx::for_each_external(bound.data(), bound.size(), 0,
                                   [&](const onnx::ExternalTensor& tensor) { bind(bound, tensor, weights); }));
  return bound;
}

}  // namespace dycl::backends::openvino
