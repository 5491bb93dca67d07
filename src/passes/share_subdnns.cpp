// SPDX-License-Identifier: Apache-2.0
#include "passes/share_subdnns.h"

#include <unordered_map>

#include "passes/structure.h"

namespace dycl::passes {

int share_subdnns(ir::Program& program) {
  std::unordered_map<std::string, std::string> first;     // structure -> name
  std::unordered_map<std::string, std::string> stand_in;  // name -> name of its twin
  for (const ir::Function& function : program.functions) {
    if (function.kind != ir::FunctionKind::SubDnn) continue;
    const auto [it, is_new] = first.emplace(structure_of(function), function.name);
    if (!is_new) stand_in.emplace(function.name, it->second);
  }
  if (stand_in.empty()) return 0;
  for (ir::Function& function : program.functions)
    for (ir::Block& block : function.blocks)
      for (ir::Op& op : block.body) {
        if (op.name != "call") continue;
        auto& callee = std::get<std::string>(op.attrs.at("callee"));
        if (const auto it = stand_in.find(callee); it != stand_in.end()) callee = it->second;
      }
  return static_cast<int>(
      std::erase_if(program.functions, [&](const ir::Function& function) { return stand_in.contains(function.name); }));
}

}  // namespace dycl::passes
