// SPDX-License-Identifier: Apache-2.0
// A program as text (docs/ir.md), in a form that parse() reads back to the same
// program. Deterministic. A program that the verifier refuses prints as well as it
// can (a value nobody defines as %?7), but need not read back.
//
// Values print under their hints: the hint itself while it is free, else with the
// first free .1, .2, ... in order of definition; values without a hint are
// numbered. Result types print where operands do not determine them.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "ir/program.h"

namespace dycl::ir {

struct PrintOptions {
  bool spans = false;           // where each op and block was written, ` @0:12:5-12:20`
  bool inline_weights = false;  // the bytes of weights, `weight @w: f32[2] = [1.0,2.0]`
};

std::string print(const Program& program, const PrintOptions& options = {});

// One op as it would stand in the text, for messages.
std::string print(const Program& program, const Function& function, const Op& op);

// A function's blocks as they stand in the text, without where they were written. Per block: its head, a line for each
// op, and its exit ("" if it has none).
struct BlockText {
  std::string head;
  std::vector<std::string> ops;
  std::string exit;
};
std::vector<BlockText> print_blocks(const Program& program, const Function& function);

// The names under which values print, without %; indexed by ValueId.
std::vector<std::string> value_names(const Function& function);

// An attribute's value as written in the text.
std::string to_string(const Attr& attr);

}  // namespace dycl::ir
