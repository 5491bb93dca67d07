// SPDX-License-Identifier: Apache-2.0
#include "driver/weights_file.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "support/files.h"

namespace dycl::driver {
namespace {

using json = nlohmann::json;

constexpr std::uint64_t kMaxHeader = 100'000'000;  // the format's own limit

constexpr std::array<std::pair<std::string_view, DType>, 19> kDTypes{{
    {"F32", DType::F32},
    {"F64", DType::F64},
    {"F16", DType::F16},
    {"BF16", DType::BF16},
    {"I8", DType::I8},
    {"I16", DType::I16},
    {"I32", DType::I32},
    {"I64", DType::I64},
    {"U8", DType::U8},
    {"U16", DType::U16},
    {"U32", DType::U32},
    {"U64", DType::U64},
    {"BOOL", DType::Bool},
    {"C64", DType::C64},
    {"C128", DType::C128},
    {"F8_E4M3", DType::F8E4M3FN},
    {"F8_E4M3FNUZ", DType::F8E4M3FNUZ},
    {"F8_E5M2", DType::F8E5M2},
    {"F8_E5M2FNUZ", DType::F8E5M2FNUZ},
}};

Error damaged(const std::filesystem::path& path, const std::string& what) {
  return {ErrorKind::InvalidModel, path.string() + " is no valid safetensors file: " + what, {}, {}, {}};
}

struct Mapping {
  const std::uint8_t* data = nullptr;
  std::size_t size = 0;
  std::shared_ptr<const void> owner;
};

Result<Mapping> map_file(const std::filesystem::path& path) {
  DYCL_ASSIGN(const OpenFile file, open_regular_file(path, {ErrorKind::InvalidModel, ErrorKind::Missing}));
  const auto size = static_cast<std::size_t>(file.size);
  void* data = size ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor.number(), 0) : nullptr;
  if (data == MAP_FAILED)
    return Error{ErrorKind::Missing, "cannot map " + path.string() + ": " + std::strerror(errno), {}, {}, {}};
  std::shared_ptr<const void> owner(data, [size](const void* p) {
    if (p) ::munmap(const_cast<void*>(p), size);
  });
  return Mapping{static_cast<const std::uint8_t*>(data), size, std::move(owner)};
}

// The number of bytes of a tensor, or nullopt on overflow.
std::optional<std::uint64_t> byte_count(const std::vector<std::int64_t>& shape, DType dtype) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::uint64_t bytes = size_of(dtype);
  for (const std::int64_t extent : shape)
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes)) return std::nullopt;
  return bytes;
}

std::optional<std::vector<std::int64_t>> read_extents(const json& entry, const char* key) {
  std::vector<std::int64_t> extents;
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_array()) return std::nullopt;
  for (const json& item : *found) {
    if (!item.is_number_integer()) return std::nullopt;
    if (item.is_number_unsigned() && item.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
      return std::nullopt;
    if (item.get<std::int64_t>() < 0) return std::nullopt;
    extents.push_back(item.get<std::int64_t>());
  }
  return extents;
}

// One entry of the header, checked against `available` bytes of data; an empty
// string means it is fine.
std::string read_entry(const json& entry, std::uint64_t available, const Mapping& mapping, std::uint64_t data_begin,
                       ir::Weight& weight) {
  if (!entry.is_object()) return "is no object";
  const auto dtype_text = entry.find("dtype");
  if (dtype_text == entry.end() || !dtype_text->is_string()) return "has no dtype";
  const auto& name = dtype_text->get_ref<const std::string&>();
  const auto dtype = std::find_if(kDTypes.begin(), kDTypes.end(), [&](const auto& d) { return d.first == name; });
  if (dtype == kDTypes.end()) return "has the unknown dtype " + name;
  const auto shape = read_extents(entry, "shape");
  const auto offsets = read_extents(entry, "data_offsets");
  if (!shape || !offsets || offsets->size() != 2) return "lacks a valid shape or data_offsets";
  const auto begin = static_cast<std::uint64_t>((*offsets)[0]);
  const auto end = static_cast<std::uint64_t>((*offsets)[1]);
  const auto bytes = byte_count(*shape, dtype->second);
  if (begin > end || end > available) return "lies outside the file";
  if (!bytes || *bytes != end - begin) return "has another number of bytes than its shape says";
  std::vector<ir::Dim> dims;
  for (const std::int64_t extent : *shape) dims.push_back(ir::Dim::of(extent));
  weight.type = ir::Type::tensor(dtype->second, std::move(dims));
  const std::uint8_t* bytes_begin = mapping.data + data_begin + begin;
  // The format lets a tensor start anywhere; elements are read in place, so those must be aligned.
  const bool aligned = reinterpret_cast<std::uintptr_t>(bytes_begin) % size_of(dtype->second) == 0;
  weight.bytes =
      aligned ? ir::Bytes{mapping.owner, bytes_begin, end - begin} : ir::Bytes::copy_of(bytes_begin, end - begin);
  return {};
}

using Entry = const std::pair<const std::string, ir::Weight>*;

// Widest elements first, so that every tensor starts aligned without holes (the format has none).
std::vector<Entry> in_file_order(const ir::Program& program) {
  std::vector<Entry> order;
  for (const auto& entry : program.weights) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(),
                   [](Entry a, Entry b) { return size_of(a->second.type.dtype) > size_of(b->second.type.dtype); });
  return order;
}

std::string header_text(const std::vector<Entry>& order) {
  json header = json::object();
  std::uint64_t offset = 0;
  for (const Entry entry : order) {
    const std::string& name = entry->first;
    const auto& weight = entry->second;
    std::vector<std::int64_t> shape;
    for (const ir::Dim& dim : *weight.type.shape) shape.push_back(dim.value);
    const auto dtype =
        std::find_if(kDTypes.begin(), kDTypes.end(), [&](const auto& d) { return d.second == weight.type.dtype; });
    DYCL_CHECK(dtype != kDTypes.end(), "a dtype without a safetensors name");
    header[name] = {{"dtype", dtype->first}, {"shape", shape}, {"data_offsets", {offset, offset + weight.bytes.size}}};
    offset += weight.bytes.size;
  }
  std::string text = header.dump();
  text.append((64 - (text.size() + 8) % 64) % 64, ' ');  // the data starts aligned
  return text;
}

bool lacks_bytes(const ir::Weight& weight) {
  if (weight.bytes.data) return false;
  const auto& shape = *weight.type.shape;
  return std::none_of(shape.begin(), shape.end(), [](const ir::Dim& dim) { return dim.value == 0; });
}

}  // namespace

std::filesystem::path weights_path(const std::filesystem::path& dyir) {
  return std::filesystem::path(dyir).replace_extension(".safetensors");
}

Result<std::map<std::string, ir::Weight>> read_weights(const std::filesystem::path& path) {
  DYCL_ASSIGN(const Mapping mapping, map_file(path));
  std::uint64_t length = 0;
  if (mapping.size < sizeof length) return damaged(path, "shorter than its header");
  std::memcpy(&length, mapping.data, sizeof length);
  if (length > kMaxHeader || length > mapping.size - 8) return damaged(path, "its header lies outside the file");
  const char* text = reinterpret_cast<const char*>(mapping.data) + 8;
  const json header = json::parse(text, text + length, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) return damaged(path, "its header is not JSON");

  std::map<std::string, ir::Weight> weights;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    const std::string problem = read_entry(entry, mapping.size - 8 - length, mapping, 8 + length, weights[name]);
    if (!problem.empty()) return damaged(path, "tensor '" + name + "' " + problem);
  }
  return weights;
}

Result<void> attach_weights(ir::Program& program, const std::filesystem::path& path) {
  DYCL_ASSIGN(auto stored, read_weights(path));
  for (auto& [name, weight] : program.weights) {
    const auto found = stored.find(name);
    if (found == stored.end())
      return Error{ErrorKind::InvalidModel, path.string() + " lacks weight @" + name, {}, {}, {}};
    if (found->second.type != weight.type)
      return Error{ErrorKind::InvalidModel,
                   "weight @" + name + " is declared as " + ir::to_string(weight.type) + " but is " +
                       ir::to_string(found->second.type) + " in " + path.string(),
                   {},
                   {},
                   {}};
    weight.bytes = found->second.bytes;
  }
  return {};
}

Result<void> write_weights(const ir::Program& program, const std::filesystem::path& path) {
  const std::vector<Entry> order = in_file_order(program);
  for (const Entry entry : order)
    if (lacks_bytes(entry->second))
      return Error{ErrorKind::InvalidModel, "weight @" + entry->first + " has no bytes to write", {}, {}, {}};
  const std::string header = header_text(order);
  const std::uint64_t length = header.size();
  return write_file(path, [&](const Put& put) {
    put({reinterpret_cast<const char*>(&length), sizeof length});
    put(header);
    for (const Entry entry : order) {
      const ir::Bytes& bytes = entry->second.bytes;
      put({reinterpret_cast<const char*>(bytes.data), bytes.size});
    }
  });
}

}  // namespace dycl::driver
