// SPDX-License-Identifier: Apache-2.0
#include "package/lower_to_plan.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "ir/dominators.h"
#include "ir/edges.h"
#include "ir/host_ops.h"
#include "package/code_builder.h"
#include "package/dim_lowering.h"
#include "package/liveness.h"
#include "support/random.h"

namespace dycl::package {
namespace {

using runtime::kLastUse;
using runtime::Opcode;

constexpr std::uint32_t kNone = 0xffffffffU;

Error unsupported(std::string message, SourceSpan span = {}) {
  return {ErrorKind::Unsupported, std::move(message), {}, span, {}};
}
Error invalid(std::string message, SourceSpan span = {}) {
  return {ErrorKind::InvalidModel, std::move(message), {}, span, {}};
}

// ---- tables: types, weights, strings ---------------------------------------------------

class Tables {
 public:
  Tables(const ir::Program& program, Lowered& out) : program_(program), out_(out) {
    for (const auto& [name, symbol] : program.symbols) {
      symbols_.emplace(name, static_cast<std::uint32_t>(out.plan.symbols.size()));
      out.plan.symbols.push_back({name, symbol.min, symbol.max});
    }
  }

  Result<std::uint32_t> type(const ir::Type& t) {
    const std::string key = ir::to_string(t);
    if (const auto it = types_.find(key); it != types_.end()) return it->second;
    runtime::PlanType made;
    made.kind = static_cast<runtime::ValueKind>(t.kind);
    made.dtype = t.dtype;
    if (t.is_tensor()) {
      made.rank_known = t.shape.has_value();
      if (t.shape && t.shape->size() > runtime::kMaxRank) return unsupported("a tensor of more than 16 dims: " + key);
      for (const ir::Dim& d : t.shape ? *t.shape : std::vector<ir::Dim>()) {
        DYCL_ASSIGN(runtime::PlanDim lowered, dim(d));
        made.dims.push_back(std::move(lowered));
      }
    } else if (!t.is_scalar()) {
      DYCL_ASSIGN(made.element, type(t.element.at(0)));
    }
    const auto index = static_cast<std::uint32_t>(out_.plan.types.size());
    out_.plan.types.push_back(std::move(made));
    types_.emplace(key, index);
    return index;
  }

  Result<std::uint32_t> weight(const std::string& name) {
    if (const auto it = weights_.find(name); it != weights_.end()) return it->second;
    if (!program_.weights.contains(name)) return invalid("there is no weight @" + name);
    const auto index = static_cast<std::uint32_t>(out_.weights.size());
    out_.weights.push_back(name);
    weights_.emplace(name, index);
    return index;
  }

  std::uint32_t string(const std::string& text) { return intern(strings_, out_.plan.strings, text); }
  std::uint32_t host_function(const std::string& name) {
    return intern(host_functions_, out_.plan.host_functions, name);
  }

 private:
  using Interned = std::unordered_map<std::string, std::uint32_t>;

  static std::uint32_t intern(Interned& known, std::vector<std::string>& list, const std::string& text) {
    const auto [it, fresh] = known.try_emplace(text, static_cast<std::uint32_t>(list.size()));
    if (fresh) list.push_back(text);
    return it->second;
  }

  Result<runtime::PlanDim> dim(const ir::Dim& d) {
    runtime::PlanDim out;
    out.value = d.is_known() ? d.value : -1;
    if (d.is_symbolic()) {
      DYCL_ASSIGN(out.code, lower_dim(d.expr, symbols_));
      out.text = d.expr;
    }
    return out;
  }

  const ir::Program& program_;
  Lowered& out_;
  SymbolIndices symbols_;
  Interned types_, weights_, strings_, host_functions_;
};

// ---- main --------------------------------------------------------------------------------

class MainLowering {
 public:
  MainLowering(const ir::Program& program, Lowered& out, Tables& tables,
               const std::unordered_map<std::string, std::uint32_t>& callees)
      : main_(program.main()),
        out_(out),
        plan_(out.plan),
        tables_(tables),
        callees_(callees),
        dominators_(main_),
        liveness_(main_, dominators_),
        code_(out.plan.code, out.debug.spans),
        register_of_(main_.values.size(), kNone),
        live_stamp_(main_.values.size(), 0),
        block_pc_(main_.blocks.size(), kNone),
        loop_of_(main_.blocks.size(), kNone) {}

  Result<void> run(const ir::Program& program) {
    DYCL_TRY(lower_states(program));
    DYCL_TRY(lower_interface());
    number_loops();
    const auto& order = dominators_.order();
    for (std::size_t i = 0; i < order.size(); ++i) {
      next_block_ = i + 1 < order.size() ? order[i + 1] : kNone;
      DYCL_TRY(lower_block(order[i]));
    }
    for (const auto& [position, block] : jumps_) plan_.code[position] = block_pc_[block];
    return {};
  }

 private:
  // -- interface --

  Result<void> lower_states(const ir::Program& program) {
    for (const auto& [name, state] : program.states) {
      state_index_.emplace(name, static_cast<std::int32_t>(plan_.states.size()));
      runtime::PlanState made;
      made.name = name;
      DYCL_ASSIGN(made.type, tables_.type(state.type));
      DYCL_ASSIGN(made.initial, initial_items(name, state));
      plan_.states.push_back(std::move(made));
    }
    return {};
  }

  Result<std::vector<std::uint64_t>> initial_items(const std::string& name, const ir::State& state) {
    std::vector<std::uint64_t> items;
    const auto add_weight = [&](const std::string& weight) -> Result<void> {
      DYCL_ASSIGN(const std::uint32_t index, tables_.weight(weight));
      items.push_back(index);
      return {};
    };
    if (const auto* b = std::get_if<bool>(&state.initial))
      items.push_back(*b ? 1 : 0);
    else if (const auto* i = std::get_if<std::int64_t>(&state.initial))
      items.push_back(static_cast<std::uint64_t>(*i));
    else if (const auto* f = std::get_if<double>(&state.initial))
      items.push_back(std::bit_cast<std::uint64_t>(*f));
    else if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&state.initial))
      items.assign(ints->begin(), ints->end());
    else if (const auto* floats = std::get_if<std::vector<double>>(&state.initial)) {
      for (double value : *floats) items.push_back(std::bit_cast<std::uint64_t>(value));
    } else if (const auto* weight = std::get_if<std::string>(&state.initial)) {
      const bool none = weight->empty() && state.type.kind == ir::Type::Kind::Optional;
      if (!none) DYCL_TRY(add_weight(*weight));
    } else if (const auto* weights = std::get_if<std::vector<std::string>>(&state.initial)) {
      for (const std::string& w : *weights) DYCL_TRY(add_weight(w));
    } else {
      return invalid("the initial value of state @" + name + " cannot be stored");
    }
    return items;
  }

  Result<std::int32_t> state_named(const std::string& name) const {
    if (name.empty()) return -1;
    const auto it = state_index_.find(name);
    if (it == state_index_.end()) return invalid("there is no state @" + name);
    return it->second;
  }

  static bool is_nested_optional(const ir::Type& t) {
    if (t.element.empty()) return false;
    return (t.kind == ir::Type::Kind::Optional && t.element[0].kind == ir::Type::Kind::Optional) ||
           is_nested_optional(t.element[0]);
  }

  Result<void> lower_interface() {
    for (const ir::Param& p : main_.params) {
      const ir::Value& value = main_.values[p.value.index];
      if (is_nested_optional(value.type)) return unsupported("an optional of an optional as parameter", main_.span);
      DYCL_ASSIGN(const std::uint32_t reg, reg_of(p.value));
      DYCL_ASSIGN(const std::int32_t state, state_named(p.state));
      plan_.inputs.push_back({value.hint, reg, state});
    }
    for (const ir::Output& o : main_.results) {
      if (is_nested_optional(o.type)) return unsupported("an optional of an optional as result", main_.span);
      DYCL_ASSIGN(const std::uint32_t type, tables_.type(o.type));
      DYCL_ASSIGN(const std::int32_t state, state_named(o.state));
      plan_.outputs.push_back({o.name, type, state});
    }
    return {};
  }

  // -- registers --

  Result<std::uint32_t> new_register(const ir::Type& type, const std::string& name) {
    DYCL_ASSIGN(const std::uint32_t index, tables_.type(type));
    plan_.registers.push_back(index);
    out_.debug.register_names.push_back(name);
    return static_cast<std::uint32_t>(plan_.registers.size() - 1);
  }

  Result<std::uint32_t> reg_of(ir::ValueId v) {
    if (!v.present()) return invalid("a host op with an operand left out");
    std::uint32_t& reg = register_of_[v.index];
    if (reg == kNone) {
      DYCL_ASSIGN(reg, new_register(main_.type_of(v), main_.values[v.index].hint));
    }
    return reg;
  }

  bool is_tracked(ir::ValueId v) const { return v.present() && liveness_.tracked[v.index]; }
  bool is_live(ir::ValueId v) const { return live_stamp_[v.index] == stamp_; }
  void set_live(std::uint32_t v) { live_stamp_[v] = stamp_; }
  void set_dead(std::uint32_t v) { live_stamp_[v] = 0; }

  // -- loops --

  bool is_back_edge(std::uint32_t from, std::uint32_t to) const {
    return dominators_.position({to}) <= dominators_.position({from});
  }

  void number_loops() {
    for (std::uint32_t b : dominators_.order()) {
      ir::for_each_edge(main_.blocks[b].exit, [&](const ir::Edge& e) {
        const std::uint32_t header = e.target.index;
        if (!is_back_edge(b, header) || loop_of_[header] != kNone) return;
        loop_of_[header] = static_cast<std::uint32_t>(plan_.loops.size());
        plan_.loops.push_back(main_.blocks[header].loop_limit);
        out_.debug.loop_spans.push_back(span_of_block(main_.blocks[header]));
      });
    }
  }

  static SourceSpan span_of_block(const ir::Block& block) {
    if (block.span.known()) return block.span;
    if (block.exit_span.known()) return block.exit_span;
    for (const ir::Op& op : block.body) {
      if (op.span.known()) return op.span;
    }
    return {};
  }
  static SourceSpan span_of_exit(const ir::Block& block) {
    return block.exit_span.known() ? block.exit_span : block.span;
  }

  // -- blocks --

  // Values that end their life at each op of a block, and results nobody needs.
  struct Deaths {
    std::vector<std::vector<bool>> last_use;         // by op, by operand
    std::vector<std::vector<std::uint32_t>> unused;  // by op: values
    std::vector<std::uint32_t> unused_params;
    std::vector<std::uint32_t> at_exit;  // alive when the exit is reached
  };

  Deaths deaths_in(std::uint32_t b) {
    const ir::Block& block = main_.blocks[b];
    Deaths d;
    ++stamp_;
    const auto at_exit = [&](std::uint32_t v) {
      if (live_stamp_[v] == stamp_) return;
      set_live(v);
      d.at_exit.push_back(v);
    };
    ir::for_each_edge(block.exit, [&](const ir::Edge& e) {
      for (std::uint32_t v : liveness_.live_in[e.target.index]) at_exit(v);
    });
    ir::for_each_exit_use(block.exit, [&](ir::ValueId v) {
      if (is_tracked(v)) at_exit(v.index);
    });
    d.last_use.resize(block.body.size());
    d.unused.resize(block.body.size());
    for (std::size_t i = block.body.size(); i-- > 0;) {
      const ir::Op& op = block.body[i];
      for (ir::ValueId v : op.results) {
        if (is_tracked(v) && !is_live(v)) d.unused[i].push_back(v.index);
        set_dead(v.index);
      }
      d.last_use[i].assign(op.operands.size(), false);
      for (std::size_t k = op.operands.size(); k-- > 0;) {
        const ir::ValueId v = op.operands[k];
        if (!is_tracked(v) || is_live(v)) continue;
        d.last_use[i][k] = true;
        set_live(v.index);
      }
    }
    const auto param = [&](ir::ValueId v) {
      if (is_tracked(v) && !is_live(v)) d.unused_params.push_back(v.index);
    };
    for (ir::ValueId v : block.params) param(v);
    if (b == 0) {
      for (const ir::Param& p : main_.params) {
        if (register_of_[p.value.index] != kNone) param(p.value);
      }
    }
    return d;
  }

  Result<void> lower_block(std::uint32_t b) {
    const ir::Block& block = main_.blocks[b];
    block_pc_[b] = code_.position();
    block_ = &block;
    const Deaths deaths = deaths_in(b);
    code_.at(block.span);
    DYCL_TRY(drop(deaths.unused_params));
    for (std::size_t i = 0; i < block.body.size(); ++i) {
      code_.at(block.body[i].span);
      DYCL_TRY(lower_op(block.body[i], deaths.last_use[i]));
      DYCL_TRY(drop(deaths.unused[i]));
    }
    code_.at(span_of_exit(block));
    return lower_exit(b, deaths.at_exit);
  }

  Result<void> drop(const std::vector<std::uint32_t>& values) {
    if (values.empty()) return {};
    std::vector<std::uint32_t> words = {static_cast<std::uint32_t>(values.size())};
    for (std::uint32_t v : values) {
      DYCL_ASSIGN(const std::uint32_t reg, reg_of({v}));
      words.push_back(reg);
    }
    return code_.emit(Opcode::Drop, words);
  }

  // -- ops --

  Result<void> lower_op(const ir::Op& op, const std::vector<bool>& last_use) {
    if (op.is_tensor_op()) {
      return invalid("tensor op " + op.name + " in @" + main_.name + ": the program is not outlined", op.span);
    }
    if (is_constant_op(op)) return lower_constant(op);
    std::vector<std::uint32_t> operands, results;
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      DYCL_ASSIGN(const std::uint32_t reg, reg_of(op.operands[i]));
      operands.push_back(reg | (last_use[i] ? kLastUse : 0));
    }
    for (ir::ValueId v : op.results) {
      DYCL_ASSIGN(const std::uint32_t reg, reg_of(v));
      results.push_back(reg);
    }
    if (const auto scalar = scalar::op_named(op.name)) {
      const auto number = runtime::kFirstScalarOpcode + static_cast<std::uint32_t>(*scalar);
      return code_.emit(static_cast<Opcode>(number), results, operands);
    }
    return lower_host_op(op, results, operands);
  }

  Result<void> lower_constant(const ir::Op& op) {
    DYCL_ASSIGN(const std::uint32_t reg, reg_of(op.results.at(0)));
    runtime::PlanConstant c;
    c.reg = reg;
    if (op.name == "weight") {
      const auto* name = ir::attr_as<std::string>(op, "name");
      if (!name) return invalid("weight without a name", op.span);
      DYCL_ASSIGN(const std::uint32_t index, tables_.weight(*name));
      c.weight = static_cast<std::int32_t>(index);
    } else if (const auto* b = ir::attr_as<bool>(op, "value")) {
      c.bits = *b ? 1 : 0;
    } else if (const auto* i = ir::attr_as<std::int64_t>(op, "value")) {
      c.bits = static_cast<std::uint64_t>(*i);
    } else if (const auto* f = ir::attr_as<double>(op, "value")) {
      c.bits = std::bit_cast<std::uint64_t>(*f);
    } else if (const auto* t = ir::attr_as<ir::TensorLiteral>(op, "value")) {
      c.literal = t->bytes;
    } else {
      return invalid("a constant that is no scalar and no tensor", op.span);
    }
    plan_.constants.push_back(std::move(c));
    return {};
  }

  using Words = std::vector<std::uint32_t>;

  Result<void> lower_host_op(const ir::Op& op, const Words& results, const Words& operands) {
    struct Simple {
      const char* name;
      Opcode opcode;
    };
    // Results, then operands, nothing else.
    static constexpr Simple kSimple[] = {
        {"item", Opcode::Item},
        {"to_tensor", Opcode::ToTensor},
        {"size", Opcode::Size},
        {"list.append", Opcode::ListAppend},
        {"list.get", Opcode::ListGet},
        {"list.set", Opcode::ListSet},
        {"list.len", Opcode::ListLen},
        {"list.concat", Opcode::ListConcat},
        {"list.slice", Opcode::ListSlice},
        {"list.pop", Opcode::ListPop},
        {"list.insert", Opcode::ListInsert},
        {"list.from_tensor", Opcode::ListFromTensor},
        {"list.to_tensor", Opcode::ListToTensor},
        {"opt.is_some", Opcode::OptIsSome},
        {"opt.get", Opcode::OptGet},
        {"rand.state", Opcode::RandState},
        {"rand.set_state", Opcode::SetRandState},
        {"rand.seed", Opcode::SetSeed},
        {"rand.lend", Opcode::LendRandom},
        {"rand.give_back", Opcode::GiveBackRandom},
    };
    for (const Simple& s : kSimple) {
      if (op.name == s.name) return code_.emit(s.opcode, results, operands);
    }
    const Words count = {static_cast<std::uint32_t>(operands.size())};
    if (op.name == "list.new" || op.name == "opt.none" || op.name == "opt.some")
      return code_.emit(Opcode::ListNew, results, count, operands);
    if (const DistributionInfo* drawn = distribution_named(op.name))
      return code_.emit(Opcode::Draw, results, {static_cast<std::uint32_t>(drawn->distribution)}, count, operands);
    if (op.name == "select") {
      return code_.emit(main_.type_of(op.results[0]).is_scalar() ? Opcode::SelectScalar : Opcode::SelectHandle, results,
                        operands);
    }
    if (op.name == "dim") return lower_with_axis(op, Opcode::Dim, results, operands);
    if (op.name == "list.stack") return lower_with_axis(op, Opcode::ListStack, results, operands);
    if (op.name == "list.cat") return lower_with_axis(op, Opcode::ListCat, results, operands);
    if (op.name == "print") {
      DYCL_ASSIGN(const std::uint32_t format, string_attr(op, "format"));
      return code_.emit(Opcode::Print, {format}, count, operands);
    }
    if (op.name == "check") {
      DYCL_ASSIGN(const std::uint32_t type, string_attr(op, "type"));
      DYCL_ASSIGN(const std::uint32_t message, string_attr(op, "message"));
      return code_.emit(Opcode::Check, operands, {type, message});
    }
    if (op.name == "keep") return lower_keep(op, operands);
    if (op.name == "call" || op.name == "host_call") return lower_call(op, results, operands);
    return unsupported("host op " + op.name + " has no place in a plan", op.span);
  }

  Result<std::uint32_t> string_attr(const ir::Op& op, const char* key) {
    const auto* text = ir::attr_as<std::string>(op, key);
    if (!text) return invalid(op.name + " without attribute " + key, op.span);
    return tables_.string(*text);
  }

  Result<void> lower_with_axis(const ir::Op& op, Opcode opcode, const Words& results, const Words& operands) {
    const auto* axis = ir::attr_as<std::int64_t>(op, "axis");
    if (!axis || *axis < -runtime::kMaxRank || *axis > runtime::kMaxRank)
      return invalid(op.name + " without a proper axis", op.span);
    return code_.emit(opcode, results, operands, {static_cast<std::uint32_t>(static_cast<std::int32_t>(*axis))});
  }

  Result<void> lower_keep(const ir::Op& op, const Words& operands) {
    const auto* names = ir::attr_as<std::vector<std::string>>(op, "names");
    if (!names || names->size() != operands.size()) return invalid("keep without a name for each operand", op.span);
    for (std::size_t i = 0; i < operands.size(); ++i)
      DYCL_TRY(code_.emit(Opcode::Keep, {tables_.string((*names)[i])}, {operands[i]}));
    return {};
  }

  Result<void> lower_call(const ir::Op& op, const Words& results, const Words& operands) {
    const bool host = op.name == "host_call";
    const auto* name = ir::attr_as<std::string>(op, host ? "name" : "callee");
    if (!name) return invalid(op.name + " without a callee", op.span);
    std::uint32_t callee = 0;
    if (host) {
      callee = tables_.host_function(*name);
    } else {
      const auto it = callees_.find(*name);
      if (it == callees_.end()) return invalid("there is no artifact for sub-DNN @" + *name, op.span);
      callee = it->second;
    }
    const Words head = {callee, static_cast<std::uint32_t>(operands.size()),
                        static_cast<std::uint32_t>(results.size())};
    if (!host) out_.debug.call_blocks.push_back(block_->name);
    return code_.emit(host ? Opcode::HostCall : Opcode::Call, head, operands, results);
  }

  // -- exits --

  Result<void> lower_exit(std::uint32_t b, const std::vector<std::uint32_t>& alive) {
    const ir::Block& block = main_.blocks[b];
    if (const auto* jump = std::get_if<ir::Goto>(&block.exit)) return lower_edge(b, jump->edge, alive, true);
    if (const auto* branch = std::get_if<ir::Branch>(&block.exit)) return lower_branch(b, *branch, alive);
    if (const auto* choice = std::get_if<ir::Switch>(&block.exit)) return lower_switch(b, *choice, alive);
    if (const auto* result = std::get_if<ir::Return>(&block.exit)) return lower_return(*result);
    if (const auto* failure = std::get_if<ir::Raise>(&block.exit)) return lower_raise(*failure);
    return invalid("block ^" + block.name + " has no exit", block.span);
  }

  Result<void> lower_return(const ir::Return& result) {
    Words words = {static_cast<std::uint32_t>(result.values.size())};
    for (std::size_t i = 0; i < result.values.size(); ++i) {
      const ir::ValueId v = result.values[i];
      DYCL_ASSIGN(const std::uint32_t reg, reg_of(v));
      const bool again = std::find(result.values.begin() + static_cast<std::ptrdiff_t>(i) + 1, result.values.end(),
                                   v) != result.values.end();
      words.push_back(reg | (is_tracked(v) && !again ? kLastUse : 0));
    }
    return code_.emit(Opcode::Return, words);
  }

  Result<void> lower_raise(const ir::Raise& failure) {
    Words words = {tables_.string(failure.type), tables_.string(failure.message),
                   static_cast<std::uint32_t>(failure.args.size())};
    for (ir::ValueId v : failure.args) {
      DYCL_ASSIGN(const std::uint32_t reg, reg_of(v));
      words.push_back(reg);
    }
    return code_.emit(Opcode::Raise, words);
  }

  std::uint32_t new_decision(const ir::Block& block, std::uint32_t arms) {
    plan_.decisions.push_back(arms);
    out_.debug.decision_blocks.push_back(block.name);
    out_.debug.decision_spans.push_back(span_of_exit(block));
    return static_cast<std::uint32_t>(plan_.decisions.size() - 1);
  }

  Result<void> lower_branch(std::uint32_t b, const ir::Branch& branch, const std::vector<std::uint32_t>& alive) {
    const ir::Block& block = main_.blocks[b];
    DYCL_ASSIGN(const std::uint32_t condition, reg_of(branch.condition));
    const std::uint32_t decision = new_decision(block, 2);
    const std::uint32_t at = code_.position();
    DYCL_TRY(code_.emit(Opcode::Branch, {condition, decision, 0, 0}));
    DYCL_TRY(lower_arm(b, branch.if_true, alive, at + 4, false));
    return lower_arm(b, branch.if_false, alive, at + 3, true);
  }

  Result<void> lower_switch(std::uint32_t b, const ir::Switch& choice, const std::vector<std::uint32_t>& alive) {
    const ir::Block& block = main_.blocks[b];
    DYCL_ASSIGN(const std::uint32_t selector, reg_of(choice.selector));
    const auto cases = static_cast<std::uint32_t>(choice.cases.size());
    const std::uint32_t decision = new_decision(block, cases + 1);
    Words words = {selector, decision, cases};
    for (std::int64_t value : choice.cases) {
      words.push_back(static_cast<std::uint32_t>(static_cast<std::uint64_t>(value)));
      words.push_back(static_cast<std::uint32_t>(static_cast<std::uint64_t>(value) >> 32));
    }
    const std::uint32_t first = code_.position() + 1 + static_cast<std::uint32_t>(words.size());
    words.resize(words.size() + cases + 1, 0);
    DYCL_TRY(code_.emit(Opcode::Switch, words));
    for (std::uint32_t i = 0; i < cases; ++i) DYCL_TRY(lower_arm(b, choice.targets[i], alive, first + i, false));
    return lower_arm(b, choice.otherwise, alive, first + cases, true);
  }

  // One arm of a decision: jumps straight to its block, or to code that prepares the block's parameters.
  Result<void> lower_arm(std::uint32_t b, const ir::Edge& edge, const std::vector<std::uint32_t>& alive,
                         std::uint32_t position, bool last) {
    const std::uint32_t stub = code_.position();
    DYCL_TRY(lower_edge_work(b, edge, alive));
    if (code_.position() == stub) {
      jumps_.emplace_back(position, edge.target.index);
      return {};
    }
    plan_.code[position] = stub;
    return jump(edge.target.index, last);
  }

  Result<void> lower_edge(std::uint32_t b, const ir::Edge& edge, const std::vector<std::uint32_t>& alive, bool last) {
    DYCL_TRY(lower_edge_work(b, edge, alive));
    return jump(edge.target.index, last);
  }

  // `last`: nothing of this block follows, so the next block may be fallen into.
  Result<void> jump(std::uint32_t target, bool last) {
    if (last && target == next_block_) return {};
    jumps_.emplace_back(code_.position() + 1, target);
    return code_.emit(Opcode::Jump, {0});
  }

  struct Move {
    std::uint32_t to, from;
    bool handle, from_dies;
    const ir::Type* type;
  };

  Result<void> lower_edge_work(std::uint32_t b, const ir::Edge& edge, const std::vector<std::uint32_t>& alive) {
    const ir::Block& target = main_.blocks[edge.target.index];
    ++stamp_;  // live: needed in the target, or moved
    for (std::uint32_t v : liveness_.live_in[edge.target.index]) set_live(v);
    for (std::size_t i = 0; i < edge.args.size(); ++i) {
      if (edge.args[i] == target.params[i]) set_live(edge.args[i].index);  // stays where it is
    }
    std::vector<Move> moves;
    for (std::size_t i = 0; i < edge.args.size(); ++i) {
      const ir::ValueId from = edge.args[i], to = target.params[i];
      if (from == to) continue;
      DYCL_ASSIGN(const std::uint32_t from_reg, reg_of(from));
      DYCL_ASSIGN(const std::uint32_t to_reg, reg_of(to));
      moves.push_back({to_reg, from_reg, !main_.type_of(from).is_scalar(), is_tracked(from) && !is_live(from),
                       &main_.type_of(from)});
    }
    for (ir::ValueId v : edge.args) set_live(v.index);
    for (ir::ValueId v : target.params) set_live(v.index);  // overwritten or kept
    std::vector<std::uint32_t> dead;
    for (std::uint32_t v : alive) {
      if (live_stamp_[v] != stamp_) dead.push_back(v);
    }
    DYCL_TRY(emit_moves(std::move(moves)));
    DYCL_TRY(drop(dead));
    const std::uint32_t loop = loop_of_[edge.target.index];
    if (loop == kNone) return {};
    return code_.emit(is_back_edge(b, edge.target.index) ? Opcode::LoopBack : Opcode::LoopEnter, {loop});
  }

  // Does all moves as if at once: first those whose target nobody still reads, and a
  // copy to a fresh register where only cycles are left.
  Result<void> emit_moves(std::vector<Move> moves) {
    std::map<std::uint32_t, int> readers;
    for (const Move& m : moves) ++readers[m.from];
    while (!moves.empty()) {
      auto ready = std::find_if(moves.begin(), moves.end(), [&](const Move& m) { return readers[m.to] == 0; });
      if (ready == moves.end()) {
        Move& stuck = moves.front();
        DYCL_ASSIGN(const std::uint32_t spare, new_register(*stuck.type, {}));
        const std::uint32_t from = stuck.from;
        DYCL_TRY(emit_move({spare, from, stuck.handle, stuck.from_dies, stuck.type}, true));
        readers[spare] = readers[from];
        readers[from] = 0;
        for (Move& m : moves) {
          if (m.from != from) continue;
          m.from = spare;
          m.from_dies = m.handle;
        }
        continue;
      }
      DYCL_TRY(emit_move(*ready, --readers[ready->from] == 0));
      moves.erase(ready);
    }
    return {};
  }

  Result<void> emit_move(const Move& m, bool last_reader) {
    const std::uint32_t from = m.from | (m.handle && m.from_dies && last_reader ? kLastUse : 0);
    return code_.emit(m.handle ? Opcode::MoveHandle : Opcode::MoveScalar, {m.to, from});
  }

  const ir::Function& main_;
  Lowered& out_;
  runtime::Plan& plan_;
  Tables& tables_;
  const std::unordered_map<std::string, std::uint32_t>& callees_;
  ir::Dominators dominators_;
  Liveness liveness_;
  CodeBuilder code_;
  std::vector<std::uint32_t> register_of_;
  std::vector<std::uint64_t> live_stamp_;  // by value; live if it equals stamp_
  std::uint64_t stamp_ = 0;
  std::vector<std::uint32_t> block_pc_, loop_of_;
  const ir::Block* block_ = nullptr;  // the one that is lowered
  std::uint32_t next_block_ = kNone;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> jumps_;  // positions to fill with a block's place
  std::map<std::string, std::int32_t> state_index_;
};

// ---- sub-DNNs -------------------------------------------------------------------------------

Result<runtime::PlanSubDnn> lower_sub_dnn(const ir::Function& function, const backends::SubDnnArtifacts& made,
                                          Tables& tables) {
  runtime::PlanSubDnn out;
  out.name = function.name;
  for (const ir::Param& p : function.params) {
    DYCL_ASSIGN(const std::uint32_t type, tables.type(function.type_of(p.value)));
    out.inputs.push_back(type);
  }
  for (const ir::Output& o : function.results) {
    DYCL_ASSIGN(const std::uint32_t type, tables.type(o.type));
    out.outputs.push_back(type);
  }
  for (const backends::Artifact& a : made.artifacts) {
    runtime::PlanArtifact artifact;
    artifact.backend = a.backend;
    artifact.target = a.target;
    artifact.input_layouts = a.input_layouts;
    artifact.output_layouts = a.output_layouts;
    for (const std::string& name : a.weights) {
      DYCL_ASSIGN(const std::uint32_t index, tables.weight(name));
      artifact.weights.push_back(index);
    }
    out.artifacts.push_back(std::move(artifact));
  }
  return out;
}

std::set<std::string> functions_called(const ir::Function& main) {
  std::set<std::string> called;
  for (const ir::Block& block : main.blocks) {
    for (const ir::Op& op : block.body) {
      const auto* callee = op.name == "call" ? ir::attr_as<std::string>(op, "callee") : nullptr;
      if (callee) called.insert(*callee);
    }
  }
  return called;
}

}  // namespace

Result<Lowered> lower_to_plan(const ir::Program& program, const std::vector<backends::SubDnnArtifacts>& artifacts) {
  if (program.functions.empty()) return invalid("the program has no function");
  Lowered out;
  Tables tables(program, out);
  std::unordered_map<std::string, std::uint32_t> callees;
  const auto called = functions_called(program.main());
  const ir::FunctionIndex functions(program);
  for (const backends::SubDnnArtifacts& made : artifacts) {
    if (!called.contains(made.function) || callees.contains(made.function)) continue;
    const ir::Function* function = functions.find(made.function);
    if (!function || function->kind != ir::FunctionKind::SubDnn)
      return invalid("there is no sub-DNN @" + made.function);
    callees.emplace(made.function, static_cast<std::uint32_t>(out.plan.sub_dnns.size()));
    DYCL_ASSIGN(runtime::PlanSubDnn lowered, lower_sub_dnn(*function, made, tables));
    out.plan.sub_dnns.push_back(std::move(lowered));
  }
  DYCL_TRY(MainLowering(program, out, tables, callees).run(program));
  return out;
}

}  // namespace dycl::package
