// SPDX-License-Identifier: Apache-2.0
#include "support/float_bits.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace dycl {

float f16_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fU;
  const std::uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 0x1fU) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  return sign ? -magnitude : magnitude;
}

std::uint16_t float_to_f16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint16_t sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) {  // NaN: keep what fits of the payload, and keep it a NaN
    const std::uint32_t payload = (magnitude >> 13) & 0x3ffU;
    return static_cast<std::uint16_t>(sign | 0x7c00U | (payload ? payload : 0x200U));
  }
  if (magnitude >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U);  // rounds to 2^16 or more
  if (magnitude < 0x38800000U) {                                                    // subnormal or zero
    const float scaled = std::ldexp(std::bit_cast<float>(magnitude), 24);
    return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(std::nearbyint(scaled)));
  }
  const std::uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
}

float bf16_to_float(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

std::uint16_t float_to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) {
    const auto top = static_cast<std::uint16_t>(bits >> 16);
    return (top & 0x7fU) ? top : static_cast<std::uint16_t>(top | 0x40U);
  }
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

namespace {

// Sign, exponent and mantissa, the highest exponent being one like the others.
float float_of(std::uint8_t bits, int mantissa_bits, int bias) {
  const int exponent = (bits & 0x7f) >> mantissa_bits;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const int whole = exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits);
  const float magnitude = std::ldexp(static_cast<float>(whole), std::max(exponent, 1) - bias - mantissa_bits);
  return bits & 0x80 ? -magnitude : magnitude;
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

float f8e4m3fn_to_float(std::uint8_t bits) { return (bits & 0x7f) == 0x7f ? kNan : float_of(bits, 3, 7); }

float f8e4m3fnuz_to_float(std::uint8_t bits) { return bits == 0x80 ? kNan : float_of(bits, 3, 8); }

float f8e5m2_to_float(std::uint8_t bits) {
  if ((bits & 0x7c) != 0x7c) return float_of(bits, 2, 15);
  if (bits & 3) return kNan;
  return bits & 0x80 ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
}

float f8e5m2fnuz_to_float(std::uint8_t bits) { return bits == 0x80 ? kNan : float_of(bits, 2, 16); }

}  // namespace dycl
