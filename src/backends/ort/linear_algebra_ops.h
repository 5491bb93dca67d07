// SPDX-License-Identifier: Apache-2.0
// Linear algebra (backends/kernels/linear_algebra.h) inside ONNX Runtime's models: the domain "linalg", an op for each
// `Op` there, with its name, its operands and results in that order (all dims before those of one matrix alike), and
// its options as integer attributes. Elements are f32 or f64.
//
// The kernels and the library beneath them are in the plug-in alone. Whoever optimises or evaluates a model with such
// ops registers the plug-in with the session (ort/plugin_ops.h).
#pragma once

#include <memory>

#include "backends/ort/custom_ops.h"

namespace dycl::backends::ort {

Result<std::unique_ptr<CustomOps>> make_linear_algebra_ops(const OrtApi& api, int threads);

}  // namespace dycl::backends::ort
