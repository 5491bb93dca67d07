// SPDX-License-Identifier: Apache-2.0
#include "backends/tvm/compile.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

#include "backends/cache.h"
#include "backends/cpu.h"
#include "backends/onnx/export.h"
#include "backends/side_by_side.h"
#include "backends/tvm/check.h"
#include "backends/tvm/crew.h"
#include "backends/tvm/library.h"
#include "backends/tvm/plan.h"
#include "backends/tvm/takes.h"
#include "backends/tvm/worker.h"
#include "backends/worker.h"

namespace dycl::backends::tvm {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;

constexpr double kSeconds = 180;  // for one sub-DNN, TVM's import included
constexpr const char* kPortableBackend = "ort";

Error failure(std::string message) { return {ErrorKind::RuntimeFailure, std::move(message), {}, {}, {}}; }

// One weight of the kernels: one of the sub-DNN's as it is, or a new one.
struct KernelWeight {
  int from = -1;  // number among the sub-DNN's weights
  std::int32_t dtype = 0;
  std::vector<std::int64_t> shape;
  Bytes bytes;
};

// What the compiler made of one sub-DNN.
struct Made {
  Bytes artifact;
  std::vector<KernelWeight> weights;
};

// ---- between processes and in the cache ----------------------------------------------

// The descriptions of weights, and the elements of the new ones one after the other.
Result<std::vector<KernelWeight>> weights_of(const nlohmann::json& described, const Bytes& elements) {
  std::vector<KernelWeight> weights;
  std::size_t at = 0;
  for (const auto& one : described) {
    KernelWeight weight;
    weight.from = one.value("from", -1);
    if (weight.from < 0) {
      weight.dtype = one.value("dtype", 0);
      weight.shape = one.value("shape", std::vector<std::int64_t>());
      const auto dtype = dtype_of_code(weight.dtype);
      std::size_t size = dtype ? size_of(*dtype) : 0;
      for (const std::int64_t dim : weight.shape) size *= static_cast<std::size_t>(dim);
      if (!dtype || size > elements.size() - at) return failure("TVM's compiler gave a weight without its elements");
      weight.bytes.assign(elements.begin() + static_cast<std::ptrdiff_t>(at),
                          elements.begin() + static_cast<std::ptrdiff_t>(at + size));
      at += size;
    }
    weights.push_back(std::move(weight));
  }
  return weights;
}

// A cache entry: a line of JSON ({"weights": ..., "artifact": size} or {"refused": why}), the artifact, the elements.
Bytes packed(const nlohmann::json& head, const Bytes& artifact, const Bytes& elements) {
  const std::string line = head.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  Bytes bytes(line.begin(), line.end());
  bytes.insert(bytes.end(), artifact.begin(), artifact.end());
  bytes.insert(bytes.end(), elements.begin(), elements.end());
  return bytes;
}

std::span<const std::uint8_t> as_bytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

Result<Made> unpacked(const Bytes& bytes) {
  const auto end = std::find(bytes.begin(), bytes.end(), '\n');
  const auto head = nlohmann::json::parse(bytes.begin(), end, nullptr, false);
  if (end == bytes.end() || !head.is_object()) return failure("a damaged entry of the cache");
  if (head.contains("refused")) return failure(head.value("refused", ""));
  const auto rest = end + 1;
  const auto size = static_cast<std::ptrdiff_t>(head.value("artifact", std::size_t{0}));
  if (size > bytes.end() - rest) return failure("a damaged entry of the cache");
  Made made;
  made.artifact.assign(rest, rest + size);
  DYCL_ASSIGN(made.weights, weights_of(head["weights"], Bytes(rest + size, bytes.end())));
  return made;
}

// ---- one sub-DNN ---------------------------------------------------------------------

struct Job {
  const ir::Function* function = nullptr;
  std::string model;
  std::string structure;             // the model with its integer weights, which become part of the code
  std::vector<std::string> weights;  // of the program
  std::vector<ir::Bytes> bytes;      // of these; the program gets others while this is compiled
};

Result<Job> job_of(const ir::Program& program, const ir::Function& function) {
  DYCL_ASSIGN(ExportedModel exported, export_sub_dnn(program, function, "weights"));
  exported.model.graph.value_infos.clear();
  std::vector<ir::Bytes> bytes;
  std::string structure;
  for (const std::string& name : exported.weights) {
    const ir::Weight& weight = program.weights.at(name);
    std::size_t size = size_of(weight.type.dtype);
    for (const ir::Dim& dim : *weight.type.shape) size *= static_cast<std::size_t>(dim.value);
    if (weight.bytes.size != size)
      return Error{ErrorKind::Missing, "weight @" + name + " has no bytes", "give the program's weights file", {}, {}};
    bytes.push_back(weight.bytes);
    if (weight.type.dtype == DType::F32) continue;
    structure += name + CacheKey("weight").add(weight.bytes.data, weight.bytes.size).hex();
  }
  std::string model = onnx::write_model(exported.model);
  structure += model;
  return Job{&function, std::move(model), std::move(structure), std::move(exported.weights), std::move(bytes)};
}

struct Answer {
  nlohmann::json weights;
  Bytes artifact, elements;
  double seconds = 0;
};

// Requests to one process about one structure, whose model it gets with the first.
class Inquiry {
 public:
  Inquiry(Worker& compiler, const Deadline& deadline) : compiler_(compiler), deadline_(deadline) {}

  Result<nlohmann::json> ask(const Job& job, nlohmann::json request) {
    DYCL_ASSIGN(const fs::path folder, compiler_.folder());
    std::string elements;
    for (const ir::Bytes& bytes : job.bytes) elements.append(reinterpret_cast<const char*>(bytes.data), bytes.size);
    const fs::path model = folder / "model.onnx", weights = folder / "model.weights";
    if (!write_file(model, job.model.data(), job.model.size()) ||
        !write_file(weights, elements.data(), elements.size()))
      return failure("cannot write to " + folder.string());
    request["model"] = model.string();
    request["weights"] = weights.string();
    request["features"] = cpu_features();
    double seconds = kSeconds;
    if (deadline_) {
      const std::chrono::duration<double> left = *deadline_ - std::chrono::steady_clock::now();
      seconds = std::min(seconds, std::max(left.count(), 0.0) + kGrace);
    }
    Worker::End end = Worker::End::Answered;
    auto answer = compiler_.ask(request, seconds, &end);
    if (answer) return answer;
    Error error = answer.error();
    if (end == Worker::End::Answered) error.message = "TVM: " + error.message;
    is_refusal = end == Worker::End::Answered || (end == Worker::End::TooLong && seconds >= kSeconds);
    if (end == Worker::End::TooLong && !is_refusal) return budget_is_spent();
    return error;
  }

  Result<Answer> compile(const Job& job, const nlohmann::json& records) {
    DYCL_ASSIGN(const fs::path folder, compiler_.folder());
    const auto start = std::chrono::steady_clock::now();
    DYCL_ASSIGN(const nlohmann::json answer,
                ask(job, {{"do", "compile"}, {"out", (folder / "out").string()}, {"records", records}}));
    DYCL_ASSIGN(const Bytes plan, read_file(folder / "out.plan"));
    DYCL_ASSIGN(const Bytes kernels, read_file(folder / "out.so"));
    DYCL_ASSIGN(Bytes changed, read_file(folder / "out.weights"));
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    return Answer{answer.value("weights", nlohmann::json::array()), write_artifact(plan, kernels), std::move(changed),
                  taken.count()};
  }

  bool is_refusal = false;  // whether the last failure would come again

 private:
  static constexpr double kGrace = 5;  // seconds after the deadline for what was begun before it

  Worker& compiler_;
  const Deadline& deadline_;
};

// ---- weights -------------------------------------------------------------------------

class Names {
 public:
  explicit Names(ir::Program& program) : program_(program) {
    for (const auto& [name, weight] : program.weights)
      if (name.rfind("tvm.", 0) == 0) known_.emplace(hash(weight.bytes.data, weight.bytes.size), name);
  }

  // The weight of these elements, added to the program if it is new.
  std::string of(const KernelWeight& weight) {
    std::vector<ir::Dim> dims;
    for (const std::int64_t dim : weight.shape) dims.push_back(ir::Dim::of(dim));
    const ir::Type type = ir::Type::tensor(*dtype_of_code(weight.dtype), std::move(dims));
    const std::string key = hash(weight.bytes.data(), weight.bytes.size());
    if (const auto it = known_.find(key); it != known_.end() && program_.weights.at(it->second).type == type)
      return it->second;
    std::string name;
    do name = "tvm." + std::to_string(next_++);
    while (program_.weights.count(name));
    program_.weights[name] = {type, ir::Bytes::copy_of(weight.bytes.data(), weight.bytes.size())};
    known_[key] = name;
    added_.emplace_back(key, name);
    return name;
  }

  // Weights that were added since the last call of one of these stay, or are taken back.
  void keep() {
    added_.clear();
    kept_ = next_;
  }
  void take_back() {
    for (const auto& [key, name] : added_) {
      known_.erase(key);
      program_.weights.erase(name);
    }
    next_ = kept_;
    added_.clear();
  }

 private:
  static std::string hash(const void* data, std::size_t size) { return CacheKey("weight").add(data, size).hex(); }

  ir::Program& program_;
  std::map<std::string, std::string> known_;
  std::vector<std::pair<std::string, std::string>> added_;  // hash and name
  std::size_t next_ = 0, kept_ = 0;
};

// Sub-DNNs of one structure: one model, compiled once, with weights of their own.
struct Structure {
  const std::string* name = nullptr;  // Job::structure
  std::vector<std::size_t> jobs;
  std::optional<nlohmann::json> kernels;              // [{"key": ..., "work": ...}]; nullopt: not known yet
  nlohmann::json records = nlohmann::json::object();  // schedules of kernels that were tuned, by key
};

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
        target_(target_key(library)),
        sources_(compiler_sources()),
        names_(program) {}
  ~Compilation() { finish(); }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  // Looks up what is known and starts to compile the rest, in processes beside this one.
  Result<void> start() {
    for (const ir::Function& function : program_.functions) {
      if (function.kind != ir::FunctionKind::SubDnn || !options_.wants(function)) continue;
      DYCL_ASSIGN(Job job, job_of(program_, function));
      jobs_.push_back(std::move(job));
    }
    outcomes_.resize(jobs_.size());
    std::map<std::string_view, std::size_t> known;
    for (const std::size_t i : in_order(options_, jobs_, [](const Job& job) { return job.function->name; })) {
      const auto [it, is_new] = known.try_emplace(jobs_[i].structure, structures_.size());
      if (is_new) structures_.push_back({&jobs_[i].structure, {}, {}, nlohmann::json::object()});
      structures_[it->second].jobs.push_back(i);
    }
    if (options_.tune > 0) DYCL_TRY(tune());
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
    if (options_.cache) options_.cache->put(*outcome.key, right ? entry : refusal_entry(right.error()));
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
  static constexpr const char* kRecord = "tvm record";

  static Bytes refusal_entry(const Error& error) { return packed({{"refused", error.message}}, {}, {}); }

  CacheKey& add_structure(CacheKey& key, const Structure& structure) const {
    return key.add(target_).add(sources_).add(*structure.name);
  }

  CacheKey& add_record(CacheKey& key, const std::string& kernel) const {
    return key.add(target_).add(sources_).add(kernel);
  }

  std::unique_ptr<CacheKey> key_of(const Structure& structure, const Job& job) const {
    auto key = std::make_unique<CacheKey>("tvm");
    add_structure(*key, structure).add(structure.records.dump());
    for (const ir::Bytes& bytes : job.bytes) key->add(bytes.data, bytes.size);
    return key;
  }

  void settle(std::size_t i, Result<Bytes> entry) {
    const std::lock_guard lock(mutex_);
    outcomes_[i].entry = std::move(entry);
    arrived_.notify_all();
  }

  // Whether the cache has everything about a structure. What it has is settled.
  bool look_up(Structure& structure) {
    if (structure.kernels) look_up_records(structure);
    if (!options_.cache) return false;
    CacheKey refused("tvm refused");
    if (const auto why = options_.cache->get(add_structure(refused, structure))) {
      for (const std::size_t i : structure.jobs) settle(i, *why);
      return true;
    }
    CacheKey kernels("tvm kernels");
    const auto list = options_.cache->get(add_structure(kernels, structure));
    if (!list) return false;
    structure.kernels = nlohmann::json::parse(*list, nullptr, false);
    look_up_records(structure);
    return look_up_jobs(structure);
  }

  void look_up_records(Structure& structure) const {
    structure.records = nlohmann::json::object();
    for (const auto& kernel : *structure.kernels) {
      const std::string key = kernel.value("key", "");
      const auto schedule = record_of(key).value("schedule", nlohmann::json::object());
      if (!schedule.empty()) structure.records[key] = schedule;
    }
  }

  // What tuning found out about a kernel; an empty object if it was not tuned.
  nlohmann::json record_of(const std::string& kernel) const {
    if (const auto it = tuned_.find(kernel); it != tuned_.end()) return it->second;
    CacheKey key(kRecord);
    const auto bytes = options_.cache ? options_.cache->get(add_record(key, kernel)) : std::nullopt;
    auto record = bytes ? nlohmann::json::parse(*bytes, nullptr, false) : nlohmann::json();
    return record.is_object() ? record : nlohmann::json::object();
  }

  bool look_up_jobs(Structure& structure) {
    bool all = true;
    for (const std::size_t i : structure.jobs) {
      if (outcomes_[i].entry) continue;
      outcomes_[i].key = key_of(structure, jobs_[i]);
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
    SideBySide work;
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
    Inquiry inquiry(compiler, options_.deadline);
    try {
      if (stopped_) return fail_all(failure("given up"));
      if (const auto done = describe(inquiry, structure); !done) {
        if (inquiry.is_refusal) refuse(structure, done.error());
        return fail_all(done.error());
      }
      for (const std::size_t i : structure.jobs) {
        if (outcomes_[i].entry) continue;
        if (stopped_) return fail_all(failure("given up"));
        if (options_.deadline && std::chrono::steady_clock::now() > *options_.deadline)
          return fail_all(budget_is_spent());
        auto answer = inquiry.compile(jobs_[i], structure.records);
        if (!answer) {
          if (inquiry.is_refusal) refuse(structure, answer.error());
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

  // ---- tuning ----

  // A kernel that can be tuned, and how much of the program's work it is.
  struct Tunable {
    const Job* job = nullptr;  // one that has it
    std::string key;
    double work = 0;
  };

  // The kernels with most work first, each for its share of the time; what was tuned before as long is not tuned again.
  // By itself: beside other compilations times would mean nothing.
  Result<void> tune() {
    constexpr double kShortest = 1;  // second
    const Lease compiler;
    DYCL_ASSIGN(std::vector<Tunable> kernels, tunable(*compiler));
    double work = 0, left = options_.tune;
    for (const Tunable& one : kernels) work += one.work;
    for (std::size_t k = 0; k < kernels.size() && left > 0; ++k) {
      const double share = std::max(kShortest, left * kernels[k].work / work);
      work -= kernels[k].work;
      const auto start = std::chrono::steady_clock::now();
      DYCL_TRY(tune_one(*compiler, kernels[k], std::min(share, left)));
      left -= std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      char text[120];
      std::snprintf(text, sizeof text, "tune kernel %zu/%zu, %.0f s left", k + 1, kernels.size(), std::max(left, 0.0));
      if (options_.progress) options_.progress(text);
    }
    tell(kernels);
    return {};
  }

  // What tuning gave, of all kernels that it knows in this program.
  void tell(const std::vector<Tunable>& kernels) const {
    double before = 0, after = 0;
    std::size_t known = 0, better = 0, tried = 0, wrong = 0;
    for (const Tunable& kernel : kernels) {
      const nlohmann::json record = record_of(kernel.key);
      if (record.empty()) continue;
      ++known;
      better += !record.value("schedule", nlohmann::json::object()).empty();
      tried += record.value("tried", std::size_t{0});
      wrong += record.value("wrong", std::size_t{0});
      before += record.value("before", 0.0);
      after += record.value("after", 0.0);
    }
    char text[240];
    std::snprintf(
        text, sizeof text,
        "tuned %zu of %zu kernels, %zu have better schedules: one call of each took %.0f us, now %.0f us; %zu "
        "schedules tried, %zu of them dropped because results differed",
        known, kernels.size(), better, before, after, tried, wrong);
    if (options_.notice) options_.notice(text);
  }

  Result<std::vector<Tunable>> tunable(Worker& compiler) {
    std::map<std::string, Tunable> by_key;
    for (Structure& structure : structures_) {
      Inquiry inquiry(compiler, {});
      if (auto done = describe(inquiry, structure); !done) {
        if (done.error().kind == ErrorKind::Missing) return done.error();
        continue;  // it fails once more when it is compiled
      }
      for (const auto& kernel : *structure.kernels) {
        if (!kernel.value("tunable", false)) continue;
        const std::string key = kernel.value("key", "");
        Tunable& one = by_key.try_emplace(key, Tunable{&jobs_[structure.jobs.front()], key, 0}).first->second;
        one.work += kernel.value("work", 0.0) * static_cast<double>(structure.jobs.size());
      }
    }
    std::vector<Tunable> kernels;
    for (auto& [key, one] : by_key) kernels.push_back(std::move(one));
    std::stable_sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) { return a.work > b.work; });
    return kernels;
  }

  Result<void> tune_one(Worker& compiler, const Tunable& kernel, double seconds) {
    nlohmann::json before = record_of(kernel.key);
    const double spent = before.value("seconds", 0.0);
    if (before.value("done", false) || spent >= seconds) return {};
    Inquiry inquiry(compiler, {});
    auto record = inquiry.ask(*kernel.job, {{"do", "tune"},
                                            {"kernel", kernel.key},
                                            {"seconds", seconds},
                                            {"start", before.value("schedule", nlohmann::json::object())}});
    if (!record && record.error().kind == ErrorKind::Missing) return record.error();
    if (!record) return {};  // the default schedule stays
    (*record)["seconds"] = spent + seconds;
    tuned_[kernel.key] = *record;
    const std::string text = record->dump();
    CacheKey key(kRecord);
    if (options_.cache) options_.cache->put(add_record(key, kernel.key), as_bytes(text));
    return {};
  }

  // Which kernels a structure has, where their schedules may be known from tuning.
  Result<void> describe(Inquiry& inquiry, Structure& structure) {
    if ((!options_.cache && options_.tune <= 0) || structure.kernels) return {};
    if (options_.deadline && std::chrono::steady_clock::now() > *options_.deadline) return budget_is_spent();
    DYCL_ASSIGN(const nlohmann::json answer, inquiry.ask(jobs_[structure.jobs.front()], {{"do", "describe"}}));
    structure.kernels = answer.value("kernels", nlohmann::json::array());
    CacheKey key("tvm kernels");
    const std::string text = structure.kernels->dump();
    if (options_.cache) options_.cache->put(add_structure(key, structure), as_bytes(text));
    look_up_records(structure);
    if (options_.cache) look_up_jobs(structure);
    return {};
  }

  // What TVM cannot do it need not be asked for again.
  void refuse(const Structure& structure, const Error& error) const {
    CacheKey key("tvm refused");
    if (options_.cache) options_.cache->put(add_structure(key, structure), refusal_entry(error));
  }

  Result<Artifact> artifact_of(const Job& job, Made made) {
    Artifact artifact;
    artifact.backend = "tvm";
    artifact.target = target_;
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
  const std::string target_, sources_;
  Names names_;
  std::map<std::string, nlohmann::json> tuned_;  // records of this compilation, by kernel
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
  DYCL_ASSIGN(const auto backend, find_backend(kPortableBackend));
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
