// SPDX-License-Identifier: Apache-2.0
#include "driver/compile.h"

#include <chrono>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "backends/assign.h"
#include "backends/cache.h"
#include "backends/choose/choose.h"
#include "ir/print.h"
#include "package/package_writer.h"
#include "passes/pipeline.h"
#include "passes/split_sub_dnn.h"

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
  std::string failed;

  void write(std::string_view pass, const ir::Program& program) {
    char prefix[16];
    std::snprintf(prefix, sizeof prefix, "%02d_", number++);
    const auto path = folder / (prefix + std::string(pass) + ".dyir");
    std::ofstream out(path, std::ios::binary);
    out << ir::print(program);
    out.close();
    if (!out && failed.empty()) failed = path.string();
  }
};

Result<void> run_passes(ir::Program& program, const CompileOptions& options, CompileReport& report) {
  passes::PipelineOptions pipeline;
  pipeline.skip = options.skip_passes;
  Dump dump{options.dump_folder, 0, {}};
  if (!options.dump_folder.empty()) {
    std::error_code failure;
    std::filesystem::create_directories(options.dump_folder, failure);
    dump.write("input", program);
    pipeline.dump = [&](std::string_view pass, const ir::Program& p) { dump.write(pass, p); };
  }
  DYCL_ASSIGN(report.passes, passes::run_pipeline(program, pipeline));
  if (!dump.failed.empty()) return Error{ErrorKind::Missing, "cannot write " + dump.failed, {}, {}, {}};
  return {};
}

constexpr const char* kAuto = "auto";

#ifdef DYCL_WITH_ORT
// What auto measured, for `dycl inspect`.
std::string to_json(const backends::AutoReport& report, const CompileOptions& options) {
  nlohmann::json sub_dnns = nlohmann::json::array();
  for (const backends::SubDnnChoice& one : report.sub_dnns) {
    nlohmann::json candidates = nlohmann::json::array();
    for (const backends::Candidate& c : one.candidates) {
      nlohmann::json entry = {{"backend", c.backend}};
      if (c.dropped.empty()) {
        entry["micros"] = c.micros;
        entry["plain_micros"] = c.plain_micros;
      } else {
        entry["dropped"] = c.dropped;
      }
      candidates.push_back(entry);
    }
    sub_dnns.push_back(
        {{"name", one.function}, {"chosen", one.chosen}, {"calls", one.weight}, {"candidates", candidates}});
  }
  return nlohmann::json({{"summary", report.summary},
                         {"threads", options.threads},
                         {"ort_micros", report.ort_micros},
                         {"chosen_micros", report.chosen_micros},
                         {"sub_dnns", sub_dnns}})
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// A choice that was measured before, for the same program, weights, engines and limits.
class KnownChoice {
 public:
  KnownChoice(const ir::Program& program, const CompileOptions& options, const backends::Cache* cache)
      : cache_(cache), key_("auto") {
    if (!cache) return;
    for (const std::string& name : backends::backend_names()) {
      const auto backend = backends::find_backend(name);
      const auto engine = (*backend)->engine();
      key_.add(engine ? *engine : name + " is missing");
    }
    key_.add(std::to_string(options.threads) + " " + std::to_string(options.budget) + " " +
             std::to_string(options.tune) + (options.portable_only ? " p" : ""));
    key_.add(ir::print(program));
    for (const auto& [name, weight] : program.weights) key_.add(name).add(weight.bytes.data, weight.bytes.size);
  }

  std::optional<std::string> get() const {
    const auto bytes = cache_ ? cache_->get(key_) : std::nullopt;
    return bytes ? std::optional(std::string(bytes->begin(), bytes->end())) : std::nullopt;
  }
  void put(const std::string& text) const {
    if (cache_) cache_->put(key_, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  }

 private:
  const backends::Cache* cache_;
  backends::CacheKey key_;
};

// Parts of sub-DNNs: of which sub-DNN of the uncut program.
using Origins = std::map<std::string, std::string>;

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

// Ops that an engine refuses do not keep it from the heavy work before them: a sub-DNN with much work that
// does not depend on them is cut there, at the price of one more call. `whole`: sub-DNNs that are not cut.
Origins cut_for_engines(ir::Program& program, const std::set<std::string>& whole) {
  constexpr double kSmallRest = 0.1;
  Origins origins;
  for (const ir::Function& function : program.functions) origins[function.name] = function.name;
  cut_tails(program, whole, origins);
  for (const std::string& name : backends::backend_names()) {
    const auto backend = backends::find_backend(name);
    if (!backend || !(*backend)->engine()) continue;
    for (const std::string& sub_dnn : sub_dnns_of(program)) {
      const ir::Function& function = *program.find(sub_dnn);
      const auto& body = function.blocks[0].body;
      std::vector<bool> late(body.size());
      bool cuts = false;
      for (const backends::Refusal& refusal : (*backend)->refuse(program, function)) {
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

// A cut whose parts all go to one engine gains nothing: `program` is cut again where engines differ, and `assignment`
// is for that.
void undo_cuts(ir::Program& program, const Origins& origins, backends::Assignment& assignment) {
  std::map<std::string, std::set<std::string>> engines;  // of each sub-DNN's parts
  for (const auto& [part, backend] : assignment) engines[origins.at(part)].insert(backend);
  std::set<std::string> whole;
  for (const auto& [sub_dnn, names] : engines)
    if (names.size() == 1) whole.insert(sub_dnn);
  cut_for_engines(program, whole);
  std::erase_if(assignment, [&](const auto& one) { return !program.find(one.first); });
}

// Says what was chosen and why, and keeps it in the package.
Result<backends::Assignment> measure(ir::Program& program, const CompileOptions& options,
                                     const backends::BackendOptions& engine) {
  ir::Program uncut = program;
  const Origins origins = cut_for_engines(program, {});
  const KnownChoice known(program, options, engine.cache);
  std::optional<std::string> text = known.get();
  const bool before = text.has_value();
  if (!text) {
    backends::AutoReport report;
    DYCL_TRY(backends::choose_backends(program, engine, {options.threads, options.budget, options.tune}, report));
    text = to_json(report, options);
    known.put(*text);
  }
  const auto choice = nlohmann::json::parse(*text);
  engine.notice("auto: " + choice["summary"].get<std::string>() + (before ? " (measured before)" : ""));
  backends::Assignment assignment;
  for (const auto& one : choice["sub_dnns"]) {
    const std::string function = one["name"];
    assignment[function] = one["chosen"];
    for (const auto& candidate : one["candidates"]) {
      const std::string dropped = candidate.value("dropped", "");
      if (dropped.rfind("differs", 0) != 0) continue;
      engine.notice("auto: " + candidate["backend"].get<std::string>() + " is left out for @" + function + ": it " +
                    dropped);
    }
  }
  program = std::move(uncut);
  undo_cuts(program, origins, assignment);
  program.metadata["auto"] = *text;
  return assignment;
}
#else  // auto starts from ONNX Runtime; compile() has asked for it before
Result<backends::Assignment> measure(ir::Program&, const CompileOptions&, const backends::BackendOptions&) {
  return Error{ErrorKind::Missing, "auto needs ONNX Runtime", "build with -DDYCL_WITH_ORT=ON", {}, {}};
}
#endif

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
  DYCL_ASSIGN(const auto known, backends::find_backend(options.backend == kAuto ? "ort" : options.backend));
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
    return options.backend == kAuto ? measure(program, options, engine)
                                    : backends::assign_all(program, options.backend, engine);
  }));
  engine.tune = options.backend == kAuto ? 0 : options.tune;  // auto has tuned before it measured
  DYCL_ASSIGN(const auto artifacts,
              stages.run("back end", [&] { return backends::compile_assigned(program, assignment, engine); }));
  for (const auto& sub_dnn : artifacts) report.artifacts += sub_dnn.artifacts.size();
  for (const auto& [function, backend] : assignment) ++report.engines[backend];
  report.weights = program.weights.size();

  DYCL_TRY(stages.run("package", [&] { return package::write_package(program, artifacts, package, options.output); }));
  std::error_code ignored;
  report.package_bytes = std::filesystem::file_size(options.output, ignored);
  return report;
}

}  // namespace dycl::driver
