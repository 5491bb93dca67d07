// SPDX-License-Identifier: Apache-2.0
// What is known about one op of a sub-DNN while a back end decides whether it takes it: the table of its rules asks
// this. Keeps references; the program and the table of constants must outlive it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"

namespace dycl::backends {

using Reason = std::string;  // why an op is not taken; empty: it is

class OpSite {
 public:
  // `constants`: the const and weight ops of the sub-DNN, by the index of their value.
  OpSite(const ir::Program& program, const ir::Function& function,
         const std::map<std::uint32_t, const ir::Op*>& constants, const ir::Op& op)
      : program_(program), function_(function), constants_(constants), op_(op) {}

  std::size_t count() const { return op_.operands.size(); }
  std::size_t results() const {
    return static_cast<std::size_t>(
        std::count_if(op_.results.begin(), op_.results.end(), [](ir::ValueId v) { return v.present(); }));
  }
  bool has(std::size_t i) const { return i < op_.operands.size() && op_.operands[i].present(); }
  const ir::Type& type(std::size_t i) const { return function_.type_of(op_.operands[i]); }
  const ir::Type& result() const { return function_.type_of(op_.results[0]); }
  DType dtype(std::size_t i) const { return type(i).dtype; }
  bool is_constant(std::size_t i) const { return has(i) && constants_.count(op_.operands[i].index) != 0; }
  bool is_empty_constant(std::size_t i) const {
    if (!is_constant(i) || !type(i).shape) return false;
    return std::any_of(type(i).shape->begin(), type(i).shape->end(), [](const ir::Dim& dim) { return dim.value == 0; });
  }
  bool has_open_shape(std::size_t i) const {
    return has(i) && (!type(i).shape || std::any_of(type(i).shape->begin(), type(i).shape->end(),
                                                    [](const ir::Dim& dim) { return dim.is_opaque(); }));
  }
  std::size_t rank(std::size_t i) const { return type(i).shape->size(); }  // which must be known
  // Of an axis of operand i, negative ones counted from the end; -1: not known.
  std::int64_t extent(std::size_t i, std::int64_t axis) const {
    if (!type(i).shape) return -1;
    const auto n = static_cast<std::int64_t>(rank(i));
    if (axis < 0) axis += n;
    return axis < 0 || axis >= n ? -1 : (*type(i).shape)[static_cast<std::size_t>(axis)].value;
  }

  bool has_attribute(const std::string& key) const { return op_.attr(key) != nullptr; }
  std::int64_t integer(const std::string& key, std::int64_t otherwise) const {
    const ir::Attr* attr = op_.attr(key);
    if (!attr) return otherwise;
    if (const auto* i = std::get_if<std::int64_t>(attr)) return *i;
    if (const auto* b = std::get_if<bool>(attr)) return *b ? 1 : 0;
    return otherwise;
  }
  std::vector<std::int64_t> integers(const std::string& key) const {
    const ir::Attr* attr = op_.attr(key);
    const auto* list = attr ? std::get_if<std::vector<std::int64_t>>(attr) : nullptr;
    return list ? *list : std::vector<std::int64_t>();
  }
  std::string text(const std::string& key, const std::string& otherwise) const {
    const ir::Attr* attr = op_.attr(key);
    const auto* value = attr ? std::get_if<std::string>(attr) : nullptr;
    return value ? *value : otherwise;
  }

  // The elements of an i64 operand that is constant.
  std::optional<std::vector<std::int64_t>> constant_integers(std::size_t i) const {
    if (!is_constant(i) || dtype(i) != DType::I64) return std::nullopt;
    const ir::Op& source = *constants_.at(op_.operands[i].index);
    const std::uint8_t* data = nullptr;
    std::size_t size = 0;
    if (const ir::Attr* value = source.attr("value")) {
      const auto* literal = std::get_if<ir::TensorLiteral>(value);
      if (!literal) return std::nullopt;
      data = literal->bytes.data();
      size = literal->bytes.size();
    } else {
      const auto weight = program_.weights.find(std::get<std::string>(source.attrs.at("name")));
      if (weight == program_.weights.end()) return std::nullopt;
      data = weight->second.bytes.data;
      size = weight->second.bytes.size;
    }
    std::vector<std::int64_t> elements(size / sizeof(std::int64_t));
    if (!elements.empty() && data) std::memcpy(elements.data(), data, elements.size() * sizeof(std::int64_t));
    return elements;
  }

 private:
  const ir::Program& program_;
  const ir::Function& function_;
  const std::map<std::uint32_t, const ir::Op*>& constants_;
  const ir::Op& op_;
};

using Rule = Reason (*)(const OpSite&);

inline bool all_of_dtype(const OpSite& site, DType dtype, std::size_t first = 0) {
  for (std::size_t i = first; i < site.count(); ++i)
    if (site.has(i) && site.dtype(i) != dtype) return false;
  return true;
}

// Of Gather: an engine that checks no index must know them all.
inline Reason indices_in_range(const OpSite& site) {
  const auto indices = site.constant_integers(1);
  if (!indices) return "its indices are known only at run time, and one out of range would go unnoticed";
  const std::int64_t extent = site.extent(0, site.integer("axis", 0));
  for (const std::int64_t index : *indices)
    if (extent < 0 || index < -extent || index >= extent) return "an index may be out of range";
  return {};
}

// Of Pad.
inline Reason pads_outwards(const OpSite& site) {
  const auto amounts = site.constant_integers(1);
  if (!amounts || std::any_of(amounts->begin(), amounts->end(), [](std::int64_t n) { return n < 0; }))
    return "its amounts are negative or known only at run time";
  return {};
}

// Of Cast: to the same dtype, if the engine takes tensors of it, or of bool to f32.
inline Reason casts_exactly(const OpSite& site, bool (*is_taken)(DType)) {
  const DType from = site.dtype(0), to = site.result().dtype;
  const bool same = from == to && is_taken(from);
  return same || (from == DType::Bool && to == DType::F32) ? Reason() : "it narrows or saturates what it casts";
}

}  // namespace dycl::backends
