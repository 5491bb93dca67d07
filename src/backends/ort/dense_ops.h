// SPDX-License-Identifier: Apache-2.0
// Products with constant matrices inside ONNX Runtime's models by our dense kernels (backends/kernels/dense/kernels.h):
// the op dycl::Dense.
//
//   out[..., n] = activation(x[..., k] * B + bias)    B: n x k if transB, otherwise k x n; bias: scalar, [n], [m,1] or
//   [m,n]
//
// Packages hold plain ONNX. When a model is loaded, `with_dense_ops` replaces MatMul, Gemm and FusedGemm nodes whose
// matrix is one of the package's weights, and the session gets the domain of `DenseOp`. ONNX Runtime would pack the
// same weights for itself; so nothing is held twice that was not before.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/kernels/dense/packed_weights.h"
#include "backends/ort/custom_ops.h"
#include "backends/ort/model_check.h"

namespace dycl::backends::ort {

// The model with dense ops, or nothing if it has no node to replace. The model was checked (`check_model`) before.
std::optional<std::string> with_dense_ops(const void* bytes, std::size_t size, const std::vector<WeightShape>& weights);

// The op of one engine; sessions that use it must not outlive it.
class DenseOp {
 public:
  static Result<std::unique_ptr<DenseOp>> create(const OrtApi& api, int threads);

  Result<void> add_to(OrtSessionOptions* options) const { return ops_->add_to(options); }
  dense::PackedStore& store() { return store_; }

 private:
  DenseOp() = default;

  dense::PackedStore store_;
  std::unique_ptr<CustomOps> ops_;  // which use the store
};

}  // namespace dycl::backends::ort
