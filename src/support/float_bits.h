// SPDX-License-Identifier: Apache-2.0
// Conversions between float and the 16-bit formats, by bits: exact upwards,
// round-half-to-even downwards (overflow becomes infinity, NaN stays NaN).
// Of the 8-bit formats upwards alone. FN: no infinity; UZ: no negative zero either.
#pragma once

#include <cstdint>

namespace dycl {

float f16_to_float(std::uint16_t bits);
std::uint16_t float_to_f16(float value);

float bf16_to_float(std::uint16_t bits);
std::uint16_t float_to_bf16(float value);

float f8e4m3fn_to_float(std::uint8_t bits);
float f8e4m3fnuz_to_float(std::uint8_t bits);
float f8e5m2_to_float(std::uint8_t bits);
float f8e5m2fnuz_to_float(std::uint8_t bits);

}  // namespace dycl
