// SPDX-License-Identifier: Apache-2.0
// Where the values of a function come from, and the constants among them. A
// snapshot: it points into the function and is stale once a body changes.
#pragma once

#include <optional>
#include <vector>

#include "ir/function.h"
#include "passes/cfg.h"
#include "support/scalar_ops.h"

namespace dycl::passes {

struct Definitions {
  std::vector<const ir::Op*> op;     // per value; nullptr: a parameter, or unused
  std::vector<std::uint32_t> block;  // per value; kNone: a parameter of the function, or unused

  const ir::Op* of(ir::ValueId value) const { return value.present() ? op[value.index] : nullptr; }

  // The value of a `const`; nullptr if it is none.
  const ir::Attr* constant(ir::ValueId value) const;
  std::optional<bool> constant_bool(ir::ValueId value) const;
  std::optional<std::int64_t> constant_int(ir::ValueId value) const;
  const ir::TensorLiteral* constant_tensor(ir::ValueId value) const;
};

Definitions definitions_of(const ir::Function& function);

// Per value: read by an op or an exit.
std::vector<bool> used_values(const ir::Function& function);

// Between the `value` of a scalar `const` and what support/scalar_ops.h computes with.
std::optional<scalar::Scalar> scalar_of(const ir::Attr& value);
ir::Attr attr_of(const scalar::Scalar& value);

// True if both are the same constant to the last bit (0.0 is not -0.0).
bool same_constant(const ir::Attr& a, const ir::Attr& b);

// Elements of a literal of an integer dtype or bool; nullopt for others.
std::optional<std::vector<std::int64_t>> integers_of(const ir::TensorLiteral& literal);

// The only element of a literal as `item` reads it; nullopt if there is not exactly one.
std::optional<scalar::Scalar> item_of(const ir::TensorLiteral& literal);

// A 0-d literal of `value`; nullopt where the dtype can't hold it (or is complex).
std::optional<ir::TensorLiteral> literal_of(const scalar::Scalar& value, DType dtype);

}  // namespace dycl::passes
