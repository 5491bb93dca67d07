// SPDX-License-Identifier: Apache-2.0
// A block's steps are laid out as  host 0, call 0, host 1, call 1, ...  A host op
// that reads a result of call k sits in host stage k+1 or later; a tensor op that
// reads a host value of stage k runs in call k or later. Each op first takes the
// earliest place (so there are as few calls as can be), then tensor ops drift to
// later calls where that lets fewer values cross. Linear in the program's size.
#include "passes/outline.h"

#include <algorithm>
#include <set>

#include "ir/user_lines.h"
#include "passes/cfg.h"
#include "passes/drop_unreachable.h"
#include "passes/effects.h"
#include "support/result.h"

namespace dycl::passes {
namespace {

// Expressions of constants of at most this many ops are copied into the sub-DNNs
// that use them, where engines fold them.
constexpr int kMostConstantOps = 8;

// Facts about a whole host function.
struct Facts {
  std::vector<const ir::Op*> definition;  // per value; nullptr: a parameter
  std::vector<std::uint32_t> home;        // per value: the block that defines it
  std::vector<bool> leaves;               // per value: read by an exit or in another block
  std::vector<int> constant_ops;          // per value: 0 varies, else ops to rebuild it from constants
};

int constant_ops_of(const Facts& facts, const ir::Op& op) {
  if (is_constant(op)) return 1;
  if (!op.is_tensor_op()) return 0;
  int total = 1;
  for (const ir::ValueId operand : op.operands) {
    if (!operand.present()) continue;
    const int ops = facts.constant_ops[operand.index];
    if (ops == 0) return 0;
    total += ops;
  }
  return total <= kMostConstantOps ? total : 0;
}

void find_definitions(const ir::Function& function, const Cfg& cfg, Facts& facts) {
  for (const std::uint32_t b : cfg.order())  // definitions come before uses in this order
    for (const ir::Op& op : function.blocks[b].body) {
      const int ops = constant_ops_of(facts, op);
      for (const ir::ValueId result : op.results) {
        if (!result.present()) continue;
        facts.definition[result.index] = &op;
        facts.home[result.index] = b;
        facts.constant_ops[result.index] = ops;
      }
    }
}

Facts facts_of(const ir::Function& function) {
  const std::size_t count = function.values.size();
  Facts facts{std::vector<const ir::Op*>(count), std::vector<std::uint32_t>(count, kNone), std::vector<bool>(count),
              std::vector<int>(count)};
  const Cfg cfg = cfg_of(function);
  find_definitions(function, cfg, facts);
  for (const std::uint32_t b : cfg.order()) {
    for (const ir::Op& op : function.blocks[b].body)
      for (const ir::ValueId operand : op.operands) {
        if (!operand.present() || facts.home[operand.index] == b) continue;
        // A constant is rebuilt where it is used, so it does not cross for that.
        if (!op.is_tensor_op() || facts.constant_ops[operand.index] == 0) facts.leaves[operand.index] = true;
      }
    for_each_exit_use(function.blocks[b].exit, [&](ir::ValueId value) { facts.leaves[value.index] = true; });
  }
  return facts;
}

// Where each op of one block goes.
class Layout {
 public:
  Layout(const ir::Function& function, const Facts& facts, std::uint32_t block)
      : function_(function), facts_(facts), block_(block), body_(function.blocks[block].body) {
    collect_users();
    place_early();
    drift_late();
  }

  std::vector<int> place;      // per op: the call of a tensor op, the stage of a host op
  std::vector<bool> outlined;  // per op: a tensor op whose results a call must give or use
  int calls = 0;

  // True if result `value` of op i is read outside its call.
  bool is_result(std::size_t i, ir::ValueId value) const {
    if (!value.present()) return false;
    if (facts_.leaves[value.index]) return true;
    const bool alone = body_[i].results.size() == 1;
    return std::ranges::any_of(users_[i], [&](std::size_t u) {
      if (body_[u].is_tensor_op() && place[u] == place[i]) return false;
      return alone || std::ranges::find(body_[u].operands, value) != body_[u].operands.end();
    });
  }

 private:
  bool is_local(ir::ValueId value) const { return value.present() && facts_.home[value.index] == block_; }

  // True if op i reads `operand` of this block rather than a copy of its constant expression.
  bool reads(std::size_t i, ir::ValueId operand) const {
    return is_local(operand) && !(body_[i].is_tensor_op() && facts_.constant_ops[operand.index] != 0);
  }

  std::size_t index_of(ir::ValueId local) const {
    return static_cast<std::size_t>(facts_.definition[local.index] - body_.data());
  }

  bool leaves(std::size_t i) const {
    return std::ranges::any_of(body_[i].results, [&](ir::ValueId v) { return v.present() && facts_.leaves[v.index]; });
  }

  void collect_users() {
    users_.resize(body_.size());
    crosses_.resize(body_.size());
    outlined.resize(body_.size());
    for (std::size_t i = 0; i < body_.size(); ++i) {
      crosses_[i] = leaves(i);
      for (const ir::ValueId operand : body_[i].operands) {
        if (!reads(i, operand)) continue;
        const std::size_t from = index_of(operand);
        if (users_[from].empty() || users_[from].back() != i) users_[from].push_back(i);
        if (!body_[i].is_tensor_op()) crosses_[from] = true;
      }
    }
    // An op made of constants is copied to its tensor users; it needs a call only
    // if somebody else reads it.
    for (std::size_t i = 0; i < body_.size(); ++i)
      outlined[i] = body_[i].is_tensor_op() && (facts_.constant_ops[body_[i].results[0].index] == 0 || crosses_[i]);
  }

  void place_early() {
    place.assign(body_.size(), 0);
    int ordered = 0;  // the stage of the last op that has effects or may raise
    for (std::size_t i = 0; i < body_.size(); ++i) {
      const bool tensor = body_[i].is_tensor_op();
      int at = 0;
      for (const ir::ValueId operand : body_[i].operands) {
        if (!reads(i, operand)) continue;
        const std::size_t from = index_of(operand);
        at = std::max(at, place[from] + (body_[from].is_tensor_op() && !tensor ? 1 : 0));
      }
      const bool keeps_order = tensor ? !is_speculatable(function_, body_[i]) : is_ordered(function_, body_[i]);
      if (keeps_order) at = std::max(at, ordered);
      if (keeps_order && !tensor) ordered = at;
      place[i] = at;
      if (outlined[i]) calls = std::max(calls, at + 1);
    }
  }

  // The last call that op i may run in, by its users.
  int latest(std::size_t i) const {
    if (leaves(i) || users_[i].empty()) return place[i];
    int last = calls - 1;
    for (const std::size_t u : users_[i]) last = std::min(last, body_[u].is_tensor_op() ? place[u] : place[u] - 1);
    return last;
  }

  // Backwards, so that the users of an op have their final place. An operand that
  // nothing else reads will drift along, so it does not begin to cross.
  void drift_late() {
    for (std::size_t i = body_.size(); i-- > 0;) {
      if (!outlined[i]) continue;
      const int last = latest(i);
      if (last > place[i] && begin_to_cross(i, last) < body_[i].results.size()) place[i] = last;
      for (const ir::ValueId operand : body_[i].operands)
        if (reads(i, operand) && place[index_of(operand)] != place[i]) crosses_[index_of(operand)] = true;
    }
  }

  std::size_t begin_to_cross(std::size_t i, int call) const {
    std::set<std::size_t> ops;
    for (const ir::ValueId operand : body_[i].operands) {
      if (!reads(i, operand)) continue;
      const std::size_t from = index_of(operand);
      if (outlined[from] && place[from] != call && !crosses_[from] && users_[from].size() > 1) ops.insert(from);
    }
    return ops.size();
  }

  const ir::Function& function_;
  const Facts& facts_;
  const std::uint32_t block_;
  const std::vector<ir::Op>& body_;
  std::vector<std::vector<std::size_t>> users_;  // per op: the ops of this block that read it (not a copy)
  std::vector<bool> crosses_;                    // per op: known to be read outside its call
};

// Copies ops of a host function into sub-DNNs, one after the other.
class SubDnnWriter {
 public:
  SubDnnWriter(const ir::Function& host, const Facts& facts)
      : host_(host), facts_(facts), inside_(host.values.size()), stamp_(host.values.size(), 0) {}

  void begin(std::string name, const SourceSpan& span) {
    ++now_;
    made_ = {};
    arguments_.clear();
    made_.name = std::move(name);
    made_.span = span;
    made_.kind = ir::FunctionKind::SubDnn;
    made_.blocks.resize(1);
    made_.blocks[0].name = "entry";
    made_.blocks[0].exit = ir::Return{};
  }

  void add(const ir::Op& op) {
    if (stamp_[op.results[0].index] == now_) return;  // already copied as a constant
    ir::Op copy = op;
    for (ir::ValueId& operand : copy.operands)
      if (operand.present()) operand = inside(operand);
    for (ir::ValueId& result : copy.results)
      if (result.present()) result = bind(result);
    made_.blocks[0].body.push_back(std::move(copy));
  }

  void add_result(ir::ValueId outer) {
    std::get<ir::Return>(made_.blocks[0].exit).values.push_back(inside_[outer.index]);
    made_.results.push_back({host_.type_of(outer), {}, {}});
  }

  const std::vector<ir::ValueId>& arguments() const { return arguments_; }
  ir::Function take() { return std::move(made_); }
  const ir::Function& made() const { return made_; }

 private:
  ir::ValueId bind(ir::ValueId outer) {
    stamp_[outer.index] = now_;
    const ir::Value& value = host_.values[outer.index];
    return inside_[outer.index] = made_.add_value(value.type, value.hint);
  }

  // What a host value is called inside; a constant is copied in (its expression
  // has at most kMostConstantOps ops, which bounds the recursion).
  ir::ValueId inside(ir::ValueId outer) {
    if (stamp_[outer.index] == now_) return inside_[outer.index];
    if (facts_.constant_ops[outer.index] != 0) {
      add(*facts_.definition[outer.index]);
      return inside_[outer.index];
    }
    arguments_.push_back(outer);
    made_.params.push_back({bind(outer), {}});
    return inside_[outer.index];
  }

  const ir::Function& host_;
  const Facts& facts_;
  std::vector<ir::ValueId> inside_;  // valid where stamp_ is now_
  std::vector<std::uint32_t> stamp_;
  std::uint32_t now_ = 0;
  ir::Function made_;
  std::vector<ir::ValueId> arguments_;
};

class FreshNames {
 public:
  explicit FreshNames(const ir::Program& program) {
    for (const ir::Function& function : program.functions) taken_.insert(function.name);
  }
  std::string next() {
    std::string name;
    do name = "s" + std::to_string(count_++);
    while (taken_.contains(name));
    return name;
  }

 private:
  std::set<std::string> taken_;
  int count_ = 0;
};

// Outlines one block: makes the sub-DNNs and the new body.
class BlockOutliner {
 public:
  BlockOutliner(ir::Block& block, const Layout& layout, const std::vector<std::string>& sources)
      : block_(block), layout_(layout), sources_(sources) {
    stages_.resize(static_cast<std::size_t>(layout.calls) + 1);
    calls_.resize(stages_.size());
    for (std::size_t i = 0; i < block.body.size(); ++i) {
      const auto at = static_cast<std::size_t>(layout.place[i]);
      if (!block.body[i].is_tensor_op()) stages_[std::min(at, stages_.size() - 1)].push_back(i);
      if (layout.outlined[i]) calls_[at].push_back(i);
    }
  }

  // The op vector stays as it is until all is read: facts point into it.
  std::vector<ir::Op> run(SubDnnWriter& writer, FreshNames& names, std::vector<ir::Function>& made) {
    std::vector<ir::Op> body;
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      for (const std::size_t i : stages_[stage]) body.push_back(block_.body[i]);
      if (calls_[stage].empty()) continue;
      std::vector<ir::ValueId> results = results_of(calls_[stage]);
      if (results.empty()) continue;  // nobody reads anything of it
      writer.begin(names.next(), span_of(calls_[stage]));
      for (const std::size_t i : calls_[stage]) writer.add(block_.body[i]);
      for (const ir::ValueId result : results) writer.add_result(result);
      body.push_back(
          {"call", writer.arguments(), std::move(results), {{"callee", writer.made().name}}, writer.made().span});
      made.push_back(writer.take());
    }
    return body;
  }

 private:
  // The first line of the model's author; a library's where there is none.
  SourceSpan span_of(const std::vector<std::size_t>& ops) const {
    SourceSpan first;
    for (const std::size_t i : ops) {
      const SourceSpan& span = block_.body[i].span;
      if (ir::is_users(span, sources_)) return span;
      if (!first.known()) first = span;
    }
    return first;
  }

  std::vector<ir::ValueId> results_of(const std::vector<std::size_t>& ops) const {
    std::vector<ir::ValueId> results;
    for (const std::size_t i : ops)
      for (const ir::ValueId value : block_.body[i].results)
        if (layout_.is_result(i, value)) results.push_back(value);
    return results;
  }

  const ir::Block& block_;
  const Layout& layout_;
  const std::vector<std::string>& sources_;
  std::vector<std::vector<std::size_t>> stages_, calls_;
};

void outline(ir::Function& function, const std::vector<std::string>& sources, FreshNames& names,
             std::vector<ir::Function>& made) {
  const Facts facts = facts_of(function);
  SubDnnWriter writer(function, facts);
  std::vector<std::vector<ir::Op>> bodies;
  for (std::uint32_t b = 0; b < function.blocks.size(); ++b) {
    const Layout layout(function, facts, b);
    bodies.push_back(BlockOutliner(function.blocks[b], layout, sources).run(writer, names, made));
  }
  for (std::size_t b = 0; b < bodies.size(); ++b) function.blocks[b].body = std::move(bodies[b]);
}

}  // namespace

int outline(ir::Program& program) {
  drop_unreachable(program);  // a block out of reach would keep its tensor ops
  FreshNames names(program);
  std::vector<ir::Function> made;
  for (ir::Function& function : program.functions)
    if (function.kind == ir::FunctionKind::Host) outline(function, program.sources, names, made);
  const int count = static_cast<int>(made.size());
  std::ranges::move(made, std::back_inserter(program.functions));
  return count;
}

}  // namespace dycl::passes
