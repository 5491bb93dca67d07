// SPDX-License-Identifier: Apache-2.0
// A tensor of the reference interpreter: owns its elements, row-major, native byte
// order (little-endian everywhere we run). Plain data; not for speed.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/op.h"
#include "ir/text.h"
#include "support/dtype.h"

namespace dycl::ir {

struct Tensor {
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;  // count() * size_of(dtype)

  // All zero. The shape must be one a tensor can have (element_count >= 0).
  static Tensor zeros(DType dtype, std::vector<std::int64_t> shape) {
    Tensor t{dtype, std::move(shape), {}};
    t.bytes.resize(static_cast<std::size_t>(t.count()) * size_of(dtype));
    return t;
  }
  // From elements of the C++ type that stores the dtype (bool: std::uint8_t).
  template <typename T>
  static Tensor of(DType dtype, std::vector<std::int64_t> shape, const std::vector<T>& elements) {
    Tensor t{dtype, std::move(shape), {}};
    t.bytes.resize(elements.size() * sizeof(T));
    if (!elements.empty()) std::memcpy(t.bytes.data(), elements.data(), t.bytes.size());
    return t;
  }
  static Tensor of(const TensorLiteral& literal) { return {literal.dtype, literal.shape, literal.bytes}; }

  std::int64_t count() const { return element_count(shape); }
  std::int64_t rank() const { return static_cast<std::int64_t>(shape.size()); }

  template <typename T>
  const T* data() const {
    return reinterpret_cast<const T*>(bytes.data());
  }
  template <typename T>
  T* data() {
    return reinterpret_cast<T*>(bytes.data());
  }

  bool operator==(const Tensor&) const = default;  // by bits
};

std::string shape_text(std::span<const std::int64_t> shape);  // "[2,3]"

// The whole tensor as text, e.g. "f32[2] [1.0,2.0]".
std::string to_string(const Tensor& tensor);

}  // namespace dycl::ir
