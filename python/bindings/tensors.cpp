// SPDX-License-Identifier: Apache-2.0
#include "tensors.h"

#include <nanobind/ndarray.h>

#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>

#include "dlpack.h"

namespace nb = nanobind;

namespace dycl::bindings {
namespace {

using Array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

std::optional<DType> dtype_of(std::uint8_t code, std::uint8_t bits, std::uint16_t lanes) {
  using Code = nb::dlpack::dtype_code;
  if (lanes != 1) return std::nullopt;
  switch (static_cast<Code>(code)) {
    case Code::Bool: return bits == 8 ? std::optional(DType::Bool) : std::nullopt;
    case Code::Bfloat: return bits == 16 ? std::optional(DType::BF16) : std::nullopt;
    case Code::Float:
      if (bits == 16) return DType::F16;
      if (bits == 32) return DType::F32;
      if (bits == 64) return DType::F64;
      return std::nullopt;
    case Code::Int:
      if (bits == 8) return DType::I8;
      if (bits == 16) return DType::I16;
      if (bits == 32) return DType::I32;
      if (bits == 64) return DType::I64;
      return std::nullopt;
    case Code::UInt:
      if (bits == 8) return DType::U8;
      if (bits == 16) return DType::U16;
      if (bits == 32) return DType::U32;
      if (bits == 64) return DType::U64;
      return std::nullopt;
    case Code::Complex:
      if (bits == 64) return DType::C64;
      if (bits == 128) return DType::C128;
      return std::nullopt;
    case Code::Float8_E4M3FN: return bits == 8 ? std::optional(DType::F8E4M3FN) : std::nullopt;
    case Code::Float8_E4M3FNUZ: return bits == 8 ? std::optional(DType::F8E4M3FNUZ) : std::nullopt;
    case Code::Float8_E5M2: return bits == 8 ? std::optional(DType::F8E5M2) : std::nullopt;
    case Code::Float8_E5M2FNUZ: return bits == 8 ? std::optional(DType::F8E5M2FNUZ) : std::nullopt;
    default: return std::nullopt;
  }
}

void set_dlpack_dtype(DType dtype, dlpack::Tensor& tensor) {
  using Code = nb::dlpack::dtype_code;
  const auto code = [&] {
    switch (dtype) {
      case DType::Bool: return Code::Bool;
      case DType::BF16: return Code::Bfloat;
      case DType::F16:
      case DType::F32:
      case DType::F64: return Code::Float;
      case DType::I8:
      case DType::I16:
      case DType::I32:
      case DType::I64: return Code::Int;
      case DType::U8:
      case DType::U16:
      case DType::U32:
      case DType::U64: return Code::UInt;
      case DType::C64:
      case DType::C128: return Code::Complex;
      case DType::F8E4M3FN: return Code::Float8_E4M3FN;
      case DType::F8E4M3FNUZ: return Code::Float8_E4M3FNUZ;
      case DType::F8E5M2: return Code::Float8_E5M2;
      case DType::F8E5M2FNUZ: return Code::Float8_E5M2FNUZ;
    }
    throw nb::type_error("a tensor of an unknown element type");
  }();
  tensor.code = static_cast<std::uint8_t>(code);
  tensor.bits = static_cast<std::uint8_t>(8 * size_of(dtype));
  tensor.lanes = 1;
}

// Drops what it holds with the GIL held, wherever the last reference goes away.
template <typename T>
std::shared_ptr<T> with_gil_deleter(T held) {
  return {new T(std::move(held)), [](T* p) {
            if (!Py_IsInitialized()) return;
            nb::gil_scoped_acquire gil;
            delete p;
          }};
}

[[noreturn]] void refuse(nb::handle object, const char* what, const char* why) {
  const std::string type = nb::str(object.type()).c_str();
  throw nb::type_error((std::string(what) + ": " + why + " (" + type + ")").c_str());
}

// ---- the fast exchange ----------------------------------------------------------

// The table of a tensor type, or null. Types are kept alive by the map.
const dlpack::ExchangeApi* exchange_api(nb::handle type) {
  static auto* known = new std::unordered_map<PyObject*, const dlpack::ExchangeApi*>();  // under the GIL
  const auto found = known->find(type.ptr());
  if (found != known->end()) return found->second;
  const dlpack::ExchangeApi* api = nullptr;
  if (nb::object capsule = nb::getattr(type, "__dlpack_c_exchange_api__", nb::none());
      PyCapsule_CheckExact(capsule.ptr()))
    api = static_cast<const dlpack::ExchangeApi*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  while (api && api->version.major != 1) api = api->previous;
  Py_INCREF(type.ptr());
  known->emplace(type.ptr(), api);
  return api;
}

bool says_yes(nb::handle object, const char* method) {
  const nb::object found = nb::getattr(object, method, nb::none());
  return !found.is_none() && nb::cast<bool>(found());
}

bool is_row_major(const dlpack::Tensor& tensor) {
  if (!tensor.strides) return true;
  std::int64_t expected = 1;
  for (std::int32_t i = tensor.rank - 1; i >= 0; --i) {
    if (tensor.shape[i] == 0) return true;
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

// True if the table could describe the tensor as it is; false: take the general way.
bool import_fast(nb::handle object, HostTensor& tensor) {
  const dlpack::ExchangeApi* api = exchange_api(object.type());
  if (!api || !api->from_object) return false;
  // The table does not know of values that are only marked as conjugated or negated.
  if (says_yes(object, "is_neg") || says_yes(object, "is_conj")) return false;
  dlpack::Managed* managed = nullptr;
  if (api->from_object(object.ptr(), &managed) != 0) {
    PyErr_Clear();
    return false;
  }
  std::shared_ptr<dlpack::Managed> owner(managed, [](dlpack::Managed* p) {
    if (!p->deleter || !Py_IsInitialized()) return;
    nb::gil_scoped_acquire gil;
    p->deleter(p);
  });
  const dlpack::Tensor& view = managed->tensor;
  const auto dtype = dtype_of(view.code, view.bits, view.lanes);
  if (view.device_type != dlpack::kCpu || !dtype || !is_row_major(view)) return false;
  tensor.dtype = *dtype;
  tensor.shape.assign(view.shape, view.shape + view.rank);
  tensor.data = static_cast<std::uint8_t*>(view.data) + view.byte_offset;
  tensor.bytes = size_of(*dtype);
  for (const std::int64_t extent : tensor.shape) tensor.bytes *= static_cast<std::size_t>(extent);
  tensor.owner = std::move(owner);
  return true;
}

// ---- the general way: the DLPack and buffer protocols -----------------------------

// torch refuses DLPack for tensors that require a gradient or carry lazy bits.
nb::object exportable(nb::handle object) {
  nb::object result = nb::borrow(object);
  for (const char* step : {"detach", "resolve_conj", "resolve_neg"})
    if (nb::hasattr(result, step)) result = result.attr(step)();
  return result;
}

HostTensor import_any(nb::handle object, const char* what) {
  Array array;
  if (!is_tensor(object)) refuse(object, what, "expected a tensor");
  if (!nb::try_cast(exportable(object), array)) refuse(object, what, "not a CPU tensor that DLPack can describe");
  const auto type = array.dtype();
  const std::optional<DType> dtype = dtype_of(type.code, type.bits, type.lanes);
  if (!dtype) refuse(object, what, "a tensor of an unsupported element type");
  HostTensor tensor;
  tensor.dtype = *dtype;
  for (std::size_t i = 0; i < array.ndim(); ++i) tensor.shape.push_back(static_cast<std::int64_t>(array.shape(i)));
  tensor.data = const_cast<void*>(array.data());
  tensor.bytes = array.size() * size_of(*dtype);
  tensor.owner = with_gil_deleter(std::move(array));
  return tensor;
}

// ---- tensors for Python -------------------------------------------------------------

// A tensor of ours in one piece: what DLPack wants, the shape, the elements.
struct Export {
  dlpack::Managed managed{};
  std::vector<std::int64_t> shape, strides;
  Elements elements;

  Export(DType dtype, std::span<const std::int64_t> extents, Elements given)
      : shape(extents.begin(), extents.end()), strides(extents.size()), elements(std::move(given)) {
    std::int64_t stride = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
      strides[i] = stride;
      stride *= shape[i] ? shape[i] : 1;
    }
    managed.version = {1, 0};
    managed.context = this;
    managed.deleter = [](dlpack::Managed* self) { delete static_cast<Export*>(self->context); };
    managed.tensor = {elements.get(), dlpack::kCpu,   0, static_cast<std::int32_t>(shape.size()), 0, 0, 1,
                      shape.data(),   strides.data(), 0};
    set_dlpack_dtype(dtype, managed.tensor);
  }
};

nb::object export_to_torch(DType dtype, std::span<const std::int64_t> shape, Elements elements) {
  static const nb::object* tensor_type = new nb::object(nb::module_::import_("torch").attr("Tensor"));
  const dlpack::ExchangeApi* api = exchange_api(*tensor_type);
  if (!api || !api->to_object)
    throw nb::type_error("this torch has no DLPack exchange table; torch 2.10 or later is needed");
  auto tensor = std::make_unique<Export>(dtype, shape, std::move(elements));
  void* object = nullptr;
  if (api->to_object(&tensor.release()->managed, &object) != 0) nb::raise_python_error();
  return nb::steal(static_cast<PyObject*>(object));
}

nb::object export_to_numpy(DType dtype, std::span<const std::int64_t> shape, Elements elements) {
  dlpack::Tensor type{};
  set_dlpack_dtype(dtype, type);
  void* address = elements.get();
  nb::capsule owner(elements.release(), [](void* p) noexcept { std::free(p); });
  const std::vector<std::size_t> extents(shape.begin(), shape.end());
  return nb::cast(nb::ndarray<nb::numpy>(address, extents.size(), extents.data(), owner, nullptr,
                                         nb::dlpack::dtype{type.code, type.bits, type.lanes}));
}

}  // namespace

std::shared_ptr<nb::object> share(nb::object object) { return with_gil_deleter(std::move(object)); }

bool is_tensor(nb::handle object) { return nb::hasattr(object, "__dlpack__") || PyObject_CheckBuffer(object.ptr()); }

HostTensor import_tensor(nb::handle object, const char* what) {
  HostTensor tensor;
  if (import_fast(object, tensor)) return tensor;
  return import_any(object, what);
}

Elements copy_elements(const void* data, std::size_t bytes) {
  Elements elements(std::malloc(bytes ? bytes : 1));
  if (!elements) throw std::bad_alloc();
  if (bytes) std::memcpy(elements.get(), data, bytes);
  return elements;
}

nb::object export_tensor(DType dtype, std::span<const std::int64_t> shape, Elements elements,
                         const std::string& framework) {
  if (framework == "torch") return export_to_torch(dtype, shape, std::move(elements));
  if (framework == "numpy") return export_to_numpy(dtype, shape, std::move(elements));
  throw nb::value_error("framework: 'torch' or 'numpy'");
}

}  // namespace dycl::bindings
