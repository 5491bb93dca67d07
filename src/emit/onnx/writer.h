// SPDX-License-Identifier: Apache-2.0
// A whole program as one ONNX model: If and Loop for its control flow, weights stored once in the
// outermost graph and captured from inside, sub-DNNs written out where they are called. For users of other
// runtimes; it runs in plain ONNX Runtime with the same answers.
//
// Inputs and outputs have the program's names. A state is an input that defaults to its initial value and
// an output called <state>.new. Scalars are tensors without dims, lists and optionals sequences.
// A run that would fail in DyCL fails there too (an index out of range in a node named after the exception),
// but integers wrap beyond 64 bits and loops have no limit beside those of the program. `print` is left out
// with a notice. rand.* and host_call are refused.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "ir/program.h"
#include "onnx/format/proto.h"
#include "support/result.h"

namespace dycl::emit {

struct OnnxReport {
  std::vector<std::string> notices;  // what the model does not do as the program does
  std::size_t nodes = 0;             // all graphs together
  std::size_t nesting = 1;           // graphs within graphs
};

// A sub-DNN in another form than its ops: for packages whose engine folded weights, so that those the ops
// name are gone. Weights are by name of initializer. Inputs and outputs are in the function's order.
struct OnnxBody {
  onnx::Model model;
  std::map<std::string, std::string> weights;  // initializer stored outside -> weight of the program
};

struct OnnxOptions {
  std::map<std::string, OnnxBody> bodies;  // by name of sub-DNN; where it is missing, the ops are written
};

// Outlined or not. Weights beyond 1 GB in all go to a file beside `path`, <path>.data.
Result<OnnxReport> write_onnx(const ir::Program& program, const OnnxOptions& options,
                              const std::filesystem::path& path);

}  // namespace dycl::emit
