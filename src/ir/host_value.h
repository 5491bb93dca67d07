// SPDX-License-Identifier: Apache-2.0
// A value at run time, as the reference interpreter holds it. Immutable and cheap to
// copy: tensors, lists and optionals share what they hold.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/dim.h"
#include "ir/tensor.h"
#include "ir/type.h"
#include "support/scalar_ops.h"

namespace dycl::ir {

struct HostValue {
  using List = std::vector<HostValue>;
  struct Optional {
    std::shared_ptr<const HostValue> value;  // null: none
  };
  std::variant<bool, std::int64_t, double, std::shared_ptr<const Tensor>, std::shared_ptr<const List>, Optional> held;

  static HostValue of(bool v) { return {v}; }
  static HostValue of(std::int64_t v) { return {v}; }
  static HostValue of(double v) { return {v}; }
  static HostValue of(const scalar::Scalar& v);
  static HostValue of(Tensor t) { return {std::make_shared<const Tensor>(std::move(t))}; }
  static HostValue list(List items) { return {std::make_shared<const List>(std::move(items))}; }
  static HostValue some(HostValue v) { return {Optional{std::make_shared<const HostValue>(std::move(v))}}; }
  static HostValue none() { return {Optional{}}; }

  bool is_scalar() const { return held.index() <= 2; }
  bool boolean() const { return std::get<bool>(held); }
  std::int64_t integer() const { return std::get<std::int64_t>(held); }
  double floating() const { return std::get<double>(held); }
  scalar::Scalar scalar() const;
  const Tensor& tensor() const { return *std::get<std::shared_ptr<const Tensor>>(held); }
  const List& items() const { return *std::get<std::shared_ptr<const List>>(held); }
  const HostValue* inside() const { return std::get<Optional>(held).value.get(); }  // null: none
};

// Why a value is not of a type under given symbol values; nullopt if it is. Dims
// that cannot be evaluated (opaque, unknown symbols) take any extent.
std::optional<std::string> mismatch(const HostValue& value, const Type& type, const SymbolValues& symbols);

// How far two values may lie apart: |a - b| <= absolute + relative * |b|, for
// elements of floating tensors. Everything else must be equal (NaN equals NaN,
// floats on the host within `scalar_relative`).
struct Tolerance {
  double absolute = 0;
  double relative = 0;
  double scalar_relative = 0;
};
// Where `actual` differs from `expected`, in words; nullopt if it does not.
std::optional<std::string> difference(const HostValue& actual, const HostValue& expected,
                                      const Tolerance& tolerance = {});

std::string to_string(const HostValue& value);

}  // namespace dycl::ir
