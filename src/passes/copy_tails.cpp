// SPDX-License-Identifier: Apache-2.0
#include "passes/copy_tails.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "passes/cfg.h"
#include "passes/cost.h"
#include "passes/effects.h"

namespace dycl::passes {
namespace {

constexpr std::size_t kMostPredecessors = 4;

// About ten microseconds on one core: less is not worth a copy.
constexpr double kLeastWork = 2e5;

class Copier {
 public:
  Copier(ir::Function& function, double least_work)
      : function_(function),
        cfg_(cfg_of(function)),
        loops_(loops_of(cfg_)),
        constant_(function.values.size()),
        read_elsewhere_(function.values.size()),
        least_work_(least_work) {
    for (const std::uint32_t b : cfg_.order()) budget_ += function.blocks[b].body.size();
    for (const ir::Block& block : function.blocks) taken_.insert(block.name);
    find_constants();
    find_readers();
  }

  int run() {
    int copied = 0;
    for (const std::uint32_t b : cfg_.order())
      if (pays(b)) {
        copy(b);
        ++copied;
      }
    return copied;
  }

 private:
  void find_constants() {
    for (const std::uint32_t b : cfg_.order())
      for (const ir::Op& op : function_.blocks[b].body) {
        const bool constant =
            is_constant(op) ||
            (op.is_tensor_op() && !op.operands.empty() &&
             std::ranges::all_of(op.operands, [&](ir::ValueId v) { return !v.present() || constant_[v.index]; }));
        for (const ir::ValueId v : op.results)
          if (v.present()) constant_[v.index] = constant;
      }
  }

  // Values that something other than ops of their own block reads.
  void find_readers() {
    std::vector<std::uint32_t> home(function_.values.size(), kNone);
    for (const std::uint32_t b : cfg_.order()) {
      for (const ir::Op& op : function_.blocks[b].body)
        for (const ir::ValueId v : op.results)
          if (v.present()) home[v.index] = b;
    }
    for (const std::uint32_t b : cfg_.order()) {
      for (const ir::Op& op : function_.blocks[b].body)
        for (const ir::ValueId v : op.operands)
          if (v.present() && home[v.index] != b) read_elsewhere_[v.index] = true;
      for_each_exit_use(function_.blocks[b].exit, [&](ir::ValueId v) { read_elsewhere_[v.index] = true; });
    }
  }

  bool is_constant_op(const ir::Op& op) const {
    return std::ranges::all_of(op.results, [&](ir::ValueId v) { return !v.present() || constant_[v.index]; }) &&
           !op.results.empty();
  }

  bool has_tensor_work(std::uint32_t b) const {
    return std::ranges::any_of(function_.blocks[b].body,
                               [&](const ir::Op& op) { return op.is_tensor_op() && !is_constant_op(op); });
  }

  // Whether a tensor of unknown rank comes along some edge with a known one. The work may not be for that rank: where
  // the path is taken it fails as it runs, but a copy whose ranks are known an engine refuses while it compiles.
  bool ranks_meet(std::uint32_t b, const std::vector<std::uint32_t>& preds) const {
    const std::vector<ir::ValueId>& params = function_.blocks[b].params;
    const auto has_rank = [&](ir::ValueId v) {
      const ir::Type& type = function_.type_of(v);
      return !type.is_tensor() || type.shape.has_value();
    };
    bool meet = false;
    for (const std::uint32_t p : preds)
      for_each_edge(function_.blocks[p].exit, [&](const ir::Edge& edge) {
        for (std::size_t i = 0; edge.target.index == b && i < params.size(); ++i)
          meet |= !has_rank(params[i]) && has_rank(edge.args[i]);
      });
    return meet;
  }

  bool pays(std::uint32_t b) const {
    const ir::Block& block = function_.blocks[b];
    const auto& preds = cfg_.preds[b];
    if (preds.size() < 2 || preds.size() > kMostPredecessors || loops_.is_header[b]) return false;
    // An edge that does not go forward would be an irreducible loop's.
    if (std::ranges::any_of(preds, [&](std::uint32_t p) { return cfg_.position(p) >= cfg_.position(b); })) return false;
    if (block.body.size() * (preds.size() - 1) > budget_ || ranks_meet(b, preds)) return false;
    const bool has_company = std::ranges::any_of(preds, [&](std::uint32_t p) {
      return std::holds_alternative<ir::Goto>(function_.blocks[p].exit) && has_tensor_work(p);
    });
    if (!has_company) return false;
    double work = 0;
    for (const ir::Op& op : block.body) work += work_of(function_, op);
    return work >= least_work_;
  }

  void copy(std::uint32_t b) {
    budget_ -= function_.blocks[b].body.size() * (cfg_.preds[b].size() - 1);
    std::vector<ir::ValueId> leaving;
    for (const ir::Op& op : function_.blocks[b].body) {
      if (is_constant_op(op)) continue;
      for (const ir::ValueId v : op.results)
        if (v.present() && read_elsewhere_[v.index]) leaving.push_back(v);
    }
    std::vector<std::uint32_t> preds = cfg_.preds[b];
    std::ranges::sort(preds);
    preds.erase(std::unique(preds.begin(), preds.end()), preds.end());
    for (const std::uint32_t p : preds) copy_to(p, b, leaving);
    ir::Block& join = function_.blocks[b];
    std::erase_if(join.body, [&](const ir::Op& op) { return !is_constant_op(op); });
    join.params.insert(join.params.end(), leaving.begin(), leaving.end());
  }

  // The edges from p to b. A jump's copy goes into p itself.
  void copy_to(std::uint32_t p, std::uint32_t b, const std::vector<ir::ValueId>& leaving) {
    if (auto* jump = std::get_if<ir::Goto>(&function_.blocks[p].exit)) {
      ir::Edge edge = std::move(jump->edge);
      std::vector<ir::Op> ops = copies(b, edge, leaving);
      auto& body = function_.blocks[p].body;
      std::ranges::move(ops, std::back_inserter(body));
      std::get<ir::Goto>(function_.blocks[p].exit).edge = std::move(edge);
      return;
    }
    std::vector<ir::Block> between;
    const auto first = static_cast<std::uint32_t>(function_.blocks.size());
    ir::Exit exit = std::move(function_.blocks[p].exit);
    for_each_edge(exit, [&](ir::Edge& edge) {
      if (edge.target.index != b) return;
      ir::Block made;
      made.name = fresh(function_.blocks[b].name + ".from" + std::to_string(++names_));
      made.span = function_.blocks[b].span;
      ir::Edge inner = std::move(edge);
      made.body = copies(b, inner, leaving);
      made.exit = ir::Goto{std::move(inner)};
      edge = ir::Edge{{first + static_cast<std::uint32_t>(between.size())}, {}};
      between.push_back(std::move(made));
    });
    function_.blocks[p].exit = std::move(exit);
    for (ir::Block& made : between) function_.blocks.push_back(std::move(made));
  }

  // The ops of b as they are behind `edge`, whose arguments are completed.
  std::vector<ir::Op> copies(std::uint32_t b, ir::Edge& edge, const std::vector<ir::ValueId>& leaving) {
    std::unordered_map<std::uint32_t, ir::ValueId> here;
    const ir::Block& block = function_.blocks[b];
    for (std::size_t i = 0; i < edge.args.size(); ++i) here.emplace(block.params[i].index, edge.args[i]);
    std::vector<ir::Op> ops;
    for (const ir::Op& op : block.body) {
      ir::Op made = op;
      for (ir::ValueId& v : made.operands)
        if (const auto it = here.find(v.index); v.present() && it != here.end()) v = it->second;
      for (ir::ValueId& v : made.results) {
        if (!v.present()) continue;
        const ir::Value value = function_.values[v.index];
        const ir::ValueId fresh_value = function_.add_value(value.type, value.hint);
        here.emplace(v.index, fresh_value);
        v = fresh_value;
      }
      ops.push_back(std::move(made));
    }
    for (const ir::ValueId v : leaving) edge.args.push_back(here.at(v.index));
    return ops;
  }

  std::string fresh(std::string name) {
    while (!taken_.insert(name).second) name += "_";
    return name;
  }

  ir::Function& function_;
  const Cfg cfg_;
  const Loops loops_;
  std::vector<bool> constant_;        // per value: made of constants alone
  std::vector<bool> read_elsewhere_;  // per value
  double least_work_;
  std::size_t budget_ = 0;
  std::unordered_set<std::string> taken_;  // names of blocks
  int names_ = 0;
};

}  // namespace

int copy_tails(ir::Program& program, double least_work) {
  int copied = 0;
  for (ir::Function& function : program.functions)
    if (function.kind == ir::FunctionKind::Host) copied += Copier(function, least_work).run();
  return copied;
}

int copy_tails(ir::Program& program) { return copy_tails(program, kLeastWork); }

}  // namespace dycl::passes
