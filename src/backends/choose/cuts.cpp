// SPDX-License-Identifier: Apache-2.0
#include "backends/choose/cuts.h"

#include <algorithm>
#include <vector>

#include "backends/backend.h"
#include "passes/split_sub_dnn.h"

namespace dycl::backends {
namespace {

constexpr double kWorthACut = 2e6;  // multiply-adds: about 50 us

std::vector<std::string> sub_dnns_of(const ir::Program& program) {
  std::vector<std::string> names;
  for (const ir::Function& function : program.functions)
    if (function.kind == ir::FunctionKind::SubDnn) names.push_back(function.name);
  return names;
}

// What follows the last convolution of a sub-DNN (products of few rows, other layouts) is work of another kind, which
// another engine may do better: where it is much, it is cut off.
void cut_tails(ir::Program& program, const std::set<std::string>& whole, Origins& origins) {
  constexpr double kWorthATail = 0.005;  // of what is before
  for (const std::string& name : sub_dnns_of(program)) {
    const ir::Function& function = *program.find(name);
    const auto& body = function.blocks[0].body;
    std::vector<bool> late(body.size());
    for (std::size_t i = body.size(); i > 0 && body[i - 1].name != "Conv"; --i) late[i - 1] = true;
    if (whole.count(name) || (!late.empty() && late.front())) continue;
    const passes::SplitWork work = passes::work_of_split(function, late);
    if (work.early >= kWorthACut && work.late >= std::max(kWorthACut, kWorthATail * work.early))
      passes::split_sub_dnn(program, name, late);
    for (const ir::Function& part : program.functions) origins.try_emplace(part.name, origins.at(name));
  }
}

}  // namespace

Origins cut_for_engines(ir::Program& program, const std::set<std::string>& whole) {
  constexpr double kSmallRest = 0.1;
  Origins origins;
  for (const ir::Function& function : program.functions) origins[function.name] = function.name;
  cut_tails(program, whole, origins);
  for (const std::string& name : backend_names()) {
    const auto backend = find_backend(name);
    if (!backend || !(*backend)->engine()) continue;
    for (const std::string& sub_dnn : sub_dnns_of(program)) {
      const ir::Function& function = *program.find(sub_dnn);
      const auto& body = function.blocks[0].body;
      std::vector<bool> late(body.size());
      bool cuts = false;
      for (const Refusal& refusal : (*backend)->refuse(program, function)) {
        cuts = refusal.op != nullptr;
        if (!cuts) break;
        late[static_cast<std::size_t>(refusal.op - body.data())] = true;
      }
      if (!cuts || whole.count(origins.at(sub_dnn))) continue;
      const passes::SplitWork work = passes::work_of_split(function, late);
      if (work.early >= kWorthACut && work.late <= kSmallRest * work.early)
        passes::split_sub_dnn(program, sub_dnn, late);
      for (const ir::Function& part : program.functions) origins.try_emplace(part.name, origins.at(sub_dnn));
    }
  }
  return origins;
}

void undo_cuts(ir::Program& program, const Origins& origins, Assignment& assignment) {
  std::map<std::string, std::set<std::string>> engines;  // of each sub-DNN's parts
  for (const auto& [part, backend] : assignment) engines[origins.at(part)].insert(backend);
  std::set<std::string> whole;
  for (const auto& [sub_dnn, names] : engines)
    if (names.size() == 1) whole.insert(sub_dnn);
  cut_for_engines(program, whole);
  std::erase_if(assignment, [&](const auto& one) { return !program.find(one.first); });
}

}  // namespace dycl::backends
