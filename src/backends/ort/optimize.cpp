// SPDX-License-Identifier: Apache-2.0
// A session is created only to be saved: ONNX Runtime writes the optimised model to a
// folder of our own, with tensors of some size in a second file, and we read
// it back.
#include "backends/ort/optimize.h"

#include <unistd.h>
#include <chrono>

#include <cstdlib>
#include <filesystem>

#include "backends/ort/held_back.h"
#include "backends/ort/plugin_ops.h"
#include "onnx/format/files.h"

namespace dycl::backends::ort {
namespace {

namespace fs = std::filesystem;

// A temporary folder that goes with its object.
class Folder {
 public:
  static Result<Folder> create() {
    std::error_code error;
    std::vector<fs::path> bases = {fs::temp_directory_path(error)};
    // Weights pass through here: memory is faster than a disk, where there is a choice.
    if (!std::getenv("TMPDIR") && has_room("/dev/shm")) bases.insert(bases.begin(), "/dev/shm");
    std::string pattern;
    for (const fs::path& base : bases) {
      pattern = (base / "dycl-XXXXXX").string();
      if (::mkdtemp(pattern.data())) return Folder(pattern);
    }
    return Error{
        ErrorKind::Missing, "cannot make a temporary folder " + pattern, "set TMPDIR to a writable folder", {}, {}};
  }
  Folder(Folder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  Folder& operator=(Folder&&) = delete;
  ~Folder() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }
  fs::path operator/(const char* name) const { return path_ / name; }

 private:
  explicit Folder(fs::path path) : path_(std::move(path)) {}

  static bool has_room(const fs::path& base) {
    constexpr std::uintmax_t kEnough = std::uintmax_t{4} << 30;
    std::error_code error;
    const fs::space_info space = fs::space(base, error);
    return !error && space.available >= kEnough;
  }

  fs::path path_;
};

Result<void> give_weights(const OrtApi& api, OrtSessionOptions* options, const std::vector<ir::Bytes>& weights) {
  if (weights.empty()) return {};
  static std::uint8_t nothing[64];  // the address of weights without elements
  std::vector<std::string> names;
  std::vector<const char*> name_pointers;
  std::vector<char*> buffers;
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < weights.size(); ++i) names.push_back("w" + std::to_string(i));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    name_pointers.push_back(names[i].c_str());
    const std::uint8_t* data = weights[i].size ? weights[i].data : nothing;
    buffers.push_back(reinterpret_cast<char*>(const_cast<std::uint8_t*>(data)));
    sizes.push_back(weights[i].size);
  }
  return check(api,
               api.AddExternalInitializersFromFilesInMemory(options, name_pointers.data(), buffers.data(), sizes.data(),
                                                            weights.size()),
               "weights");
}

Result<Handle<OrtSessionOptions>> saving_options(const OrtApi& api, const Folder& folder, Level level) {
  OrtSessionOptions* raw = nullptr;
  DYCL_TRY(check(api, api.CreateSessionOptions(&raw), "session options"));
  auto options = own(raw, api.ReleaseSessionOptions);
  const auto ort_level = level == Level::Extended ? ORT_ENABLE_EXTENDED : ORT_ENABLE_ALL;
  DYCL_TRY(check(api, api.SetSessionGraphOptimizationLevel(raw, ort_level), "session options"));
  // Fuses Transpose into a MatMul with a vector and gives wrong values (1.31.1): transpose(x) @ v.
  DYCL_TRY(check(api,
                 api.AddSessionConfigEntry(raw, "optimization.disable_specified_optimizers", "MatmulTransposeFusion"),
                 "session options"));
  DYCL_TRY(check(api, api.SetSessionLogSeverityLevel(raw, ORT_LOGGING_LEVEL_FATAL), "session options"));
  DYCL_TRY(check(api, api.SetIntraOpNumThreads(raw, 1), "session options"));
  DYCL_TRY(check(api, api.SetOptimizedModelFilePath(raw, (folder / "optimized.onnx").c_str()), "session options"));
  // Only the graph is wanted, not what kernels would pack for themselves.
  DYCL_TRY(check(api, api.AddSessionConfigEntry(raw, "session.disable_prepacking", "1"), "session options"));
  DYCL_TRY(check(
      api, api.AddSessionConfigEntry(raw, "session.optimized_model_external_initializers_file_name", "tensors.bin"),
      "session options"));
  DYCL_TRY(check(
      api, api.AddSessionConfigEntry(raw, "session.optimized_model_external_initializers_min_size_in_bytes", "4096"),
      "session options"));
  return options;
}

// Reads the saved model with the bytes of all its tensors.
Result<onnx::Model> read_back(const Folder& folder) {
  DYCL_ASSIGN(const ir::Bytes bytes, onnx::map_file(folder / "optimized.onnx"));
  DYCL_ASSIGN(onnx::Model model, onnx::read_model(bytes));
  ir::Bytes file;
  for (onnx::Tensor& tensor : model.graph.initializers) {
    if (!tensor.external) continue;
    if (!file.data) {
      DYCL_ASSIGN(file, onnx::map_file(folder / "tensors.bin"));
    }
    DYCL_ASSIGN(tensor.bytes, onnx::slice_external(tensor, file, "tensors.bin"));
    tensor.external.reset();
  }
  return model;
}

}  // namespace

Result<Optimizer> Optimizer::create() {
  Optimizer optimizer;
  DYCL_ASSIGN(optimizer.library_, library());
  DYCL_ASSIGN(optimizer.environment_, quiet_environment(*optimizer.library_));
  DYCL_ASSIGN(optimizer.torch_ops_, make_selection_ops(*optimizer.library_->api, 1));
  DYCL_ASSIGN(optimizer.recurrent_ops_, make_recurrent_ops(*optimizer.library_->api));
  return optimizer;
}

Result<onnx::Model> Optimizer::optimize(const onnx::Model& model, const std::vector<ir::Bytes>& weights,
                                        Level level) const {
  const OrtApi& api = *library_->api;
  DYCL_ASSIGN(const Folder folder, Folder::create());
  DYCL_ASSIGN(const auto options, saving_options(api, folder, level));
  DYCL_TRY(give_weights(api, options.get(), weights));
  if (model.opsets.count(kTorchDomain)) DYCL_TRY(torch_ops_->add_to(options.get()));
  if (model.opsets.count(kMendDomain)) DYCL_TRY(recurrent_ops_->add_to(options.get()));
  if (model.opsets.count(kLinearAlgebraDomain)) DYCL_TRY(add_plugin_ops(api, options.get()));
  onnx::Model shown = model;
  HeldBack held = hold_back(shown.graph, weights);
  const std::string bytes = onnx::write_model(shown);
  OrtSession* session = nullptr;
  const auto start = std::chrono::steady_clock::now();
  OrtStatus* status =
      api.CreateSessionFromArray(environment_.get(), bytes.data(), bytes.size(), options.get(), &session);
  if (session) api.ReleaseSession(session);
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  DYCL_TRY(check(api, status, "optimise"));
  DYCL_ASSIGN(onnx::Model optimized, read_back(folder));
  put_back(optimized.graph, std::move(held));
  return optimized;
}

}  // namespace dycl::backends::ort
