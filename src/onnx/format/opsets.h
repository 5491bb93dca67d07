// SPDX-License-Identifier: Apache-2.0
// Which opsets the tensor ops of a program are of.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "onnx/format/proto.h"

namespace dycl::onnx {

// The opsets that a program's tensor ops are of: "" is ONNX itself, kOpset unless its metadata say a later one; other
// domains where the metadata say so, else 1.
std::map<std::string, std::int64_t> opsets_of(const ir::Program& program);
void state_opset(ir::Program& program, const std::string& domain, std::int64_t opset);

}  // namespace dycl::onnx
