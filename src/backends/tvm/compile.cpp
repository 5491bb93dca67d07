// SPDX-License-Identifier: Apache-2.0
#include "backends/tvm/compile.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "backends/cache.h"
#include "backends/default_engine.h"
#include "backends/processes/parallel_tasks.h"
#include "backends/tvm/check.h"
#include "backends/tvm/compiler_processes.h"
#include "backends/tvm/library.h"
#include "backends/tvm/new_weights.h"
#include "backends/tvm/structure_cache.h"
#include "backends/tvm/supported_ops.h"
#include "backends/tvm/tuning.h"

namespace dycl::backends::tvm {
namespace {

// What became of a job in a process of the compiler, or in the cache.
struct Outcome {
  std::optional<Result<Bytes>> entry;  // as in the cache
  std::unique_ptr<CacheKey> key;
  bool is_new = false;  // to be compared and kept
  double seconds = 0;
};

class Compilation {
 public:
  Compilation(ir::Program& program, const BackendOptions& options, const Library& library)
      : program_(program),
        options_(options),
        structure_cache_(options, target_key(library), compiler_sources()),
        names_(program) {}
  ~Compilation() { finish(); }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  // Looks up what is known and starts to compile the rest, in processes beside this one.
  Result<void> start() {
    for (const ir::Function& function : program_.functions) {
      if (function.kind != ir::FunctionKind::SubDnn || !options_.wants(function)) continue;
      const auto agreed = options_.agreed.find(function.name);
      DYCL_ASSIGN(Job job,
                  job_of(program_, function, agreed == options_.agreed.end() ? PortLayouts() : agreed->second));
      jobs_.push_back(std::move(job));
    }
    outcomes_.resize(jobs_.size());
    std::map<std::string_view, std::size_t> known;
    for (const std::size_t i : in_order(options_, jobs_, [](const Job& job) { return job.function->name; })) {
      const auto [it, is_new] = known.try_emplace(jobs_[i].structure, structures_.size());
      if (is_new) structures_.push_back({&jobs_[i].structure, {}, {}, nlohmann::json::object()});
      structures_[it->second].jobs.push_back(i);
    }
    if (options_.tune > 0) DYCL_TRY(tune(options_, jobs_, structures_, structure_cache_));
    for (std::size_t s = 0; s < structures_.size(); ++s)
      if (!look_up(structures_[s])) missing_.push_back(s);
    if (!missing_.empty()) thread_ = std::thread([this] { compile_missing(); });
    return {};
  }

  // The sub-DNN's artifact, as soon as it is there. In the order of the program, so that weights always get the same
  // names.
  Result<Artifact> artifact(std::size_t i) {
    {
      std::unique_lock lock(mutex_);
      arrived_.wait(lock, [&] { return outcomes_[i].entry.has_value(); });
    }
    Outcome& outcome = outcomes_[i];
    if (outcome.is_new && options_.engine_calls) ++*options_.engine_calls;
    if (outcome.is_new && options_.engine_seconds) *options_.engine_seconds += outcome.seconds;
    if (!*outcome.entry) return outcome.entry->error();
    const Bytes entry = std::move(**outcome.entry);
    DYCL_ASSIGN(Made made, unpacked(entry));
    DYCL_ASSIGN(Artifact artifact, artifact_of(jobs_[i], std::move(made)));
    if (!outcome.is_new) {
      names_.keep();
      return artifact;
    }
    auto right = check(program_, *jobs_[i].function, artifact, options_.plugin_folders);
    right ? names_.keep() : names_.take_back();
    if (!right && right.error().kind == ErrorKind::Missing) return right.error();
    if (options_.cache)
      options_.cache->put(*outcome.key, right ? entry : packed({{"refused", right.error().message}}, {}, {}));
    if (!right) return right.error();
    return artifact;
  }

  std::size_t size() const { return jobs_.size(); }
  const ir::Function& function(std::size_t i) const { return *jobs_[i].function; }

  // Nothing more is begun; what was is waited for.
  void finish() {
    stopped_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  void settle(std::size_t i, Result<Bytes> entry) {
    const std::lock_guard lock(mutex_);
    outcomes_[i].entry = std::move(entry);
    arrived_.notify_all();
  }

  // Whether the cache has everything about a structure. What it has is settled.
  bool look_up(Structure& structure) {
    if (const auto why = structure_cache_.refusal(structure)) {
      for (const std::size_t i : structure.jobs) settle(i, *why);
      return true;
    }
    return structure_cache_.look_up_kernels(structure) && options_.cache && look_up_jobs(structure);
  }

  bool look_up_jobs(Structure& structure) {
    bool all = true;
    for (const std::size_t i : structure.jobs) {
      if (outcomes_[i].entry) continue;
      outcomes_[i].key = structure_cache_.key_of(structure, jobs_[i]);
      auto found = options_.cache->get(*outcomes_[i].key);
      if (found)
        settle(i, std::move(*found));
      else
        all = false;
    }
    return all;
  }

  // In a thread of its own, while the caller's compares what has come.
  void compile_missing() {
    constexpr std::uint64_t kMemoryOfOne = std::uint64_t{1} << 30;
    constexpr std::size_t kWorthAProcess = 4;  // structures: importing TVM takes as long as to compile a few
    ParallelTasks work;
    work.helpers = processes_at_once(options_.jobs, kMemoryOfOne) - 1;
    if (options_.jobs == 0) work.helpers = std::min(work.helpers, missing_.size() / kWorthAProcess);
    work.helpers = std::min(work.helpers, missing_.size() - 1);
    std::vector<std::unique_ptr<Lease>> leases;
    for (std::size_t i = 0; i <= work.helpers; ++i) leases.push_back(std::make_unique<Lease>());
    work.here = [&](std::size_t s) { compile_structure(**leases[0], structures_[missing_[s]]); };
    work.there = [&](std::size_t helper, std::size_t s) {
      compile_structure(**leases[helper], structures_[missing_[s]]);
    };
    work.run(missing_.size());
  }

  void compile_structure(Worker& compiler, Structure& structure) {
    const auto fail_all = [&](const Error& error) {
      for (const std::size_t i : structure.jobs)
        if (!outcomes_[i].entry) settle(i, error);
    };
    CompilerClient client(compiler, options_.deadline);
    try {
      if (stopped_) return fail_all(failure("given up"));
      if (const auto done = structure_cache_.describe(client, jobs_[structure.jobs.front()], structure); !done) {
        if (client.is_refusal) structure_cache_.refuse(structure, done.error());
        return fail_all(done.error());
      }
      if (options_.cache && structure.kernels) look_up_jobs(structure);
      for (const std::size_t i : structure.jobs) {
        if (outcomes_[i].entry) continue;
        if (stopped_) return fail_all(failure("given up"));
        if (options_.deadline && std::chrono::steady_clock::now() > *options_.deadline)
          return fail_all(budget_is_spent());
        auto answer = client.compile(jobs_[i], structure.records);
        if (!answer) {
          if (client.is_refusal) structure_cache_.refuse(structure, answer.error());
          return fail_all(answer.error());
        }
        outcomes_[i].is_new = true;
        outcomes_[i].seconds = answer->seconds;
        const nlohmann::json head = {{"weights", answer->weights}, {"artifact", answer->artifact.size()}};
        settle(i, packed(head, answer->artifact, answer->elements));
      }
    } catch (const std::exception& error) {  // no memory: the thread that waits must not wait for ever
      fail_all(failure(error.what()));
    }
  }

  Result<Artifact> artifact_of(const Job& job, Made made) {
    Artifact artifact;
    artifact.backend = "tvm";
    artifact.target = structure_cache_.target();
    artifact.input_layouts = job.layouts.inputs;
    artifact.output_layouts = job.layouts.outputs;
    artifact.bytes = std::move(made.artifact);
    for (const KernelWeight& weight : made.weights) {
      if (weight.from >= static_cast<int>(job.weights.size())) return failure("a damaged entry of the cache");
      artifact.weights.push_back(weight.from < 0 ? names_.of(weight)
                                                 : job.weights[static_cast<std::size_t>(weight.from)]);
    }
    return artifact;
  }

  ir::Program& program_;
  const BackendOptions& options_;
  StructureCache structure_cache_;
  NewWeights names_;
  std::vector<Job> jobs_;
  std::vector<Structure> structures_;
  std::vector<std::size_t> missing_;  // structures

  std::mutex mutex_;  // of what follows
  std::condition_variable arrived_;
  std::vector<Outcome> outcomes_;  // of jobs_; written until settled by one thread, then read by the caller's
  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

// ONNX Runtime's portable artifacts of the same sub-DNNs.
Result<std::map<std::string, SubDnnArtifacts>> portable_forms(ir::Program& program, const BackendOptions& options) {
  BackendOptions own = options;
  own.portable_only = true;
  own.layouts = false;
  own.failed = nullptr;
  DYCL_ASSIGN(const auto backend, find_backend(kDefaultEngine));
  DYCL_ASSIGN(auto all, backend->compile_program(program, own));
  std::map<std::string, SubDnnArtifacts> by_name;
  for (SubDnnArtifacts& one : all) by_name.emplace(one.function, std::move(one));
  return by_name;
}

class TvmBackend final : public Backend {
 public:
  std::string_view name() const override { return "tvm"; }

  std::vector<Refusal> refuse(const ir::Program& program, const ir::Function& sub_dnn) const override {
    return refusals(program, sub_dnn);
  }

  bool can_tune() const override { return true; }
  bool shares_layouts() const override { return true; }

  void prepare() const override {
    const Lease compiler;
    // A failure comes again with the first request.
    [[maybe_unused]] const auto ready = compiler->ask({{"do", "prepare"}}, kSeconds);
  }

  Result<std::string> engine() const override {
    DYCL_ASSIGN(const Library* opened, library());
    DYCL_TRY(compiler_is_there());
    return target_key(*opened);
  }

  Result<std::vector<SubDnnArtifacts>> compile_program(ir::Program& program,
                                                       const BackendOptions& options) const override {
    DYCL_ASSIGN(const Library* opened, library());
    DYCL_ASSIGN(auto portable, portable_forms(program, options));
    std::vector<SubDnnArtifacts> all;
    if (options.portable_only) {
      for (const ir::Function& function : program.functions)
        if (const auto it = portable.find(function.name); it != portable.end()) all.push_back(std::move(it->second));
      return all;
    }
    Compilation compilation(program, options, *opened);
    DYCL_TRY(compilation.start());
    for (std::size_t i = 0; i < compilation.size(); ++i) {
      const ir::Function& function = compilation.function(i);
      auto artifact = compilation.artifact(i);
      if (!artifact && options.failed && artifact.error().kind != ErrorKind::Missing) {
        options.failed(function, artifact.error());
        continue;
      }
      if (!artifact) return artifact.error();
      SubDnnArtifacts made{function.name, {std::move(*artifact)}};
      for (Artifact& one : portable.at(function.name).artifacts) made.artifacts.push_back(std::move(one));
      all.push_back(std::move(made));
    }
    return all;
  }
};

}  // namespace

std::unique_ptr<Backend> make_backend() { return std::make_unique<TvmBackend>(); }

}  // namespace dycl::backends::tvm
