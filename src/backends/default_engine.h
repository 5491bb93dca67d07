// SPDX-License-Identifier: Apache-2.0
// The back end to start from. It takes every sub-DNN, gets those that another refuses or fails on, and is what a choice
// by measuring must beat; its portable artifacts are ONNX models, or small programs (kernels/small/format.h). Its name
// is here and in the table of backend.cpp, and nowhere else outside its folder.
#pragma once

namespace dycl::backends {

inline constexpr const char* kDefaultEngine = "ort";

}  // namespace dycl::backends
