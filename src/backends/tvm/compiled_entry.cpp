// SPDX-License-Identifier: Apache-2.0
#include "backends/tvm/compiled_entry.h"

#include <algorithm>

#include "support/dtype.h"

namespace dycl::backends::tvm {
namespace {

// The descriptions of weights, and the elements of the new ones one after the other.
Result<std::vector<KernelWeight>> weights_of(const nlohmann::json& described, const Bytes& elements) {
  std::vector<KernelWeight> weights;
  std::size_t at = 0;
  for (const auto& one : described) {
    KernelWeight weight;
    weight.from = one.value("from", -1);
    if (weight.from < 0) {
      weight.dtype = one.value("dtype", 0);
      weight.shape = one.value("shape", std::vector<std::int64_t>());
      const auto dtype = dtype_of_code(weight.dtype);
      std::size_t size = dtype ? size_of(*dtype) : 0;
      for (const std::int64_t dim : weight.shape) size *= static_cast<std::size_t>(dim);
      if (!dtype || size > elements.size() - at) return failure("TVM's compiler gave a weight without its elements");
      weight.bytes.assign(elements.begin() + static_cast<std::ptrdiff_t>(at),
                          elements.begin() + static_cast<std::ptrdiff_t>(at + size));
      at += size;
    }
    weights.push_back(std::move(weight));
  }
  return weights;
}

}  // namespace

Error failure(std::string message) { return {ErrorKind::RuntimeFailure, std::move(message), {}, {}, {}}; }

Bytes packed(const nlohmann::json& head, const Bytes& artifact, const Bytes& elements) {
  const std::string line = head.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  Bytes bytes(line.begin(), line.end());
  bytes.insert(bytes.end(), artifact.begin(), artifact.end());
  bytes.insert(bytes.end(), elements.begin(), elements.end());
  return bytes;
}

Result<Made> unpacked(const Bytes& bytes) {
  const auto end = std::find(bytes.begin(), bytes.end(), '\n');
  const auto head = nlohmann::json::parse(bytes.begin(), end, nullptr, false);
  if (end == bytes.end() || !head.is_object()) return failure("a damaged entry of the cache");
  if (head.contains("refused")) return failure(head.value("refused", ""));
  const auto rest = end + 1;
  const auto size = static_cast<std::ptrdiff_t>(head.value("artifact", std::size_t{0}));
  if (size > bytes.end() - rest) return failure("a damaged entry of the cache");
  Made made;
  made.artifact.assign(rest, rest + size);
  DYCL_ASSIGN(made.weights, weights_of(head["weights"], Bytes(rest + size, bytes.end())));
  return made;
}

}  // namespace dycl::backends::tvm
