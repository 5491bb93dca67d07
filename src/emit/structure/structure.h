// SPDX-License-Identifier: Apache-2.0
// From blocks and edges back to `if`, `while` and `return`: a tree of steps that does what the
// function's graph does. Every block's ops and every edge appear exactly once, so nothing is
// duplicated and values of the function serve as variables of the tree as they are. Linear in the
// function where its graph is reducible (dominator tree and loop nesting, after Ramsey's "Beyond
// Relooper"); each group of blocks entered at several places gets a loop around a dispatcher first.
//
// A place that cannot be left by falling through, `break`, `continue` or `return` alone is left with
// flags: SetFlag, and an Unless around what must then be skipped.
//
// Two styles. Leaps, for languages with `break`, `continue` and `return` in the middle. Strict, for
// those where control only falls through (ONNX): a Return or Raise step says what the results are
// and is left with flags like everything else; a Loop ends after a round that set one of its flags.
//
// A snapshot: holds indices into the function, which must not change. Unreachable blocks are left out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/function.h"

namespace dycl::emit {

struct Step;
using Sequence = std::vector<Step>;

struct Step {
  enum class Kind : std::uint8_t {
    Ops,        // the ops of `block`
    Edge,       // the moves of edge `arm` of `block` (in the order of for_each_edge) to its target's parameters
    If,         // the Branch of `block`: parts[0] if true, else parts[1]
    Switch,     // the Switch of `block`: parts as its edges are
    Loop,       // parts[0] again and again; `block` is the header, kNoBlock for a dispatcher's loop
    Once,       // parts[0], which a Break leaves; Leaps only
    Break,      // leaves the innermost Loop or Once; Leaps only
    Continue,   // begins the next round of the innermost Loop; Leaps only
    Return,     // the exit of `block`
    Raise,      // the exit of `block`
    Flag,       // declares `number`: false from here on
    SetFlag,    // makes `number` true
    When,       // parts[0] if flag `number` is set
    Unless,     // parts[0] unless one of `flags` is set
    SetTarget,  // dispatcher `number` goes on with its part `arm`
    Dispatch,   // parts[i] where dispatcher `number` was sent to i
  };
  static constexpr std::uint32_t kNoBlock = 0xffffffffU;

  Kind kind = Kind::Ops;
  std::uint32_t block = kNoBlock, arm = 0, number = 0;
  std::vector<std::uint32_t> flags;  // Unless; Loop, Strict: ends after a round with one of these set
  std::vector<Sequence> parts;
};

enum class Style : std::uint8_t { Leaps, Strict };

struct StructureOptions {
  Style style = Style::Leaps;
  // Strict: arms nest down to this depth. Beyond it only the smaller arm of a branch does, the other one follows
  // and is skipped by a flag, and no Unless stands directly within another: the tree is at most this deep, two for each
  // loop, and logarithmic in the blocks beyond. Leaps nest as the program does, 200 deep at most, but for chains of
  // decisions whether to go on (emit/structure/exits.h).
  int max_nesting = 12;
};

struct Structure {
  Sequence body;
  std::uint32_t flags = 0, dispatchers = 0;  // how many of each
};

Structure structure_of(const ir::Function& function, const StructureOptions& options = {});

// The block of a step that has one.
const ir::Block& block_of(const ir::Function& function, const Step& step);

// Edge `arm` of a block, as steps name it.
const ir::Edge& edge_of(const ir::Block& block, std::uint32_t arm);

// Indented text, for tests and people.
std::string to_string(const Structure& structure, const ir::Function& function);

}  // namespace dycl::emit
