// SPDX-License-Identifier: Apache-2.0
#include "tensors.h"

#include <nanobind/ndarray.h>

#include <optional>
#include <string>

namespace nb = nanobind;

namespace dycl::bindings {
namespace {

using Array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

std::optional<DType> dtype_of(nb::dlpack::dtype type) {
  if (type.lanes != 1) return std::nullopt;
  using Code = nb::dlpack::dtype_code;
  switch (static_cast<Code>(type.code)) {
    case Code::Bool: return type.bits == 8 ? std::optional(DType::Bool) : std::nullopt;
    case Code::Bfloat: return type.bits == 16 ? std::optional(DType::BF16) : std::nullopt;
    case Code::Float:
      if (type.bits == 16) return DType::F16;
      if (type.bits == 32) return DType::F32;
      if (type.bits == 64) return DType::F64;
      return std::nullopt;
    case Code::Int:
      if (type.bits == 8) return DType::I8;
      if (type.bits == 16) return DType::I16;
      if (type.bits == 32) return DType::I32;
      if (type.bits == 64) return DType::I64;
      return std::nullopt;
    case Code::UInt:
      if (type.bits == 8) return DType::U8;
      if (type.bits == 16) return DType::U16;
      if (type.bits == 32) return DType::U32;
      if (type.bits == 64) return DType::U64;
      return std::nullopt;
    case Code::Complex:
      if (type.bits == 64) return DType::C64;
      if (type.bits == 128) return DType::C128;
      return std::nullopt;
    default: return std::nullopt;
  }
}

// torch refuses DLPack for tensors that require a gradient or carry lazy bits.
nb::object exportable(nb::handle object) {
  nb::object result = nb::borrow(object);
  for (const char* step : {"detach", "resolve_conj", "resolve_neg"})
    if (nb::hasattr(result, step)) result = result.attr(step)();
  return result;
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

}  // namespace

std::shared_ptr<nb::object> share(nb::object object) { return with_gil_deleter(std::move(object)); }

bool is_tensor(nb::handle object) {
  return nb::hasattr(object, "__dlpack__") || PyObject_CheckBuffer(object.ptr());
}

HostTensor import_tensor(nb::handle object, const char* what) {
  Array array;
  if (!is_tensor(object)) refuse(object, what, "expected a tensor");
  if (!nb::try_cast(exportable(object), array)) refuse(object, what, "not a CPU tensor that DLPack can describe");
  const std::optional<DType> dtype = dtype_of(array.dtype());
  if (!dtype) refuse(object, what, "a tensor of an unsupported element type");

  HostTensor tensor;
  tensor.dtype = *dtype;
  for (std::size_t i = 0; i < array.ndim(); ++i) tensor.shape.push_back(static_cast<std::int64_t>(array.shape(i)));
  tensor.data = const_cast<void*>(array.data());
  tensor.bytes = array.size() * size_of(*dtype);
  tensor.owner = with_gil_deleter(std::move(array));
  return tensor;
}

}  // namespace dycl::bindings
