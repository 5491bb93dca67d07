// SPDX-License-Identifier: Apache-2.0
// What the compiler made of one sub-DNN, and its form in the cache: a line of JSON ({"weights": ..., "artifact": size}
// or
// {"refused": why}), the artifact, the elements of new weights. Plain data; reading refuses what is damaged.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "support/result.h"

namespace dycl::backends::tvm {

using Bytes = std::vector<std::uint8_t>;

Error failure(std::string message);

// One weight of the kernels: one of the sub-DNN's as it is, or a new one.
struct KernelWeight {
  int from = -1;  // number among the sub-DNN's weights
  std::int32_t dtype = 0;
  std::vector<std::int64_t> shape;
  Bytes bytes;
};

// What the compiler made of one sub-DNN.
struct Made {
  Bytes artifact;
  std::vector<KernelWeight> weights;
};

Bytes packed(const nlohmann::json& head, const Bytes& artifact, const Bytes& elements);
Result<Made> unpacked(const Bytes& bytes);

}  // namespace dycl::backends::tvm
