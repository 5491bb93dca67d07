// SPDX-License-Identifier: Apache-2.0
#include "passes/cse.h"

#include <algorithm>
#include <unordered_map>

#include "passes/cfg.h"
#include "passes/cost.h"
#include "passes/effects.h"
#include "passes/structure.h"
#include "passes/substitution.h"

namespace dycl::passes {
namespace {

struct Earlier {
  std::uint32_t block;
  std::vector<ir::ValueId> results;
};

class CommonSubexpressions {
 public:
  explicit CommonSubexpressions(ir::Function& function)
      : function_(function), cfg_(cfg_of(function)), reads_as_(function) {}

  int run() {
    int removed = 0;
    // A preorder of the dominator tree: an op seen earlier that does not dominate
    // the present block will dominate no later one either.
    for (const std::uint32_t b : dominator_preorder(cfg_)) {
      auto& body = function_.blocks[b].body;
      removed += static_cast<int>(std::erase_if(body, [&](ir::Op& op) { return is_repeated(b, op); }));
    }
    if (removed != 0) reads_as_.apply(function_);
    return removed;
  }

 private:
  std::string key_of(const ir::Op& op) const {
    std::string key;
    append_op(key, function_, op);
    for (const ir::ValueId operand : op.operands) append_number(key, equal_to(operand.index));
    return key;
  }

  std::uint32_t equal_to(std::uint32_t value) const {
    const auto it = equal_to_.find(value);
    return it == equal_to_.end() ? value : it->second;
  }

  bool is_repeated(std::uint32_t b, ir::Op& op) {
    reads_as_.rewrite(op);
    if (has_effect(op) || op.results.empty()) return false;
    auto& earlier = seen_[key_of(op)];
    while (!earlier.empty() && !cfg_.dominates(earlier.back().block, b)) earlier.pop_back();
    const bool reuse = !earlier.empty() && (earlier.back().block == b || !op.is_tensor_op() || is_heavy(op));
    if (!reuse) {
      // A light op stays where it is read, but what is computed of it is what was computed of its twin.
      for (std::size_t i = 0; i < op.results.size() && !earlier.empty(); ++i)
        if (op.results[i].present() && earlier.back().results[i].present())
          equal_to_.emplace(op.results[i].index, equal_to(earlier.back().results[i].index));
      earlier.push_back({b, op.results});
      return false;
    }
    for (std::size_t i = 0; i < op.results.size(); ++i)
      if (op.results[i].present()) reads_as_.replace(op.results[i], earlier.back().results[i]);
    return true;
  }

  ir::Function& function_;
  Cfg cfg_;
  Substitution reads_as_;
  std::unordered_map<std::uint32_t, std::uint32_t> equal_to_;  // results of light ops that an earlier one computes, too
  std::unordered_map<std::string, std::vector<Earlier>> seen_;
};

}  // namespace

int cse(ir::Program& program) {
  int removed = 0;
  for (ir::Function& function : program.functions) removed += CommonSubexpressions(function).run();
  return removed;
}

}  // namespace dycl::passes
