// SPDX-License-Identifier: Apache-2.0
// The compile-time half of the OpenVINO back end. Each sub-DNN becomes
//
//   "portable"    its ONNX model, legalised (legalize.h); weights stay outside and are
//                 used in place
//   a CPU's key   (target.h) what OpenVINO exports after compiling it, which loads
//                 about twice as fast. It holds the weights a second time, so it is made only
//                 where they are at most kMaxBlobWeights
//
// Values cross cuts in plain layout. The library is opened on the first use (library.h).
#pragma once

#include <cstdint>
#include <memory>

#include "backends/backend.h"

namespace dycl::backends::openvino {

inline constexpr std::uint64_t kMaxBlobWeights = 1U << 20;

std::unique_ptr<Backend> make_backend();

}  // namespace dycl::backends::openvino
