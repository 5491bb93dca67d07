// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/model.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace dycl::backends::openvino {
namespace {

constexpr const char* kDevice = "CPU";

Error failure(std::string message) { return {ErrorKind::RuntimeFailure, std::move(message), {}, {}, {}}; }

// A file in memory, for the one function of OpenVINO that only writes files.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("dycl", MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  bool ok() const { return descriptor_ >= 0; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

  bool append_to(std::vector<std::uint8_t>& out) const {
    const off_t size = ::lseek(descriptor_, 0, SEEK_END);
    if (size <= 0) return false;
    const std::size_t start = out.size();
    out.resize(start + static_cast<std::size_t>(size));
    for (off_t at = 0; at < size;) {
      const ssize_t n = ::pread(descriptor_, out.data() + start + at, static_cast<std::size_t>(size - at), at);
      if (n <= 0) return false;
      at += n;
    }
    return true;
  }

 private:
  int descriptor_;
};

Result<CompiledHandle> import_blob(const Core& core, std::span<const std::uint8_t> blob) {
  ov_compiled_model_t* raw = nullptr;
  DYCL_TRY(check(*core.library,
                 core.library->ov_core_import_model(core.handle.get(), reinterpret_cast<const char*>(blob.data()),
                                                    blob.size(), kDevice, &raw),
                 "import"));
  return CompiledHandle(raw, {core.library});
}

Result<CompiledHandle> compile_onnx(const Core& core, std::span<const std::uint8_t> bytes,
                                    const std::vector<GivenWeight>& weights) {
  const Library& library = *core.library;
  DYCL_ASSIGN(const std::string bound, bind_weights(bytes, weights));
  ov_model_t* raw_model = nullptr;
  DYCL_TRY(check(
      library,
      library.ov_core_read_model_from_memory_buffer(core.handle.get(), bound.data(), bound.size(), nullptr, &raw_model),
      "read"));
  const ModelHandle model(raw_model, {core.library});
  ov_compiled_model_t* raw = nullptr;
  DYCL_TRY(check(library, library.ov_core_compile_model_props(core.handle.get(), raw_model, kDevice, 0, nullptr, &raw),
                 "compile"));
  return CompiledHandle(raw, {core.library});
}

}  // namespace

Result<Core> make_core(int threads) {
  DYCL_ASSIGN(const Library* opened, library());
  ov_core_t* raw = nullptr;
  DYCL_TRY(check(*opened, opened->ov_core_create(&raw), "start"));
  Core core{opened, CoreHandle(raw, {opened}), threads};
  const std::string number = std::to_string(threads);
  std::vector<ov_property_t> properties = {{"INFERENCE_PRECISION_HINT", "f32"},
                                           {"PERFORMANCE_HINT", "LATENCY"},
                                           {"NUM_STREAMS", "1"},
                                           {"ENABLE_CPU_PINNING", "NO"}};
  if (threads > 0) properties.push_back({"INFERENCE_NUM_THREADS", number.c_str()});
  DYCL_TRY(
      check(*opened, opened->ov_core_set_properties(raw, kDevice, properties.size(), properties.data()), "options"));
  return core;
}

bool is_blob(std::span<const std::uint8_t> bytes) {
  return bytes.size() > sizeof kBlobMagic && std::memcmp(bytes.data(), kBlobMagic, sizeof kBlobMagic) == 0;
}

Result<CompiledHandle> load_artifact(const Core& core, std::span<const std::uint8_t> bytes,
                                     const std::vector<GivenWeight>& weights) {
  if (is_blob(bytes)) return import_blob(core, bytes.subspan(sizeof kBlobMagic));
  return compile_onnx(core, bytes, weights);
}

Result<std::vector<std::uint8_t>> export_blob(const Core& core, const CompiledHandle& model) {
  const MemoryFile file;
  if (!file.ok()) return failure("no file in memory for a compiled model");
  DYCL_TRY(
      check(*core.library, core.library->ov_compiled_model_export_model(model.get(), file.path().c_str()), "export"));
  std::vector<std::uint8_t> bytes(kBlobMagic, kBlobMagic + sizeof kBlobMagic);
  if (!file.append_to(bytes)) return failure("OpenVINO exported nothing");
  return bytes;
}

Result<std::vector<PortHandle>> ports_of(const Core& core, const CompiledHandle& model, bool outputs,
                                         std::size_t count) {
  const Library& library = *core.library;
  std::size_t found = 0;
  DYCL_TRY(check(library,
                 outputs ? library.ov_compiled_model_outputs_size(model.get(), &found)
                         : library.ov_compiled_model_inputs_size(model.get(), &found),
                 "ports"));
  if (found != count) return failure("the model has another number of operands or results than the program says");
  std::vector<PortHandle> ports;
  for (std::size_t i = 0; i < found; ++i) {
    ov_output_const_port_t* raw = nullptr;
    DYCL_TRY(check(library,
                   outputs ? library.ov_compiled_model_output_by_index(model.get(), i, &raw)
                           : library.ov_compiled_model_input_by_index(model.get(), i, &raw),
                   "port"));
    ports.push_back(PortHandle(raw, {core.library}));
  }
  return ports;
}

Result<ov_element_type_e> element_type(DType dtype) {
  switch (dtype) {
    case DType::F32: return F32;
    case DType::I64: return I64;
    case DType::Bool: return BOOLEAN;
    default: return failure("OpenVINO's plug-in takes no tensors of " + std::string(name_of(dtype)));
  }
}

}  // namespace dycl::backends::openvino
