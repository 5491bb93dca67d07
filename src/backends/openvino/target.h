// SPDX-License-Identifier: Apache-2.0
// The key of compiled blobs: engine version and the CPU's features, both equal to this
// machine's or the portable form is taken.
//
//   openvino-2026.4.1/x86_64/avx+fma+avx2
#pragma once

#include <string>

#include "backends/cpu.h"

namespace dycl::backends::openvino {

inline std::string target_key(const std::string& engine_version) {
  return "openvino-" + engine_version + "/" + cpu_features();
}

}  // namespace dycl::backends::openvino
