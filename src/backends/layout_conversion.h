// SPDX-License-Identifier: Apache-2.0
// Tensors in the layouts of layout_tags.h, for comparing what engines give. Plain functions; any thread.
#pragma once

#include <string>

#include "backends/layout_tags.h"
#include "ir/tensor.h"

namespace dycl::backends {

// The same elements in the layout of a tag, and back. f32 of a shape that fits; else the tensor as it is.
ir::Tensor to_layout(const ir::Tensor& plain, const std::string& tag);
ir::Tensor from_layout(const ir::Tensor& tensor, const std::string& tag);

}  // namespace dycl::backends
