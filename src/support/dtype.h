// SPDX-License-Identifier: Apache-2.0
// Element types of tensors. The numbers are those of ONNX's TensorProto.DataType;
// packages and plug-ins store them, so they never change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dycl {

enum class DType : std::uint8_t {
  F32 = 1,
  U8 = 2,
  I8 = 3,
  U16 = 4,
  I16 = 5,
  I32 = 6,
  I64 = 7,
  Bool = 9,
  F16 = 10,
  F64 = 11,
  U32 = 12,
  U64 = 13,
  C64 = 14,
  C128 = 15,
  BF16 = 16,
  F8E4M3FN = 17,
  F8E4M3FNUZ = 18,
  F8E5M2 = 19,
  F8E5M2FNUZ = 20,
};

std::size_t size_of(DType dtype);              // bytes per element
std::string_view name_of(DType dtype);         // "f32", "i64", "bool", "bf16", "c64", "f8e5m2"
std::optional<DType> dtype_named(std::string_view name);
std::optional<DType> dtype_of_code(int code);  // from the stored number

constexpr bool is_float8(DType d) { return d >= DType::F8E4M3FN && d <= DType::F8E5M2FNUZ; }

constexpr bool is_floating(DType d) {
  return d == DType::F32 || d == DType::F64 || d == DType::F16 || d == DType::BF16 || is_float8(d);
}

constexpr bool is_complex(DType d) { return d == DType::C64 || d == DType::C128; }

// Whether elements become scalars of the host and scalars elements. Complex numbers have no scalar; 8-bit floats go
// from engine to engine, which alone know whether to saturate.
constexpr bool has_scalars(DType d) { return !is_complex(d) && !is_float8(d); }

}  // namespace dycl
