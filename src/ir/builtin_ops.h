// SPDX-License-Identifier: Apache-2.0
// Inside of the built-in evaluator: what its three files of ops share. An op is a
// function from a Call to its only result (or results); the table is in
// builtin_evaluator.cpp. An op refuses attributes that it does not know.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/tensor_evaluator.h"

namespace dycl::ir::builtin {

using Shape = std::vector<std::int64_t>;

struct Call {
  const Op& op;
  std::span<const Tensor* const> in;
  std::span<const Type> types;

  bool has(std::size_t i) const { return i < in.size() && in[i]; }
  const Tensor& operand(std::size_t i) const { return *in[i]; }
};

Error unsupported(const Call& call, const std::string& what);
Error bad_operand(const Call& call, const std::string& what);

// Fails unless `least <= operands <= most`, the first `least` are present, and every
// attribute is one of `attributes`.
Result<void> expect(const Call& call, std::size_t least, std::size_t most,
                    std::initializer_list<std::string_view> attributes);

std::int64_t int_attr(const Call& call, const char* key, std::int64_t otherwise);
double float_attr(const Call& call, const char* key, double otherwise);

// Operand `i` (i64 or i32) as integers.
Result<std::vector<std::int64_t>> int_operand(const Call& call, std::size_t i);

// An axis made >= 0.
Result<std::size_t> axis_in(const Call& call, std::int64_t axis, std::int64_t rank);

Result<Shape> broadcast_shape(const Call& call, const Shape& a, const Shape& b);

// For each element of `out` in order, the place of the element of a tensor of
// shape `from` (broadcast to `out`) that belongs there.
std::vector<std::int64_t> broadcast_places(const Shape& from, const Shape& out);

// Calls f with a value of the C++ type that stores the dtype; false for dtypes the
// evaluator does not compute with.
template <typename F>
bool with_number(DType dtype, F f) {
  switch (dtype) {
    case DType::F32: f(float{}); return true;
    case DType::F64: f(double{}); return true;
    case DType::I32: f(std::int32_t{}); return true;
    case DType::I64: f(std::int64_t{}); return true;
    default: return false;
  }
}

using OpFunction = Result<std::vector<Tensor>> (*)(const Call&);
struct OpEntry {
  std::string_view name;
  OpFunction run;
};
std::span<const OpEntry> elementwise_ops();  // builtin_elementwise.cpp
std::span<const OpEntry> layout_ops();       // builtin_layout.cpp
std::span<const OpEntry> reduction_ops();    // builtin_reduction.cpp

inline Result<std::vector<Tensor>> only(Tensor tensor) {
  std::vector<Tensor> tensors;
  tensors.push_back(std::move(tensor));
  return tensors;
}

}  // namespace dycl::ir::builtin
