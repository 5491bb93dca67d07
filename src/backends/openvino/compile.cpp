// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/compile.h"

#include <chrono>

#include "backends/cache.h"
#include "backends/onnx/export.h"
#include "backends/openvino/legalize.h"
#include "backends/openvino/model.h"
#include "backends/openvino/takes.h"
#include "backends/openvino/target.h"

namespace dycl::backends::openvino {
namespace {

GivenWeight given(const ir::Weight& weight) {
  GivenWeight out{weight.bytes.data, weight.bytes.size, static_cast<std::int32_t>(weight.type.dtype), {}};
  for (const ir::Dim& dim : *weight.type.shape) out.shape.push_back(dim.value);
  return out;
}

Result<Artifact> portable(const ir::Program& program, const ir::Function& function) {
  DYCL_ASSIGN(ExportedModel exported, export_sub_dnn(program, function, kMemoryLocation));
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

// What OpenVINO made of the portable form; also the test that it can. From the cache
// comes the same, without asking it.
Result<std::vector<std::uint8_t>> compiled_bytes(const Core& core, const ir::Program& program, const Artifact& portable,
                                                 const BackendOptions& options) {
  DYCL_ASSIGN(const std::vector<GivenWeight> weights, weights_of(program, portable));
  std::uint64_t total = 0;
  for (const GivenWeight& weight : weights) total += weight.bytes;
  const bool wants_blob = !options.portable_only && total <= kMaxBlobWeights;
  CacheKey key("openvino");
  key.add(target_key(core.library->version)).add(wants_blob ? "blob" : "check");
  key.add(portable.bytes.data(), portable.bytes.size());
  for (const GivenWeight& weight : weights) key.add(weight.data, weight.bytes);
  if (options.cache)
    if (auto found = options.cache->get(key)) return std::move(*found);
  if (options.engine_calls) ++*options.engine_calls;
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::uint8_t> bytes;
  DYCL_ASSIGN(const CompiledHandle model, load_artifact(core, portable.bytes, weights));
  if (wants_blob) {
    DYCL_ASSIGN(bytes, export_blob(core, model));
  }
  if (options.engine_seconds)
    *options.engine_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (options.cache) options.cache->put(key, bytes);
  return bytes;
}

Result<std::optional<Artifact>> compiled(const Core& core, const ir::Program& program, const Artifact& portable,
                                         const BackendOptions& options) {
  DYCL_ASSIGN(std::vector<std::uint8_t> bytes, compiled_bytes(core, program, portable, options));
  if (bytes.empty()) return std::optional<Artifact>();
  Artifact artifact;
  artifact.backend = "openvino";
  artifact.target = target_key(core.library->version);
  artifact.bytes = std::move(bytes);
  return std::optional(std::move(artifact));
}

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
    std::vector<SubDnnArtifacts> all;
    for (const ir::Function& function : program.functions) {
      if (function.kind != ir::FunctionKind::SubDnn || !options.wants(function)) continue;
      DYCL_ASSIGN(Artifact plain, portable(program, function));
      auto blob = compiled(core, program, plain, options);
      if (!blob) {
        Error error = std::move(blob).error();
        if (error.kind == ErrorKind::RuntimeFailure) error.kind = ErrorKind::Unsupported;
        error.message = "sub-DNN @" + function.name + ": " + error.message;
        error.span = function.span;
        if (!options.failed || error.kind != ErrorKind::Unsupported) return error;
        options.failed(function, error);
        continue;
      }
      all.push_back({function.name, {}});
      if (*blob) all.back().artifacts.push_back(std::move(**blob));
      all.back().artifacts.push_back(std::move(plain));
    }
    return all;
  }
};

}  // namespace

std::unique_ptr<Backend> make_backend() { return std::make_unique<OpenVinoBackend>(); }

}  // namespace dycl::backends::openvino
