// SPDX-License-Identifier: Apache-2.0
// JSON that a package holds. The library walks values by recursion (to copy, to print), so how deep a stranger's may nest
// is bounded before it is parsed.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

namespace dycl {

// Whether arrays and objects nest at most so deep.
bool nests_within(std::string_view json, std::size_t depth);

// A discarded value if it is no JSON or nests deeper.
template <typename Json>
Json parse_json(std::string_view text, std::size_t depth) {
  if (!nests_within(text, depth)) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

// Templates of results have at most 100 levels, of three arrays each.
inline constexpr std::size_t kInterfaceDepth = 1000;
inline constexpr std::size_t kMetadataDepth = 64;  // of the section, where the interface is a text

}  // namespace dycl
