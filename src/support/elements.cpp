// SPDX-License-Identifier: Apache-2.0
#include "support/elements.h"

#include <cstring>
#include <limits>

#include "support/float_bits.h"
#include "support/result.h"

namespace dycl {
namespace {

using scalar::Fault;
using scalar::Scalar;

template <typename T>
T read_as(const void* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

template <typename T>
void write_as(void* data, T value) {
  std::memcpy(data, &value, sizeof value);
}

template <typename T>
Fault store_integer(const Scalar& value, void* data) {
  std::int64_t i = 0;
  if (value.kind == scalar::Kind::Float) {
    if (scalar::float_to_int(value.f, &i) != Fault::None) return Fault::IntOutOfDtype;
  } else {
    i = value.kind == scalar::Kind::Bool ? value.b : value.i;
  }
  if constexpr (std::is_unsigned_v<T>) {
    if (i < 0 || static_cast<std::uint64_t>(i) > std::numeric_limits<T>::max()) return Fault::IntOutOfDtype;
  } else {
    if (i < std::numeric_limits<T>::min() || i > std::numeric_limits<T>::max()) return Fault::IntOutOfDtype;
  }
  write_as(data, static_cast<T>(i));
  return Fault::None;
}

double as_double(const Scalar& value) {
  switch (value.kind) {
    case scalar::Kind::Bool: return value.b ? 1.0 : 0.0;
    case scalar::Kind::Int: return static_cast<double>(value.i);
    case scalar::Kind::Float: break;
  }
  return value.f;
}

bool as_bool(const Scalar& value) {
  switch (value.kind) {
    case scalar::Kind::Bool: return value.b;
    case scalar::Kind::Int: return value.i != 0;
    case scalar::Kind::Float: break;
  }
  return value.f != 0.0;
}

}  // namespace

Fault load_element(DType dtype, const void* data, Scalar* out) {
  const auto give_int = [&](std::int64_t v) { *out = Scalar::of(v); };
  const auto give_float = [&](double v) { *out = Scalar::of(v); };
  switch (dtype) {
    case DType::Bool: *out = Scalar::of(read_as<std::uint8_t>(data) != 0); break;
    case DType::U8: give_int(read_as<std::uint8_t>(data)); break;
    case DType::I8: give_int(read_as<std::int8_t>(data)); break;
    case DType::U16: give_int(read_as<std::uint16_t>(data)); break;
    case DType::I16: give_int(read_as<std::int16_t>(data)); break;
    case DType::I32: give_int(read_as<std::int32_t>(data)); break;
    case DType::U32: give_int(read_as<std::uint32_t>(data)); break;
    case DType::I64: give_int(read_as<std::int64_t>(data)); break;
    case DType::U64: {
      const auto v = read_as<std::uint64_t>(data);
      if (v > static_cast<std::uint64_t>(scalar::kIntMax)) return Fault::IntOverflow;
      give_int(static_cast<std::int64_t>(v));
      break;
    }
    case DType::F32: give_float(static_cast<double>(read_as<float>(data))); break;
    case DType::F64: give_float(read_as<double>(data)); break;
    case DType::F16: give_float(static_cast<double>(f16_to_float(read_as<std::uint16_t>(data)))); break;
    case DType::BF16: give_float(static_cast<double>(bf16_to_float(read_as<std::uint16_t>(data)))); break;
    case DType::F8E4M3FN: give_float(static_cast<double>(f8e4m3fn_to_float(read_as<std::uint8_t>(data)))); break;
    case DType::F8E4M3FNUZ: give_float(static_cast<double>(f8e4m3fnuz_to_float(read_as<std::uint8_t>(data)))); break;
    case DType::F8E5M2: give_float(static_cast<double>(f8e5m2_to_float(read_as<std::uint8_t>(data)))); break;
    case DType::F8E5M2FNUZ: give_float(static_cast<double>(f8e5m2fnuz_to_float(read_as<std::uint8_t>(data)))); break;
    default: DYCL_CHECK(false, "a complex element is no scalar");
  }
  return Fault::None;
}

Fault store_element(DType dtype, const Scalar& value, void* data) {
  switch (dtype) {
    case DType::Bool: write_as<std::uint8_t>(data, as_bool(value) ? 1 : 0); return Fault::None;
    case DType::U8: return store_integer<std::uint8_t>(value, data);
    case DType::I8: return store_integer<std::int8_t>(value, data);
    case DType::U16: return store_integer<std::uint16_t>(value, data);
    case DType::I16: return store_integer<std::int16_t>(value, data);
    case DType::I32: return store_integer<std::int32_t>(value, data);
    case DType::U32: return store_integer<std::uint32_t>(value, data);
    case DType::I64: return store_integer<std::int64_t>(value, data);
    case DType::U64: return store_integer<std::uint64_t>(value, data);
    case DType::F32: write_as(data, static_cast<float>(as_double(value))); return Fault::None;
    case DType::F64: write_as(data, as_double(value)); return Fault::None;
    case DType::F16: write_as(data, float_to_f16(static_cast<float>(as_double(value)))); return Fault::None;
    case DType::BF16: write_as(data, float_to_bf16(static_cast<float>(as_double(value)))); return Fault::None;
    default: DYCL_CHECK(false, "a scalar is no complex element and no 8-bit float");
  }
  return Fault::None;
}

}  // namespace dycl
