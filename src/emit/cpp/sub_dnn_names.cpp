// SPDX-License-Identifier: Apache-2.0
#include "emit/cpp/sub_dnn_names.h"

#include <set>

#include "emit/cpp/text.h"
#include "package/readable_names.h"

namespace dycl::emit {
namespace {

// After the modules whose weights it holds; after its ops if it holds none: "layers.1 to 7" -> kLayers1To7.
std::string constant_name(const ir::Function& sub_dnn) {
  const std::string name = package::readable_name(sub_dnn);
  return "k" + class_name(identifier(name.empty() ? sub_dnn.name : name));
}

}  // namespace

std::vector<std::string> cpp_sub_dnn_names(const package::PackageProgram& package) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const auto& sub_dnn : package.plan.sub_dnns) {
    const ir::Function* function = package.program.find(sub_dnn.name);
    const std::string base = function ? constant_name(*function) : "k" + class_name(identifier(sub_dnn.name));
    std::string name = base;
    for (int n = 2; !taken.insert(name).second; ++n) name = base + "_" + std::to_string(n);
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace dycl::emit
