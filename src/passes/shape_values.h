// SPDX-License-Identifier: Apache-2.0
// What is known of integers that describe shapes: the elements of small integer
// tensors (Shape, Concat, Gather, ...), ints of the host (`dim`, arithmetic) and
// lists of them, each as a Dim: a constant (negative ones too), an expression over
// symbols, or opaque. Values of other kinds have no contents.
#pragma once

#include <optional>
#include <vector>

#include "ir/dim.h"
#include "ir/program.h"

namespace dycl::passes {

using Contents = std::vector<ir::Dim>;

class ShapeValues {
 public:
  explicit ShapeValues(const ir::Function& function) : known_(function.values.size()) {}

  // Reads the op's operands' types and contents; notes the contents of its result.
  void visit(const ir::Function& function, const ir::Op& op);

  // Forgets a value (a block parameter, before its edges are looked at again).
  void forget(ir::ValueId value) { known_[value.index].reset(); }

  // All elements in order; nullptr: nothing known.
  const Contents* of(ir::ValueId value) const {
    return value.present() && known_[value.index] ? &*known_[value.index] : nullptr;
  }

 private:
  std::vector<std::optional<Contents>> known_;
};

// The integer a Dim stands for, if it is a constant (also a negative one).
std::optional<std::int64_t> constant_of(const ir::Dim& dim);

// All constants; nullopt if one is not.
std::optional<std::vector<std::int64_t>> constants_of(const Contents& contents);

}  // namespace dycl::passes
