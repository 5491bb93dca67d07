// SPDX-License-Identifier: Apache-2.0
#include "ir/type.h"

#include "ir/dim.h"

namespace dycl::ir {

std::string to_string(const Type& type) {
  switch (type.kind) {
    case Type::Kind::Bool: return "bool";
    case Type::Kind::Int: return "int";
    case Type::Kind::Float: return "float";
    case Type::Kind::List:
    case Type::Kind::Optional: {
      const std::string inner = type.element.size() == 1 ? to_string(type.element[0]) : "?";
      return (type.kind == Type::Kind::List ? "list<" : "optional<") + inner + ">";
    }
    case Type::Kind::Tensor: break;
  }
  std::string text(name_of(type.dtype));
  if (!type.shape) return text + "[*]";
  text += '[';
  for (std::size_t i = 0; i < type.shape->size(); ++i) text += (i ? "," : "") + to_string((*type.shape)[i]);
  return text + ']';
}

namespace {

bool dim_fits(const Dim& from, const Dim& to) { return to.is_opaque() || from == to; }

bool shape_fits(const Type& from, const Type& to) {
  if (!to.shape) return true;
  if (!from.shape || from.shape->size() != to.shape->size()) return false;
  for (std::size_t i = 0; i < to.shape->size(); ++i)
    if (!dim_fits((*from.shape)[i], (*to.shape)[i])) return false;
  return true;
}

}  // namespace

bool fits(const Type& from, const Type& to) {
  if (from.kind != to.kind) return false;
  if (from.is_tensor()) return from.dtype == to.dtype && shape_fits(from, to);
  if (from.is_scalar()) return true;
  return from.element.size() == 1 && to.element.size() == 1 && fits(from.element[0], to.element[0]);
}

std::optional<Type> join(const Type& a, const Type& b) {
  if (a.kind != b.kind) return std::nullopt;
  if (a.is_scalar()) return a;
  if (!a.is_tensor()) {
    if (a.element.size() != 1 || b.element.size() != 1) return std::nullopt;
    std::optional<Type> element = join(a.element[0], b.element[0]);
    if (!element) return std::nullopt;
    return a.kind == Type::Kind::List ? Type::list(std::move(*element)) : Type::optional(std::move(*element));
  }
  if (a.dtype != b.dtype) return std::nullopt;
  if (!a.shape || !b.shape || a.shape->size() != b.shape->size()) return Type::tensor_of_unknown_rank(a.dtype);
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < a.shape->size(); ++i)
    dims.push_back((*a.shape)[i] == (*b.shape)[i] ? (*a.shape)[i] : Dim::opaque());
  return Type::tensor(a.dtype, std::move(dims));
}

}  // namespace dycl::ir
