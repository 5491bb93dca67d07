// SPDX-License-Identifier: Apache-2.0
// What follows an LSTM or GRU of ONNX Runtime's: the domain "mend".
//
//   y, h, c = mend.Recurrent(y, h, c, x, w, r, b, lengths, h0, c0, p)   {cell, direction, coupled}
//
// hands through what the layer computed, and computes it anew (backends/kernels/recurrent.h) where an operand is not
// tame: the engine makes a number of a NaN. Weights that are constant are looked at once. All but x, w and r may be
// left out. Operands whose shapes do not fit each other are an error: a package may name the op, too. Sub-DNNs have
// such nodes in this engine's artifacts alone; ir/ and other back ends know nothing of them.
#pragma once

#include <onnxruntime_c_api.h>

#include <array>
#include <memory>

#include "backends/ort/library.h"
#include "support/result.h"

namespace dycl::backends::ort {

inline constexpr const char* kMendDomain = "mend";

// The ops of one engine; sessions that use them must not outlive it.
class RecurrentOps {
 public:
  static Result<std::unique_ptr<RecurrentOps>> create(const OrtApi& api);
  ~RecurrentOps();

  Result<void> add_to(OrtSessionOptions* options) const;

 private:
  struct Op;
  explicit RecurrentOps(const OrtApi& api);

  const OrtApi& api_;
  std::array<std::unique_ptr<Op>, 2> ops_;  // f32, f64
  Handle<OrtCustomOpDomain> domain_;
};

}  // namespace dycl::backends::ort
