// SPDX-License-Identifier: Apache-2.0
#include "emit/structure/structure.h"

#include "emit/structure/exits.h"
#include "emit/structure/flatten.h"
#include "emit/structure/graph.h"
#include "emit/structure/jumps.h"
#include "emit/structure/sequence.h"
#include "ir/edges.h"
#include "support/result.h"

namespace dycl::emit {
namespace {

using Kind = Step::Kind;
constexpr int kDeepestLeaps = 200;

void print(const Sequence& steps, const ir::Function& function, int indent, std::string& text);

void print_part(const char* word, const Sequence& part, const ir::Function& function, int indent, std::string& text) {
  text += std::string(static_cast<std::size_t>(indent), ' ') + word + "\n";
  print(part, function, indent + 2, text);
}

void print(const Sequence& steps, const ir::Function& function, int indent, std::string& text) {
  static constexpr const char* kWords[] = {"ops",   "edge",     "if",        "switch",  "loop", "once",
                                           "break", "continue", "return",    "raise",   "flag", "setflag",
                                           "when",  "unless",   "settarget", "dispatch"};
  for (const Step& step : steps) {
    text += std::string(static_cast<std::size_t>(indent), ' ') + kWords[static_cast<int>(step.kind)];
    if (step.block != Step::kNoBlock) text += " ^" + function.blocks[step.block].name;
    if (step.kind == Kind::Edge) text += " " + std::to_string(step.arm);
    if (step.kind == Kind::SetTarget) text += " " + std::to_string(step.number) + " to " + std::to_string(step.arm);
    if (step.kind == Kind::Flag || step.kind == Kind::SetFlag || step.kind == Kind::When || step.kind == Kind::Dispatch)
      text += " " + std::to_string(step.number);
    for (std::uint32_t f : step.flags) text += " " + std::to_string(f);
    text += "\n";
    for (std::size_t i = 0; i < step.parts.size(); ++i) {
      if (step.kind == Kind::If && i == 1) {
        if (!step.parts[1].empty()) print_part("else", step.parts[1], function, indent, text);
      } else if (step.parts.size() > 1 && step.kind != Kind::If) {
        print_part(("case " + std::to_string(i)).c_str(), step.parts[i], function, indent, text);
      } else {
        print(step.parts[i], function, indent + 2, text);
      }
    }
  }
}

}  // namespace

const ir::Block& block_of(const ir::Function& function, const Step& step) {
  DYCL_CHECK(step.block < function.blocks.size(), "a step that has a block");
  return function.blocks[step.block];
}

const ir::Edge& edge_of(const ir::Block& block, std::uint32_t arm) {
  const ir::Edge* found = nullptr;
  std::uint32_t i = 0;
  ir::for_each_edge(block.exit, [&](const ir::Edge& e) {
    if (i++ == arm) found = &e;
  });
  DYCL_CHECK(found, "a step names an edge that its block has");
  return *found;
}

Structure structure_of(const ir::Function& function, const StructureOptions& options) {
  recovery::Graph graph = recovery::graph_of(function);
  recovery::make_reducible(graph);
  Structure out;
  out.dispatchers = static_cast<std::uint32_t>(graph.arcs.size()) - graph.blocks;
  const bool strict = options.style == Style::Strict;
  // A strict tree is made flat and nested by resolve_jumps, which knows how deep it stands.
  recovery::resolve_jumps(recovery::sequence_of(function, graph, strict ? 0 : kDeepestLeaps), options, out);
  recovery::flatten_guards(out.body, strict ? options.max_nesting : kDeepestLeaps);
  if (!strict) recovery::leave_early(out.body);
  return out;
}

std::string to_string(const Structure& structure, const ir::Function& function) {
  std::string text;
  print(structure.body, function, 0, text);
  return text;
}

}  // namespace dycl::emit
