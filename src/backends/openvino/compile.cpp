// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/compile.h"

#include <chrono>

#include "backends/cache.h"
#include "backends/openvino/legalize.h"
#include "backends/openvino/model.h"
#include "backends/openvino/supported_ops.h"
#include "backends/openvino/target.h"
#include "backends/path_of_build.h"
#include "backends/processes/parallel_tasks.h"
#include "backends/processes/worker.h"
#include "onnx/export.h"

namespace dycl::backends::openvino {
namespace {

DYCL_PATH_OF_BUILD(kCompilerOfBuild, DYCL_OPENVINO_COMPILE_OF_BUILD);

GivenWeight given(const ir::Weight& weight) {
  GivenWeight out{weight.bytes.data, weight.bytes.size, static_cast<std::int32_t>(weight.type.dtype), {}};
  for (const ir::Dim& dim : *weight.type.shape) out.shape.push_back(dim.value);
  return out;
}

Result<Artifact> portable(const ir::Program& program, const ir::Function& function) {
  DYCL_ASSIGN(onnx::ExportedModel exported, onnx::export_sub_dnn(program, function, kMemoryLocation));
  for (onnx::Tensor& tensor : exported.model.graph.initializers)
    if (tensor.external) tensor.external->offset = kNoAddress;
  legalize(exported.model.graph);
  exported.model.graph.value_infos.clear();
  Artifact artifact;
  artifact.backend = "openvino";
  artifact.target = kPortableTarget;
  const std::string bytes = onnx::write_model(exported.model);
  artifact.bytes.assign(bytes.begin(), bytes.end());
  artifact.weights = std::move(exported.weights);
  return artifact;
}

Result<std::vector<GivenWeight>> weights_of(const ir::Program& program, const Artifact& artifact) {
  std::vector<GivenWeight> weights;
  for (const std::string& name : artifact.weights) {
    const ir::Weight& weight = program.weights.at(name);
    weights.push_back(given(weight));
    std::uint64_t count = size_of(weight.type.dtype);
    for (const std::int64_t dim : weights.back().shape) count *= static_cast<std::uint64_t>(dim);
    if (weight.bytes.size != count)
      return Error{ErrorKind::Missing, "weight @" + name + " has no bytes", "give the program's weights file", {}, {}};
  }
  return weights;
}

// One sub-DNN on its way. What OpenVINO makes of its portable form is also the test that it can; from the cache comes
// the same, without asking it.
struct Piece {
  const ir::Function* function = nullptr;
  Artifact plain;
  std::vector<GivenWeight> weights;
  std::uint64_t weight_bytes = 0;
  bool wants_blob = false;
  std::unique_ptr<CacheKey> key;
  Result<std::vector<std::uint8_t>> blob = std::vector<std::uint8_t>();  // empty if none is wanted
  double seconds = 0;
  bool is_known = false;  // from the cache
  bool helper_missing = false;
};

Result<Piece> piece_of(const ir::Program& program, const ir::Function& function, const std::string& target,
                       const BackendOptions& options) {
  Piece piece;
  piece.function = &function;
  DYCL_ASSIGN(piece.plain, portable(program, function));
  DYCL_ASSIGN(piece.weights, weights_of(program, piece.plain));
  for (const GivenWeight& weight : piece.weights) piece.weight_bytes += weight.bytes;
  piece.wants_blob = !options.portable_only && piece.weight_bytes <= kMaxBlobWeights;
  if (!options.cache) return piece;
  piece.key = std::make_unique<CacheKey>("openvino");
  piece.key->add(target).add(piece.wants_blob ? "blob" : "check");
  piece.key->add(piece.plain.bytes.data(), piece.plain.bytes.size());
  for (const GivenWeight& weight : piece.weights) piece.key->add(weight.data, weight.bytes);
  if (auto found = options.cache->get(*piece.key)) {
    piece.blob = std::move(*found);
    piece.is_known = true;
  }
  return piece;
}

// In this process.
Result<std::vector<std::uint8_t>> compiled_here(const Core& core, const Piece& piece) {
  DYCL_ASSIGN(const CompiledHandle model, load_artifact(core, piece.plain.bytes, piece.weights));
  if (!piece.wants_blob) return std::vector<std::uint8_t>();
  return export_blob(core, model);
}

// In another one (compile_process.cpp).
Result<std::vector<std::uint8_t>> compiled_there(Worker& worker, const std::string& target, Piece& piece) {
  constexpr double kSeconds = 300;
  DYCL_ASSIGN(const std::filesystem::path folder, worker.folder());
  nlohmann::json list = nlohmann::json::array();
  std::string elements;
  for (const GivenWeight& weight : piece.weights) {
    elements.append(static_cast<const char*>(weight.data), weight.bytes);
    list.push_back({{"bytes", weight.bytes}, {"dtype", weight.dtype}, {"shape", weight.shape}});
  }
  if (!write_file(folder / "model", piece.plain.bytes.data(), piece.plain.bytes.size()) ||
      !write_file(folder / "weights", elements.data(), elements.size()))
    return Error{ErrorKind::Missing, "cannot write to " + folder.string(), {}, {}, {}};
  const nlohmann::json request = {
      {"folder", folder.string()}, {"list", list}, {"blob", piece.wants_blob}, {"target", target}};
  DYCL_ASSIGN(const nlohmann::json answer, worker.ask(request, kSeconds));
  if (answer.value("other_engine", false))
    return Error{ErrorKind::Missing, "the process that compiles has another version of OpenVINO", {}, {}, {}};
  if (!piece.wants_blob) return std::vector<std::uint8_t>();
  return read_file(folder / "out");
}

class Compilation {
 public:
  Compilation(const Core& core, const BackendOptions& options)
      : core_(core), options_(options), target_(target_key(core.library->version)) {}

  Result<std::vector<SubDnnArtifacts>> run(const ir::Program& program) {
    for (const ir::Function& function : program.functions) {
      if (function.kind != ir::FunctionKind::SubDnn || !options_.wants(function)) continue;
      DYCL_ASSIGN(Piece piece, piece_of(program, function, target_, options_));
      pieces_.push_back(std::move(piece));
    }
    compile_all();
    std::vector<SubDnnArtifacts> all;
    for (Piece& piece : pieces_) {
      account(piece);
      if (!piece.blob) {
        Error error = failure_of(piece);
        if (!options_.failed || error.kind != ErrorKind::Unsupported) return error;
        options_.failed(*piece.function, error);
        continue;
      }
      all.push_back({piece.function->name, {}});
      if (!piece.blob->empty())
        all.back().artifacts.push_back({"openvino", target_, std::move(*piece.blob), {}, {}, {}});
      all.back().artifacts.push_back(std::move(piece.plain));
    }
    return all;
  }

 private:
  // Large weights are not copied to another process: what has them is compiled here, before the others.
  void compile_all() {
    constexpr std::uint64_t kMostForHelpers = 64 << 20, kMemoryOfOne = 512 << 20;
    constexpr std::size_t kWorthAProcess = 10;  // sub-DNNs of some 40 ms each; a process starts in some 150 ms
    std::vector<std::size_t> small;
    for (const std::size_t i : in_order(options_, pieces_, [](const Piece& p) { return p.function->name; })) {
      if (pieces_[i].is_known) continue;
      if (pieces_[i].weight_bytes > kMostForHelpers)
        compile(pieces_[i], nullptr);
      else
        small.push_back(i);
    }
    const auto program = find_installed("dycl_openvino_compile", path_of_build(kCompilerOfBuild));
    std::vector<std::unique_ptr<Worker>> workers;
    ParallelTasks work;
    work.is_fixed = true;  // OpenVINO numbers what it makes in a process, and blobs have the numbers
    work.helpers = program.empty() ? 0 : processes_at_once(options_.jobs, kMemoryOfOne) - 1;
    if (options_.jobs == 0) work.helpers = std::min(work.helpers, small.size() / kWorthAProcess);
    for (std::size_t i = 0; i < work.helpers; ++i)
      workers.push_back(std::make_unique<Worker>("the process that compiles with OpenVINO", [program] {
        return Result<std::vector<std::string>>(std::vector<std::string>{program.string()});
      }));
    work.here = [&](std::size_t i) { compile(pieces_[small[i]], nullptr); };
    work.there = [&](std::size_t helper, std::size_t i) { compile(pieces_[small[i]], workers[helper - 1].get()); };
    work.run(small.size());
    for (Piece& piece : pieces_)
      if (piece.helper_missing) compile(piece, nullptr);
  }

  void compile(Piece& piece, Worker* worker) {
    const auto start = std::chrono::steady_clock::now();
    if (options_.deadline && start > *options_.deadline) {
      piece.blob = budget_is_spent();
      return;
    }
    piece.blob = worker ? compiled_there(*worker, target_, piece) : compiled_here(core_, piece);
    piece.helper_missing = worker && !piece.blob && piece.blob.error().kind == ErrorKind::Missing;
    piece.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  void account(const Piece& piece) const {
    if (piece.is_known || piece.seconds == 0) return;
    if (options_.engine_calls) ++*options_.engine_calls;
    if (options_.engine_seconds) *options_.engine_seconds += piece.seconds;
    if (piece.blob && options_.cache) options_.cache->put(*piece.key, *piece.blob);
  }

  static Error failure_of(const Piece& piece) {
    Error error = piece.blob.error();
    if (error.kind == ErrorKind::RuntimeFailure) error.kind = ErrorKind::Unsupported;
    error.message = "sub-DNN @" + piece.function->name + ": " + error.message;
    error.span = piece.function->span;
    return error;
  }

  const Core& core_;
  const BackendOptions& options_;
  const std::string target_;
  std::vector<Piece> pieces_;
};

class OpenVinoBackend final : public Backend {
 public:
  std::string_view name() const override { return "openvino"; }

  std::vector<Refusal> refuse(const ir::Program& program, const ir::Function& sub_dnn) const override {
    return refusals(program, sub_dnn);
  }

  Result<std::string> engine() const override {
    DYCL_ASSIGN(const Library* opened, library());
    return target_key(opened->version);
  }

  Result<std::vector<SubDnnArtifacts>> compile_program(ir::Program& program,
                                                       const BackendOptions& options) const override {
    DYCL_ASSIGN(const Core core, make_core(1));
    return Compilation(core, options).run(program);
  }
};

}  // namespace

std::unique_ptr<Backend> make_backend() { return std::make_unique<OpenVinoBackend>(); }

}  // namespace dycl::backends::openvino
