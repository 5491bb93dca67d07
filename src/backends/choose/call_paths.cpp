// SPDX-License-Identifier: Apache-2.0
#include "backends/choose/call_paths.h"

#include <algorithm>
#include <random>

namespace dycl::backends {
namespace {

constexpr unsigned kSeed = 7;
constexpr std::size_t kMaxCalls = 2000, kMaxBlocks = 20000;  // of one way
constexpr double kGoesOn = 0.875;                            // with a loop

void targets_of(const ir::Exit& exit, std::vector<std::size_t>& out) {
  if (const auto* jump = std::get_if<ir::Goto>(&exit)) out = {jump->edge.target.index};
  if (const auto* branch = std::get_if<ir::Branch>(&exit))
    out = {branch->if_true.target.index, branch->if_false.target.index};
  if (const auto* choice = std::get_if<ir::Switch>(&exit)) {
    for (const ir::Edge& edge : choice->targets) out.push_back(edge.target.index);
    out.push_back(choice->otherwise.target.index);
  }
}

class Walk {
 public:
  explicit Walk(const ir::Program& program) : main_(program.main()) {
    const std::size_t count = main_.blocks.size();
    targets_.resize(count);
    for (std::size_t b = 0; b < count; ++b) targets_of(main_.blocks[b].exit, targets_[b]);
    find_failing();
    find_loops();
  }

  CallPath draw() {
    CallPath path;
    std::size_t at = 0;
    for (std::size_t step = 0; step < kMaxBlocks && path.size() < kMaxCalls; ++step) {
      for (const ir::Op& op : main_.blocks[at].body)
        if (const ir::Attr* callee = op.name == "call" ? op.attr("callee") : nullptr)
          path.push_back(std::get<std::string>(*callee));
      const std::vector<std::size_t> open = open_targets(at);
      if (open.empty()) break;
      at = open[open.size() == 1 ? 0 : std::uniform_int_distribution<std::size_t>(0, open.size() - 1)(generator_)];
    }
    return path;
  }

 private:
  // Blocks from which every way ends in an error.
  void find_failing() {
    fails_.resize(main_.blocks.size());
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t b = main_.blocks.size(); b-- > 0;) {
        const bool ends = std::holds_alternative<ir::Raise>(main_.blocks[b].exit);
        const bool all = !targets_[b].empty() &&
                         std::all_of(targets_[b].begin(), targets_[b].end(), [&](std::size_t t) { return fails_[t]; });
        if (fails_[b] || !(ends || all)) continue;
        fails_[b] = changed = true;
      }
    }
  }

  // Blocks stand in the order in which they run (tidy), so an edge to an earlier one closes a loop, which ends before
  // the block after its source.
  void find_loops() {
    loop_ends_.resize(main_.blocks.size());
    for (std::size_t b = 0; b < targets_.size(); ++b)
      for (const std::size_t target : targets_[b])
        if (target <= b) loop_ends_[target] = std::max(loop_ends_[target], b + 1);
  }

  // Whether the edge leaves a loop that `from` is in.
  bool leaves_loop(std::size_t from, std::size_t to) const {
    for (std::size_t head = 0; head <= from; ++head)
      if (loop_ends_[head] > from && to >= loop_ends_[head]) return true;
    return false;
  }

  // Where this turn may go: not into errors, and out of a loop rarely.
  std::vector<std::size_t> open_targets(std::size_t block) {
    std::vector<std::size_t> inside, outside;
    for (const std::size_t target : targets_[block]) {
      if (fails_[target]) continue;
      (leaves_loop(block, target) ? outside : inside).push_back(target);
    }
    if (inside.empty() || outside.empty()) return inside.empty() ? outside : inside;
    return std::bernoulli_distribution(kGoesOn)(generator_) ? inside : outside;
  }

  const ir::Function& main_;
  std::vector<std::vector<std::size_t>> targets_;
  std::vector<bool> fails_;
  std::vector<std::size_t> loop_ends_;  // of loops by the block that they begin with: the block after them; 0: none
  std::mt19937 generator_{kSeed};
};

}  // namespace

std::vector<CallPath> draw_paths(const ir::Program& program, std::size_t count) {
  Walk walk(program);
  std::vector<CallPath> paths;
  for (std::size_t i = 0; i < count; ++i) paths.push_back(walk.draw());
  return paths;
}

std::map<std::string, double> call_weights(const ir::Program& program) {
  constexpr std::size_t kWays = 256;
  std::map<std::string, double> weights;
  for (const CallPath& path : draw_paths(program, kWays))
    for (const std::string& name : path) weights[name] += 1.0 / kWays;
  for (const ir::Function& function : program.functions)
    if (function.kind == ir::FunctionKind::SubDnn) weights[function.name] = std::max(weights[function.name], kRarely);
  return weights;
}

}  // namespace dycl::backends
