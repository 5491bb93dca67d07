// SPDX-License-Identifier: Apache-2.0
#include "driver/retarget.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "backends/assign.h"
#include "backends/backend.h"
#include "backends/cache.h"
#include "ir/parse.h"
#include "ir/verify.h"
#include "package/package_writer.h"
#include "runtime/container.h"
#include "runtime/plan.h"

namespace dycl::driver {
namespace {

namespace section = runtime::section;

Error damaged(const std::string& what) { return {ErrorKind::InvalidPackage, "damaged package: " + what, {}, {}, {}}; }

struct Package {
  std::shared_ptr<const runtime::Container> container;
  runtime::Plan plan;
  std::vector<runtime::PlanWeight> weights;
  runtime::DebugInfo debug;
};

Result<Package> open(const std::filesystem::path& path) {
  DYCL_ASSIGN(auto container, runtime::Container::open(path));
  for (const runtime::Section& s : container.sections()) DYCL_TRY(container.checked(s.name));
  DYCL_ASSIGN(const auto plan_bytes, container.checked(section::kPlan));
  DYCL_ASSIGN(auto plan, runtime::read_plan(plan_bytes));
  DYCL_ASSIGN(const auto index_bytes, container.checked(section::kWeightIndex));
  DYCL_ASSIGN(auto weights, runtime::read_weight_index(index_bytes));
  DYCL_ASSIGN(const auto weight_bytes, container.checked(section::kWeights));
  DYCL_TRY(runtime::check_weight_index(weights, weight_bytes.size()));
  DYCL_ASSIGN(const auto artifacts, container.checked(section::kArtifacts));
  DYCL_TRY(runtime::check_plan(plan, weights, artifacts.size()));
  runtime::DebugInfo debug;
  if (container.find(section::kDebug)) {
    DYCL_ASSIGN(const auto bytes, container.checked(section::kDebug));
    DYCL_ASSIGN(debug, runtime::read_debug_info(bytes));
  }
  if (debug.hcfg_text.empty())
    return Error{ErrorKind::Missing,
                 path.string() + " does not hold its program after the passes",
                 "it was stripped or is from an older version; compile it again from its source",
                 {},
                 {}};
  return Package{std::make_shared<runtime::Container>(std::move(container)), std::move(plan), std::move(weights),
                 std::move(debug)};
}

ir::Type type_of(const runtime::PlanWeight& weight) {
  std::vector<ir::Dim> dims;
  for (const std::int64_t dim : weight.shape) dims.push_back(ir::Dim::of(dim));
  return ir::Type::tensor(weight.dtype, std::move(dims));
}

// The program after the passes, with the weights that the package stores.
Result<ir::Program> program_of(const Package& package) {
  auto program = ir::parse(package.debug.hcfg_text, "the package's program", {.spans_from_text = false});
  if (!program) return damaged("section debug: " + program.error().message);
  if (const auto errors = ir::verify(*program); !errors.empty())
    return damaged("section debug: " + errors.front().message);
  const auto bytes = package.container->find(section::kWeights)->bytes;
  for (const runtime::PlanWeight& weight : package.weights) {
    const ir::Type type = type_of(weight);
    const auto declared = program->weights.find(weight.name);
    if (declared != program->weights.end() && declared->second.type != type)
      return damaged("weight @" + weight.name + " has another type in its program");
    program->weights[weight.name] = {type, {package.container, bytes.data() + weight.offset, weight.size}};
  }
  return program;
}

Result<std::vector<backends::SubDnnArtifacts>> artifacts_of(const Package& package, const ir::Program& program) {
  const auto bytes = package.container->find(section::kArtifacts)->bytes;
  std::vector<backends::SubDnnArtifacts> all;
  for (const runtime::PlanSubDnn& sub_dnn : package.plan.sub_dnns) {
    const ir::Function* function = program.find(sub_dnn.name);
    if (!function || function->kind != ir::FunctionKind::SubDnn)
      return damaged("its program has no sub-DNN @" + sub_dnn.name);
    backends::SubDnnArtifacts made{sub_dnn.name, {}};
    for (const runtime::PlanArtifact& a : sub_dnn.artifacts) {
      backends::Artifact artifact;
      artifact.backend = a.backend;
      artifact.target = a.target;
      const auto piece = bytes.subspan(a.offset, a.size);
      artifact.bytes.assign(piece.begin(), piece.end());
      for (const std::uint32_t weight : a.weights) artifact.weights.push_back(package.weights[weight].name);
      artifact.input_layouts = a.input_layouts;
      artifact.output_layouts = a.output_layouts;
      made.artifacts.push_back(std::move(artifact));
    }
    all.push_back(std::move(made));
  }
  return all;
}

// Each sub-DNN stays with the engine that its portable form is for. An Error if one is not installed here.
Result<backends::Assignment> assignment_of(const std::vector<backends::SubDnnArtifacts>& artifacts) {
  backends::Assignment assignment;
  std::set<std::string> engines;
  for (const auto& sub_dnn : artifacts)
    for (const auto& artifact : sub_dnn.artifacts)
      if (artifact.target == backends::kPortableTarget) assignment[sub_dnn.function] = artifact.backend;
  for (const auto& [function, name] : assignment) {
    if (!engines.insert(name).second) continue;
    DYCL_ASSIGN(const auto backend, backends::find_backend(name));
    DYCL_TRY(backend->engine());
  }
  return assignment;
}

// Some engines make code for one CPU alone (TVM's kernels): the portable form is another's, and so is what is made from
// it here. Said, because the program will be another one; refused where it would take the place of such code that fits.
Result<void> tell_of_others(const std::vector<backends::SubDnnArtifacts>& artifacts,
                            const backends::Assignment& assignment, const std::filesystem::path& package,
                            CompileReport& report) {
  std::map<std::string, int> moved;
  for (const auto& sub_dnn : artifacts)
    for (const auto& artifact : sub_dnn.artifacts) {
      const std::string& stays = assignment.at(sub_dnn.function);
      if (artifact.target == backends::kPortableTarget || artifact.backend == stays) continue;
      const auto backend = backends::find_backend(artifact.backend);
      const auto engine = backend ? (*backend)->engine() : Result<std::string>(backend.error());
      if (engine && (" & " + artifact.target + " & ").find(" & " + *engine + " & ") != std::string::npos)
        return Error{ErrorKind::Unsupported,
                     package.string() + " has " + artifact.backend + "'s code for this machine already",
                     "use it as it is; to change it, compile again from the source",
                     {},
                     {}};
      ++moved[artifact.backend];
      break;
    }
  for (const auto& [name, count] : moved)
    report.notices.push_back(
        std::to_string(count) + " sub-DNNs were compiled by " + name +
        " for another machine; for this one they go to the engine of their portable form. To use " + name +
        " here, compile again from the source");
  return {};
}

// The new artifacts first, then those for other machines, portable ones last.
void add_kept(std::vector<backends::SubDnnArtifacts>& made, const std::vector<backends::SubDnnArtifacts>& before) {
  std::set<std::string> targets;
  for (const auto& sub_dnn : made)
    for (const auto& artifact : sub_dnn.artifacts) targets.insert(artifact.target);
  std::map<std::string, const backends::SubDnnArtifacts*> by_name;
  for (const auto& sub_dnn : before) by_name.emplace(sub_dnn.function, &sub_dnn);
  for (auto& sub_dnn : made) {
    const auto old = by_name.find(sub_dnn.function);
    if (old == by_name.end()) continue;
    auto& list = sub_dnn.artifacts;
    auto place =
        std::find_if(list.begin(), list.end(), [](const auto& a) { return a.target == backends::kPortableTarget; });
    for (const auto& artifact : old->second->artifacts)
      if (!targets.contains(artifact.target)) place = list.insert(place, artifact) + 1;
  }
}

// Files with the lines that the package keeps, and nothing on the others.
std::map<std::string, std::string> source_texts(const runtime::DebugInfo& debug) {
  std::map<std::string, std::string> texts;
  std::map<std::string, std::uint32_t> next;
  for (const runtime::PlanSourceLine& line : debug.lines) {
    if (line.file >= debug.sources.size()) continue;
    const std::string& name = debug.sources[line.file];
    std::uint32_t& at = next.try_emplace(name, 1).first->second;
    constexpr std::uint32_t kMostLines = 1'000'000;
    if (line.line < at || line.line > kMostLines) continue;
    texts[name] += std::string(line.line - at, '\n') + line.text + "\n";
    at = line.line + 1;
  }
  return texts;
}

}  // namespace

Result<CompileReport> retarget(const std::filesystem::path& path, const CompileOptions& options) {
  CompileReport report;
  DYCL_ASSIGN(const Package package, open(path));
  DYCL_ASSIGN(ir::Program program, program_of(package));
  DYCL_ASSIGN(const auto before, artifacts_of(package, program));
  DYCL_ASSIGN(auto assignment, assignment_of(before));
  DYCL_TRY(tell_of_others(before, assignment, path, report));
  count(program, report);

  backends::BackendOptions engine;
  engine.portable = &before;
  engine.engine_seconds = &report.engine_seconds;
  engine.engine_calls = &report.engine_calls;
  const auto cache = options.use_cache ? backends::Cache::of_user() : std::nullopt;
  engine.cache = cache ? &*cache : nullptr;
  engine.notice = [&](std::string_view text) { report.notices.emplace_back(text); };
  engine.jobs = options.jobs;
  if (options.progress) options.progress("back end");
  const auto start = std::chrono::steady_clock::now();
  DYCL_ASSIGN(auto artifacts, backends::compile_assigned(program, assignment, engine));
  add_kept(artifacts, before);
  report.stages.push_back(
      {"back end", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()});
  for (const auto& sub_dnn : artifacts) report.artifacts += sub_dnn.artifacts.size();
  for (const auto& [function, backend] : assignment) ++report.engines[backend];
  report.weights = program.weights.size();

  package::PackageOptions written;
  written.producer = "dycl " DYCL_VERSION;
  written.debug_info = options.debug_info;
  written.ir_text = package.debug.ir_text;
  written.source_texts = source_texts(package.debug);
  if (options.progress) options.progress("package");
  DYCL_TRY(package::write_package(program, artifacts, written, options.output));
  std::error_code ignored;
  report.package_bytes = std::filesystem::file_size(options.output, ignored);
  return report;
}

}  // namespace dycl::driver
