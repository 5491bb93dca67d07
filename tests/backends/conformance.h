// SPDX-License-Identifier: Apache-2.0
// What the conformance suite compares with: the reference is ONNX Runtime with every
// optimisation off, one op at a time. A back end may refuse a sub-DNN, never compute it in another way.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "harness.h"

namespace dycl::test {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// Attributes: numbers and lists of them, of the type that attributes have.
inline std::int64_t n(std::int64_t v) { return v; }
inline std::vector<std::int64_t> ns(std::vector<std::int64_t> v) { return v; }

// Those of the build whose engine is installed.
std::vector<std::string> installed_backends();

std::vector<Tensor> reference(const ir::Program& program, const std::string& name, const std::vector<Tensor>& inputs);

void expect_same(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected, const std::string& where);

bool refuses(const std::string& backend, const ir::Program& program);

// In every form the back end makes of it. True if it was taken.
bool agrees(const std::string& backend, const ir::Program& program, const std::vector<Tensor>& inputs,
            const std::string& where);

}  // namespace dycl::test
