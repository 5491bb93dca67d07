// SPDX-License-Identifier: Apache-2.0
#include "passes/identity_outputs.h"

#include <unordered_map>

#include "passes/definitions.h"
#include "passes/substitution.h"

namespace dycl::passes {
namespace {

// Where each result of a sub-DNN can be read instead: parameter `param`, or an
// earlier result `result`.
struct Source {
  int param = -1;
  int result = -1;
};

std::vector<Source> sources_of(const ir::Function& sub_dnn) {
  std::vector<ir::ValueId> origin(sub_dnn.values.size());
  for (std::uint32_t i = 0; i < origin.size(); ++i) origin[i] = {i};
  for (const ir::Op& op : sub_dnn.blocks[0].body)
    if (op.name == "Identity") origin[op.results[0].index] = origin[op.operands[0].index];
  std::vector<int> param_at(sub_dnn.values.size(), -1), result_at(sub_dnn.values.size(), -1);
  for (std::size_t i = 0; i < sub_dnn.params.size(); ++i) param_at[sub_dnn.params[i].value.index] = static_cast<int>(i);
  std::vector<Source> sources;
  for (const ir::ValueId value : std::get<ir::Return>(sub_dnn.blocks[0].exit).values) {
    const std::uint32_t from = origin[value.index].index;
    const Source source{param_at[from], param_at[from] < 0 ? result_at[from] : -1};
    if (result_at[from] < 0) result_at[from] = static_cast<int>(sources.size());
    sources.push_back(source);
  }
  return sources;
}

int read_around(ir::Function& function, const std::unordered_map<std::string, std::vector<Source>>& sources) {
  Substitution reads_as(function);
  const std::vector<bool> used = used_values(function);
  int changed = 0;
  for (ir::Block& block : function.blocks)
    for (ir::Op& op : block.body) {
      if (op.name != "call") continue;
      const auto it = sources.find(std::get<std::string>(op.attrs.at("callee")));
      if (it == sources.end()) continue;
      for (std::size_t i = 0; i < op.results.size(); ++i) {
        const Source from = it->second[i];
        if (!used[op.results[i].index] || (from.param < 0 && from.result < 0)) continue;
        const ir::ValueId other = from.param >= 0 ? op.operands[static_cast<std::size_t>(from.param)]
                                                  : op.results[static_cast<std::size_t>(from.result)];
        if (!fits(function.type_of(other), function.type_of(op.results[i]))) continue;
        reads_as.replace(op.results[i], other);
        ++changed;
      }
    }
  if (changed != 0) reads_as.apply(function);
  return changed;
}

}  // namespace

int identity_outputs(ir::Program& program) {
  std::unordered_map<std::string, std::vector<Source>> sources;
  for (const ir::Function& function : program.functions)
    if (function.kind == ir::FunctionKind::SubDnn) sources.emplace(function.name, sources_of(function));
  int changed = 0;
  for (ir::Function& function : program.functions)
    if (function.kind == ir::FunctionKind::Host) changed += read_around(function, sources);
  return changed;
}

}  // namespace dycl::passes
