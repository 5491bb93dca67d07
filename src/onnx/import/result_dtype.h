// SPDX-License-Identifier: Apache-2.0
// The element type of an ONNX op's result, where the file does not state it.
#pragma once

#include <optional>
#include <vector>

#include "onnx/format/proto.h"

namespace dycl::onnx {

// Result number `index` of `node`, whose operands have these dtypes (nullopt: left
// out). nullopt: not known here (not a tensor, or an operator of another domain whose schema does not say).
std::optional<DType> result_dtype(const Node& node, std::size_t index,
                                  const std::vector<std::optional<DType>>& operands);

}  // namespace dycl::onnx
