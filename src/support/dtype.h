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
};

std::size_t size_of(DType dtype);              // bytes per element
std::string_view name_of(DType dtype);         // "f32", "i64", "bool", "bf16", "c64"
std::optional<DType> dtype_named(std::string_view name);
std::optional<DType> dtype_of_code(int code);  // from the stored number

constexpr bool is_floating(DType d) {
  return d == DType::F32 || d == DType::F64 || d == DType::F16 || d == DType::BF16;
}

}  // namespace dycl
