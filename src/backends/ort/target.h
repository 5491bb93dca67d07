// SPDX-License-Identifier: Apache-2.0
// The key of CPU-specific artifacts: engine version, instruction set and its features, and the
// block size of blocked layouts. Models that ONNX Runtime optimised for one CPU are
// silently wrong on another, so a key must be equal to this machine's to be accepted.
//
//   ort-1.31.1/x86_64/avx+fma+avx2+avx512f+.../nchwc16
#pragma once

#include <string>

namespace dycl::backends::ort {

struct Target {
  std::string engine_version;
  std::string cpu;        // architecture and features
  int block = 0;          // channels per block of the blocked layout on this CPU; 0: there is none
};

Target this_target(const std::string& engine_version);
std::string to_string(const Target& target);

}  // namespace dycl::backends::ort
