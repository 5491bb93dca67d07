// SPDX-License-Identifier: Apache-2.0
// Numbers of the text form, and how they become elements of a tensor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/dtype.h"

namespace dycl::ir {

struct Number {
  bool is_integer = false;
  bool fits_signed = false;  // integer: `integer` holds it; else only `bits` (as unsigned) does
  bool has_bits = false;     // a NaN given by its bits
  std::int64_t integer = 0;
  std::uint64_t bits = 0;
  double real = 0;
  std::string text;  // its digits
};

// A float attribute's value (the NaN's bits are a double's).
double to_double(const Number& number);

// Appends the number as one element (for complex dtypes: one part of one). Returns
// what is wrong, or null.
const char* append_element(DType dtype, const Number& number, std::vector<std::uint8_t>& bytes);

}  // namespace dycl::ir
