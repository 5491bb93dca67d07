// SPDX-License-Identifier: Apache-2.0
#include "package/read_program.h"

#include <algorithm>

#include "ir/parse.h"
#include "ir/verify.h"

namespace dycl::package {
namespace {

namespace section = runtime::section;

Error damaged(const std::string& what) { return {ErrorKind::InvalidPackage, "damaged package: " + what, {}, {}, {}}; }

Result<void> attach_weights(PackageProgram& package) {
  DYCL_ASSIGN(const auto bytes, package.container->checked(section::kWeights));
  DYCL_TRY(runtime::check_weight_index(package.weights, bytes.size()));
  for (const runtime::PlanWeight& weight : package.weights) {
    std::vector<ir::Dim> dims;
    for (const std::int64_t dim : weight.shape) dims.push_back(ir::Dim::of(dim));
    const ir::Type type = ir::Type::tensor(weight.dtype, std::move(dims));
    const auto declared = package.program.weights.find(weight.name);
    if (declared != package.program.weights.end() && declared->second.type != type)
      return damaged("weight @" + weight.name + " has another type in its program");
    package.program.weights[weight.name] = {type, {package.container, bytes.data() + weight.offset, weight.size}};
  }
  return {};
}

}  // namespace

std::string PackageProgram::line(const SourceSpan& span) const {
  if (!span.known()) return {};
  for (const runtime::PlanSourceLine& l : debug.lines) {
    if (l.file != span.file || l.line != span.line) continue;
    const auto begin = l.text.find_first_not_of(" \t");
    if (begin == std::string::npos) return {};
    return l.text.substr(begin, l.text.find_last_not_of(" \t\r\n") - begin + 1);
  }
  return {};
}

Result<PackageProgram> read_package_program(const std::filesystem::path& path) {
  PackageProgram package;
  DYCL_ASSIGN(auto container, runtime::Container::open(path));
  package.container = std::make_shared<const runtime::Container>(std::move(container));
  DYCL_ASSIGN(const auto index, package.container->checked(section::kWeightIndex));
  DYCL_ASSIGN(package.weights, runtime::read_weight_index(index));
  DYCL_ASSIGN(const auto plan, package.container->checked(section::kPlan));
  DYCL_ASSIGN(package.plan, runtime::read_plan(plan));
  DYCL_ASSIGN(const auto artifacts, package.container->checked(section::kArtifacts));
  DYCL_TRY(runtime::check_plan(package.plan, package.weights, artifacts.size()));
  if (package.container->find(section::kDebug)) {
    DYCL_ASSIGN(const auto bytes, package.container->checked(section::kDebug));
    DYCL_ASSIGN(package.debug, runtime::read_debug_info(bytes));
  }
  if (package.debug.hcfg_text.empty()) {
    return Error{ErrorKind::Missing,
                 path.string() + " does not hold its program",
                 "it was stripped or is from an older version; compile it again from its source",
                 {},
                 {}};
  }
  auto program = ir::parse(package.debug.hcfg_text, "the package's program", {.spans_from_text = false});
  if (!program) return damaged("section debug: " + program.error().message);
  if (const auto errors = ir::verify(*program); !errors.empty())
    return damaged("section debug: " + errors.front().message);
  package.program = std::move(*program);
  DYCL_TRY(attach_weights(package));
  return package;
}

}  // namespace dycl::package
