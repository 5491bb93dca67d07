// SPDX-License-Identifier: Apache-2.0
#include "package/readable_names.h"

#include <algorithm>
#include <set>
#include <utility>

#include "ir/host_ops.h"

namespace dycl::package {
namespace {

using Path = std::vector<std::string>;

// The modules that hold the weights of a sub-DNN: "layers.0.conv1.weight" -> {layers, 0, conv1}.
std::vector<Path> module_paths(const ir::Function& sub_dnn) {
  std::vector<Path> paths;
  for (const ir::Op& op : sub_dnn.blocks[0].body) {
    const auto* name = op.name == "weight" ? ir::attr_as<std::string>(op, "name") : nullptr;
    if (!name) continue;
    Path path = {""};
    for (const char c : *name) {
      if (c == '.')
        path.emplace_back();
      else
        path.back() += c;
    }
    path.pop_back();                                                               // the parameter itself
    if (!path.empty() && path[0] != "constant") paths.push_back(std::move(path));  // folded ones are of no module
  }
  return paths;
}

Path common_part(const std::vector<Path>& paths) {
  Path common = paths[0];
  for (const Path& path : paths)
    common.erase(std::mismatch(common.begin(), common.end(), path.begin(), path.end()).first, common.end());
  return common;
}

// The innermost module that all lie in: "layers.0"; of a list of modules the first and the last: "layers.1 to 7".
std::string module_name(const std::vector<Path>& paths) {
  const Path common = common_part(paths);
  std::string name;
  for (const std::string& part : common) name += (name.empty() ? "" : ".") + part;
  const auto is_in_list = [&](const Path& path) {
    return path.size() > common.size() && !path[common.size()].empty() &&
           path[common.size()].find_first_not_of("0123456789") == std::string::npos;
  };
  if (!std::all_of(paths.begin(), paths.end(), is_in_list)) return name;
  return name + "." + paths.front()[common.size()] + " to " + paths.back()[common.size()];
}

// By outermost module, in the order of their use.
std::vector<std::string> modules_of(const ir::Function& sub_dnn) {
  std::vector<std::pair<std::string, std::vector<Path>>> groups;  // by outermost module
  for (Path& path : module_paths(sub_dnn)) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == path[0]; });
    if (group == groups.end()) group = groups.insert(groups.end(), {path[0], {}});
    group->second.push_back(std::move(path));
  }
  std::vector<std::string> names;
  names.reserve(groups.size());
  for (const auto& [outermost, paths] : groups) names.push_back(module_name(paths));
  return names;
}

// Ops that compute, in order; those that only arrange elements where there are no others.
std::vector<std::string> ops_of(const ir::Function& sub_dnn) {
  static const std::set<std::string> arranges = {"Cast",  "Expand", "Flatten", "Identity",  "Reshape",
                                                 "Shape", "Slice",  "Squeeze", "Transpose", "Unsqueeze"};
  std::vector<std::string> computing, arranging;
  for (const ir::Op& op : sub_dnn.blocks[0].body) {
    if (op.name == "const" || op.name == "weight") continue;
    std::vector<std::string>& names = arranges.contains(op.name) ? arranging : computing;
    if (names.empty() || names.back() != op.name) names.push_back(op.name);
  }
  return computing.empty() ? arranging : computing;
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

ir::ValueId condition_of(const ir::Block& block) {
  if (const auto* branch = std::get_if<ir::Branch>(&block.exit)) return branch->condition;
  if (const auto* choice = std::get_if<ir::Switch>(&block.exit)) return choice->selector;
  return {};
}

}  // namespace

std::string readable_name(const ir::Function& sub_dnn) {
  if (sub_dnn.blocks.empty()) return {};
  std::vector<std::string> names = modules_of(sub_dnn);
  if (names.empty()) names = ops_of(sub_dnn);
  if (names.empty()) return {};
  if (names.size() == 1) return names[0];
  return names.front() + (names.size() == 2 ? " and " : " to ") + names.back();
}

std::vector<std::string> readable_names(const ir::Program& program, const std::vector<std::string>& sub_dnns) {
  const ir::FunctionIndex functions(program);
  std::vector<std::string> names;
  std::set<std::string> taken;
  std::unordered_map<std::string, int> last;  // number that a name was given
  for (const std::string& sub_dnn : sub_dnns) {
    const ir::Function* function = functions.find(sub_dnn);
    std::string base = function ? readable_name(*function) : std::string();
    if (base.empty()) base = sub_dnn;
    std::string name = base;
    for (int& n = last.try_emplace(base, 1).first->second; !taken.insert(name).second;)
      name = base + " #" + std::to_string(++n);
    names.push_back(std::move(name));
  }
  return names;
}

DecisionOrigins::DecisionOrigins(const ir::Function& main, std::unordered_map<std::string, std::string> names)
    : main_(main), names_(std::move(names)), definitions_(main.values.size()) {
  for (const ir::Block& block : main.blocks)
    for (const ir::Op& op : block.body)
      for (const ir::ValueId result : op.results) definitions_[result.index] = &op;
}

std::string DecisionOrigins::of(const ir::Block& block) const {
  std::vector<std::string> found;
  std::set<ir::ValueId> seen;
  std::vector<ir::ValueId> open = {condition_of(block)};
  while (!open.empty()) {
    const ir::ValueId value = open.back();
    open.pop_back();
    if (!value.present() || !seen.insert(value).second) continue;
    const ir::Op* op = definitions_[value.index];
    if (!op) {
      add_once(found, main_.values[value.index].hint);
    } else if (op->name == "call" || op->name == "host_call") {
      const auto* callee = ir::attr_as<std::string>(*op, op->name == "call" ? "callee" : "name");
      const auto known = names_.find(*callee);
      add_once(found, known == names_.end() ? *callee : known->second);
    } else {
      open.insert(open.end(), op->operands.begin(), op->operands.end());
    }
  }
  std::string text;
  for (const std::string& name : found) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace dycl::package
