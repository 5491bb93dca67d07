// SPDX-License-Identifier: Apache-2.0
#include "driver/compile.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <set>

#include "backends/assign.h"
#include "backends/backend.h"
#include "backends/cache.h"
#include "backends/choose/remembered_choice.h"
#include "dycl/runtime.h"
#include "ir/print.h"
#include "package/package_writer.h"
#include "passes/pipeline.h"
#include "support/files.h"
#include "support/threads.h"

namespace dycl::driver {
namespace {

// Announces stages and writes down how long each took.
class Stages {
 public:
  Stages(const CompileOptions& options, CompileReport& report) : options_(options), report_(report) {}

  template <typename Work>
  auto run(const char* name, Work&& work) {
    if (options_.progress) options_.progress(name);
    const auto start = std::chrono::steady_clock::now();
    auto result = work();
    report_.stages.push_back({name, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()});
    return result;
  }

 private:
  const CompileOptions& options_;
  CompileReport& report_;
};

// Writes <number>_<pass>.dyir files; remembers the first failure, because a pass can't report one.
struct Dump {
  std::filesystem::path folder;
  int number = 0;
  Result<void> done = {};

  void write(std::string_view pass, const ir::Program& program) {
    char prefix[16];
    std::snprintf(prefix, sizeof prefix, "%02d_", number++);
    const auto path = folder / (prefix + std::string(pass) + ".dyir");
    if (done) done = write_file(path, ir::print(program));
  }
};

Result<void> run_passes(ir::Program& program, const CompileOptions& options, CompileReport& report) {
  passes::PipelineOptions pipeline;
  pipeline.skip = options.skip_passes;
  Dump dump{options.dump_folder};
  if (!options.dump_folder.empty()) {
    DYCL_TRY(make_folder(options.dump_folder));
    dump.write("input", program);
    pipeline.dump = [&](std::string_view pass, const ir::Program& p) { dump.write(pass, p); };
  }
  DYCL_ASSIGN(report.passes, passes::run_pipeline(program, pipeline));
  return dump.done;
}

// Ops whose kernels may refuse when they are made what the engine took while it compiled: quantised ones, which pack
// their weights, and those of an engine's own domain.
bool may_fail_to_load(const ir::Op& op) {
  static const std::set<std::string_view> kQuantised = {"ConvInteger",      "DequantizeLinear", "DynamicQuantizeLinear",
                                                        "MatMulInteger",    "QLinearConv",      "QLinearMatMul",
                                                        "QuantizeLinear"};
  return kQuantised.contains(op.name) || op.name.starts_with("com.microsoft.");
}

bool has_op(const ir::Program& program, const std::function<bool(const ir::Op&)>& wanted) {
  for (const ir::Function& function : program.functions)
    for (const ir::Block& block : function.blocks)
      if (std::any_of(block.body.begin(), block.body.end(), wanted)) return true;
  return false;
}

// Loads a package as a program that is about to run would.
Result<void> try_to_load(const std::filesystem::path& path, const CompileOptions& options) {
  runtime::LoadOptions load;
  load.threads = 1;
  load.allow_native_code = true;  // made in this process
  load.plugin_folders = options.plugin_folders;
  load.notice = [](std::string_view) {};
  const auto loaded = runtime::Program::load(path, std::move(load));
  if (loaded || loaded.error().kind == ErrorKind::Missing) return {};  // no plug-in here: nothing is known
  return Error{ErrorKind::Unsupported,
               "the package was compiled but cannot be loaded, so it is not written: " + loaded.error().message,
               "please report the model",
               {},
               {}};
}

constexpr const char* kAuto = "auto";

Result<void> check_tuning(const CompileOptions& options, const backends::Backend& backend) {
  if (options.tune <= 0 || options.backend == kAuto || backend.can_tune()) return {};
  return Error{ErrorKind::InvalidInput,
               "the back end '" + options.backend + "' has nothing to tune",
               "choose another one (tvm, auto) or leave tuning out",
               {},
               {}};
}

}  // namespace

void count(const ir::Program& program, CompileReport& report) {
  for (const ir::Function& function : program.functions) {
    if (function.kind == ir::FunctionKind::SubDnn) ++report.sub_dnns;
    for (const ir::Block& block : function.blocks) {
      report.ops += block.body.size();
      if (function.kind != ir::FunctionKind::Host) continue;
      ++report.blocks;
      for (const ir::Op& op : block.body) report.calls += op.name == "call";
    }
  }
}

Result<CompileReport> compile(ir::Program program, const CompileOptions& options) {
  CompileReport report;
  Stages stages(options, report);
  if (options.output.empty()) return Error{ErrorKind::InvalidInput, "no output path for the package", {}, {}, {}};
  DYCL_TRY(check_threads(options.threads));
  DYCL_ASSIGN(const auto known,
              backends::find_backend(options.backend == kAuto ? backends::kDefaultEngine : options.backend));
  DYCL_TRY(known->engine());
  DYCL_TRY(check_tuning(options, *known));

  package::PackageOptions package;
  package.producer = "dycl " DYCL_VERSION;
  package.debug_info = options.debug_info;
  package.source_texts = options.source_texts;
  if (options.debug_info) package.ir_text = ir::print(program);

  DYCL_TRY(stages.run("passes", [&] { return run_passes(program, options, report); }));
  count(program, report);

  backends::BackendOptions engine;
  engine.portable_only = options.portable_only;
  engine.engine_seconds = &report.engine_seconds;
  engine.engine_calls = &report.engine_calls;
  const auto cache = options.use_cache ? backends::Cache::of_user() : std::nullopt;
  engine.cache = cache ? &*cache : nullptr;
  engine.notice = [&](std::string_view text) { report.notices.emplace_back(text); };
  engine.jobs = options.jobs;
  engine.plugin_folders = options.plugin_folders;
  engine.progress = options.progress;
  DYCL_ASSIGN(auto assignment, stages.run("choose engines", [&] {
    return options.backend == kAuto
               ? backends::assign_by_measuring(program, engine, {options.threads, options.budget, options.tune})
               : backends::assign_all(program, options.backend, engine);
  }));
  engine.tune = options.backend == kAuto ? 0 : options.tune;  // auto has tuned before it measured
  DYCL_ASSIGN(const auto artifacts,
              stages.run("back end", [&] { return backends::compile_assigned(program, assignment, engine); }));
  for (const auto& sub_dnn : artifacts) report.artifacts += sub_dnn.artifacts.size();
  for (const auto& [function, backend] : assignment) ++report.engines[backend];
  report.weights = program.weights.size();

  const auto calls_host = [](const ir::Op& op) { return op.name == "host_call"; };  // of functions that are not here
  if (has_op(program, may_fail_to_load) && !has_op(program, calls_host))
    package.check = [&](const std::filesystem::path& path) { return try_to_load(path, options); };
  DYCL_TRY(stages.run("package", [&] { return package::write_package(program, artifacts, package, options.output); }));
  std::error_code ignored;
  report.package_bytes = std::filesystem::file_size(options.output, ignored);
  return report;
}

}  // namespace dycl::driver
