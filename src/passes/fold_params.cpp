// SPDX-License-Identifier: Apache-2.0
#include "passes/fold_params.h"

#include "passes/definitions.h"
#include "passes/substitution.h"

namespace dycl::passes {
namespace {

struct Place {
  std::uint32_t block;
  std::uint32_t param;
};

class ParamFolder {
 public:
  explicit ParamFolder(ir::Function& function)
      : function_(function), defs_(definitions_of(function)), reads_as_(function), incoming_(function.blocks.size()) {
    readers_.resize(function.values.size());
    for (std::uint32_t b = 0; b < function.blocks.size(); ++b) {
      for_each_edge(function.blocks[b].exit, [&](ir::Edge& edge) {
        incoming_[edge.target.index].push_back(&edge);
        for (std::uint32_t i = 0; i < edge.args.size(); ++i)
          readers_[edge.args[i].index].push_back({edge.target.index, i});
      });
      for (std::uint32_t i = 0; i < function.blocks[b].params.size(); ++i) work_.push_back({b, i});
    }
    gone_.resize(function.values.size());
  }

  int run() {
    int folded = 0;
    while (!work_.empty()) {
      const Place place = work_.back();
      work_.pop_back();
      folded += fold(place);
    }
    if (folded == 0) return 0;
    for (std::uint32_t b = 0; b < function_.blocks.size(); ++b) remove_params(b);
    reads_as_.apply(function_);
    insert_constants();
    return folded;
  }

 private:
  // Every argument is `value`, or the parameter itself.
  ir::ValueId only_argument(Place place, ir::ValueId param) {
    ir::ValueId only;
    for (const ir::Edge* edge : incoming_[place.block]) {
      const ir::ValueId arg = reads_as_(edge->args[place.param]);
      if (arg == param || arg == only) continue;
      if (only.present() && !same_constants(only, arg)) return {};
      only = arg;
    }
    return only;
  }

  bool same_constants(ir::ValueId a, ir::ValueId b) const {
    const ir::Attr* x = constant(a);
    const ir::Attr* y = constant(b);
    return x && y && same_constant(*x, *y) && function_.type_of(a) == function_.type_of(b);
  }

  const ir::Attr* constant(ir::ValueId value) const { return defs_.constant(value); }

  // Equal constants need a new one, as none of them dominates this block.
  bool is_one_value(Place place, ir::ValueId param, ir::ValueId value) {
    for (const ir::Edge* edge : incoming_[place.block]) {
      const ir::ValueId arg = reads_as_(edge->args[place.param]);
      if (arg != param && arg != value) return false;
    }
    return true;
  }

  bool fold(Place place) {
    const ir::ValueId param = function_.blocks[place.block].params[place.param];
    if (gone_[param.index]) return false;
    const ir::ValueId value = only_argument(place, param);
    if (!value.present()) return false;
    gone_[param.index] = true;
    if (is_one_value(place, param, value)) {
      reads_as_.replace(param, value);
      if (function_.values[value.index].hint.empty())
        function_.values[value.index].hint = function_.values[param.index].hint;
    } else {
      constants_.push_back({place, {"const", {}, {param}, {{"value", *constant(value)}}, {}}});
      defs_.op[param.index] = defs_.of(value);  // a constant of the same value
      function_.values[param.index].type = function_.type_of(value);
    }
    for (const Place reader : readers_[param.index]) work_.push_back(reader);
    return true;
  }

  void remove_params(std::uint32_t b) {
    const std::vector<ir::ValueId> params = function_.blocks[b].params;
    const auto keep = [&](auto& items) {
      std::size_t next = 0;
      for (std::size_t i = 0; i < params.size(); ++i)
        if (!gone_[params[i].index]) items[next++] = items[i];
      items.resize(next);
    };
    keep(function_.blocks[b].params);
    for (ir::Edge* edge : incoming_[b]) keep(edge->args);
  }

  void insert_constants() {
    for (std::size_t i = constants_.size(); i-- > 0;) {
      auto& body = function_.blocks[constants_[i].first.block].body;
      body.insert(body.begin(), std::move(constants_[i].second));
    }
  }

  ir::Function& function_;
  Definitions defs_;
  Substitution reads_as_;
  std::vector<std::vector<ir::Edge*>> incoming_;
  std::vector<std::vector<Place>> readers_;  // per value: the parameters it is passed to
  std::vector<Place> work_;
  std::vector<bool> gone_;
  std::vector<std::pair<Place, ir::Op>> constants_;
};

}  // namespace

int fold_params(ir::Program& program) {
  int folded = 0;
  for (ir::Function& function : program.functions)
    if (function.kind == ir::FunctionKind::Host) folded += ParamFolder(function).run();
  return folded;
}

}  // namespace dycl::passes
