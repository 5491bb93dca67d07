// SPDX-License-Identifier: Apache-2.0
// A sub-DNN function as an ONNX model. Inputs are called in0, in1, ... and outputs
// out0, out1, ... in the function's order; every output is made by a node of its own
// (an Identity where the function returns a parameter, a constant or one value twice),
// because engines write results of nodes into given memory, but not others.
//
// Weights become initializers w0, w1, ... in order of first use, stored outside
// the model, so that models of the same structure have the same bytes; literals
// are stored inside.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"
#include "onnx/format/proto.h"
#include "support/result.h"

namespace dycl::onnx {

struct ExportedModel {
  Model model;
  std::vector<std::string> weights;  // program weights, w0 first
};

// `weight_location` is the external file name written for each weight; "%" in it
// stands for the weight's number.
Result<ExportedModel> export_sub_dnn(const ir::Program& program, const ir::Function& sub_dnn,
                                     const std::string& weight_location);

ValueInfo value_info(std::string name, const ir::Type& type);
Result<Attribute> attribute_of(const std::string& key, const ir::Attr& attr);

}  // namespace dycl::onnx
