// SPDX-License-Identifier: Apache-2.0
// What ONNX's schemas say of a node's form: how many inputs and outputs it may have, which may be left out, which
// attributes of what kind. Checked before anything else looks at a node, so that the rest may rely on it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "onnx/format/proto.h"
#include "support/result.h"

namespace dycl::onnx {

inline constexpr std::int64_t kNewestOpset = 26;  // that the pinned ONNX Runtime takes

using Opsets = std::map<std::string, std::int64_t>;  // domain -> version; "" is ONNX itself

// An Error for a node that no operator of these opsets looks like. `unsupported` where DyCL does not know the operator,
// `invalid_model` where the node contradicts its schema.
Result<void> check_form(const Node& node, const Opsets& opsets);

// Where the element types of the results of an operator of another domain than ONNX's own come from, as
// operator_table.inc writes it; empty for others.
std::string_view results_of(const Node& node);

}  // namespace dycl::onnx
