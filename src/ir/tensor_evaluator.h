// SPDX-License-Identifier: Apache-2.0
// Who computes tensor ops for the reference interpreter. The built-in one knows what
// tests of passes need (f32, f64, i64, i32, bool) and no vendor library; others (ONNX
// Runtime with optimisation off) plug in here.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ir/op.h"
#include "ir/tensor.h"
#include "support/result.h"

namespace dycl::ir {

class TensorEvaluator {
 public:
  virtual ~TensorEvaluator() = default;

  // The results of a tensor op. `operands[i]` is null where the op leaves operand i
  // out; `types` are the declared types of the results. An op, dtype or attribute that
  // the evaluator does not know is an Error of kind Unsupported, never a guess; bad
  // operands are a RuntimeFailure.
  virtual Result<std::vector<Tensor>> evaluate(const Op& op, std::span<const Tensor* const> operands,
                                               std::span<const Type> types) = 0;
};

// Keeps no state; any number may exist.
std::unique_ptr<TensorEvaluator> make_builtin_evaluator();

}  // namespace dycl::ir
