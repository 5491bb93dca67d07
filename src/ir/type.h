// SPDX-License-Identifier: Apache-2.0
// Types of values: tensors and what a host program computes with.
//
//   f32[2,N,N+1,?]   tensor: each dim is an integer, an integer expression over
//                    the program's symbols, or `?` (known only at run time)
//   f32[]            a tensor with one element and no dims
//   f32[*]           a tensor whose rank is not known
//   bool int float   scalars (int: 64 bit, overflow is an error; float: 64 bit)
//   list<T> optional<T>
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/dtype.h"

namespace dycl::ir {

// One extent of a tensor. Exactly one of: known (value), symbolic (expr holds
// the canonical text of an integer expression), opaque (neither).
struct Dim {
  std::int64_t value = -1;
  std::string expr;

  static Dim of(std::int64_t n) { return Dim{n, {}}; }
  static Dim opaque() { return Dim{}; }
  bool is_known() const { return value >= 0; }
  bool is_symbolic() const { return value < 0 && !expr.empty(); }
  bool is_opaque() const { return value < 0 && expr.empty(); }
  bool operator==(const Dim&) const = default;
};

struct Type {
  enum class Kind : std::uint8_t { Tensor, Bool, Int, Float, List, Optional };

  Kind kind = Kind::Tensor;
  DType dtype = DType::F32;               // Tensor only
  std::optional<std::vector<Dim>> shape;  // Tensor only; nullopt: rank unknown
  std::vector<Type> element;              // List and Optional: exactly one

  static Type tensor(DType dtype, std::vector<Dim> shape) { return {Kind::Tensor, dtype, std::move(shape), {}}; }
  static Type tensor_of_unknown_rank(DType dtype) { return {Kind::Tensor, dtype, std::nullopt, {}}; }
  static Type boolean() { return {Kind::Bool, DType::Bool, std::nullopt, {}}; }
  static Type integer() { return {Kind::Int, DType::I64, std::nullopt, {}}; }
  static Type floating() { return {Kind::Float, DType::F64, std::nullopt, {}}; }
  static Type list(Type of) { return {Kind::List, DType::F32, std::nullopt, {std::move(of)}}; }
  static Type optional(Type of) { return {Kind::Optional, DType::F32, std::nullopt, {std::move(of)}}; }

  bool is_tensor() const { return kind == Kind::Tensor; }
  bool is_scalar() const { return kind == Kind::Bool || kind == Kind::Int || kind == Kind::Float; }
  bool operator==(const Type&) const = default;
};

std::string to_string(const Type& type);

// True if every value of `from` is a value of `to`: equal, or `to` has `?`
// dims or an unknown rank where `from` says more. (Elementwise in list/optional.)
bool fits(const Type& from, const Type& to);

// The least type that both fit, if dtype/kind agree: dims that differ become `?`.
std::optional<Type> join(const Type& a, const Type& b);

}  // namespace dycl::ir
