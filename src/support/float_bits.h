// SPDX-License-Identifier: Apache-2.0
// Conversions between float and the 16-bit formats, by bits: exact upwards,
// round-half-to-even downwards (overflow becomes infinity, NaN stays NaN).
#pragma once

#include <cstdint>

namespace dycl {

float f16_to_float(std::uint16_t bits);
std::uint16_t float_to_f16(float value);

float bf16_to_float(std::uint16_t bits);
std::uint16_t float_to_bf16(float value);

}  // namespace dycl
