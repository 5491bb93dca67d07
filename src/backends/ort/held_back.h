// SPDX-License-Identifier: Apache-2.0
// Weights that the optimiser is not shown. It loads every weight, and writes every one into the optimised model's file:
// of a model of gigabytes this took twice the weights' memory. What only multiplies, or is only looked up in, is of no
// interest to it but for its type: such weights become inputs while it works, and weights again afterwards.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/program.h"
#include "onnx/format/proto.h"

namespace dycl::backends::ort {

struct HoldBackLimits {
  std::uint64_t model = std::uint64_t{512} << 20;  // bytes of a model's weights below which all are shown
  std::uint64_t weight = std::uint64_t{1} << 20;   // of one
};

// Weights w0, w1, ... that were taken out of a model.
struct HeldBack {
  std::vector<onnx::Tensor> tensors;  // with their bytes
};

// Makes inputs of the weights that may be held back. `weights[i]` are the bytes of the external initializer wi.
HeldBack hold_back(onnx::Graph& graph, const std::vector<ir::Bytes>& weights, const HoldBackLimits& limits = {});

// Puts them back into the model that the optimiser made.
void put_back(onnx::Graph& graph, HeldBack held);

}  // namespace dycl::backends::ort
