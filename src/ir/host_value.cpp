// SPDX-License-Identifier: Apache-2.0
#include "ir/host_value.h"

#include <algorithm>
#include <cmath>

#include "ir/text.h"
#include "support/elements.h"
#include "support/python_str.h"

namespace dycl::ir {

HostValue HostValue::of(const scalar::Scalar& v) {
  if (v.kind == scalar::Kind::Bool) return of(v.b);
  if (v.kind == scalar::Kind::Int) return of(v.i);
  return of(v.f);
}

scalar::Scalar HostValue::scalar() const {
  if (const auto* b = std::get_if<bool>(&held)) return scalar::Scalar::of(*b);
  if (const auto* i = std::get_if<std::int64_t>(&held)) return scalar::Scalar::of(*i);
  return scalar::Scalar::of(std::get<double>(held));
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) out += (i ? "," : "") + std::to_string(shape[i]);
  return out + "]";
}

std::string to_string(const Tensor& tensor) {
  std::string out = std::string(name_of(tensor.dtype)) + shape_text(tensor.shape) + " [";
  append_elements(out, tensor.dtype, tensor.bytes);
  return out + "]";
}

namespace {

std::optional<std::string> tensor_mismatch(const Tensor& tensor, const Type& type, const SymbolValues& symbols) {
  const std::string is = std::string(name_of(tensor.dtype)) + shape_text(tensor.shape);
  if (tensor.dtype != type.dtype) return is + " is no " + to_string(type) + " (dtype)";
  if (!type.shape) return std::nullopt;
  if (type.shape->size() != tensor.shape.size()) return is + " is no " + to_string(type) + " (rank)";
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    const auto extent = evaluate((*type.shape)[i], symbols);
    if (extent && *extent != tensor.shape[i])
      return is + " is no " + to_string(type) + " (dim " + std::to_string(i) + " should be " + std::to_string(*extent) +
             ")";
  }
  return std::nullopt;
}

const char* kind_name(const HostValue& value) {
  constexpr const char* kNames[] = {"a bool", "an int", "a float", "a tensor", "a list", "an optional"};
  return kNames[value.held.index()];
}

bool close(double a, double b, double absolute, double relative) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return true;
  return std::isfinite(a) && std::isfinite(b) && std::fabs(a - b) <= absolute + relative * std::fabs(b);
}

std::optional<std::string> tensor_difference(const Tensor& a, const Tensor& b, const Tolerance& tolerance) {
  if (a.dtype != b.dtype || a.shape != b.shape) return to_string(a) + " is not " + to_string(b);
  if (!is_floating(a.dtype))
    return a.bytes == b.bytes ? std::nullopt : std::optional(to_string(a) + " is not " + to_string(b));
  const std::size_t width = size_of(a.dtype);
  for (std::size_t i = 0; i * width < a.bytes.size(); ++i) {
    scalar::Scalar x, y;
    load_element(a.dtype, a.bytes.data() + i * width, &x);
    load_element(b.dtype, b.bytes.data() + i * width, &y);
    if (!close(x.f, y.f, tolerance.absolute, tolerance.relative))
      return "element " + std::to_string(i) + " is " + float_text(x.f) + ", not " + float_text(y.f) + ", in " +
             (a.bytes.size() <= 512 ? to_string(a) + ", not " + to_string(b) : std::string("a large tensor"));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> mismatch(const HostValue& value, const Type& type, const SymbolValues& symbols) {
  const auto wrong = [&] { return std::string(kind_name(value)) + " is no " + to_string(type); };
  switch (type.kind) {
    case Type::Kind::Bool: return std::holds_alternative<bool>(value.held) ? std::nullopt : std::optional(wrong());
    case Type::Kind::Int:
      return std::holds_alternative<std::int64_t>(value.held) ? std::nullopt : std::optional(wrong());
    case Type::Kind::Float: return std::holds_alternative<double>(value.held) ? std::nullopt : std::optional(wrong());
    case Type::Kind::Tensor:
      if (!std::holds_alternative<std::shared_ptr<const Tensor>>(value.held)) return wrong();
      return tensor_mismatch(value.tensor(), type, symbols);
    case Type::Kind::List:
      if (!std::holds_alternative<std::shared_ptr<const HostValue::List>>(value.held)) return wrong();
      for (const HostValue& item : value.items())
        if (auto m = mismatch(item, type.element[0], symbols)) return m;
      return std::nullopt;
    case Type::Kind::Optional:
      if (!std::holds_alternative<HostValue::Optional>(value.held)) return wrong();
      return value.inside() ? mismatch(*value.inside(), type.element[0], symbols) : std::nullopt;
  }
  return wrong();
}

std::optional<std::string> difference(const HostValue& a, const HostValue& b, const Tolerance& tolerance) {
  const auto differ = [&] { return to_string(a) + " is not " + to_string(b); };
  if (a.held.index() != b.held.index()) return differ();
  if (std::holds_alternative<double>(a.held))
    return close(a.floating(), b.floating(), 0, tolerance.scalar_relative) ? std::nullopt : std::optional(differ());
  if (a.is_scalar())
    return a.held.index() == 0 ? (a.boolean() == b.boolean() ? std::nullopt : std::optional(differ()))
                               : (a.integer() == b.integer() ? std::nullopt : std::optional(differ()));
  if (std::holds_alternative<std::shared_ptr<const Tensor>>(a.held))
    return tensor_difference(a.tensor(), b.tensor(), tolerance);
  if (std::holds_alternative<HostValue::Optional>(a.held)) {
    if (!a.inside() || !b.inside()) return a.inside() == b.inside() ? std::nullopt : std::optional(differ());
    return difference(*a.inside(), *b.inside(), tolerance);
  }
  if (a.items().size() != b.items().size()) return differ();
  for (std::size_t i = 0; i < a.items().size(); ++i)
    if (auto d = difference(a.items()[i], b.items()[i], tolerance)) return "item " + std::to_string(i) + ": " + *d;
  return std::nullopt;
}

std::string to_string(const HostValue& value) {
  if (const auto* b = std::get_if<bool>(&value.held)) return *b ? "true" : "false";
  if (const auto* i = std::get_if<std::int64_t>(&value.held)) return std::to_string(*i);
  if (const auto* f = std::get_if<double>(&value.held)) return float_text(*f);
  if (std::holds_alternative<std::shared_ptr<const Tensor>>(value.held)) return to_string(value.tensor());
  if (std::holds_alternative<HostValue::Optional>(value.held))
    return value.inside() ? "some(" + to_string(*value.inside()) + ")" : "none";
  std::string out = "[";
  for (std::size_t i = 0; i < value.items().size(); ++i) out += (i ? ", " : "") + to_string(value.items()[i]);
  return out + "]";
}

}  // namespace dycl::ir
