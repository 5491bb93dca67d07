// SPDX-License-Identifier: Apache-2.0
// Marks values from what must happen (effects, exits) backwards through a work
// list, then sweeps. An argument of an edge is needed only if its parameter is,
// so values that only circle in a loop die too.
#include "passes/drop_dead.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "passes/cfg.h"
#include "passes/effects.h"

namespace dycl::passes {
namespace {

class Liveness {
 public:
  explicit Liveness(const ir::Function& function) : function_(function), live_(function.values.size()) {
    index_definitions();
    for (const ir::Block& block : function.blocks) {
      for (const ir::Op& op : block.body)
        if (is_ordered(function, op)) need_operands(op);
      for_each_exit_operand(block.exit, [&](ir::ValueId value) { need(value); });
    }
    while (!work_.empty()) {
      const std::uint32_t value = work_.back();
      work_.pop_back();
      if (const ir::Op* op = op_of_[value]) need_operands(*op);
      if (param_block_[value] != kNone) need_arguments(value);
    }
  }

  bool operator()(ir::ValueId value) const { return live_[value.index]; }

 private:
  void index_definitions() {
    const std::size_t count = function_.values.size();
    op_of_.assign(count, nullptr);
    param_block_.assign(count, kNone);
    param_place_.assign(count, 0);
    incoming_.resize(function_.blocks.size());
    for (std::uint32_t b = 0; b < function_.blocks.size(); ++b) {
      const ir::Block& block = function_.blocks[b];
      for (std::uint32_t i = 0; i < block.params.size(); ++i) {
        param_block_[block.params[i].index] = b;
        param_place_[block.params[i].index] = i;
      }
      for (const ir::Op& op : block.body)
        for (const ir::ValueId result : op.results)
          if (result.present()) op_of_[result.index] = &op;
      for_each_edge(block.exit, [&](const ir::Edge& edge) { incoming_[edge.target.index].push_back(&edge); });
    }
  }

  void need(ir::ValueId value) {
    if (!value.present() || live_[value.index]) return;
    live_[value.index] = true;
    work_.push_back(value.index);
  }
  void need_operands(const ir::Op& op) {
    for (const ir::ValueId operand : op.operands) need(operand);
  }
  void need_arguments(std::uint32_t value) {
    for (const ir::Edge* edge : incoming_[param_block_[value]]) need(edge->args[param_place_[value]]);
  }

  const ir::Function& function_;
  std::vector<bool> live_;
  std::vector<std::uint32_t> work_;
  std::vector<const ir::Op*> op_of_;
  std::vector<std::uint32_t> param_block_, param_place_;
  std::vector<std::vector<const ir::Edge*>> incoming_;
};

// Keeps the elements of `items` whose flag is set; returns how many went.
template <typename T>
int keep_flagged(std::vector<T>& items, const std::vector<bool>& keep) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!keep[i]) continue;
    if (next != i) items[next] = std::move(items[i]);
    ++next;
  }
  const int gone = static_cast<int>(items.size() - next);
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(next), items.end());
  return gone;
}

int sweep(ir::Function& function, const Liveness& live) {
  int dropped = 0;
  std::vector<std::vector<bool>> keep_params(function.blocks.size());
  for (std::size_t b = 0; b < function.blocks.size(); ++b)
    for (const ir::ValueId param : function.blocks[b].params) keep_params[b].push_back(live(param));
  for (std::size_t b = 0; b < function.blocks.size(); ++b) {
    ir::Block& block = function.blocks[b];
    dropped += keep_flagged(block.params, keep_params[b]);
    dropped += static_cast<int>(std::erase_if(block.body, [&](const ir::Op& op) {
      return !is_ordered(function, op) &&
             std::ranges::none_of(op.results, [&](ir::ValueId v) { return v.present() && live(v); });
    }));
    for_each_edge(block.exit, [&](ir::Edge& edge) { keep_flagged(edge.args, keep_params[edge.target.index]); });
  }
  return dropped;
}

// ---- sub-DNNs: results no call uses, parameters no op uses -----------------------

struct Trim {
  std::vector<bool> params, results;
};
using Trims = std::unordered_map<std::string, Trim>;

// Results of each sub-DNN that some call in a host function needs.
Trims used_results(const ir::Program& program) {
  Trims trims;
  for (const ir::Function& function : program.functions)
    if (function.kind == ir::FunctionKind::SubDnn) trims[function.name].results.assign(function.results.size(), false);
  for (const ir::Function& function : program.functions) {
    if (function.kind == ir::FunctionKind::SubDnn) continue;
    const Liveness live(function);
    for (const ir::Block& block : function.blocks)
      for (const ir::Op& op : block.body) {
        if (op.name != "call") continue;
        const auto it = trims.find(std::get<std::string>(*op.attr("callee")));
        if (it == trims.end()) continue;
        for (std::size_t i = 0; i < op.results.size(); ++i)
          if (live(op.results[i])) it->second.results[i] = true;
      }
  }
  return trims;
}

// Returns the number of ops dropped; `freed` counts parameters and results.
int trim_function(ir::Function& function, Trim& trim, int& freed) {
  auto& values = std::get<ir::Return>(function.blocks[0].exit).values;
  // A sub-DNN that is called for nothing is left to the next sweep of its calls.
  if (std::ranges::none_of(trim.results, [](bool used) { return used; })) trim.results.assign(values.size(), true);
  freed += keep_flagged(values, trim.results);
  keep_flagged(function.results, trim.results);
  const Liveness live(function);
  for (const ir::Param& param : function.params) trim.params.push_back(live(param.value));
  freed += keep_flagged(function.params, trim.params);
  return sweep(function, live);
}

void trim_calls(ir::Program& program, const Trims& trims) {
  for (ir::Function& function : program.functions)
    for (ir::Block& block : function.blocks)
      for (ir::Op& op : block.body) {
        if (op.name != "call") continue;
        const auto it = trims.find(std::get<std::string>(*op.attr("callee")));
        if (it == trims.end()) continue;
        keep_flagged(op.operands, it->second.params);
        keep_flagged(op.results, it->second.results);
      }
}

int trim_sub_dnns(ir::Program& program, int& freed) {
  Trims trims = used_results(program);
  int dropped = 0;
  for (ir::Function& function : program.functions)
    if (function.kind == ir::FunctionKind::SubDnn) dropped += trim_function(function, trims[function.name], freed);
  if (freed != 0) trim_calls(program, trims);
  return dropped + freed;
}

// ---- functions and weights that nothing names ---------------------------------------

int drop_unnamed(ir::Program& program) {
  std::set<std::string> called{program.main().name}, read;
  for (const ir::Function& function : program.functions)
    for (const ir::Block& block : function.blocks)
      for (const ir::Op& op : block.body)
        if (op.name == "call") called.insert(std::get<std::string>(*op.attr("callee")));
  int dropped = static_cast<int>(std::erase_if(program.functions, [&](const ir::Function& function) {
    return function.kind == ir::FunctionKind::SubDnn && !called.contains(function.name);
  }));
  for (const ir::Function& function : program.functions)
    for (const ir::Block& block : function.blocks)
      for (const ir::Op& op : block.body)
        if (op.name == "weight") read.insert(std::get<std::string>(*op.attr("name")));
  for (const auto& [name, state] : program.states) {
    if (const auto* weight = std::get_if<std::string>(&state.initial)) read.insert(*weight);
    if (const auto* list = std::get_if<std::vector<std::string>>(&state.initial))
      read.insert(list->begin(), list->end());
  }
  dropped +=
      static_cast<int>(std::erase_if(program.weights, [&](const auto& item) { return !read.contains(item.first); }));
  return dropped;
}

}  // namespace

int drop_dead(ir::Program& program) {
  // Before outlining one sweep finds all; after it, an unused parameter of a
  // sub-DNN frees what fed it. Each round is linear; few are ever needed.
  constexpr int kMostRounds = 8;
  int dropped = 0;
  for (int round = 0; round < kMostRounds; ++round) {
    for (ir::Function& function : program.functions)
      if (function.kind == ir::FunctionKind::Host) dropped += sweep(function, Liveness(function));
    int freed = 0;
    if (program.functions.size() > 1) dropped += trim_sub_dnns(program, freed);
    if (freed == 0) break;
  }
  return dropped + drop_unnamed(program);
}

}  // namespace dycl::passes
