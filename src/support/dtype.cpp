// SPDX-License-Identifier: Apache-2.0
#include "support/dtype.h"

namespace dycl {

namespace {

struct Row {
  DType dtype;
  std::string_view name;
  std::size_t size;
};

constexpr Row kRows[] = {
    {DType::F32, "f32", 4}, {DType::U8, "u8", 1},      {DType::I8, "i8", 1},     {DType::U16, "u16", 2},
    {DType::I16, "i16", 2}, {DType::I32, "i32", 4},    {DType::I64, "i64", 8},   {DType::Bool, "bool", 1},
    {DType::F16, "f16", 2}, {DType::F64, "f64", 8},    {DType::U32, "u32", 4},   {DType::U64, "u64", 8},
    {DType::C64, "c64", 8}, {DType::C128, "c128", 16}, {DType::BF16, "bf16", 2},
    {DType::F8E4M3FN, "f8e4m3fn", 1}, {DType::F8E4M3FNUZ, "f8e4m3fnuz", 1}, {DType::F8E5M2, "f8e5m2", 1},
    {DType::F8E5M2FNUZ, "f8e5m2fnuz", 1},
};

}  // namespace

std::size_t size_of(DType dtype) {
  for (const Row& row : kRows)
    if (row.dtype == dtype) return row.size;
  return 0;
}

std::string_view name_of(DType dtype) {
  for (const Row& row : kRows)
    if (row.dtype == dtype) return row.name;
  return "?";
}

std::optional<DType> dtype_named(std::string_view name) {
  for (const Row& row : kRows)
    if (row.name == name) return row.dtype;
  return std::nullopt;
}

std::optional<DType> dtype_of_code(int code) {
  for (const Row& row : kRows)
    if (static_cast<int>(row.dtype) == code) return row.dtype;
  return std::nullopt;
}

}  // namespace dycl
