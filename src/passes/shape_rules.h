// SPDX-License-Identifier: Apache-2.0
// Shapes of the results of tensor ops by the rules of ONNX opset 23. A rule says
// only what holds whenever the op itself succeeds; where it can't tell it answers
// "unknown" (no shape, or an opaque dim), never a guess.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"
#include "passes/shape_values.h"

namespace dycl::passes {

using Dims = std::vector<ir::Dim>;
using Shape = std::optional<Dims>;  // nullopt: rank unknown

// What a rule looks at: one op and what is known of its operands.
struct ShapeQuery {
  const ir::Program& program;
  const ir::Function& function;
  const ir::Op& op;
  const ShapeValues& values;

  bool has(std::size_t i) const { return i < op.operands.size() && op.operands[i].present(); }
  Shape shape(std::size_t i) const;               // of operand i; nullopt if absent or unknown
  const Contents* contents(std::size_t i) const;  // of operand i
  std::optional<std::vector<std::int64_t>> constants(std::size_t i) const;
  std::int64_t integer(const char* attr, std::int64_t otherwise) const;
  std::string text(const char* attr, const char* otherwise) const;
  std::optional<std::vector<std::int64_t>> integers(const char* attr) const;
};

// One shape per result; unknown ops and doubtful cases give nullopt.
std::vector<Shape> result_shapes(const ShapeQuery& query);

// The shape two operands broadcast to.
Shape broadcast(const ir::Program& program, const Shape& a, const Shape& b);

// An axis counted from the front; nullopt if out of range.
std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank);

using ShapeRule = std::vector<Shape> (*)(const ShapeQuery&);
using ShapeRules = std::map<std::string, ShapeRule, std::less<>>;

// The parts of the table: ops that move, compare and reduce; ops of networks; the domain "linalg".
void add_basic_rules(ShapeRules& rules);
void add_network_rules(ShapeRules& rules);
void add_linear_algebra_rules(ShapeRules& rules);

}  // namespace dycl::passes
