// SPDX-License-Identifier: Apache-2.0
// Only bytes of weights that have another's type and size are looked at: a large weight of its own is not read.
#include "passes/share_weights.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/type.h"

namespace dycl::passes {
namespace {

using Entry = std::map<std::string, ir::Weight>::const_iterator;

std::string_view text_of(const ir::Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data), bytes.size};
}

// {name: the first name of the same weight}, of those that have an earlier one.
std::map<std::string, std::string> twins(const ir::Program& program) {
  std::map<std::string, std::vector<Entry>> alike;  // by type
  for (Entry it = program.weights.begin(); it != program.weights.end(); ++it)
    if (it->second.bytes.data) alike[ir::to_string(it->second.type)].push_back(it);
  std::map<std::string, std::string> first_names;
  for (const auto& [type, entries] : alike) {
    if (entries.size() < 2) continue;
    std::unordered_map<std::size_t, std::vector<Entry>> seen;  // by hash
    for (const Entry& entry : entries) {
      const std::string_view bytes = text_of(entry->second.bytes);
      std::vector<Entry>& candidates = seen[std::hash<std::string_view>()(bytes)];
      const auto same = [&](const Entry& other) { return text_of(other->second.bytes) == bytes; };
      const auto found = std::find_if(candidates.begin(), candidates.end(), same);
      if (found != candidates.end())
        first_names[entry->first] = (*found)->first;
      else
        candidates.push_back(entry);
    }
  }
  return first_names;
}

}  // namespace

int share_weights(ir::Program& program) {
  const auto first_names = twins(program);
  int changes = 0;
  if (first_names.empty()) return changes;
  for (ir::Function& function : program.functions)
    for (ir::Block& block : function.blocks)
      for (ir::Op& op : block.body) {
        if (op.name != "weight") continue;
        const auto found = first_names.find(std::get<std::string>(*op.attr("name")));
        if (found == first_names.end()) continue;
        op.attrs["name"] = found->second;
        ++changes;
      }
  return changes;
}

}  // namespace dycl::passes
