// SPDX-License-Identifier: Apache-2.0
#include "package/liveness.h"

#include "ir/edges.h"

namespace dycl::package {
namespace {

constexpr std::uint32_t kNowhere = 0xffffffffU;

struct Definitions {
  std::vector<std::uint32_t> block;              // by value; kNowhere: not tracked
  std::vector<std::vector<std::uint32_t>> uses;  // by value: blocks that use it and do not define it
  std::vector<std::vector<std::uint32_t>> preds;
};

Definitions definitions_of(const ir::Function& function, const ir::Dominators& dominators,
                           const std::vector<bool>& tracked) {
  Definitions d;
  d.block.assign(function.values.size(), kNowhere);
  d.uses.resize(function.values.size());
  d.preds.resize(function.blocks.size());
  for (const ir::Param& p : function.params) d.block[p.value.index] = 0;
  for (std::uint32_t b : dominators.order()) {
    const ir::Block& block = function.blocks[b];
    for (ir::ValueId v : block.params) d.block[v.index] = b;
    for (const ir::Op& op : block.body) {
      for (ir::ValueId v : op.results) d.block[v.index] = b;
    }
  }
  for (std::uint32_t b : dominators.order()) {
    const ir::Block& block = function.blocks[b];
    const auto use = [&](ir::ValueId v) {
      if (!v.present() || !tracked[v.index] || d.block[v.index] == b) return;
      auto& blocks = d.uses[v.index];
      if (blocks.empty() || blocks.back() != b) blocks.push_back(b);
    };
    for (const ir::Op& op : block.body) {
      for (ir::ValueId v : op.operands) use(v);
    }
    ir::for_each_exit_use(block.exit, use);
    ir::for_each_edge(block.exit, [&](const ir::Edge& e) { d.preds[e.target.index].push_back(b); });
  }
  return d;
}

}  // namespace

bool is_constant_op(const ir::Op& op) { return op.name == "const" || op.name == "weight"; }

Liveness::Liveness(const ir::Function& function, const ir::Dominators& dominators, Track track)
    : tracked(function.values.size()), live_in(function.blocks.size()) {
  for (std::size_t v = 0; v < function.values.size(); ++v)
    tracked[v] = track == Track::All || !function.values[v].type.is_scalar();
  for (const ir::Block& block : function.blocks) {
    for (const ir::Op& op : block.body) {
      if (!is_constant_op(op)) continue;
      for (ir::ValueId v : op.results) tracked[v.index] = false;
    }
  }
  const Definitions d = definitions_of(function, dominators, tracked);

  std::vector<std::uint32_t> marked(function.blocks.size(), kNowhere);  // the value a block was last marked for
  std::vector<std::uint32_t> work;
  for (std::uint32_t v = 0; v < function.values.size(); ++v) {
    const auto mark = [&](std::uint32_t b) {
      if (b == d.block[v] || marked[b] == v) return;
      marked[b] = v;
      live_in[b].push_back(v);
      work.push_back(b);
    };
    for (std::uint32_t b : d.uses[v]) mark(b);
    while (!work.empty()) {
      const std::uint32_t b = work.back();
      work.pop_back();
      for (std::uint32_t p : d.preds[b]) mark(p);
    }
  }
}

}  // namespace dycl::package
