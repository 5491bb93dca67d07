// SPDX-License-Identifier: Apache-2.0
#include "ir/literal_reader.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>

#include "support/float_bits.h"

namespace dycl::ir {

namespace {

constexpr const char* kNoNan = "these bits are no NaN of the dtype";

template <typename T>
void append(T value, std::vector<std::uint8_t>& bytes) {
  const auto raw = std::bit_cast<std::array<std::uint8_t, sizeof(T)>>(value);
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

template <typename T>
const char* append_integer(const Number& n, std::vector<std::uint8_t>& bytes) {
  if (!n.is_integer) return "an integer is expected here";
  const bool negative = n.fits_signed && n.integer < 0;
  const bool fits = negative
                        ? (std::is_signed_v<T> && n.integer >= static_cast<std::int64_t>(std::numeric_limits<T>::min()))
                        : n.bits <= static_cast<std::uint64_t>(std::numeric_limits<T>::max());
  if (!fits) return "the number does not fit in the dtype";
  append(static_cast<T>(n.bits), bytes);
  return nullptr;
}

// Read from the digits themselves: through double it would be rounded twice.
float to_float(const Number& n) {
  if (n.is_integer) return n.fits_signed ? static_cast<float>(n.integer) : static_cast<float>(n.bits);
  if (std::isnan(n.real) || std::isinf(n.real)) return static_cast<float>(n.real);
  float value = 0;
  const auto result = std::from_chars(n.text.data(), n.text.data() + n.text.size(), value);
  return result.ec == std::errc() ? value : static_cast<float>(n.real);
}

}  // namespace

double to_double(const Number& n) {
  if (n.has_bits) return std::bit_cast<double>(n.bits);
  if (n.is_integer) return n.fits_signed ? static_cast<double>(n.integer) : static_cast<double>(n.bits);
  return n.real;
}

const char* append_element(DType dtype, const Number& n, std::vector<std::uint8_t>& bytes) {
  switch (dtype) {
    case DType::F32:
    case DType::C64: {
      if (n.has_bits && (n.bits >> 32 || !std::isnan(std::bit_cast<float>(static_cast<std::uint32_t>(n.bits)))))
        return kNoNan;
      append(n.has_bits ? std::bit_cast<float>(static_cast<std::uint32_t>(n.bits)) : to_float(n), bytes);
      return nullptr;
    }
    case DType::F64:
    case DType::C128:
      if (n.has_bits && !std::isnan(to_double(n))) return kNoNan;
      append(to_double(n), bytes);
      return nullptr;
    case DType::F16:
      if (n.has_bits && (n.bits >> 16 || !std::isnan(f16_to_float(static_cast<std::uint16_t>(n.bits))))) return kNoNan;
      append(n.has_bits ? static_cast<std::uint16_t>(n.bits) : float_to_f16(to_float(n)), bytes);
      return nullptr;
    case DType::BF16:
      if (n.has_bits && (n.bits >> 16 || !std::isnan(bf16_to_float(static_cast<std::uint16_t>(n.bits))))) return kNoNan;
      append(n.has_bits ? static_cast<std::uint16_t>(n.bits) : float_to_bf16(to_float(n)), bytes);
      return nullptr;
    case DType::F8E4M3FN:
    case DType::F8E4M3FNUZ:
    case DType::F8E5M2:
    case DType::F8E5M2FNUZ:  // their bits
    case DType::U8: return append_integer<std::uint8_t>(n, bytes);
    case DType::I8: return append_integer<std::int8_t>(n, bytes);
    case DType::U16: return append_integer<std::uint16_t>(n, bytes);
    case DType::I16: return append_integer<std::int16_t>(n, bytes);
    case DType::U32: return append_integer<std::uint32_t>(n, bytes);
    case DType::I32: return append_integer<std::int32_t>(n, bytes);
    case DType::U64: return append_integer<std::uint64_t>(n, bytes);
    case DType::I64: return append_integer<std::int64_t>(n, bytes);
    case DType::Bool: return "true or false is expected here";
  }
  return "unknown dtype";
}

}  // namespace dycl::ir
