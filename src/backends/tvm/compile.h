// SPDX-License-Identifier: Apache-2.0
// The compile half of the TVM back end: a sub-DNN becomes kernels for this CPU (plan.h) through TVM's compiler, which
// runs in a process of its own (worker.h). Sub-DNNs of one structure share their kernels: weights are operands of
// kernels, in the layout these want, and stored in the package like any other weight.
//
// The result is run and compared with the reference before anyone gets it, on numbers and on NaNs and infinities; what
// differs is a failure of that sub-DNN. The portable form of a sub-DNN is ONNX Runtime's: kernels run on one kind of
// CPU.
#pragma once

#include <memory>

#include "backends/backend.h"

namespace dycl::backends::tvm {

std::unique_ptr<Backend> make_backend();

}  // namespace dycl::backends::tvm
