// SPDX-License-Identifier: Apache-2.0
#include "passes/fold_decided.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "passes/cfg.h"

namespace dycl::passes {
namespace {

// What an edge into a block says of a value: that it is true, false or this number.
struct Decision {
  ir::ValueId value;
  std::int64_t outcome = 0;
};

class DecidedChoices {
 public:
  explicit DecidedChoices(ir::Function& function) : function_(function), cfg_(cfg_of(function)) {}

  // In a preorder of the dominator tree a decision that does not hold in the present block will hold in no later one.
  int run() {
    int folded = 0;
    for (const std::uint32_t b : dominator_preorder(cfg_)) {
      if (const auto decision = on_entering(b)) known_[decision->value.index].push_back({b, decision->outcome});
      folded += fold(b);
    }
    return folded;
  }

 private:
  struct Known {
    std::uint32_t block;
    std::int64_t outcome;
  };

  std::optional<Decision> on_entering(std::uint32_t b) const {
    if (cfg_.preds[b].size() != 1) return {};
    const ir::Exit& exit = function_.blocks[cfg_.preds[b].front()].exit;
    if (const auto* branch = std::get_if<ir::Branch>(&exit))
      return Decision{branch->condition, branch->if_true.target.index == b};
    if (const auto* choice = std::get_if<ir::Switch>(&exit))
      for (std::size_t i = 0; i < choice->cases.size(); ++i)
        if (choice->targets[i].target.index == b) return Decision{choice->selector, choice->cases[i]};
    return {};
  }

  std::optional<std::int64_t> known(std::uint32_t b, ir::ValueId value) {
    const auto it = known_.find(value.index);
    if (it == known_.end()) return {};
    std::vector<Known>& earlier = it->second;
    while (!earlier.empty() && !cfg_.dominates(earlier.back().block, b)) earlier.pop_back();
    if (earlier.empty()) return {};
    return earlier.back().outcome;
  }

  bool fold(std::uint32_t b) {
    ir::Exit& exit = function_.blocks[b].exit;
    if (const auto* branch = std::get_if<ir::Branch>(&exit)) {
      const auto outcome = known(b, branch->condition);
      if (outcome) jump(exit, *outcome ? branch->if_true : branch->if_false);
      return outcome.has_value();
    }
    if (const auto* choice = std::get_if<ir::Switch>(&exit)) {
      const auto outcome = known(b, choice->selector);
      if (outcome) jump(exit, taken(*choice, *outcome));
      return outcome.has_value();
    }
    return false;
  }

  static const ir::Edge& taken(const ir::Switch& choice, std::int64_t outcome) {
    const auto it = std::ranges::find(choice.cases, outcome);
    return it == choice.cases.end() ? choice.otherwise
                                    : choice.targets[static_cast<std::size_t>(it - choice.cases.begin())];
  }

  // `edge` is a part of the exit that goes.
  static void jump(ir::Exit& exit, ir::Edge edge) { exit = ir::Goto{std::move(edge)}; }

  ir::Function& function_;
  const Cfg cfg_;  // preds and dominators of before: a choice replaced leaves what holds in the blocks below it
  std::unordered_map<std::uint32_t, std::vector<Known>> known_;
};

}  // namespace

int fold_decided(ir::Program& program) {
  int folded = 0;
  for (ir::Function& function : program.functions)
    if (function.kind == ir::FunctionKind::Host) folded += DecidedChoices(function).run();
  return folded;
}

}  // namespace dycl::passes
