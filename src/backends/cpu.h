// SPDX-License-Identifier: Apache-2.0
// This machine's processor as a word: what code that was made for one processor must
// find on another to run right. Part of the keys of CPU-specific artifacts.
//
//   x86_64/avx+fma+avx2+avx512f+avx512core
#pragma once

#include <string>

namespace dycl::backends {

std::string cpu_features();

}  // namespace dycl::backends
