// SPDX-License-Identifier: Apache-2.0
// The text of a symbolic extent ("(N+1)//2") to the postfix program that packages store.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace dycl::package {

using SymbolIndices = std::map<std::string, std::uint32_t, std::less<>>;

// Knows the grammar of ir/dim.h: + - * // % max(a,b) min(a,b), parentheses, integers, symbols.
Result<std::vector<std::int64_t>> lower_dim(std::string_view text, const SymbolIndices& symbols);

}  // namespace dycl::package
