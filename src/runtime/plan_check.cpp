// SPDX-License-Identifier: Apache-2.0
// What the walker relies on:
//   - every index (type, register, constant, string, loop, decision, sub-DNN, weight,
//     artifact bytes) names something that exists;
//   - instructions fill the code exactly, the last one does not fall through, and jumps
//     land on instructions;
//   - jumps go forward, but for the `LoopBack l, Jump` that closes loop l: to one header per loop,
//     never jumped to directly; and `LoopEnter l` stands before that header and leads straight to it.
//     So the lowest position of every cycle is a header whose count nothing in the cycle resets: a
//     run ends, or a loop exceeds its limit;
//   - operands have the kinds their instruction works on; tensors that meet have one dtype;
//   - constants are never written and never die; a last use is of a tensor, list or optional.
// Not proved: that a register is written before it is read. A scalar then is zero; a missing
// tensor or list is an error of the run.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "runtime/code_view.h"
#include "runtime/container.h"
#include "runtime/dim_code.h"
#include "runtime/plan.h"
#include "support/random.h"

namespace dycl::runtime {
namespace {

constexpr int kMaxTypeDepth = 8;
constexpr std::size_t kMaxRegisters = std::size_t{1} << 30;
// Targets and layouts are compared again and again: none may be long, and there are no more than machines to run on.
constexpr std::size_t kMaxTargets = 1024, kMaxTargetName = 4096, kMaxLayoutTag = 256;

Error bad_plan(std::string what) { return damaged(section::kPlan, std::move(what)); }

bool is_dtype(DType dtype) { return dtype_of_code(static_cast<int>(dtype)).has_value(); }

ValueKind scalar_kind_of(DType dtype) {
  if (dtype == DType::Bool) return ValueKind::Bool;
  return is_floating(dtype) ? ValueKind::Float : ValueKind::Int;
}

class Checker {
 public:
  Checker(Plan& plan, const std::vector<PlanWeight>& weights, std::uint64_t artifacts_size)
      : plan_(plan), weights_(weights), artifacts_size_(artifacts_size) {}

  Result<void> run() {
    DYCL_TRY(check_symbols());
    DYCL_TRY(check_types());
    DYCL_TRY(check_registers());
    DYCL_TRY(check_interface());
    derive_shapes();
    for (const PlanSubDnn& function : plan_.sub_dnns) DYCL_TRY(check_sub_dnn(function));
    if (targets_of(plan_).size() > kMaxTargets)
      return bad_plan("artifacts for more than " + std::to_string(kMaxTargets) + " targets");
    for (std::int64_t limit : plan_.loops) {
      if (limit < 0) return bad_plan("a negative loop limit");
    }
    return check_code();
  }

 private:
  // ---- tables ----------------------------------------------------------------

  Result<void> check_symbols() {
    std::set<std::string_view> names;
    for (const PlanSymbol& s : plan_.symbols) {
      if (s.name.empty() || !names.insert(s.name).second) return bad_plan("a symbol without a name of its own");
      if (s.min < 0 || s.min > s.max) return bad_plan("symbol " + s.name + " has an impossible range");
    }
    return {};
  }

  Result<void> check_types() {
    std::vector<int> depth(plan_.types.size(), 1);
    for (std::size_t i = 0; i < plan_.types.size(); ++i) {
      const PlanType& t = plan_.types[i];
      if (t.kind > ValueKind::Optional) return bad_plan("a type of unknown kind");
      if (t.kind == ValueKind::Tensor) {
        DYCL_TRY(check_tensor_type(t));
      } else if (!is_scalar(t.kind)) {
        if (t.element >= i) return bad_plan("a type that contains itself");
        depth[i] = depth[t.element] + 1;
        if (depth[i] > kMaxTypeDepth) return bad_plan("a type nested too deeply");
      }
    }
    return {};
  }

  Result<void> check_tensor_type(const PlanType& t) const {
    if (!is_dtype(t.dtype)) return bad_plan("a tensor of unknown dtype");
    if (t.dims.size() > kMaxRank || (!t.rank_known && !t.dims.empty())) return bad_plan("a tensor of impossible rank");
    for (const PlanDim& d : t.dims) {
      if (d.value < -1 || (d.value >= 0 && !d.code.empty())) return bad_plan("an impossible extent");
      if (!d.code.empty() && !is_valid_dim_code(d.code, plan_.symbols.size())) return bad_plan("a malformed extent");
    }
    return {};
  }

  Result<void> check_registers() {
    if (plan_.registers.size() > kMaxRegisters) return bad_plan("too many registers");
    for (std::uint32_t type : plan_.registers) {
      if (type >= plan_.types.size()) return bad_plan("a register of unknown type");
    }
    is_constant_.assign(plan_.registers.size(), false);
    for (const PlanConstant& c : plan_.constants) DYCL_TRY(check_constant(c));
    return {};
  }

  Result<void> check_constant(const PlanConstant& c) {
    if (c.reg >= plan_.registers.size() || is_constant_[c.reg])
      return bad_plan("a constant without a register of its own");
    is_constant_[c.reg] = true;
    const PlanType& t = plan_.type_of(c.reg);
    if (t.kind == ValueKind::Tensor) {
      if (c.weight >= 0) return check_weight_fits(static_cast<std::uint64_t>(c.weight), t);
      const auto shape = static_shape(t);
      const auto bytes = shape ? tensor_bytes(t.dtype, *shape) : std::nullopt;
      if (!bytes || *bytes != c.literal.size()) return bad_plan("a constant tensor whose bytes do not fit its type");
      return {};
    }
    if (!is_scalar(t.kind)) return bad_plan("a constant that is neither tensor nor scalar");
    if (t.kind == ValueKind::Bool && c.bits > 1) return bad_plan("a bool that is neither true nor false");
    return {};
  }

  Result<void> check_weight_fits(std::uint64_t index, const PlanType& t) const {
    if (index >= weights_.size()) return bad_plan("a weight that does not exist");
    const PlanWeight& w = weights_[index];
    if (w.dtype != t.dtype) return bad_plan("weight " + w.name + " has another dtype than its type says");
    if (!t.rank_known) return {};
    if (w.shape.size() != t.dims.size()) return bad_plan("weight " + w.name + " has another rank than its type says");
    for (std::size_t i = 0; i < w.shape.size(); ++i) {
      if (t.dims[i].value >= 0 && t.dims[i].value != w.shape[i]) {
        return bad_plan("weight " + w.name + " has another shape than its type says");
      }
    }
    return {};
  }

  static std::optional<std::vector<std::int64_t>> static_shape(const PlanType& t) {
    if (!t.rank_known) return std::nullopt;
    std::vector<std::int64_t> shape;
    for (const PlanDim& d : t.dims) {
      if (d.value < 0) return std::nullopt;
      shape.push_back(d.value);
    }
    return shape;
  }

  Result<void> check_interface() {
    for (const PlanState& s : plan_.states) {
      if (s.name.empty() || s.type >= plan_.types.size()) return bad_plan("a state without name or type");
      DYCL_TRY(check_initial(s));
      type_of_state_.emplace(s.name, s.type);
    }
    std::set<std::uint32_t> seen;
    for (const PlanInput& in : plan_.inputs) {
      if (in.reg >= plan_.registers.size() || is_constant_[in.reg] || !seen.insert(in.reg).second) {
        return bad_plan("an input without a register of its own");
      }
      DYCL_TRY(check_state_of(in.state, plan_.registers[in.reg]));
    }
    for (const PlanOutput& out : plan_.outputs) {
      if (out.type >= plan_.types.size()) return bad_plan("an output of unknown type");
      DYCL_TRY(check_state_of(out.state, out.type));
    }
    return {};
  }

  Result<void> check_initial(const PlanState& s) const {
    const PlanType& t = plan_.types[s.type];
    const bool single = t.kind == ValueKind::Tensor || is_scalar(t.kind);
    const std::size_t most = single || t.kind == ValueKind::Optional ? 1 : s.initial.size();
    if (s.initial.size() > most || (single && s.initial.empty()))
      return bad_plan("state " + s.name + " has no proper initial value");
    const PlanType& item = single ? t : plan_.types[t.element];
    for (std::uint64_t value : s.initial) {
      if (item.kind == ValueKind::Tensor)
        DYCL_TRY(check_weight_fits(value, item));
      else if (!is_scalar(item.kind))
        return bad_plan("state " + s.name + " starts with lists in lists");
      else if (item.kind == ValueKind::Bool && value > 1)
        return bad_plan("a bool that is neither true nor false");
    }
    return {};
  }

  Result<void> check_state_of(std::int32_t state, std::uint32_t type) const {
    if (state < 0) return {};
    if (static_cast<std::size_t>(state) >= plan_.states.size()) return bad_plan("a state that does not exist");
    if (!alike(plan_.states[static_cast<std::size_t>(state)].type, type)) return bad_plan("a state of another type");
    return {};
  }

  void derive_shapes() {
    std::vector<bool> bound(plan_.symbols.size(), false);
    for (const SymbolBinding& b : symbol_bindings(plan_)) bound[b.symbol] = true;
    for (PlanType& t : plan_.types) {
      if (t.kind != ValueKind::Tensor || !t.rank_known) continue;
      t.computable_shape = std::all_of(t.dims.begin(), t.dims.end(), [&](const PlanDim& d) {
        if (d.value >= 0) return true;
        const auto used = symbols_of(d.code);
        return !d.code.empty() && std::all_of(used.begin(), used.end(), [&](std::size_t s) { return bound[s]; });
      });
      const auto shape = static_shape(t);
      const auto bytes = shape ? tensor_bytes(t.dtype, *shape) : std::nullopt;
      t.static_shape = bytes.has_value();
      t.bytes = bytes.value_or(0);
    }
  }

  Result<void> check_sub_dnn(const PlanSubDnn& function) const {
    for (const auto* ports : {&function.inputs, &function.outputs}) {
      for (std::uint32_t type : *ports) {
        if (type >= plan_.types.size() || plan_.types[type].kind != ValueKind::Tensor) {
          return bad_plan("sub-DNN " + function.name + " takes or gives something that is no tensor");
        }
      }
    }
    if (function.artifacts.empty()) return bad_plan("sub-DNN " + function.name + " has no artifact");
    for (const PlanArtifact& a : function.artifacts) DYCL_TRY(check_artifact(function, a));
    return {};
  }

  Result<void> check_artifact(const PlanSubDnn& function, const PlanArtifact& a) const {
    const auto of = "artifact of " + function.name + ": ";
    if (a.backend.empty() ||
        a.backend.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") != std::string::npos) {
      return bad_plan(of + "its back end has no proper name");
    }
    if (a.target.empty() || a.target.size() > kMaxTargetName) return bad_plan(of + "it names no proper target");
    if (a.offset % kAlignment != 0 || a.offset > artifacts_size_ || a.size > artifacts_size_ - a.offset) {
      return bad_plan(of + "its bytes lie outside section artifacts");
    }
    for (std::uint32_t w : a.weights) {
      if (w >= weights_.size()) return bad_plan(of + "it names a weight that does not exist");
    }
    const auto fits = [](const std::vector<std::string>& layouts, std::size_t ports) {
      return layouts.empty() || layouts.size() == ports;
    };
    if (!fits(a.input_layouts, function.inputs.size()) || !fits(a.output_layouts, function.outputs.size())) {
      return bad_plan(of + "its layouts do not match its operands");
    }
    for (const auto* layouts : {&a.input_layouts, &a.output_layouts})
      for (const std::string& tag : *layouts)
        if (tag.size() > kMaxLayoutTag) return bad_plan(of + "a layout that has no proper name");
    const auto plain = [](const std::string& tag) { return tag.empty(); };
    if (a.target == "portable" && !(std::all_of(a.input_layouts.begin(), a.input_layouts.end(), plain) &&
                                    std::all_of(a.output_layouts.begin(), a.output_layouts.end(), plain))) {
      return bad_plan(of + "a portable artifact with an engine's own layout");
    }
    return {};
  }

  // ---- code ------------------------------------------------------------------

  Result<void> check_code() {
    std::vector<bool> starts(plan_.code.size(), false);
    std::vector<std::uint32_t> targets;
    bool falls_through = true;
    std::optional<Instruction> previous;
    headers_.assign(plan_.loops.size(), kNoHeader);
    for (std::size_t pc = 0; pc < plan_.code.size();) {
      DYCL_ASSIGN(const Instruction in, decode(plan_, pc));
      starts[pc] = true;
      DYCL_TRY(check_operands(in));
      DYCL_TRY(check_kinds(in));
      DYCL_TRY(note_loops(in, previous));
      targets.insert(targets.end(), in.targets.begin(), in.targets.end());
      falls_through = !in.ends_block();
      pc += in.words.size();
      previous = in;
    }
    if (falls_through) return bad_plan("the code does not end");
    for (std::uint32_t t : targets) {
      if (t >= starts.size() || !starts[t]) return bad_plan("a jump into the middle of an instruction");
      if (std::binary_search(closing_jumps_.begin(), closing_jumps_.end(), t))
        return bad_plan("a jump around a loop's count");
    }
    return check_loop_entries();
  }

  static constexpr std::uint32_t kNoHeader = 0xffffffffU;

  Result<void> note_loops(const Instruction& in, const std::optional<Instruction>& previous) {
    const bool closes = in.opcode() == Opcode::Jump && in.targets[0] <= in.pc;
    if (previous && previous->opcode() == Opcode::LoopEnter) {
      entries_.emplace_back(*previous, in.opcode() == Opcode::Jump ? in.targets[0] : static_cast<std::uint32_t>(in.pc));
    }
    if (!closes) {
      const bool forward =
          std::all_of(in.targets.begin(), in.targets.end(), [&](std::uint32_t t) { return t > in.pc; });
      return forward ? Result<void>() : bad_plan("a decision that jumps back");
    }
    if (!previous || previous->opcode() != Opcode::LoopBack) return bad_plan("a loop that is not counted");
    std::uint32_t& header = headers_[previous->words[1]];
    if (header != kNoHeader && header != in.targets[0]) return bad_plan("a loop with two headers");
    header = in.targets[0];
    closing_jumps_.push_back(static_cast<std::uint32_t>(in.pc));
    return {};
  }

  Result<void> check_loop_entries() const {
    for (const auto& [entry, leads_to] : entries_) {
      const std::uint32_t header = headers_[entry.words[1]];
      if (header != leads_to || entry.pc >= header) return bad_plan("a loop entered beside its header");
    }
    return {};
  }

  Result<void> check_operands(const Instruction& in) const {
    for (std::uint32_t r : in.writes) {
      if (r >= plan_.registers.size() || is_constant_[r]) return bad_plan("an instruction that writes a bad register");
    }
    for (std::uint32_t operand : in.reads) {
      const std::uint32_t r = register_of(operand);
      if (r >= plan_.registers.size()) return bad_plan("an instruction that reads a bad register");
      if (is_last_use(operand) && (is_constant_[r] || is_scalar(plan_.type_of(r).kind))) {
        return bad_plan("an instruction that ends the life of a constant or scalar");
      }
    }
    return {};
  }

  bool alike(std::uint32_t a, std::uint32_t b) const {
    const PlanType &x = plan_.types[a], &y = plan_.types[b];
    if (x.kind != y.kind) return false;
    if (x.kind == ValueKind::Tensor) return x.dtype == y.dtype;
    return is_scalar(x.kind) || alike(x.element, y.element);
  }

  std::uint32_t written(const Instruction& in, std::size_t i) const { return plan_.registers[in.writes[i]]; }
  std::uint32_t read(const Instruction& in, std::size_t i) const { return plan_.registers[register_of(in.reads[i])]; }
  ValueKind kind(std::uint32_t type) const { return plan_.types[type].kind; }
  bool is_list(std::uint32_t type) const { return kind(type) == ValueKind::List; }
  bool is_int(std::uint32_t type) const { return kind(type) == ValueKind::Int; }
  bool holds(std::uint32_t container, std::uint32_t item) const { return alike(plan_.types[container].element, item); }

  Result<void> check_kinds(const Instruction& in) const {
    if (const auto op = scalar_op(in.number))
      return scalar_fits(in, scalar::signature(*op)) ? Result<void>() : misfit(in);
    return fits(in) ? Result<void>() : misfit(in);
  }

  Error misfit(const Instruction& in) const {
    return bad_plan("instruction " + std::to_string(in.number) + " at word " + std::to_string(in.pc) +
                    " has operands of the wrong kind");
  }

  bool scalar_fits(const Instruction& in, const scalar::Signature& signature) const {
    const auto is = [&](std::uint32_t type, char letter) {
      return kind(type) == (letter == 'b' ? ValueKind::Bool : letter == 'i' ? ValueKind::Int : ValueKind::Float);
    };
    if (!is(written(in, 0), signature.result)) return false;
    for (std::size_t i = 0; i < signature.operands.size(); ++i) {
      if (!is(read(in, i), signature.operands[i])) return false;
    }
    return true;
  }

  bool fits(const Instruction& in) const {
    switch (in.opcode()) {
      case Opcode::Jump:
      case Opcode::LoopEnter:
      case Opcode::LoopBack: return true;
      case Opcode::Branch: return kind(read(in, 0)) == ValueKind::Bool && plan_.decisions[in.decision] == 2;
      case Opcode::Switch: return is_int(read(in, 0)) && plan_.decisions[in.decision] == in.targets.size();
      case Opcode::Return: return results_fit(in);
      case Opcode::Raise:
      case Opcode::Print: return reads_are_scalars(in, 0);
      case Opcode::Check: return kind(read(in, 0)) == ValueKind::Bool;
      case Opcode::MoveScalar: return is_scalar(kind(read(in, 0))) && alike(written(in, 0), read(in, 0));
      case Opcode::MoveHandle: return !is_scalar(kind(read(in, 0))) && alike(written(in, 0), read(in, 0));
      case Opcode::Drop:
        return std::all_of(in.reads.begin(), in.reads.end(), [&](std::uint32_t operand) {
          const std::uint32_t r = register_of(operand);
          return !is_constant_[r] && !is_scalar(plan_.type_of(r).kind);
        });
      case Opcode::SelectScalar:
      case Opcode::SelectHandle: return select_fits(in);
      case Opcode::Call: return call_fits(in);
      case Opcode::HostCall: return true;
      case Opcode::Keep: return keep_fits(in);
      default: return tensor_op_fits(in) || list_op_fits(in);
    }
  }

  bool results_fit(const Instruction& in) const {
    if (in.reads.size() != plan_.outputs.size()) return false;
    for (std::size_t i = 0; i < in.reads.size(); ++i) {
      if (!alike(read(in, i), plan_.outputs[i].type)) return false;
    }
    return true;
  }

  bool reads_are_scalars(const Instruction& in, std::size_t from) const {
    for (std::size_t i = from; i < in.reads.size(); ++i) {
      if (!is_scalar(kind(read(in, i)))) return false;
    }
    return true;
  }

  bool keep_fits(const Instruction& in) const {
    const std::string& name = plan_.strings[in.words[1]];
    if (!name.starts_with('@')) return !name.empty();
    const auto state = type_of_state_.find(std::string_view(name).substr(1));
    return state != type_of_state_.end() && alike(read(in, 0), state->second);
  }

  bool select_fits(const Instruction& in) const {
    const bool scalar = in.opcode() == Opcode::SelectScalar;
    return kind(read(in, 0)) == ValueKind::Bool && is_scalar(kind(written(in, 0))) == scalar &&
           alike(written(in, 0), read(in, 1)) && alike(written(in, 0), read(in, 2));
  }

  bool call_fits(const Instruction& in) const {
    const PlanSubDnn& function = plan_.sub_dnns[in.callee];
    if (in.reads.size() != function.inputs.size() || in.writes.size() != function.outputs.size()) return false;
    for (std::size_t i = 0; i < in.reads.size(); ++i) {
      if (!alike(read(in, i), function.inputs[i])) return false;
    }
    for (std::size_t i = 0; i < in.writes.size(); ++i) {
      if (!alike(written(in, i), function.outputs[i])) return false;
    }
    return true;
  }

  bool is_tensor(std::uint32_t type) const { return kind(type) == ValueKind::Tensor; }
  DType dtype(std::uint32_t type) const { return plan_.types[type].dtype; }
  bool is_real(std::uint32_t type) const { return is_tensor(type) && has_scalars(dtype(type)); }

  bool reads_are_extents(const Instruction& in, std::size_t from) const {
    for (std::size_t i = from; i < in.reads.size(); ++i) {
      if (!is_int(read(in, i))) return false;
    }
    return in.reads.size() - from <= kMaxRank;
  }

  bool draw_fits(const Instruction& in) const {
    if (in.words[2] >= std::size(kDistributions)) return false;
    const DistributionInfo& drawn = kDistributions[in.words[2]];
    if (!is_tensor(written(in, 0)) || !can_draw(drawn.distribution, dtype(written(in, 0)))) return false;
    if (in.reads.size() < drawn.parameters.size()) return false;
    for (std::size_t i = 0; i < drawn.parameters.size(); ++i) {
      if (drawn.parameters[i] == 't') {
        if (!is_tensor(read(in, i)) || dtype(read(in, i)) != dtype(written(in, 0))) return false;
      } else if (kind(read(in, i)) != (drawn.parameters[i] == 'i' ? ValueKind::Int : ValueKind::Float)) {
        return false;
      }
    }
    return reads_are_extents(in, drawn.parameters.size());
  }

  bool is_random_state(std::uint32_t type) const { return is_tensor(type) && dtype(type) == DType::U8; }

  bool tensor_op_fits(const Instruction& in) const {
    switch (in.opcode()) {
      case Opcode::Item: return is_real(read(in, 0)) && kind(written(in, 0)) == scalar_kind_of(dtype(read(in, 0)));
      case Opcode::ToTensor: return is_real(written(in, 0)) && is_scalar(kind(read(in, 0)));
      case Opcode::Dim:
      case Opcode::Size: return is_int(written(in, 0)) && is_tensor(read(in, 0));
      case Opcode::RandUniform:
      case Opcode::RandNormal:
        return is_real(written(in, 0)) && is_floating(dtype(written(in, 0))) && reads_are_extents(in, 0);
      case Opcode::RandInt:
        return is_real(written(in, 0)) && is_int(read(in, 0)) && is_int(read(in, 1)) && reads_are_extents(in, 2);
      case Opcode::Draw: return draw_fits(in);
      case Opcode::RandState:
      case Opcode::GiveBackRandom: return is_random_state(written(in, 0));
      case Opcode::SetRandState:
      case Opcode::LendRandom: return is_random_state(read(in, 0));
      case Opcode::SetSeed: return is_int(read(in, 0));
      default: return false;
    }
  }

  bool list_new_fits(const Instruction& in) const {
    const std::uint32_t to = written(in, 0);
    if (kind(to) != ValueKind::Optional && !is_list(to)) return false;
    if (kind(to) == ValueKind::Optional && in.reads.size() > 1) return false;
    for (std::size_t i = 0; i < in.reads.size(); ++i) {
      if (!holds(to, read(in, i))) return false;
    }
    return true;
  }

  bool list_op_fits(const Instruction& in) const {
    if (in.opcode() == Opcode::ListNew) return list_new_fits(in);
    if (in.opcode() == Opcode::ListFromTensor) {
      const std::uint32_t to = written(in, 0), from = read(in, 0);
      return is_list(to) && is_real(from) && kind(plan_.types[to].element) == scalar_kind_of(dtype(from));
    }
    const std::uint32_t to = written(in, 0), list = read(in, 0);
    if (in.opcode() == Opcode::OptIsSome) return kind(list) == ValueKind::Optional && kind(to) == ValueKind::Bool;
    if (in.opcode() == Opcode::OptGet) return kind(list) == ValueKind::Optional && holds(list, to);
    if (!is_list(list)) return false;
    switch (in.opcode()) {
      case Opcode::ListAppend: return alike(to, list) && holds(list, read(in, 1));
      case Opcode::ListGet: return holds(list, to) && is_int(read(in, 1));
      case Opcode::ListSet:
      case Opcode::ListInsert: return alike(to, list) && is_int(read(in, 1)) && holds(list, read(in, 2));
      case Opcode::ListLen: return is_int(to);
      case Opcode::ListConcat: return alike(to, list) && alike(list, read(in, 1));
      case Opcode::ListSlice: return alike(to, list) && is_int(read(in, 1)) && is_int(read(in, 2));
      case Opcode::ListPop: return alike(to, list) && holds(list, written(in, 1)) && is_int(read(in, 1));
      case Opcode::ListToTensor: return is_real(to) && is_scalar(kind(plan_.types[list].element));
      case Opcode::ListStack:
      case Opcode::ListCat: return is_tensor(to) && holds(list, to);
      default: return false;
    }
  }

  Plan& plan_;
  const std::vector<PlanWeight>& weights_;
  std::uint64_t artifacts_size_;
  std::vector<bool> is_constant_;
  std::unordered_map<std::string_view, std::uint32_t> type_of_state_;
  std::vector<std::uint32_t> headers_;                          // by loop: where its back edges lead
  std::vector<std::uint32_t> closing_jumps_;                    // ascending positions
  std::vector<std::pair<Instruction, std::uint32_t>> entries_;  // LoopEnter and where it leads
};

}  // namespace

namespace {

// One extent of an input that has code, and how many of its symbols have no value yet.
struct SymbolicExtent {
  std::uint32_t input, axis;
  std::vector<std::size_t> symbols;
  std::size_t unbound;
  bool lone;  // the symbol itself
};

std::vector<SymbolicExtent> symbolic_extents(const Plan& plan) {
  std::vector<SymbolicExtent> extents;
  for (std::uint32_t i = 0; i < plan.inputs.size(); ++i) {
    const PlanType& t = plan.type_of(plan.inputs[i].reg);
    if (t.kind != ValueKind::Tensor) continue;
    for (std::uint32_t axis = 0; axis < t.dims.size(); ++axis) {
      auto symbols = symbols_of(t.dims[axis].code);
      const std::size_t count = symbols.size();
      if (count > 0) extents.push_back({i, axis, std::move(symbols), count, t.dims[axis].code.size() == 2});
    }
  }
  return extents;
}

}  // namespace

// Symbols that are an extent themselves first, then again and again in the order of inputs what has become solvable:
// as if all extents were looked at until nothing changes, but each is touched only when one of its symbols gets a value.
std::vector<SymbolBinding> symbol_bindings(const Plan& plan) {
  std::vector<SymbolicExtent> extents = symbolic_extents(plan);
  std::vector<std::vector<std::size_t>> extents_of(plan.symbols.size());
  for (std::size_t e = 0; e < extents.size(); ++e)
    for (const std::size_t s : extents[e].symbols) extents_of[s].push_back(e);
  std::vector<bool> bound(plan.symbols.size(), false);
  std::vector<SymbolBinding> bindings;
  std::set<std::size_t> now, later;  // extents with one symbol left: of this round, of the next
  const auto bind = [&](std::size_t e) {
    const SymbolicExtent& extent = extents[e];
    const std::size_t symbol =
        *std::find_if(extent.symbols.begin(), extent.symbols.end(), [&](std::size_t s) { return !bound[s]; });
    bindings.push_back({extent.input, extent.axis, static_cast<std::uint32_t>(symbol)});
    bound[symbol] = true;
    for (const std::size_t other : extents_of[symbol])
      if (--extents[other].unbound == 1) (other > e ? now : later).insert(other);
  };
  for (std::size_t e = 0; e < extents.size(); ++e)
    if (extents[e].lone && extents[e].unbound == 1) bind(e);
  now.clear(), later.clear();
  for (std::size_t e = 0; e < extents.size(); ++e)
    if (extents[e].unbound == 1) now.insert(now.end(), e);
  while (!now.empty()) {
    const std::size_t e = *now.begin();
    now.erase(now.begin());
    if (extents[e].unbound == 1) bind(e);
    if (now.empty()) now.swap(later);
  }
  return bindings;
}

std::optional<std::uint64_t> tensor_bytes(DType dtype, std::span<const std::int64_t> shape) {
  std::uint64_t bytes = size_of(dtype);
  bool empty = false;
  for (std::int64_t n : shape) {
    if (n < 0) return std::nullopt;
    if (n == 0)
      empty = true;
    else if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(n), &bytes) || bytes > kMaxTensorBytes)
      return std::nullopt;
  }
  return empty ? 0 : bytes;
}

Result<void> check_weight_index(const std::vector<PlanWeight>& weights, std::uint64_t section_size) {
  const auto bad = [](const PlanWeight& w, const std::string& what) {
    return damaged(section::kWeightIndex, "weight " + w.name + ": " + what);
  };
  std::set<std::string_view> names;
  for (const PlanWeight& w : weights) {
    if (w.name.empty() || !names.insert(w.name).second) return bad(w, "no name of its own");
    if (!is_dtype(w.dtype)) return bad(w, "unknown dtype");
    if (w.shape.size() > kMaxRank) return bad(w, "rank above " + std::to_string(kMaxRank));
    const auto bytes = tensor_bytes(w.dtype, w.shape);
    if (!bytes || *bytes != w.size) return bad(w, "its size is not that of its shape");
    if (w.offset % kAlignment != 0 || w.offset > section_size || w.size > section_size - w.offset) {
      return bad(w, "it lies outside section weights");
    }
  }
  return {};
}

Result<void> check_plan(Plan& plan, const std::vector<PlanWeight>& weights, std::uint64_t artifacts_size) {
  return Checker(plan, weights, artifacts_size).run();
}

std::string type_text(const Plan& plan, std::uint32_t type) {
  const PlanType& t = plan.types[type];
  switch (t.kind) {
    case ValueKind::Bool: return "bool";
    case ValueKind::Int: return "int";
    case ValueKind::Float: return "float";
    case ValueKind::List: return "list<" + type_text(plan, t.element) + ">";
    case ValueKind::Optional: return "optional<" + type_text(plan, t.element) + ">";
    case ValueKind::Tensor: break;
  }
  std::string text = std::string(name_of(t.dtype)) + "[";
  if (!t.rank_known) return text + "*]";
  for (std::size_t i = 0; i < t.dims.size(); ++i) {
    if (i > 0) text += ",";
    text += t.dims[i].value >= 0 ? std::to_string(t.dims[i].value) : t.dims[i].code.empty() ? "?" : t.dims[i].text;
  }
  return text + "]";
}

}  // namespace dycl::runtime
