// SPDX-License-Identifier: Apache-2.0
#include "backends/ort/weight_store.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

namespace dycl::backends::ort {
namespace {

std::uint64_t hash_of(const ir::Bytes& bytes) { return XXH3_64bits(bytes.data, bytes.size); }

ir::Type type_of(const onnx::Tensor& tensor) {
  std::vector<ir::Dim> dims;
  for (const std::int64_t dim : tensor.dims) dims.push_back(ir::Dim::of(dim));
  return ir::Type::tensor(tensor.dtype, std::move(dims));
}

}  // namespace

WeightStore::WeightStore(ir::Program& program) : program_(program) {
  for (const auto& [name, weight] : program.weights)
    if (weight.bytes.data) index(name);
}

void WeightStore::index(const std::string& name) { by_hash_.emplace(hash_of(program_.weights.at(name).bytes), name); }

std::optional<std::string> WeightStore::find(const onnx::Tensor& tensor) const {
  const ir::Type type = type_of(tensor);
  const auto [begin, end] = by_hash_.equal_range(hash_of(tensor.bytes));
  for (auto it = begin; it != end; ++it) {
    const ir::Weight& known = program_.weights.at(it->second);
    if (known.type == type && known.bytes.size == tensor.bytes.size &&
        std::memcmp(known.bytes.data, tensor.bytes.data, tensor.bytes.size) == 0)
      return it->second;
  }
  return std::nullopt;
}

std::string WeightStore::intern(const onnx::Tensor& tensor) {
  if (auto known = find(tensor)) return *known;
  std::string name;
  do name = "ort." + std::to_string(made_++);
  while (program_.weights.count(name));
  // A copy, so that no temporary file stays mapped for each sub-DNN.
  program_.weights[name] = {type_of(tensor), ir::Bytes::copy_of(tensor.bytes.data, tensor.bytes.size)};
  index(name);
  return name;
}

}  // namespace dycl::backends::ort
