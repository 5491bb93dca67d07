// SPDX-License-Identifier: Apache-2.0
// Bodies of sub-DNNs for a program that is emitted from a package: an engine may have folded weights that its ops name,
// and the package then holds the sub-DNN as that engine optimised it.
#pragma once

#include "emit/onnx/writer.h"
#include "package/read_program.h"
#include "support/result.h"

namespace dycl::emit {

// Sub-DNNs whose ops name weights that are gone, in the form of their portable artifacts.
Result<OnnxOptions> onnx_options(const package::PackageProgram& package);

}  // namespace dycl::emit
