// SPDX-License-Identifier: Apache-2.0
#include "passes/definitions.h"

#include <bit>
#include <cstdint>

#include "support/elements.h"

namespace dycl::passes {
namespace {

std::size_t element_count(const ir::TensorLiteral& literal) { return literal.bytes.size() / size_of(literal.dtype); }


}  // namespace

const ir::Attr* Definitions::constant(ir::ValueId value) const {
  const ir::Op* definition = of(value);
  return definition && definition->name == "const" ? definition->attr("value") : nullptr;
}

std::optional<bool> Definitions::constant_bool(ir::ValueId value) const {
  const ir::Attr* attr = constant(value);
  const auto* known = attr ? std::get_if<bool>(attr) : nullptr;
  return known ? std::optional(*known) : std::nullopt;
}

std::optional<std::int64_t> Definitions::constant_int(ir::ValueId value) const {
  const ir::Attr* attr = constant(value);
  const auto* known = attr ? std::get_if<std::int64_t>(attr) : nullptr;
  return known ? std::optional(*known) : std::nullopt;
}

const ir::TensorLiteral* Definitions::constant_tensor(ir::ValueId value) const {
  const ir::Attr* attr = constant(value);
  return attr ? std::get_if<ir::TensorLiteral>(attr) : nullptr;
}

Definitions definitions_of(const ir::Function& function) {
  Definitions defs{std::vector<const ir::Op*>(function.values.size()),
                   std::vector<std::uint32_t>(function.values.size(), kNone)};
  for (std::uint32_t b = 0; b < function.blocks.size(); ++b) {
    for (const ir::ValueId param : function.blocks[b].params) defs.block[param.index] = b;
    for (const ir::Op& op : function.blocks[b].body)
      for (const ir::ValueId result : op.results) {
        if (!result.present()) continue;
        defs.op[result.index] = &op;
        defs.block[result.index] = b;
      }
  }
  return defs;
}

std::optional<scalar::Scalar> scalar_of(const ir::Attr& value) {
  if (const auto* b = std::get_if<bool>(&value)) return scalar::Scalar::of(*b);
  if (const auto* i = std::get_if<std::int64_t>(&value)) return scalar::Scalar::of(*i);
  if (const auto* f = std::get_if<double>(&value)) return scalar::Scalar::of(*f);
  return std::nullopt;
}

ir::Attr attr_of(const scalar::Scalar& value) {
  switch (value.kind) {
    case scalar::Kind::Bool: return value.b;
    case scalar::Kind::Int: return value.i;
    case scalar::Kind::Float: return value.f;
  }
  return false;
}

bool same_constant(const ir::Attr& a, const ir::Attr& b) {
  const auto* x = std::get_if<double>(&a);
  const auto* y = std::get_if<double>(&b);
  if (x && y) return std::bit_cast<std::uint64_t>(*x) == std::bit_cast<std::uint64_t>(*y);
  return a == b;
}

std::optional<std::vector<std::int64_t>> integers_of(const ir::TensorLiteral& literal) {
  if (is_floating(literal.dtype) || !has_scalars(literal.dtype)) return std::nullopt;
  std::vector<std::int64_t> integers;
  for (std::size_t i = 0; i < element_count(literal); ++i) {
    scalar::Scalar value;
    const auto* data = literal.bytes.data() + i * size_of(literal.dtype);
    if (load_element(literal.dtype, data, &value) != scalar::Fault::None) return std::nullopt;
    integers.push_back(value.kind == scalar::Kind::Bool ? value.b : value.i);
  }
  return integers;
}

std::optional<scalar::Scalar> item_of(const ir::TensorLiteral& literal) {
  scalar::Scalar value;
  if (!has_scalars(literal.dtype) || element_count(literal) != 1) return std::nullopt;
  if (load_element(literal.dtype, literal.bytes.data(), &value) != scalar::Fault::None) return std::nullopt;
  return value;
}

std::optional<ir::TensorLiteral> literal_of(const scalar::Scalar& value, DType dtype) {
  if (!has_scalars(dtype)) return std::nullopt;
  ir::TensorLiteral literal{dtype, {}, std::vector<std::uint8_t>(size_of(dtype))};
  if (store_element(dtype, value, literal.bytes.data()) != scalar::Fault::None) return std::nullopt;
  return literal;
}

std::vector<bool> used_values(const ir::Function& function) {
  std::vector<bool> used(function.values.size());
  const auto use = [&](ir::ValueId value) {
    if (value.present()) used[value.index] = true;
  };
  for (const ir::Block& block : function.blocks) {
    for (const ir::Op& op : block.body)
      for (const ir::ValueId operand : op.operands) use(operand);
    for_each_exit_use(block.exit, use);
  }
  return used;
}

}  // namespace dycl::passes
