// SPDX-License-Identifier: Apache-2.0
// Equality of programs as their authors see it: the same declarations, functions,
// blocks and ops in the same order. Ids of values are free (they are matched by
// definition), entries of Function::values that nobody defines do not count, and
// hints count without what made them unique (`h.1` is `h`). Floats compare by bits.
#pragma once

#include <optional>
#include <string>

#include "ir/program.h"

namespace dycl::ir {

struct EqualOptions {
  bool spans = true;
};

// Where two programs differ first, in words; nullopt if they are equal.
std::optional<std::string> difference(const Program& a, const Program& b, const EqualOptions& options = {});

bool equal(const Attr& a, const Attr& b);

}  // namespace dycl::ir
