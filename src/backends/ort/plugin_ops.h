// SPDX-License-Identifier: Apache-2.0
// The ops of the domain "linalg" for sessions of the compile half. Their kernels stand on a library of 25 MB, which is
// in the plug-in alone; it is opened where a model has such an op. Looked for where the runtime looks for plug-ins
// (DYCL_PLUGIN_PATH, beside this code's own library or executable, in ../lib/dycl of it), then where the build put it.
#pragma once

#include <onnxruntime_c_api.h>

#include <string_view>

#include "support/result.h"

namespace dycl::backends::ort {

inline constexpr const char* kLinearAlgebraDomain = "linalg";
// What the plug-in exports: adds the ops, of one thread each, to the options.
inline constexpr const char* kAddLinearAlgebra = "dycl_add_linear_algebra";
using AddLinearAlgebra = OrtStatus* (*)(OrtSessionOptions*, const OrtApi*);

inline bool is_linear_algebra(std::string_view op) { return op.starts_with("linalg."); }

Result<void> add_plugin_ops(const OrtApi& api, OrtSessionOptions* options);

}  // namespace dycl::backends::ort
