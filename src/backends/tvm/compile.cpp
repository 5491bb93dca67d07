// SPDX-License-Identifier: Apache-2.0
#include "backends/tvm/compile.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <mutex>
#include <optional>

#include "backends/agreement.h"
#include "backends/cache.h"
#include "backends/cpu.h"
#include "backends/onnx/export.h"
#include "backends/ort/evaluator.h"
#include "backends/trial.h"
#include "backends/tvm/library.h"
#include "backends/tvm/plan.h"
#include "backends/tvm/takes.h"
#include "backends/tvm/worker.h"

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

Result<Bytes> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return failure("TVM's compiler did not write " + path.filename().string());
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

bool write_file(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  return file.good();
}

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
  std::vector<std::string> weights;  // of the program
};

Result<Job> job_of(const ir::Program& program, const ir::Function& function) {
  DYCL_ASSIGN(ExportedModel exported, export_sub_dnn(program, function, "weights"));
  exported.model.graph.value_infos.clear();
  for (const std::string& name : exported.weights) {
    const ir::Weight& weight = program.weights.at(name);
    std::size_t size = size_of(weight.type.dtype);
    for (const ir::Dim& dim : *weight.type.shape) size *= static_cast<std::size_t>(dim.value);
    if (weight.bytes.size != size)
      return Error{ErrorKind::Missing, "weight @" + name + " has no bytes", "give the program's weights file", {}, {}};
  }
  return Job{&function, onnx::write_model(exported.model), std::move(exported.weights)};
}

// TVM's import takes seconds: one process for all compilations of this one.
Worker& worker(std::unique_lock<std::mutex>& lock) {
  static std::mutex mutex;
  static Worker one;
  lock = std::unique_lock(mutex);
  return one;
}

struct Answer {
  nlohmann::json weights;
  Bytes artifact, elements;
};

Result<Answer> ask_compiler(const ir::Program& program, const Job& job) {
  std::unique_lock<std::mutex> lock;
  Worker& compiler = worker(lock);
  DYCL_ASSIGN(const fs::path folder, compiler.folder());
  std::string elements;
  for (const std::string& name : job.weights) {
    const ir::Bytes& bytes = program.weights.at(name).bytes;
    elements.append(reinterpret_cast<const char*>(bytes.data), bytes.size);
  }
  if (!write_file(folder / "model.onnx", job.model) || !write_file(folder / "model.weights", elements))
    return failure("cannot write to " + folder.string());
  const nlohmann::json request = {{"model", (folder / "model.onnx").string()},
                                  {"weights", (folder / "model.weights").string()},
                                  {"out", (folder / "out").string()},
                                  {"features", cpu_features()}};
  DYCL_ASSIGN(const nlohmann::json answer, compiler.ask(request, kSeconds));
  DYCL_ASSIGN(const Bytes plan, read_file(folder / "out.plan"));
  DYCL_ASSIGN(const Bytes kernels, read_file(folder / "out.so"));
  DYCL_ASSIGN(Bytes changed, read_file(folder / "out.weights"));
  return Answer{answer.value("weights", nlohmann::json::array()), write_artifact(plan, kernels), std::move(changed)};
}

// ---- is it right? --------------------------------------------------------------------

// Whether the reference itself loses NaNs, depending on where they stand: TVM's code hands them on, as PyTorch does.
bool loses_nans(const ir::Function& function) {
  const auto& body = function.blocks[0].body;
  return std::any_of(body.begin(), body.end(), [](const ir::Op& op) {
    return op.name == "MaxPool" || op.name == "ReduceMax" || op.name == "ReduceMin";
  });
}

// Operands that are easily got wrong: among the numbers some that are none.
void add_specials(std::vector<ir::Tensor>& operands, bool with_nans) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float specials[] = {with_nans ? std::numeric_limits<float>::quiet_NaN() : kInfinity, kInfinity, -kInfinity,
                            -0.0F, 1e30F};
  std::size_t next = 0;
  for (ir::Tensor& operand : operands) {
    if (operand.dtype != DType::F32) continue;
    const std::int64_t step = operand.count() / 4 + 1;
    for (std::int64_t i = operand.count() / 8; i < operand.count(); i += step)
      operand.data<float>()[i] = specials[next++ % std::size(specials)];
  }
}

// An Error if the artifact's results are not the reference's.
Result<void> compare(const ir::Program& program, const ir::Function& function, const Artifact& artifact) {
  DYCL_ASSIGN(const auto evaluator, ort::make_evaluator());
  for (const unsigned draw : {0U, 1U, 2U}) {
    auto operands = random_operands(function, draw + 11);
    if (draw == 2) add_specials(operands, !loses_nans(function));
    DYCL_ASSIGN(const auto expected, reference(program, function, operands, *evaluator));
    DYCL_ASSIGN(const auto trial, Trial::start("tvm", 1));
    DYCL_ASSIGN(const std::size_t loaded, trial->load(program, function, artifact, operands));
    DYCL_ASSIGN(const auto results, trial->run(loaded));
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (const std::string apart = difference(results[i], expected[i]); !apart.empty())
        return failure("TVM's code differs from the reference: result " + std::to_string(i) + " has " + apart);
  }
  return {};
}

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
    return name;
  }

 private:
  static std::string hash(const void* data, std::size_t size) { return CacheKey("weight").add(data, size).hex(); }

  ir::Program& program_;
  std::map<std::string, std::string> known_;
  std::size_t next_ = 0;
};

class Compilation {
 public:
  Compilation(ir::Program& program, const BackendOptions& options, const Library& library)
      : program_(program),
        options_(options),
        target_(target_key(library)),
        sources_(compiler_sources()),
        names_(program) {}

  Result<Artifact> compile(const ir::Function& function) {
    DYCL_ASSIGN(const Job job, job_of(program_, function));
    CacheKey key("tvm");
    key.add(target_).add(sources_).add(job.model);
    for (const std::string& name : job.weights) {
      const ir::Bytes& bytes = program_.weights.at(name).bytes;
      key.add(bytes.data, bytes.size);
    }
    if (options_.cache)
      if (const auto found = options_.cache->get(key)) {
        DYCL_ASSIGN(Made made, unpacked(*found));
        return artifact_of(job, std::move(made));
      }
    return compile_anew(job, key);
  }

 private:
  Result<Artifact> compile_anew(const Job& job, const CacheKey& key) {
    const auto start = std::chrono::steady_clock::now();
    if (options_.engine_calls) ++*options_.engine_calls;
    auto answer = ask_compiler(program_, job);
    if (options_.engine_seconds)
      *options_.engine_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!answer) return answer.error();
    const nlohmann::json head = {{"weights", answer->weights}, {"artifact", answer->artifact.size()}};
    const Bytes entry = packed(head, answer->artifact, answer->elements);
    DYCL_ASSIGN(Made made, unpacked(entry));
    DYCL_ASSIGN(Artifact artifact, artifact_of(job, std::move(made)));
    auto right = compare(program_, *job.function, artifact);
    if (!right && right.error().kind == ErrorKind::Missing) return right.error();
    if (options_.cache) options_.cache->put(key, right ? entry : packed({{"refused", right.error().message}}, {}, {}));
    if (!right) return right.error();
    return artifact;
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
  std::string target_, sources_;
  Names names_;
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

  Result<std::string> engine() const override {
    DYCL_ASSIGN(const Library* opened, library());
    DYCL_TRY(compiler_is_there());
    return target_key(*opened);
  }

  Result<std::vector<SubDnnArtifacts>> compile_program(ir::Program& program,
                                                       const BackendOptions& options) const override {
    DYCL_ASSIGN(const Library* opened, library());
    DYCL_ASSIGN(auto portable, portable_forms(program, options));
    Compilation compilation(program, options, *opened);
    std::vector<SubDnnArtifacts> all;
    for (const ir::Function& function : program.functions) {
      if (function.kind != ir::FunctionKind::SubDnn || !options.wants(function)) continue;
      SubDnnArtifacts made{function.name, {}};
      if (!options.portable_only) {
        auto artifact = compilation.compile(function);
        if (!artifact && options.failed && artifact.error().kind != ErrorKind::Missing) {
          options.failed(function, artifact.error());
          continue;
        }
        if (!artifact) return artifact.error();
        made.artifacts.push_back(std::move(*artifact));
      }
      for (Artifact& artifact : portable.at(function.name).artifacts) made.artifacts.push_back(std::move(artifact));
      all.push_back(std::move(made));
    }
    return all;
  }
};

}  // namespace

std::unique_ptr<Backend> make_backend() { return std::make_unique<TvmBackend>(); }

}  // namespace dycl::backends::tvm
