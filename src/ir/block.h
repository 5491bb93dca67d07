// SPDX-License-Identifier: Apache-2.0
// A straight run of ops that ends in one exit. Tensor ops and host ops mix freely
// until the outline pass moves each run of tensor ops into a sub-DNN function.
// Checked in ir/verify.cpp: every use is dominated by its definition; the
// arguments of an exit fit the parameters of the block it names.
#pragma once

#include <string>
#include <vector>

#include "ir/op.h"

namespace dycl::ir {

struct Block {
  std::string name;             // printed as ^name, unique in its function
  std::vector<ValueId> params;  // only where values merge; there are no phis
  std::vector<Op> body;         // in execution order
  Exit exit;
  SourceSpan span;              // where the model's author wrote this step
  SourceSpan exit_span;         // where the condition, return or raise is written; unknown: see span
  std::int64_t loop_limit = 0;  // header of a loop: most arrivals per entry; 0: the runtime's default
};

}  // namespace dycl::ir
