// SPDX-License-Identifier: Apache-2.0
#include "emit/cpp/sub_dnn_names.h"

#include <algorithm>
#include <set>
#include <utility>

#include "emit/cpp/text.h"
#include "ir/host_ops.h"

namespace dycl::emit {
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

// The innermost module that all lie in: "layers_0"; of a list of modules the first and the last: "layers_1_to_7".
std::string module_name(const std::vector<Path>& paths) {
  const Path common = common_part(paths);
  std::string name;
  for (const std::string& part : common) name += (name.empty() ? "" : "_") + part;
  const auto is_in_list = [&](const Path& path) {
    return path.size() > common.size() && !path[common.size()].empty() &&
           path[common.size()].find_first_not_of("0123456789") == std::string::npos;
  };
  if (!std::all_of(paths.begin(), paths.end(), is_in_list)) return name;
  return name + "_" + paths.front()[common.size()] + "_to_" + paths.back()[common.size()];
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

// After the modules whose weights it holds; after its ops if it holds none.
std::string constant_name(const ir::Function& sub_dnn) {
  std::vector<std::string> names = modules_of(sub_dnn);
  if (names.empty()) names = ops_of(sub_dnn);
  const auto part = [](const std::string& name) { return class_name(identifier(name)); };
  if (names.empty()) return "k" + part(sub_dnn.name);
  if (names.size() == 1) return "k" + part(names[0]);
  return "k" + part(names.front()) + (names.size() == 2 ? "And" : "To") + part(names.back());
}

}  // namespace

std::vector<std::string> cpp_sub_dnn_names(const package::PackageProgram& package) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const auto& sub_dnn : package.plan.sub_dnns) {
    const ir::Function* function = package.program.find(sub_dnn.name);
    const std::string base =
        function && !function->blocks.empty() ? constant_name(*function) : "k" + class_name(identifier(sub_dnn.name));
    std::string name = base;
    for (int n = 2; !taken.insert(name).second; ++n) name = base + "_" + std::to_string(n);
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace dycl::emit
