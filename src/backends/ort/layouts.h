// SPDX-License-Identifier: Apache-2.0
// Which values of an outlined program may cross cuts in a blocked layout.
//
// ONNX Runtime computes convolutions on NCHWc tensors: channels in blocks of 8 or
// 16, each block innermost. Cut at its gates, a net would convert at every cut. A
// value can keep the blocked form if all who make it and all who take it are
// sub-DNNs: results and parameters of sub-DNNs that are connected through calls,
// edges and block parameters of the host program form a class, and a class has one
// layout. It is blockable if nothing else touches its values (no host op, no
// argument or result of the program) and each is f32 of rank 4 with a known number of channels that
// the block divides; then the blocked tensor has the plain one's shape and size.
// Other dims may be dynamic.
#pragma once

#include <cstddef>
#include <vector>

#include "backends/layout_tags.h"
#include "ir/program.h"

namespace dycl::backends::ort {

// The blockable classes; each has a result and a parameter among its ports.
std::vector<LayoutClass> blockable_classes(const ir::Program& outlined, int block);

}  // namespace dycl::backends::ort
