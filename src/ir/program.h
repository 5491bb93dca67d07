// SPDX-License-Identifier: Apache-2.0
// A whole program: `main`, the sub-DNN functions that `outline` made, the weights
// and what the outside must know. Owns everything; copies are deep but share the
// immutable bytes of weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/function.h"

namespace dycl::ir {

// Immutable bytes and whoever keeps them alive (a mapped file, a Python tensor).
struct Bytes {
  std::shared_ptr<const void> owner;
  const std::uint8_t* data = nullptr;
  std::size_t size = 0;

  static Bytes copy_of(const void* data, std::size_t size);
};

struct Weight {
  Type type;    // every dim known
  Bytes bytes;  // row-major, little-endian; may be missing (data == nullptr) in IR read without its side file
};

// A value kept between runs: a buffer or attribute that the forward writes.
struct State {
  Type type;
  Attr initial;  // scalars: int64/double/bool; tensors: std::string naming a weight
};

struct Symbol {
  std::int64_t min = 0;
  std::int64_t max = INT64_MAX;
};

struct Program {
  std::map<std::string, Symbol> symbols;
  std::map<std::string, Weight> weights;
  std::map<std::string, State> states;
  std::vector<std::string> sources;             // file names, indexed by SourceSpan::file
  std::map<std::string, std::string> metadata;  // e.g. "python.signature": JSON the binding reads back
  std::vector<Function> functions;              // functions[0] is main

  Function& main() { return functions.front(); }
  const Function& main() const { return functions.front(); }
  Function* find(const std::string& name);
  const Function* find(const std::string& name) const;
};

}  // namespace dycl::ir
