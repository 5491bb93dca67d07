// SPDX-License-Identifier: Apache-2.0
#include "passes/sink.h"

#include <algorithm>
#include <iterator>

#include "passes/cfg.h"
#include "passes/cost.h"

namespace dycl::passes {
namespace {

class Sinker {
 public:
  explicit Sinker(ir::Function& function)
      : function_(function),
        cfg_(cfg_of(function)),
        tree_(cfg_),
        after_(function, cfg_),
        loops_(loops_of(cfg_)),
        use_(function.values.size(), kNone),
        heavy_(function.values.size()),
        arrivals_(function.blocks.size()) {
    for (const std::uint32_t b : cfg_.order())
      for_each_exit_use(function.blocks[b].exit, [&](ir::ValueId value) { note_use(use_, value, b); });
  }

  // Blocks backwards, so that the users of a block's values have settled before it.
  int run() {
    for (std::size_t i = cfg_.order().size(); i-- > 0;) settle(cfg_.order()[i]);
    for (std::uint32_t b = 0; b < function_.blocks.size(); ++b) {
      auto& body = function_.blocks[b].body;
      body.insert(body.begin(), std::make_move_iterator(arrivals_[b].rbegin()),
                  std::make_move_iterator(arrivals_[b].rend()));
    }
    return moved_;
  }

 private:
  using Uses = std::vector<std::uint32_t>;  // per value: the last block that dominates all its uses; kNone: unused

  void note_use(Uses& uses, ir::ValueId value, std::uint32_t b) const {
    if (!value.present()) return;
    std::uint32_t& at = uses[value.index];
    at = at == kNone ? b : tree_.common(at, b);
  }

  // Where an op of block b could go by the uses of its results; b itself if it should stay.
  std::uint32_t destination(std::uint32_t b, const ir::Op& op) const {
    std::uint32_t to = kNone;
    for (const ir::ValueId result : op.results) {
      if (!result.present() || use_[result.index] == kNone) continue;
      to = to == kNone ? use_[result.index] : tree_.common(to, use_[result.index]);
    }
    if (to == kNone || to == b) return b;
    for (std::uint32_t header = loops_.innermost[to]; header != kNone && !cfg_.dominates(header, b);
         header = loops_.innermost[to])
      to = cfg_.dominators.immediate({header});
    return to == b || after_.post_dominates(to, b) ? b : to;
  }

  // First every op that could go is taken to go, so that its operands could; then
  // those stay for which it would not pay.
  void settle(std::uint32_t b) {
    auto& body = function_.blocks[b].body;
    std::vector<std::uint32_t> to(body.size(), b);
    std::vector<ir::ValueId> touched;
    std::vector<std::uint32_t> before;
    for (std::size_t i = body.size(); i-- > 0;) {
      if (body[i].is_tensor_op()) to[i] = destination(b, body[i]);
      for (const ir::ValueId operand : body[i].operands) {
        if (!operand.present()) continue;
        touched.push_back(operand);
        before.push_back(use_[operand.index]);
        note_use(use_, operand, to[i]);
      }
    }
    for (std::size_t i = touched.size(); i-- > 0;) use_[touched[i].index] = before[i];
    keep_what_does_not_pay(b, to);
    depart(b, to);
  }

  // Goes: a heavy op, what depends on one that goes, and what only ops that go read.
  void keep_what_does_not_pay(std::uint32_t b, std::vector<std::uint32_t>& to) {
    const auto& body = function_.blocks[b].body;
    std::vector<bool> carried(body.size());
    for (std::size_t i = 0; i < body.size(); ++i) {
      const auto is_heavy_value = [&](ir::ValueId v) { return v.present() && heavy_[v.index]; };
      carried[i] = to[i] != b && (is_heavy(body[i]) || std::ranges::any_of(body[i].operands, is_heavy_value));
      if (!carried[i]) continue;
      for (const ir::ValueId v : body[i].results)
        if (v.present()) heavy_[v.index] = true;
    }
    std::vector<std::uint8_t>& reader = reader_;
    reader.resize(function_.values.size());
    for (std::size_t i = body.size(); i-- > 0;) {
      std::uint8_t readers = 0;
      for (const ir::ValueId v : body[i].results)
        if (v.present()) readers |= reader[v.index];
      if (to[i] != b && !carried[i] && readers != kGoes) to[i] = b;
      for (const ir::ValueId v : body[i].operands)
        if (v.present()) reader[v.index] |= to[i] == b ? kStays : kGoes;
    }
    for (const ir::Op& op : body)
      for (const ir::ValueId v : op.operands)
        if (v.present()) reader[v.index] = 0;
  }

  void depart(std::uint32_t b, const std::vector<std::uint32_t>& to) {
    auto& body = function_.blocks[b].body;
    for (std::size_t i = body.size(); i-- > 0;) {
      for (const ir::ValueId operand : body[i].operands) note_use(use_, operand, to[i]);
      if (to[i] == b) continue;
      arrivals_[to[i]].push_back(std::move(body[i]));
      ++moved_;
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < body.size(); ++i) {
      if (to[i] != b) continue;
      if (next != i) body[next] = std::move(body[i]);
      ++next;
    }
    body.resize(next);
  }

  static constexpr std::uint8_t kGoes = 1, kStays = 2;

  ir::Function& function_;
  const Cfg cfg_;
  const DominatorTree tree_;
  const PostDominators after_;
  const Loops loops_;
  Uses use_;
  std::vector<bool> heavy_;                    // per value: of a heavy op that goes, or depends on one
  std::vector<std::uint8_t> reader_;           // per value, while a block settles: kGoes, kStays or both
  std::vector<std::vector<ir::Op>> arrivals_;  // per block, last first
  int moved_ = 0;
};

}  // namespace

int sink(ir::Program& program) {
  int moved = 0;
  for (ir::Function& function : program.functions)
    if (function.kind == ir::FunctionKind::Host) moved += Sinker(function).run();
  return moved;
}

}  // namespace dycl::passes
