// SPDX-License-Identifier: Apache-2.0
// One step of a block. A tensor op is an ONNX operator (opset 23): its name's
// last component starts with a capital letter ("Relu", "com.microsoft.Gelu").
// Every other op is a host op; docs/ir.md lists them with their meaning.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "ir/type.h"
#include "support/source_span.h"

namespace dycl::ir {

// A value of one function: an index into Function::values.
struct ValueId {
  static constexpr std::uint32_t kAbsent = 0xffffffffU;
  std::uint32_t index = kAbsent;  // absent: an optional ONNX operand left out
  bool present() const { return index != kAbsent; }
  auto operator<=>(const ValueId&) const = default;
};

struct BlockId {
  std::uint32_t index = 0;
  auto operator<=>(const BlockId&) const = default;
};

// A small tensor written in the program itself (at most kMaxLiteralBytes; larger
// ones are weights). Elements are raw little-endian bytes in row-major order.
struct TensorLiteral {
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;
  bool operator==(const TensorLiteral&) const = default;
};
inline constexpr std::size_t kMaxLiteralBytes = 1024;

using Attr = std::variant<std::int64_t, double, bool, std::string, std::vector<std::int64_t>, std::vector<double>,
                          std::vector<std::string>, TensorLiteral, Type>;

struct Op {
  std::string name;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  std::map<std::string, Attr> attrs;  // ordered, so printing is deterministic
  SourceSpan span;

  bool is_tensor_op() const;
  const Attr* attr(const std::string& key) const {
    auto it = attrs.find(key);
    return it == attrs.end() ? nullptr : &it->second;
  }
};

// ---- exits -------------------------------------------------------------------

struct Edge {
  BlockId target;
  std::vector<ValueId> args;  // one per parameter of the target
};
struct Goto {
  Edge edge;
};
struct Branch {
  ValueId condition;
  Edge if_true, if_false;
};  // condition: bool
struct Switch {
  ValueId selector;
  std::vector<std::int64_t> cases;  // selector: int
  std::vector<Edge> targets;
  Edge otherwise;
};  // targets[i] for cases[i]
struct Return {
  std::vector<ValueId> values;
};
struct Raise {
  std::string type, message;
  std::vector<ValueId> args;
};  // `{}` in message: next arg
using Exit = std::variant<std::monostate, Goto, Branch, Switch, Return, Raise>;

}  // namespace dycl::ir
