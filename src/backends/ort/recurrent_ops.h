// SPDX-License-Identifier: Apache-2.0
// What follows an LSTM or GRU of ONNX Runtime's: the domain "mend".
//
//   y, h, c = mend.Recurrent(y, h, c, x, w, r, b, lengths, h0, c0, p)   {cell, direction, coupled}
//   x = mend.Filled(x)   {only_whole}
//
// Recurrent hands through what the layer computed, and computes it anew (backends/kernels/recurrent.h) where an operand
// is not tame: the engine makes a number of a NaN. Weights that are constant are looked at once. All but x, w and r may
// be left out. Without steps or without sequences, where the engine may end the process, the layer is given operands
// whose extents of 0 are 1 (Filled: of zeros, or lengths of 1), and the results are zeros, as the engine's are where it
// gives some. Before a ConvTranspose of volumes, which ends the process where one of their extents is 0, `only_whole`
// makes that an error, and fills nothing. Operands whose shapes do not fit each other are an error: a package may name
// the op, too. Sub-DNNs have such nodes in this engine's artifacts alone; ir/ and other back ends know nothing of them.
#pragma once

#include <memory>

#include "backends/ort/custom_ops.h"

namespace dycl::backends::ort {

inline constexpr const char* kMendDomain = "mend";

Result<std::unique_ptr<CustomOps>> make_recurrent_ops(const OrtApi& api);

}  // namespace dycl::backends::ort
