// SPDX-License-Identifier: Apache-2.0
#include "support/parse_json.h"

namespace dycl {

bool nests_within(std::string_view json, std::size_t depth) {
  std::size_t open = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') in_text = !in_text;
    if (c == '\\' && in_text) ++i;
    if (in_text) continue;
    if ((c == '[' || c == '{') && ++open > depth) return false;
    if ((c == ']' || c == '}') && open > 0) --open;
  }
  return true;
}

}  // namespace dycl
