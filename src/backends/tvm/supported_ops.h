// SPDX-License-Identifier: Apache-2.0
// Which sub-DNNs TVM computes as the reference does: every shape is known and has elements, tensors are f32 and bool
// (i64 where elements are only moved), axes, indices and amounts are constants, and every op is in the table. Kernels
// check no index, so what reads by one that comes at run time is refused. An op that is not in the table is refused.
#pragma once

#include <vector>

#include "backends/backend.h"
#include "ir/program.h"

namespace dycl::backends::tvm {

std::vector<Refusal> refusals(const ir::Program& program, const ir::Function& sub_dnn);

}  // namespace dycl::backends::tvm
