// SPDX-License-Identifier: Apache-2.0
#include "backends/tvm/compiler_client.h"

#include <algorithm>
#include <chrono>

#include "backends/cache.h"
#include "backends/cpu.h"
#include "backends/tvm/plan.h"
#include "onnx/export.h"

namespace dycl::backends::tvm {
namespace {

namespace fs = std::filesystem;

// {"in0": 16}: channels in a block, of operands and results that cross so.
nlohmann::json blocks_of(const PortLayouts& layouts) {
  nlohmann::json blocks = nlohmann::json::object();
  const auto add = [&](const char* kind, const std::vector<std::string>& tags) {
    for (std::size_t i = 0; i < tags.size(); ++i)
      if (const auto block = block_of(tags[i]); block > 0) blocks[kind + std::to_string(i)] = block;
  };
  add("in", layouts.inputs);
  add("out", layouts.outputs);
  return blocks;
}

}  // namespace

Result<Job> job_of(const ir::Program& program, const ir::Function& function, const PortLayouts& layouts) {
  DYCL_ASSIGN(onnx::ExportedModel exported, onnx::export_sub_dnn(program, function, "weights"));
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
  if (layouts.any()) structure += blocks_of(layouts).dump();
  return Job{&function, std::move(model), std::move(structure), std::move(exported.weights), std::move(bytes), layouts};
}

Result<nlohmann::json> CompilerClient::ask(const Job& job, nlohmann::json request) {
  DYCL_ASSIGN(const fs::path folder, compiler_.folder());
  std::string elements;
  for (const ir::Bytes& bytes : job.bytes) elements.append(reinterpret_cast<const char*>(bytes.data), bytes.size);
  const fs::path model = folder / "model.onnx", weights = folder / "model.weights";
  if (!write_file(model, job.model.data(), job.model.size()) || !write_file(weights, elements.data(), elements.size()))
    return failure("cannot write to " + folder.string());
  request["model"] = model.string();
  request["weights"] = weights.string();
  request["features"] = cpu_features();
  request["blocks"] = blocks_of(job.layouts);
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

Result<Answer> CompilerClient::compile(const Job& job, const nlohmann::json& records) {
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

}  // namespace dycl::backends::tvm
