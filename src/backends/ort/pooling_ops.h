// SPDX-License-Identifier: Apache-2.0
// Max pooling by kernels of our own (backends/kernels/dense/pooling.h): ONNX Runtime's lose a NaN and give the lowest
// number for windows of -inf. The ops MaxPool and BlockedMaxPool (in ONNX Runtime's blocked layout) of the domain
// "dycl.pool" take the place of its nodes when a model is loaded: packages hold plain ONNX. The second result, if there
// is one, is each maximum's position in the whole operand: of several equal ones the first, of several NaNs the last,
// as in PyTorch.
#pragma once

#include <onnxruntime_c_api.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "backends/ort/library.h"
#include "support/result.h"

namespace dycl::backends::ort {

// The model with pooling ops of ours, or nothing if it has no node to replace. `block`: channels of a block in the
// blocked layout.
std::optional<std::string> with_pooling_ops(const void* bytes, std::size_t size, int block);

// The ops of one engine; sessions that use them must not outlive it.
class PoolingOps {
 public:
  static Result<std::unique_ptr<PoolingOps>> create(const OrtApi& api, int threads, int block);
  ~PoolingOps();

  Result<void> add_to(OrtSessionOptions* options) const;

 private:
  struct Op;
  explicit PoolingOps(const OrtApi& api);

  const OrtApi& api_;
  std::array<std::unique_ptr<Op>, 3> ops_;  // f32, f64, f32 in blocks
  Handle<OrtCustomOpDomain> domain_;
};

}  // namespace dycl::backends::ort
