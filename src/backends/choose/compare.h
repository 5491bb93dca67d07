// SPDX-License-Identifier: Apache-2.0
// Whether an engine's results for a sub-DNN are those of the reference: the op-by-op evaluation, within a tolerance
// for floats (1e-4 of the largest magnitude plus 1e-3 of the element), exactly for integers, bools and NaNs.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"
#include "ir/tensor.h"
#include "ir/tensor_evaluator.h"
#include "support/result.h"

namespace dycl::backends {

// The sub-DNN's results, each op evaluated by itself.
Result<std::vector<ir::Tensor>> reference(const ir::Program& program, const ir::Function& function,
                                          const std::vector<ir::Tensor>& operands, ir::TensorEvaluator& evaluator);

// Where they differ beyond the tolerance, in words; empty if they do not.
std::string difference(const ir::Tensor& actual, const ir::Tensor& expected);

}  // namespace dycl::backends
