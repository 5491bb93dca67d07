// SPDX-License-Identifier: Apache-2.0
// A function of blocks in SSA form; blocks[0] is the entry and has no parameters
// and no predecessors. Two kinds: a Host function may contain anything; a SubDnn
// function is one block of tensor ops (plus `const` of tensors and `weight`) that
// ends in `return`: what a back end compiles.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/block.h"

namespace dycl::ir {

struct Value {
  Type type;
  std::string hint;  // the Python variable's name, if any; printed as %hint, %hint.1
};

struct Output {
  Type type;
  std::string name;   // for people; may be empty
  std::string state;  // the state this result is stored to; empty: a plain result
};

struct Param {
  ValueId value;
  std::string state;  // the state this parameter is read from; empty: an argument
};

enum class FunctionKind : std::uint8_t { Host, SubDnn };

struct Function {
  std::string name;
  FunctionKind kind = FunctionKind::Host;
  std::vector<Param> params;
  std::vector<Output> results;
  std::vector<Block> blocks;
  std::vector<Value> values;  // indexed by ValueId; entries may become unused
  SourceSpan span;

  ValueId add_value(Type type, std::string hint = {}) {
    values.push_back({std::move(type), std::move(hint)});
    return {static_cast<std::uint32_t>(values.size() - 1)};
  }
  const Type& type_of(ValueId v) const { return values[v.index].type; }
  Block& block(BlockId b) { return blocks[b.index]; }
  const Block& block(BlockId b) const { return blocks[b.index]; }
};

}  // namespace dycl::ir
