// SPDX-License-Identifier: Apache-2.0
#include "onnx/format/files.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

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

Result<ir::Bytes> map_external(const Tensor& tensor, const std::filesystem::path& base_dir) {
  const ExternalData& external = *tensor.external;
  std::error_code error;
  const auto base = std::filesystem::weakly_canonical(base_dir.empty() ? "." : base_dir, error);
  const auto path = std::filesystem::weakly_canonical(base / external.location, error);
  const auto relative = path.lexically_relative(base);
  if (error || std::filesystem::path(external.location).is_absolute() || relative.empty() || *relative.begin() == "..")
    return Error{ErrorKind::InvalidModel,
                 "ONNX: tensor '" + tensor.name + "' names '" + external.location + "', outside the model's folder",
                 {},
                 {},
                 {}};
  DYCL_ASSIGN(const ir::Bytes file, map_file(path));
  return slice_external(tensor, file, path.string());
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
