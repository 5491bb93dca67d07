// SPDX-License-Identifier: Apache-2.0
// A program whose sub-DNNs are compiled by several back ends. Values cross in ONNX Runtime's blocked layout among its
// own sub-DNNs and those of engines that share it (TVM); everything else crosses in plain layout.
//
// The runtime chooses one target for a whole program, so artifacts for a CPU carry the keys of all
// engines, joined: "openvino-2026.4.1/... & ort-1.31.1/...".
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/backend.h"

namespace dycl::backends {

// Name of a sub-DNN -> name of its back end.
using Assignment = std::map<std::string, std::string>;

// All sub-DNNs to one back end, except those it refuses: they go to ONNX Runtime, and a
// notice says which and why. An Error if the engine is not installed, or if nobody takes a sub-DNN.
Result<Assignment> assign_all(const ir::Program& program, const std::string& backend, const BackendOptions& options);

// Compiles by `assignment`, in the program's order. A sub-DNN that its engine fails on goes
// to ONNX Runtime, with a notice; `assignment` is then changed.
Result<std::vector<SubDnnArtifacts>> compile_assigned(ir::Program& program, Assignment& assignment,
                                                      const BackendOptions& options);

}  // namespace dycl::backends
