// SPDX-License-Identifier: Apache-2.0
#include "emit/cpp/values.h"

#include <algorithm>

#include "emit/cpp/text.h"
#include "ir/host_ops.h"
#include "support/scalar_ops.h"

namespace dycl::emit {

// Sharing compares every pair of two groups: larger groups would make emission quadratic.
constexpr std::size_t kMostShared = 512;

CppValues::CppValues(ir::Function function)
    : main_(std::move(function)),
      dominators_(main_),
      owning_(main_, dominators_),
      all_(main_, dominators_, package::Liveness::Track::All),
      uses_(main_.values.size(), 0),
      last_use_(main_.values.size()),
      inlined_(main_.values.size(), false),
      constants_(main_.values.size(), nullptr),
      definitions_(main_.values.size(), nullptr),
      ranges_(main_.values.size()),
      shared_(main_.values.size(), kNone) {
  for (const ir::Block& block : main_.blocks) {
    for (const ir::Op& op : block.body) {
      if (op.results.size() != 1) continue;
      definitions_[op.results[0].index] = &op;
      if (package::is_constant_op(op)) constants_[op.results[0].index] = &op;
    }
  }
  count_uses();
  for (std::uint32_t b : dominators_.order()) {
    choose_folded(b);
    choose_inlined(b);
    find_deaths(b);
  }
  note_ranges();
  share();
}

bool CppValues::is_silent(const ir::Op& op) const {
  return package::is_constant_op(op) || is_inlined(op) || folded_ops_.count(&op) != 0;
}

std::uint32_t CppValues::folded(ir::ValueId result) const {
  const auto it = result.present() ? folded_.find(result.index) : folded_.end();
  return it == folded_.end() ? kNone : it->second;
}

bool CppValues::dies_before(ir::BlockId target, ir::ValueId v) const {
  const auto& live = owning_.live_in[target.index];
  return owning_.tracked[v.index] && std::find(live.begin(), live.end(), v.index) == live.end();
}

void CppValues::collect(ir::ValueId v, std::set<std::uint32_t>& reads) const {
  if (!v.present() || constants_[v.index]) return;
  if (inlined_[v.index]) {
    for (ir::ValueId o : definition(v).operands) collect(o, reads);
  } else {
    reads.insert(v.index);
  }
}

// ---- which values need no variable ---------------------------------------------------------------

void CppValues::count_uses() {
  const std::vector<bool> needed = needed_params();
  for (std::uint32_t b : dominators_.order()) {
    const ir::Block& block = main_.blocks[b];
    const auto note = [&](ir::ValueId v, std::size_t index) {
      if (!v.present()) return;
      ++uses_[v.index];
      last_use_[v.index] = {b, index};
    };
    for (std::size_t i = 0; i < block.body.size(); ++i)
      for (ir::ValueId v : block.body[i].operands) note(v, i);
    for_each_exit_operand(block.exit, [&](ir::ValueId v) { note(v, block.body.size()); });
    ir::for_each_edge(block.exit, [&](const ir::Edge& e) {
      for (std::size_t i = 0; i < e.args.size(); ++i)
        if (needed[main_.block(e.target).params[i].index]) note(e.args[i], block.body.size());
    });
  }
}

// Values that something reads but edges to parameters that nothing reads.
std::vector<bool> CppValues::needed_params() const {
  std::vector<bool> needed(main_.values.size(), false);
  std::vector<std::vector<ir::ValueId>> arguments(main_.values.size());  // by parameter
  std::vector<std::uint32_t> work;
  const auto need = [&](ir::ValueId v) {
    if (!v.present() || needed[v.index]) return;
    needed[v.index] = true;
    work.push_back(v.index);
  };
  for (std::uint32_t b : dominators_.order()) {
    ir::for_each_edge(main_.blocks[b].exit, [&](const ir::Edge& e) {
      for (std::size_t i = 0; i < e.args.size(); ++i)
        arguments[main_.block(e.target).params[i].index].push_back(e.args[i]);
    });
  }
  for (std::uint32_t b : dominators_.order()) {
    for (const ir::Op& op : main_.blocks[b].body)
      for (ir::ValueId v : op.operands) need(v);
    for_each_exit_operand(main_.blocks[b].exit, need);
  }
  while (!work.empty()) {
    const std::uint32_t v = work.back();
    work.pop_back();
    for (ir::ValueId a : arguments[v]) need(a);
  }
  return needed;
}

// Must be computed where it stands: it may fail, has an effect, or reads something that moves.
bool CppValues::is_tied(const ir::Op& op) const {
  if (package::is_constant_op(op)) return false;
  const ir::HostOp* host = ir::host_op_named(op.name);
  if (!host || host->can_fail || host->has_effect) return true;
  if (const auto scalar = scalar::op_named(op.name)) {
    if (scalar::can_fault(*scalar)) return true;
  } else if (op.name != "select") {
    return true;
  }
  for (ir::ValueId v : op.operands)
    if (!main_.type_of(v).is_scalar() || tied_inside_.count(v.index)) return true;
  return false;
}

// A call for one number: `item<bool>(call(kGate, x))`.
bool CppValues::feeds_item(const ir::Op& op, const ir::Block& block) const {
  const Place& use = last_use_[op.results[0].index];
  return op.name == "call" && use.index < block.body.size() && block.body[use.index].name == "item";
}

// A list that is put together to be returned: `return give(list<double>(p), x)`.
bool CppValues::is_returned(const ir::Op& op, const ir::Block& block) const {
  const bool gathers = op.name == "list.new" || op.name == "opt.none" || op.name == "opt.some";
  return gathers && std::holds_alternative<ir::Return>(block.exit) &&
         last_use_[op.results[0].index].index == block.body.size();
}

void CppValues::choose_inlined(std::uint32_t b) {
  const ir::Block& block = main_.blocks[b];
  for (std::size_t i = 0; i < block.body.size(); ++i) {
    const ir::Op& op = block.body[i];
    if (op.results.size() != 1 || is_silent(op) || op.name == "check" || op.name == "print") continue;
    const std::uint32_t v = op.results[0].index;
    const Place& use = last_use_[v];
    if (uses_[v] != 1 || !main_.values[v].hint.empty() || use.block != b || use.index <= i) continue;
    if (!main_.values[v].type.is_scalar() && !feeds_item(op, block) && !is_returned(op, block)) continue;
    const bool tied = is_tied(op);
    if (tied && !nothing_between(block, i, use.index)) continue;
    inlined_[v] = true;
    if (tied) tied_inside_.insert(v);
  }
}

// Between two places only constants and what is computed elsewhere without consequence.
bool CppValues::nothing_between(const ir::Block& block, std::size_t from, std::size_t until) const {
  for (std::size_t i = from + 1; i < until; ++i)
    if (is_tied(block.body[i])) return false;
  return true;
}

void CppValues::choose_folded(std::uint32_t b) {
  const ir::Block& block = main_.blocks[b];
  for (std::size_t i = 0; i < block.body.size(); ++i)
    if (block.body[i].name == "call" && block.body[i].results.size() > 1) fold_items(block, i);
}

// Items that follow a call and read its results in their order: the call's statement fails where they would.
void CppValues::fold_items(const ir::Block& block, std::size_t call) {
  const auto& results = block.body[call].results;
  auto from = results.begin();
  for (std::size_t i = call + 1; i < block.body.size(); ++i) {
    const ir::Op& op = block.body[i];
    if (op.name != "item") {
      if (is_tied(op)) return;
      continue;
    }
    const auto place = std::find(from, results.end(), op.operands[0]);
    const std::uint32_t number = op.results[0].index;
    if (place == results.end() || uses_[place->index] != 1 || uses_[number] == 0) return;
    // A condition reads better where it is asked.
    bool goes_on = uses_[number] > 1 || last_use_[number].block != last_use_[place->index].block;
    ir::for_each_edge(block.exit, [&](const ir::Edge& e) {
      goes_on = goes_on || std::find(e.args.begin(), e.args.end(), op.results[0]) != e.args.end();
    });
    if (!goes_on) return;
    folded_[place->index] = number;
    folded_ops_.insert(&op);
    from = place + 1;
  }
}

// ---- last uses -----------------------------------------------------------------------------------

void CppValues::find_deaths(std::uint32_t b) {
  const ir::Block& block = main_.blocks[b];
  std::set<std::uint32_t> live;
  ir::for_each_edge(block.exit, [&](const ir::Edge& e) {
    live.insert(owning_.live_in[e.target.index].begin(), owning_.live_in[e.target.index].end());
  });
  ir::for_each_exit_use(block.exit, [&](ir::ValueId v) {
    if (owning_.tracked[v.index]) live.insert(v.index);
  });
  for (std::size_t i = block.body.size(); i-- > 0;) {
    const ir::Op& op = block.body[i];
    for (ir::ValueId v : op.results)
      if (v.present()) live.erase(v.index);
    for (ir::ValueId v : op.operands) {
      if (!v.present() || !owning_.tracked[v.index]) continue;
      const auto same = std::count(op.operands.begin(), op.operands.end(), v);
      if (!live.count(v.index) && same == 1) dies_.insert({&op, v.index});
    }
    for (ir::ValueId v : op.operands)
      if (v.present() && owning_.tracked[v.index]) live.insert(v.index);
  }
}

// ---- shared variables ----------------------------------------------------------------------------

// Where emitted code assigns each value, and where in each block it reads it last.
void CppValues::note_ranges() {
  for (const ir::Param& p : main_.params) ranges_[p.value.index] = {0, -1};
  for (std::uint32_t b : dominators_.order()) {
    const ir::Block& block = main_.blocks[b];
    for (ir::ValueId v : block.params) ranges_[v.index] = {b, -1};
    const auto read = [&](ir::ValueId v, std::size_t index) {
      std::set<std::uint32_t> reads;
      collect(v, reads);
      for (const std::uint32_t r : reads) last_read_[{b, r}] = static_cast<std::int64_t>(index);
    };
    for (std::size_t i = 0; i < block.body.size(); ++i) {
      const ir::Op& op = block.body[i];
      if (is_silent(op)) continue;
      for (ir::ValueId v : op.operands) read(v, i);
      for (ir::ValueId v : op.results) {
        if (!v.present()) continue;
        const std::uint32_t number = folded(v);
        ranges_[number == kNone ? v.index : number] = {b, static_cast<std::int64_t>(i)};
      }
    }
    ir::for_each_exit_use(block.exit, [&](ir::ValueId v) { read(v, block.body.size()); });
  }
}

void CppValues::share() {
  for (std::uint32_t v = 0; v < shared_.size(); ++v) shared_[v] = v;
  for (std::uint32_t b : dominators_.order()) {
    ir::for_each_edge(main_.blocks[b].exit, [&](const ir::Edge& e) {
      const auto& params = main_.block(e.target).params;
      for (std::size_t i = 0; i < params.size(); ++i) {
        const std::uint32_t from = e.args[i].index;
        if (uses_[params[i].index] == 0 || constants_[from] || inlined_[from]) continue;
        try_to_share(from, params[i].index);
      }
    });
  }
  share_names();
  share_unnamed();
  for (std::uint32_t v = 0; v < shared_.size(); ++v) shared_[v] = find(v);
}

// Values that the user gave one name have one variable too where they can, as have decisions that are kept
// from one step to the next.
void CppValues::share_names() {
  std::map<std::pair<std::string, std::string>, std::uint32_t> last;  // by name and type
  const auto visit = [&](ir::ValueId v, bool is_param) {
    if (!is_used(v) || constants_[v.index] || inlined_[v.index] || ranges_[v.index].block == kNone) return;
    const ir::Value& value = main_.values[v.index];
    const std::string name = python_name(value.hint);
    if (name.empty() && !(is_param && value.type.kind == ir::Type::Kind::Bool)) return;
    const auto [place, first] = last.emplace(std::pair(name, cpp_type(value.type)), v.index);
    if (first) return;
    try_to_share(place->second, v.index);
    place->second = v.index;
  };
  for (const ir::Param& p : main_.params) visit(p.value, false);
  for (std::uint32_t b : dominators_.order()) {
    for (ir::ValueId v : main_.blocks[b].params) visit(v, true);
    for (const ir::Op& op : main_.blocks[b].body)
      for (ir::ValueId v : op.results) visit(v, false);
  }
}

// `t` is used again where it is free: steps that are alike look alike, and memory goes back when it is not needed.
void CppValues::share_unnamed() {
  constexpr std::size_t kMostTried = 16;
  std::set<std::uint32_t> kept;  // variables with a name, and what is returned
  for (std::uint32_t v = 0; v < main_.values.size(); ++v)
    if (!python_name(main_.values[v].hint).empty()) kept.insert(find(v));
  for (const ir::Param& p : main_.params) kept.insert(find(p.value.index));
  for (const ir::Block& block : main_.blocks)
    if (const auto* given = std::get_if<ir::Return>(&block.exit))
      for (ir::ValueId v : given->values) kept.insert(find(v.index));
  std::map<std::string, std::vector<std::uint32_t>> open;  // by type: a value of each variable
  for (std::uint32_t b : dominators_.order()) {
    for (const ir::Op& op : main_.blocks[b].body) {
      for (ir::ValueId v : op.results) {
        if (!is_used(v) || !main_.type_of(v).is_tensor() || constants_[v.index] || inlined_[v.index]) continue;
        if (folded(v) != kNone || kept.count(find(v.index))) continue;
        auto& variables = open[ir::to_string(main_.type_of(v))];
        const bool shared = std::any_of(variables.begin(), variables.end(), [&](std::uint32_t other) {
          try_to_share(other, v.index);
          return find(other) == find(v.index);
        });
        if (!shared && variables.size() < kMostTried) variables.push_back(v.index);
      }
    }
  }
}

void CppValues::try_to_share(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t left = find(a), right = find(b);
  if (left == right || cpp_type(main_.values[a].type) != cpp_type(main_.values[b].type)) return;
  for (const std::uint32_t v : {left, right})
    if (members_[v].empty()) members_[v] = {v};
  auto& ours = members_[left];
  auto& theirs = members_[right];
  if (ours.size() + theirs.size() > kMostShared) return;
  for (const std::uint32_t v : ours)
    for (const std::uint32_t w : theirs)
      if (interfere(v, w)) return;
  ours.insert(ours.end(), theirs.begin(), theirs.end());
  members_.erase(right);
  shared_[right] = left;
}

std::uint32_t CppValues::find(std::uint32_t v) {
  while (shared_[v] != v) v = shared_[v] = shared_[shared_[v]];
  return v;
}

// Two values need variables of their own exactly if one is still needed where the other is made.
bool CppValues::interfere(std::uint32_t a, std::uint32_t b) const {
  const Range &first = ranges_[a], &second = ranges_[b];
  if (first.block == kNone || second.block == kNone) return true;
  if (first.block == second.block && first.index == second.index) return true;
  return needed_after(a, second) || needed_after(b, first);
}

bool CppValues::needed_after(std::uint32_t v, const Range& place) const {
  const Range& made = ranges_[v];
  const auto lives_in = [&](std::uint32_t b) {
    const auto& live = all_.live_in[b];
    return std::binary_search(live.begin(), live.end(), v);
  };
  if (made.block == place.block ? made.index > place.index : !lives_in(place.block)) return false;
  const auto read = last_read_.find({place.block, v});
  if (read != last_read_.end() && read->second > place.index) return true;
  bool leaves = false;
  ir::for_each_edge(main_.blocks[place.block].exit,
                    [&](const ir::Edge& e) { leaves = leaves || lives_in(e.target.index); });
  return leaves;
}

}  // namespace dycl::emit
