// SPDX-License-Identifier: Apache-2.0
// Host ops as ONNX nodes. Scalars are tensors without dims (bool, int64, double), lists and optionals
// sequences. Where the host op would end the run with an error, so does what is written (an index out of
// range), but for integers that leave 64 bits: those wrap.
#pragma once

#include "emit/onnx/graph.h"
#include "ir/function.h"

namespace dycl::emit {

// Appends nodes for a pure host op (const, weight, call, effects are the caller's) and returns the names of
// its results. Unsupported, with the op's span, for what has no equivalent.
Result<std::vector<std::string>> write_host_op(OnnxGraph& graph, const ir::Function& function, const ir::Op& op,
                                               const std::vector<std::string>& operands,
                                               const std::function<bool(ir::ValueId)>& is_nonzero_constant);

// One of two values, by an If.
Result<std::string> choose(OnnxGraph& graph, const std::string& condition, const std::string& if_true,
                           const std::string& if_false, const ir::Type& type, const std::string& hint = {});

}  // namespace dycl::emit
