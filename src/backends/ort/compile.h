// SPDX-License-Identifier: Apache-2.0
// The compile-time half of the ONNX Runtime back end. Each sub-DNN becomes
//
//   "portable"    its ONNX model, optimised by ONNX Runtime up to the EXTENDED
//                 level: the same on every CPU
//   a CPU's key   (target.h) the same optimised for this machine, with blocked layouts
//                 across cuts (layouts.h), where that is of use
//
// or, if it does very little, a small program (backends/kernels/small/format.h) in their place.
// Other artifacts are ONNX bytes whose weights w0, w1, ... are external and handed over by
// the runtime. The library is opened on the first use (library.h).
#pragma once

#include <memory>

#include "backends/backend.h"

namespace dycl::backends::ort {

std::unique_ptr<Backend> make_backend();

}  // namespace dycl::backends::ort
