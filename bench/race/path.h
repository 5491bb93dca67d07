// SPDX-License-Identifier: Apache-2.0
// The path that one input takes through a program, as a straight-line sub-DNN: the oracle that
// a compiler of dynamic nets is measured against.
//
// The reference interpreter runs the program; every tensor op on the way is appended to one
// block. What the host read (`item`, `list.from_tensor`) stays a result, so the conditions are
// still computed. A scalar that goes back into a tensor stays connected to the tensor it was read from;
// one that the host computed becomes a constant. What no result needs is dropped.
#pragma once

#include <string>
#include <vector>

#include "ir/interpret.h"
#include "ir/program.h"
#include "support/result.h"

namespace dycl::bench {

struct Path {
  ir::Program program;                 // main is the sub-DNN; shares the bytes of the weights
  std::vector<ir::Tensor> inputs;      // what its parameters are for this input
  std::vector<ir::Tensor> expected;    // what its results should be: the program's and the conditions
  std::vector<ir::HostValue> results;  // of the program
  std::vector<ir::Decision> decisions;
};

// Errors are the interpreter's own; a program that calls sub-DNNs or the host is refused.
Result<Path> path_of(const ir::Program& program, ir::TensorEvaluator& evaluator,
                     const std::vector<ir::HostValue>& arguments);

}  // namespace dycl::bench
