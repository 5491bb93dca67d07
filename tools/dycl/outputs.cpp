// SPDX-License-Identifier: Apache-2.0
#include "outputs.h"

#include <cmath>
#include <cstring>
#include <deque>
#include <set>

#include "support/elements.h"
#include "support/files.h"
#include "support/npy.h"
#include "support/parse_json.h"
#include "support/utf8.h"

namespace dycl::tools {
namespace {

using json = nlohmann::ordered_json;
using runtime::Value;

constexpr std::size_t kJsonElements = 10000;
constexpr std::size_t kTextElements = 8;

json element_json(DType dtype, const void* data, std::size_t index) {
  const auto* element = static_cast<const std::uint8_t*>(data) + index * size_of(dtype);
  scalar::Scalar value;
  if (is_complex(dtype)) return nullptr;
  if (load_element(dtype, element, &value) != scalar::Fault::None) {  // a u64 beyond int
    std::uint64_t big = 0;
    std::memcpy(&big, element, sizeof big);
    return big;
  }
  if (value.kind == scalar::Kind::Bool) return value.b;
  if (value.kind == scalar::Kind::Int) return value.i;
  if (std::isfinite(value.f)) return value.f;
  return std::isnan(value.f) ? "nan" : value.f > 0 ? "inf" : "-inf";  // JSON has no such numbers
}

// Scalars as 0-d arrays; `storage` keeps their elements.
struct Storage {
  std::deque<std::array<std::uint8_t, 8>> scalars;
};

Result<ArrayView> array_of(const std::string& name, const Value& value, Storage& storage) {
  const auto scalar_view = [&](DType dtype, const void* data, std::size_t size) {
    auto& bytes = storage.scalars.emplace_back();
    std::memcpy(bytes.data(), data, size);
    return ArrayView{name, dtype, {}, {bytes.data(), size}};
  };
  switch (value.kind) {
    case Value::Kind::Bool: return scalar_view(DType::Bool, &value.boolean, 1);
    case Value::Kind::Int: return scalar_view(DType::I64, &value.integer, 8);
    case Value::Kind::Float: return scalar_view(DType::F64, &value.floating, 8);
    case Value::Kind::Tensor:
      return ArrayView{name,
                       value.tensor.dtype,
                       value.tensor.shape,
                       {static_cast<const std::uint8_t*>(value.tensor.data), value.tensor.byte_size()}};
    default:
      return Error{ErrorKind::Unsupported,
                   "the output '" + name + "' is a list or None, which a .npz cannot hold",
                   "print it with --json instead",
                   {},
                   {}};
  }
}

double as_double(DType dtype, const std::uint8_t* element) {
  scalar::Scalar value;
  if (load_element(dtype, element, &value) != scalar::Fault::None) {
    std::uint64_t big = 0;
    std::memcpy(&big, element, sizeof big);
    return static_cast<double>(big);
  }
  return value.kind == scalar::Kind::Float ? value.f
         : value.kind == scalar::Kind::Int ? static_cast<double>(value.i)
                                           : value.b;
}

bool close(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= tolerance * (1 + std::abs(b));
}

std::string shape_text(DType dtype, std::span<const std::int64_t> shape) {
  std::string text(name_of(dtype));
  text += "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}

// Empty if equal.
std::string difference(const ArrayView& actual, const NamedArray& expected, double tolerance) {
  const bool same_shape =
      std::equal(actual.shape.begin(), actual.shape.end(), expected.shape.begin(), expected.shape.end());
  const bool same_dtype = actual.dtype == expected.dtype || npy_dtype(actual.dtype) == expected.dtype;
  if (!same_shape || !same_dtype)
    return shape_text(actual.dtype, actual.shape) + " instead of " + shape_text(expected.dtype, expected.shape);
  if (is_complex(actual.dtype))
    return std::memcmp(actual.bytes.data(), expected.bytes.data(), actual.bytes.size()) == 0 ? ""
                                                                                             : "other complex values";
  const std::size_t count = actual.bytes.size() / size_of(actual.dtype);
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double a = as_double(actual.dtype, actual.bytes.data() + i * size_of(actual.dtype));
    const double b = as_double(expected.dtype, expected.bytes.data() + i * size_of(expected.dtype));
    if (!close(a, b, tolerance) && wrong++ == 0) first = i;
  }
  if (wrong == 0) return {};
  return std::to_string(wrong) + " of " + std::to_string(count) + " elements differ, the first at " +
         std::to_string(first) + ": " + element_json(actual.dtype, actual.bytes.data(), first).dump() + " instead of " +
         element_json(expected.dtype, expected.bytes.data(), first).dump();
}

}  // namespace

std::string name_of_output(const runtime::Program& program, std::size_t i) {
  const std::string& name = program.outputs()[i].name;
  return name.empty() ? "output_" + std::to_string(i) : name;
}

std::vector<std::string> variants_of(std::string_view metadata) {
  const json whole = parse_json<json>(metadata, kMetadataDepth);
  const json::json_pointer place("/metadata/variants");
  if (whole.is_discarded() || !whole.contains(place) || !whole[place].is_string()) return {};
  const json texts = parse_json<json>(whole[place].get_ref<const std::string&>(), kMetadataDepth);
  std::vector<std::string> found;
  for (const json& text : texts)
    if (text.is_string()) found.push_back(text);
  return found;
}

json value_json(const Value& value) {
  switch (value.kind) {
    case Value::Kind::None: return nullptr;
    case Value::Kind::Bool: return value.boolean;
    case Value::Kind::Int: return value.integer;
    case Value::Kind::Float: return element_json(DType::F64, &value.floating, 0);
    case Value::Kind::List: {
      json items = json::array();
      for (const Value& item : value.elements) items.push_back(value_json(item));
      return items;
    }
    case Value::Kind::Tensor: break;
  }
  const runtime::Tensor& tensor = value.tensor;
  json object = {{"dtype", name_of(tensor.dtype)},
                 {"shape", std::vector<std::int64_t>(tensor.shape.begin(), tensor.shape.end())}};
  const auto count = tensor.element_count();
  if (count <= kJsonElements && !is_complex(tensor.dtype)) {
    json& data = object["data"] = json::array();
    for (std::size_t i = 0; i < count; ++i) data.push_back(element_json(tensor.dtype, tensor.data, i));
  }
  return object;
}

std::string value_text(const Value& value) {
  if (value.kind != Value::Kind::Tensor) return value_json(value).dump();
  const runtime::Tensor& tensor = value.tensor;
  std::string text = shape_text(tensor.dtype, tensor.shape) + " [";
  const auto count = tensor.element_count();
  for (std::size_t i = 0; i < count && i < kTextElements; ++i)
    text += (i ? ", " : "") + element_json(tensor.dtype, tensor.data, i).dump();
  return text + (count > kTextElements ? ", ...]" : "]");
}

namespace {

// An output's name is the package's choice: none leads out of the folder, steers a terminal that lists it, or is taken
// twice.
Result<std::filesystem::path> file_of(const std::string& name, std::set<std::string>& taken) {
  const bool plain = one_line(name) == name && name.find('/') == name.npos;
  if (plain && taken.insert(name).second) return std::filesystem::path(name + ".npy");
  return Error{ErrorKind::Unsupported,
               plain ? "two outputs are called '" + name + "'"
                     : "the output '" + one_line(name) + "' has a name that no file in the folder can have",
               "write a .npz, or print it with --json",
               {},
               {}};
}

// Every output that a file can hold is written, also where another one cannot.
Result<void> write_folder(const runtime::Program& program, std::span<const Value> results,
                          const std::filesystem::path& folder) {
  DYCL_TRY(make_folder(folder));
  Result<void> outcome;
  std::set<std::string> taken;
  for (std::size_t i = 0; i < results.size(); ++i) {
    Storage storage;
    const std::string name = name_of_output(program, i);
    const auto array = array_of(name, results[i], storage);
    const auto file = file_of(name, taken);
    if (!array)
      outcome = array.error();
    else if (!file)
      outcome = file.error();
    else
      DYCL_TRY(write_npy(folder / *file, *array));
  }
  return outcome;
}

}  // namespace

Result<void> write_outputs(const runtime::Program& program, std::span<const Value> results,
                           const std::filesystem::path& path) {
  if (path.extension() != ".npz" && path.extension() != ".npy") return write_folder(program, results, path);
  Storage storage;
  std::vector<ArrayView> arrays;
  for (std::size_t i = 0; i < results.size(); ++i) {
    DYCL_ASSIGN(const ArrayView array, array_of(name_of_output(program, i), results[i], storage));
    arrays.push_back(array);
  }
  if (path.extension() == ".npz") return write_npz(path, arrays);
  if (arrays.size() == 1) return write_npy(path, arrays.front());
  return Error{ErrorKind::InvalidInput,
               "cannot write " + std::to_string(arrays.size()) + " outputs to " + path.string(),
               "use a .npz or a folder",
               {},
               {}};
}

Result<std::vector<std::string>> differences(const runtime::Program& program, std::span<const Value> results,
                                             const std::filesystem::path& path, double tolerance) {
  DYCL_ASSIGN(const auto expected, read_arrays(path));
  const bool single = expected.size() == 1 && results.size() == 1 && path.extension() == ".npy";
  Storage storage;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string name = name_of_output(program, i);
    DYCL_ASSIGN(const ArrayView actual, array_of(name, results[i], storage));
    const auto found = std::find_if(expected.begin(), expected.end(),
                                    [&](const NamedArray& array) { return single || array.name == name; });
    if (found == expected.end()) {
      lines.push_back(name + ": not in " + path.string());
      continue;
    }
    if (const std::string text = difference(actual, *found, tolerance); !text.empty())
      lines.push_back(name + ": " + text);
  }
  return lines;
}

}  // namespace dycl::tools
