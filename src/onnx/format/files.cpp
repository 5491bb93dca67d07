// SPDX-License-Identifier: Apache-2.0
#include "onnx/format/files.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "support/files.h"

namespace dycl::onnx {

Result<ir::Bytes> map_file(const std::filesystem::path& path) {
  DYCL_ASSIGN(const OpenFile file, open_regular_file(path, {ErrorKind::InvalidModel, ErrorKind::Missing}));
  const auto size = static_cast<std::size_t>(file.size);
  if (size == 0) return ir::Bytes::copy_of("", 0);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor.number(), 0);
  if (data == MAP_FAILED)
    return Error{ErrorKind::Missing, "cannot map " + path.string() + ": " + std::strerror(errno), {}, {}, {}};
  std::shared_ptr<const void> owner(data, [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
  return ir::Bytes{std::move(owner), static_cast<const std::uint8_t*>(data), size};
}

namespace {

// Each file is mapped once.
class ExternalFiles {
 public:
  explicit ExternalFiles(const std::filesystem::path& base_dir) : base_dir_(base_dir.empty() ? "." : base_dir) {}

  Result<void> map(Graph& graph) {
    for (Tensor& tensor : graph.initializers) DYCL_TRY(map(tensor));
    for (Node& node : graph.nodes) DYCL_TRY(map(node.attributes));
    return {};
  }

  Result<void> map(std::vector<Attribute>& attributes) {
    for (Attribute& attribute : attributes) {
      for (Tensor& tensor : attribute.tensor) DYCL_TRY(map(tensor));
      for (Graph& graph : attribute.graph) DYCL_TRY(map(graph));
    }
    return {};
  }

 private:
  Result<void> map(Tensor& tensor) {
    if (!tensor.external) return {};
    DYCL_ASSIGN(const auto file, file_of(tensor));
    DYCL_ASSIGN(tensor.bytes, slice_external(tensor, file->second, file->first));
    tensor.external.reset();
    return {};
  }

  using File = std::map<std::string, ir::Bytes>::const_iterator;  // by path

  Result<File> file_of(const Tensor& tensor) {
    const std::string& location = tensor.external->location;
    std::error_code error;
    const auto base = std::filesystem::weakly_canonical(base_dir_, error);
    // Without ".." first: behind a folder that is not there, links would not be followed.
    const auto path = std::filesystem::weakly_canonical((base / location).lexically_normal(), error);
    const auto relative = path.lexically_relative(base);
    if (error || std::filesystem::path(location).is_absolute() || relative.empty() || *relative.begin() == ".." ||
        location.find('\0') != std::string::npos)
      return Error{ErrorKind::InvalidModel,
                   "ONNX: tensor '" + tensor.name + "' names '" + location + "', outside the model's folder",
                   {},
                   {},
                   {}};
    if (const auto open = files_.find(path.string()); open != files_.end()) return File(open);
    DYCL_ASSIGN(ir::Bytes bytes, map_file(path));
    return File(files_.emplace(path.string(), std::move(bytes)).first);
  }

  std::filesystem::path base_dir_;
  std::map<std::string, ir::Bytes> files_;
};

}  // namespace

Result<void> map_external(Model& model, const std::filesystem::path& base_dir) {
  ExternalFiles files(base_dir);
  DYCL_TRY(files.map(model.graph));
  for (Function& function : model.functions) {
    DYCL_TRY(files.map(function.body));
    DYCL_TRY(files.map(function.defaults));
  }
  return {};
}

Result<ir::Bytes> slice_external(const Tensor& tensor, const ir::Bytes& file, const std::string& file_name) {
  const ExternalData& external = *tensor.external;
  const std::size_t wanted = tensor.element_count() * size_of(tensor.dtype);
  const auto offset = static_cast<std::size_t>(external.offset);
  if (external.length >= 0 && static_cast<std::size_t>(external.length) != wanted)
    return Error{ErrorKind::InvalidModel,
                 "ONNX: tensor '" + tensor.name + "' states a length that its shape contradicts",
                 {},
                 {},
                 {}};
  if (offset > file.size || wanted > file.size - offset)
    return Error{
        ErrorKind::InvalidModel, "ONNX: " + file_name + " is too short for tensor '" + tensor.name + "'", {}, {}, {}};
  return ir::Bytes{file.owner, file.data + offset, wanted};
}

}  // namespace dycl::onnx
