// SPDX-License-Identifier: Apache-2.0
#include "emit/onnx/writer.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>

#include "emit/onnx/graph.h"
#include "emit/onnx/host_ops.h"
#include "emit/onnx/save.h"
#include "emit/onnx/selection.h"
#include "emit/onnx/variables.h"
#include "emit/structure/early_returns.h"
#include "emit/structure/structure.h"
#include "ir/edges.h"
#include "ir/host_ops.h"
#include "onnx/export.h"
#include "package/liveness.h"

namespace dycl::emit {
namespace {

using Kind = Step::Kind;
using Names = std::vector<std::string>;

constexpr std::string_view kMend = "mend";  // a domain of the engine's artifacts (backends/ort/recurrent_ops.h)
constexpr std::string_view kLinearAlgebra = "linalg.";  // a domain of ours

Error unsupported(std::string message, std::string help, SourceSpan span = {}) {
  return {ErrorKind::Unsupported, std::move(message), std::move(help), span, {}};
}

// ---- the model ------------------------------------------------------------------------------------

class Writer {
 public:
  Writer(const ir::Program& program, const OnnxOptions& options)
      : program_(program),
        main_(with_early_returns(program.main())),
        options_(options),
        structure_(structure_of(main_, {Style::Strict, 8})),
        vars_(variables()),
        analysis_(main_, structure_, vars_),
        g_(program),
        env_(vars_.count()),
        real_(vars_.count(), false),
        constants_(main_.values.size(), nullptr) {}

  Result<OnnxReport> run(const std::filesystem::path& path) {
    for (const ir::Block& block : main_.blocks)
      for (const ir::Op& op : block.body) note(op);
    DYCL_TRY(inputs());
    for (const ir::Output& o : main_.results)  // before a value inside takes the name
      wanted_.push_back(g_.fresh(!o.state.empty() ? o.state + ".new" : o.name.empty() ? "output" : o.name));
    assign(vars_.alive(), g_.boolean(true));
    DYCL_TRY(sequence(structure_.body));
    DYCL_TRY(outputs());
    if (g_.deepest() > kMaxNesting) {
      return unsupported("its control flow nests " + std::to_string(g_.deepest()) +
                             " deep, and readers of ONNX files " + "stop at " + std::to_string(kMaxNesting),
                         "split the model, or run the package with DyCL's runtime");
    }
    report_.nesting = g_.deepest();
    report_.nodes = count(g_.model().graph);
    DYCL_TRY(save_model(g_.model(), path));
    return std::move(report_);
  }

 private:
  static constexpr std::size_t kMaxNesting = 30;

  OnnxVariables variables() const {
    OnnxVariables v;
    v.values = static_cast<Var>(main_.values.size());
    v.flags = structure_.flags;
    v.dispatchers = structure_.dispatchers;
    v.results = static_cast<Var>(main_.results.size());
    return v;
  }

  static std::size_t count(const onnx::Graph& graph) {
    std::size_t n = graph.nodes.size();
    for (const onnx::Node& node : graph.nodes)
      for (const onnx::Attribute& a : node.attributes)
        for (const onnx::Graph& inner : a.graph) n += count(inner);
    return n;
  }

  void note(const ir::Op& op) {
    if (package::is_constant_op(op)) constants_[op.results[0].index] = &op;
    if (op.name == "print") notice("what the program prints is left out" + where(op.span));
    if (op.name == "keep") notice("what the program wrote before it raises is lost" + where(op.span));
    if (wraps(op)) notice("integers wrap beyond 64 bits instead of raising OverflowError");
  }

  void notice(const std::string& text) {
    if (std::find(report_.notices.begin(), report_.notices.end(), text) == report_.notices.end())
      report_.notices.push_back(text);
  }

  // -- interface --

  Result<void> inputs() {
    for (const ir::Param& p : main_.params) {
      const ir::Type& type = main_.type_of(p.value);
      const std::string& hint = main_.values[p.value.index].hint;
      const std::string name = g_.fresh(!p.state.empty() ? p.state : hint.empty() ? "input" : hint);
      DYCL_ASSIGN(onnx::ValueInfo info, onnx_type(name, type));
      g_.model().graph.inputs.push_back(info);
      assign(p.value.index, name);
      if (!p.state.empty()) DYCL_TRY(default_of(p.state, name));
    }
    return {};
  }

  // A state's initial value: an initializer with the input's own name.
  Result<void> default_of(const std::string& state, const std::string& name) {
    const ir::State& s = program_.states.at(state);
    onnx::Tensor t;
    t.name = name;
    if (const auto* b = std::get_if<bool>(&s.initial)) {
      const std::uint8_t byte = *b ? 1 : 0;
      t.dtype = DType::Bool;
      t.bytes = ir::Bytes::copy_of(&byte, 1);
    } else if (const auto* i = std::get_if<std::int64_t>(&s.initial)) {
      t.dtype = DType::I64;
      t.bytes = ir::Bytes::copy_of(i, 8);
    } else if (const auto* f = std::get_if<double>(&s.initial)) {
      t.dtype = DType::F64;
      t.bytes = ir::Bytes::copy_of(f, 8);
    } else if (const auto* w = std::get_if<std::string>(&s.initial); w && s.type.is_tensor()) {
      const ir::Weight& weight = program_.weights.at(*w);
      DYCL_TRY(has_bytes(*w, weight));
      t.dtype = weight.type.dtype;
      for (const ir::Dim& d : *weight.type.shape) t.dims.push_back(d.value);
      t.bytes = weight.bytes;
    } else {
      notice("state " + state + " is a sequence and has no default: give it to the first run");
      return {};
    }
    g_.model().graph.initializers.push_back(std::move(t));
    return {};
  }

  Result<void> outputs() {
    Names values;
    const Names& wanted = wanted_;
    for (std::size_t i = 0; i < main_.results.size(); ++i) {
      const ir::Output& o = main_.results[i];
      DYCL_ASSIGN(std::string value, value_of(vars_.result(i), o.type));
      values.push_back(std::move(value));
    }
    const std::string& alive = env_[vars_.alive()];
    if (alive == g_.boolean(true)) {
      for (std::size_t i = 0; i < values.size(); ++i) rename(g_.node("Identity", {values[i]}), wanted[i]);
    } else {
      // Outputs wait for the checks.
      const auto arm = [&] {
        return g_.body("outputs", [&]() -> Result<void> {
          for (std::size_t i = 0; i < values.size(); ++i) {
            DYCL_ASSIGN(onnx::ValueInfo info, onnx_type(g_.node("Identity", {values[i]}), main_.results[i].type));
            g_.current().outputs.push_back(info);
          }
          return {};
        });
      };
      DYCL_ASSIGN(onnx::Graph yes, arm());
      DYCL_ASSIGN(onnx::Graph no, arm());
      if (!values.empty()) {
        const Names made =
            g_.node("If", {alive}, values.size(),
                    {graph_attribute("then_branch", std::move(yes)), graph_attribute("else_branch", std::move(no))});
        g_.current().nodes.back().outputs = wanted;
      }
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      DYCL_ASSIGN(onnx::ValueInfo info, onnx_type(wanted[i], main_.results[i].type));
      if (i == 0) info.doc = of_variants();
      g_.model().graph.outputs.push_back(std::move(info));
    }
    return {};
  }

  // What the first output means where the model's returns differ in kind.
  std::string of_variants() const {
    const auto found = program_.metadata.find("variants");
    if (found == program_.metadata.end()) return {};
    const auto texts = nlohmann::json::parse(found->second, nullptr, /*allow_exceptions=*/false);
    if (!texts.is_array()) return {};
    std::string doc;
    for (std::size_t i = 0; i < texts.size(); ++i)
      if (texts[i].is_string()) doc += (doc.empty() ? "" : "\n") + std::to_string(i) + ": " + texts[i].get<std::string>();
    return doc;
  }

  // Gives the last node's only output another name.
  void rename(const std::string& from, const std::string& to) {
    DYCL_CHECK(g_.current().nodes.back().outputs.at(0) == from, "the node was just made");
    g_.current().nodes.back().outputs[0] = to;
  }

  static Result<void> has_bytes(const std::string& name, const ir::Weight& weight) {
    const bool empty = weight.type.shape && std::any_of(weight.type.shape->begin(), weight.type.shape->end(),
                                                        [](const ir::Dim& d) { return d.value == 0; });
    if (weight.bytes.data || empty) return {};
    return Error{
        ErrorKind::Missing, "weight @" + name + " has no bytes", "emit from the compiled program itself", {}, {}};
  }

  // -- variables --

  std::optional<ir::Type> type_of(Var v) const {
    if (v < vars_.values) return main_.values[v].type;
    if (v >= vars_.result(0) && v < vars_.alive()) return main_.results[v - vars_.result(0)].type;
    if (v >= vars_.dispatcher(0) && v < vars_.result(0)) return ir::Type::integer();
    return ir::Type::boolean();
  }
  std::string hint_of(Var v) const {
    if (v < vars_.values) return main_.values[v].hint;
    if (v < vars_.dispatcher(0)) return "skip";
    if (v < vars_.result(0)) return "target";
    if (v < vars_.alive()) return "result";
    return "alive";
  }

  // `real`: whatever was executed, the name holds a value of the variable and no dummy.
  void assign(Var v, std::string name, bool real = true) {
    log_.push_back({v, std::move(env_[v]), real_[v]});
    env_[v] = std::move(name);
    real_[v] = real;
  }
  void roll_back(std::size_t mark) {
    while (log_.size() > mark) {
      Change& last = log_.back();
      env_[last.var] = std::move(last.name);
      real_[last.var] = last.real;
      log_.pop_back();
    }
  }

  // Something of this type that nobody reads.
  Result<std::string> dummy(const ir::Type& type) {
    DYCL_ASSIGN(const onnx::ValueInfo info, onnx_type("", type));
    if (info.sequence)
      return g_.node("SequenceEmpty", {}, {onnx::int_attribute("dtype", static_cast<int>(*info.dtype))});
    std::vector<std::int64_t> dims;
    for (std::size_t i = 0; info.shape && i < info.shape->size(); ++i)
      dims.push_back(i == 0 ? 0 : std::max<std::int64_t>(0, (*info.shape)[i].value));
    const std::vector<std::uint8_t> zeros(dims.empty() ? size_of(*info.dtype) : 0, 0);
    return g_.constant(*info.dtype, dims, zeros.data(), zeros.size());
  }

  Result<std::string> value_of(Var v, const ir::Type& type) {
    if (!env_[v].empty()) return env_[v];
    return dummy(type);
  }

  Result<std::string> operand(ir::ValueId v, const SourceSpan& span) {
    if (!v.present()) return std::string();
    // Constants hold everywhere, those of blocks that early returns left behind too.
    if (env_[v.index].empty() && constants_[v.index]) return constant(*constants_[v.index]);
    if (env_[v.index].empty())
      return Error{
          ErrorKind::Internal, "value " + std::to_string(v.index) + " is read before it is written", {}, span, {}};
    return env_[v.index];
  }

  // -- steps --

  Result<void> sequence(const Sequence& steps) {
    for (const Step& s : steps) DYCL_TRY(step(s));
    return {};
  }

  Result<void> step(const Step& s) {
    switch (s.kind) {
      case Kind::Ops:
        for (const ir::Op& op : block_of(main_, s).body) DYCL_TRY(write_op(op));
        return {};
      case Kind::Edge: return edge(block_of(main_, s), s.arm);
      case Kind::If: {
        const ir::Block& block = block_of(main_, s);
        place(block.exit_span.known() ? block.exit_span : block.span);
        DYCL_ASSIGN(std::string c, operand(std::get<ir::Branch>(block.exit).condition, block.exit_span));
        return choice(
            s, c, [&] { return sequence(s.parts[0]); }, [&] { return sequence(s.parts[1]); });
      }
      case Kind::Switch: return switch_step(s, std::get<ir::Switch>(block_of(main_, s).exit));
      case Kind::Loop: return loop(s);
      case Kind::Return: return give(block_of(main_, s));
      case Kind::Raise: return raise(block_of(main_, s));
      case Kind::Flag: assign(vars_.flag(s.number), g_.boolean(false)); return {};
      case Kind::SetFlag: assign(vars_.flag(s.number), g_.boolean(true)); return {};
      case Kind::Unless: {
        std::string any = any_of(s.flags);
        return choice(
            s, any, [] { return Result<void>(); }, [&] { return sequence(s.parts[0]); });
      }
      case Kind::SetTarget: assign(vars_.dispatcher(s.number), g_.integer(s.arm)); return {};
      case Kind::Dispatch: return pick(s, env_[vars_.dispatcher(s.number)], cases_of(s), 0, s.parts.size());
      default: throw InternalError("a step that has no place in a strict tree");
    }
  }

  // The exit of a block that returns.
  Result<void> give(const ir::Block& block) {
    Names names;
    for (ir::ValueId v : std::get<ir::Return>(block.exit).values) {
      DYCL_ASSIGN(std::string name, operand(v, block.exit_span));
      names.push_back(std::move(name));
    }
    for (std::size_t i = 0; i < names.size(); ++i) assign(vars_.result(i), names[i]);
    return {};
  }

  std::string any_of(const std::vector<std::uint32_t>& flags) {
    std::string any;
    for (std::uint32_t f : flags) {
      const std::string& name = env_[vars_.flag(f)];
      DYCL_CHECK(!name.empty(), "a flag is declared before it is read");
      if (name == g_.boolean(true)) return name;
      if (name == g_.boolean(false)) continue;
      any = any.empty() ? name : g_.either(any, name);
    }
    return any.empty() ? g_.boolean(false) : any;
  }

  Result<void> edge(const ir::Block& block, std::uint32_t arm) {
    const ir::Edge& e = edge_of(block, arm);
    Names names;
    for (ir::ValueId v : e.args) {
      DYCL_ASSIGN(std::string name, operand(v, block.exit_span));
      names.push_back(std::move(name));
    }
    const auto& params = main_.block(e.target).params;
    for (std::size_t i = 0; i < params.size(); ++i) assign(params[i].index, names[i]);
    return {};
  }

  // What the step assigns that is read after it, or in the next round of a loop around it.
  std::vector<Var> outputs_of(const Step& s) const {
    const StepInfo& info = analysis_.of(s);
    std::vector<Var> out;
    for (Var v : info.assigned)
      if (analysis_.used_outside(v, info) || carried_.count(v)) out.push_back(v);
    return out;
  }

  struct Arm {
    onnx::Graph graph;
    std::vector<bool> real;
  };

  Result<Arm> arm(const std::vector<Var>& outs, const std::function<Result<void>()>& fill) {
    Arm made;
    const std::size_t mark = log_.size();
    auto graph = g_.body("arm", [&]() -> Result<void> {
      DYCL_TRY(fill());
      for (Var v : outs) {
        made.real.push_back(real_[v]);
        DYCL_ASSIGN(const std::string value, value_of(v, *type_of(v)));
        DYCL_ASSIGN(onnx::ValueInfo info, onnx_type(g_.node("Identity", {value}, {}, hint_of(v)), *type_of(v)));
        g_.current().outputs.push_back(std::move(info));
      }
      return {};
    });
    roll_back(mark);
    if (!graph) return std::move(graph).error();
    made.graph = std::move(*graph);
    return made;
  }

  using Fill = std::function<Result<void>()>;

  Result<void> choice(const Step& s, const std::string& condition, const Fill& yes, const Fill& no) {
    // Engines trip over an If whose condition is a constant.
    if (condition == g_.boolean(true)) return yes();
    if (condition == g_.boolean(false)) return no();
    const std::vector<Var> outs = outputs_of(s);
    if (outs.empty()) return {};  // neither arm has a consequence
    opaque_.emplace_back(condition, true);
    DYCL_ASSIGN(Arm then_arm, arm(outs, yes));
    opaque_.back().second = false;
    DYCL_ASSIGN(Arm else_arm, arm(outs, no));
    opaque_.pop_back();
    const auto real = [&](std::size_t i) { return then_arm.real[i] && else_arm.real[i]; };
    for (std::size_t i = 0; i < outs.size(); ++i) {
      if (real(i) || type_of(outs[i])->is_scalar()) continue;
      then_arm.graph.outputs[i].shape.reset();
      else_arm.graph.outputs[i].shape.reset();
    }
    const Names names = g_.node("If", {condition}, outs.size(),
                                {graph_attribute("then_branch", std::move(then_arm.graph)),
                                 graph_attribute("else_branch", std::move(else_arm.graph))});
    for (std::size_t i = 0; i < outs.size(); ++i) assign(outs[i], names[i], real(i));
    return {};
  }

  // -- switches: a test for `otherwise`, then bisection --

  struct Case {
    std::int64_t value;
    std::size_t part;
  };

  static std::vector<Case> cases_of(const Step& s) {
    std::vector<Case> cases;
    for (std::size_t i = 0; i < s.parts.size(); ++i) cases.push_back({static_cast<std::int64_t>(i), i});
    return cases;
  }

  Result<void> pick(const Step& s, const std::string& selector, const std::vector<Case>& cases, std::size_t from,
                    std::size_t until) {
    if (until - from == 1) return sequence(s.parts[cases[from].part]);
    const std::size_t middle = (from + until) / 2;
    const std::string below = g_.node("Less", {selector, g_.integer(cases[middle].value)});
    return choice(
        s, below, [&] { return pick(s, selector, cases, from, middle); },
        [&] { return pick(s, selector, cases, middle, until); });
  }

  Result<void> switch_step(const Step& s, const ir::Switch& choices) {
    DYCL_ASSIGN(const std::string selector, operand(choices.selector, main_.blocks[s.block].exit_span));
    std::vector<Case> cases;
    std::set<std::int64_t> known;
    std::string listed;
    for (std::size_t i = 0; i < choices.cases.size(); ++i) {
      if (!known.insert(choices.cases[i]).second) continue;  // the first one counts
      cases.push_back({choices.cases[i], i});
      const std::string same = g_.node("Equal", {selector, g_.integer(choices.cases[i])});
      listed = listed.empty() ? same : g_.node("Or", {listed, same});
    }
    const Sequence& otherwise = s.parts.back();
    if (cases.empty()) return sequence(otherwise);
    std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.value < b.value; });
    return choice(
        s, listed, [&] { return pick(s, selector, cases, 0, cases.size()); }, [&] { return sequence(otherwise); });
  }

  // -- loops --

  std::vector<Var> carried_by(const Step& s) const {
    const StepInfo& info = analysis_.of(s);
    std::set<Var> header;
    if (s.block != Step::kNoBlock)
      for (ir::ValueId v : main_.blocks[s.block].params) header.insert(v.index);
    std::vector<Var> out;
    for (Var v : info.assigned) {
      const bool dispatcher = v >= vars_.dispatcher(0) && v < vars_.result(0);
      // Around a dispatcher parameters live from one round to the next.
      const bool param = s.block == Step::kNoBlock && v < vars_.values;
      if (header.count(v) || dispatcher || param || analysis_.used_outside(v, info) || carried_.count(v))
        out.push_back(v);
    }
    return out;
  }

  Result<void> loop(const Step& s) {
    const ir::Block* header = s.block == Step::kNoBlock ? nullptr : &main_.blocks[s.block];
    if (s.flags.empty()) {
      return unsupported("a loop that never ends but by an error", "give it an exit",
                         header ? header->span : SourceSpan{});
    }
    const std::vector<Var> carried = carried_by(s);
    Names initial = {"", g_.boolean(true)};
    std::vector<bool> real;
    for (Var v : carried) {
      real.push_back(real_[v]);
      DYCL_ASSIGN(std::string name, value_of(v, *type_of(v)));
      initial.push_back(std::move(name));
    }
    const std::size_t mark = log_.size();
    std::set<Var> around = carried_;
    carried_.insert(carried.begin(), carried.end());
    auto body = g_.body("loop", [&]() -> Result<void> { return round(s, header, carried, real); });
    carried_ = std::move(around);
    roll_back(mark);
    if (!body) return std::move(body).error();
    const Names names = g_.node("Loop", initial, carried.size(), {graph_attribute("body", std::move(*body))});
    for (std::size_t i = 0; i < carried.size(); ++i) assign(carried[i], names[i], real[i]);
    return {};
  }

  Result<void> round(const Step& s, const ir::Block* header, const std::vector<Var>& carried,
                     const std::vector<bool>& real) {
    const std::string number = g_.fresh("round"), go = g_.fresh("go");
    g_.current().inputs.push_back({number, DType::I64, std::vector<onnx::Dimension>(), false});
    g_.current().inputs.push_back({go, DType::Bool, std::vector<onnx::Dimension>(), false});
    for (std::size_t i = 0; i < carried.size(); ++i) {
      const Var v = carried[i];
      DYCL_ASSIGN(onnx::ValueInfo info, onnx_type(g_.fresh(hint_of(v)), *type_of(v)));
      if (!real[i] && !type_of(v)->is_scalar()) info.shape.reset();
      assign(v, info.name, real[i]);
      g_.current().inputs.push_back(std::move(info));
    }
    opaque_.emplace_back(go, true);
    if (header && header->loop_limit > 0) {
      place(header->span);
      still_alive(g_.node("LessOrEqual", {number, g_.integer(header->loop_limit)}), "RuntimeError loop limit");
    }
    DYCL_TRY(sequence(s.parts[0]));
    opaque_.pop_back();
    const std::string stop = any_of(s.flags);
    g_.current().outputs.push_back({g_.node("Not", {stop}), DType::Bool, std::vector<onnx::Dimension>(), false});
    for (std::size_t i = 0; i < carried.size(); ++i) {
      const Var v = carried[i];
      DYCL_ASSIGN(const std::string value, value_of(v, *type_of(v)));
      DYCL_ASSIGN(onnx::ValueInfo info, onnx_type(g_.node("Identity", {value}, {}, hint_of(v)), *type_of(v)));
      if (!real[i] && !type_of(v)->is_scalar()) info.shape.reset();
      g_.current().outputs.push_back(std::move(info));
    }
    return {};
  }

  // -- errors --

  void still_alive(const std::string& ok, const std::string& why) {
    const std::string held = g_.checked(g_.boolean(true), ok, why);
    assign(vars_.alive(), g_.node("And", {env_[vars_.alive()], held}, {}, "alive"));
  }

  Result<void> raise(const ir::Block& block) {
    const auto& failure = std::get<ir::Raise>(block.exit);
    place(block.exit_span.known() ? block.exit_span : block.span);
    if (opaque_.empty())
      return unsupported("the program always raises " + failure.type, "compile the part that returns", block.exit_span);
    const auto& [condition, is_true] = opaque_.back();
    const std::string ok = is_true ? g_.node("Not", {condition}) : condition;
    still_alive(ok, failure.type + ": " + failure.message);
    return {};
  }

  // -- ops --

  void place(const SourceSpan& span) {
    if (!span.known() || span.file >= program_.sources.size()) return g_.at("");
    g_.at(std::filesystem::path(program_.sources[span.file]).filename().string() + ":" + std::to_string(span.line));
  }

  std::string weight(const std::string& name) {
    std::string& known = weights_[name];
    if (known.empty()) {
      const ir::Weight& w = program_.weights.at(name);
      std::vector<std::int64_t> dims;
      for (const ir::Dim& d : *w.type.shape) dims.push_back(d.value);
      known = g_.initializer(name, w.type.dtype, std::move(dims), w.bytes);
    }
    return known;
  }

  Result<std::string> constant(const ir::Op& op) {
    if (op.name == "weight") {
      const auto* name = ir::attr_as<std::string>(op, "name");
      DYCL_TRY(has_bytes(*name, program_.weights.at(*name)));
      return weight(*name);
    }
    if (const auto* b = ir::attr_as<bool>(op, "value")) return g_.boolean(*b);
    if (const auto* i = ir::attr_as<std::int64_t>(op, "value")) return g_.integer(*i);
    if (const auto* f = ir::attr_as<double>(op, "value")) return g_.floating(*f);
    const auto* t = ir::attr_as<ir::TensorLiteral>(op, "value");
    if (!t) return Error{ErrorKind::InvalidModel, "a constant that is no scalar and no tensor", {}, op.span, {}};
    return g_.constant(t->dtype, t->shape, t->bytes.data(), t->bytes.size());
  }

  Result<void> write_op(const ir::Op& op) {
    place(op.span);
    Names operands;
    for (ir::ValueId v : op.operands) {
      DYCL_ASSIGN(std::string name, operand(v, op.span));
      operands.push_back(std::move(name));
    }
    DYCL_ASSIGN(const Names results, results_of(op, operands));
    for (std::size_t i = 0; i < op.results.size(); ++i)
      if (op.results[i].present()) assign(op.results[i].index, results[i]);
    if (analysis_.fails_unseen(op)) {
      const bool list = !main_.type_of(op.results[0]).is_tensor() && !main_.type_of(op.results[0]).is_scalar();
      const std::string size = g_.node(list ? "SequenceLength" : "Size", {results[0]});
      still_alive(g_.node("GreaterOrEqual", {size, g_.integer(0)}), op.name);
    }
    return {};
  }

  Result<Names> results_of(const ir::Op& op, const Names& operands) {
    if (op.is_tensor_op()) return tensor_op(main_, op, operands);
    if (op.name == "const" || op.name == "weight") {
      DYCL_ASSIGN(std::string name, constant(op));
      return Names{std::move(name)};
    }
    if (op.name == "call") return call(op, operands);
    if (op.name == "print" || op.name == "keep") return Names{};  // see note
    if (op.name == "check") {
      const auto* type = ir::attr_as<std::string>(op, "type");
      const auto* message = ir::attr_as<std::string>(op, "message");
      const ir::Op* known = constants_[op.operands[0].index];
      const bool* value = known ? ir::attr_as<bool>(*known, "value") : nullptr;
      if (value != nullptr && *value) return Names{};
      if (value != nullptr) {
        return unsupported("a check that always fails" + where(op.span), "compile the part that returns", op.span);
      }
      still_alive(operands[0], (type ? *type : "") + ": " + (message ? *message : ""));
      return Names{};
    }
    if (op.name == "host_call") {
      return unsupported("a function of the host has no equivalent in ONNX",
                         "leave it out, or run the package with DyCL's runtime", op.span);
    }
    const auto nonzero = [&](ir::ValueId v) {
      const ir::Op* known = v.present() ? constants_[v.index] : nullptr;
      if (!known) return false;
      if (const auto* i = ir::attr_as<std::int64_t>(*known, "value")) return *i != 0;
      if (const auto* f = ir::attr_as<double>(*known, "value")) return *f != 0.0;
      return false;
    };
    return write_host_op(g_, main_, op, operands, nonzero);
  }

  static bool wraps(const ir::Op& op) {
    return op.name == "int.add" || op.name == "int.sub" || op.name == "int.mul" || op.name == "int.pow" ||
           op.name == "int.shl";
  }

  std::string where(const SourceSpan& span) const {
    if (!span.known() || span.file >= program_.sources.size()) return "";
    return " (" + program_.sources[span.file] + ":" + std::to_string(span.line) + ")";
  }

  Result<Names> tensor_op(const ir::Function& function, const ir::Op& op, const Names& operands) {
    OnnxGraph::Attributes attributes;
    for (const auto& [key, attr] : op.attrs) {
      DYCL_ASSIGN(onnx::Attribute a, onnx::attribute_of(key, attr));
      attributes.push_back(std::move(a));
    }
    if (is_selection(op.name)) return selection(op.name, operands, attributes, op.span);
    if (op.name.starts_with(kLinearAlgebra)) return no_linear_algebra(op.name, op.span);
    const std::string hint =
        op.results.empty() || !op.results[0].present() ? "" : function.values[op.results[0].index].hint;
    Names names = g_.node(op.name, operands, op.results.size(), std::move(attributes), hint);
    for (std::size_t i = 0; i < names.size(); ++i)
      if (!op.results[i].present()) names[i] = g_.current().nodes.back().outputs[i] = "";
    return names;
  }

  Error no_linear_algebra(const std::string& op, const SourceSpan& span) {
    return unsupported("linear algebra (" + op.substr(kLinearAlgebra.size()) + ") has no ONNX form",
                       "run the package with DyCL's runtime, or emit C++", span);
  }

  Result<Names> selection(const std::string& op, const Names& operands, const OnnxGraph::Attributes& attributes,
                          const SourceSpan& span) {
    auto names = write_selection(g_, op, operands, attributes);
    if (!names) return unsupported(names.error().message, names.error().help, span);
    auto& notices = report_.notices;
    if (std::find(notices.begin(), notices.end(), kSelectionNotice) == notices.end())
      notices.emplace_back(kSelectionNotice);
    return names;
  }

  // -- sub-DNNs --

  Result<Names> call(const ir::Op& op, const Names& operands) {
    const auto* callee = ir::attr_as<std::string>(op, "callee");
    const ir::Function* function = callee ? program_.find(*callee) : nullptr;
    if (!function) return Error{ErrorKind::InvalidModel, "a call of nothing", {}, op.span, {}};
    if (const auto body = options_.bodies.find(*callee); body != options_.bodies.end())
      return inlined(body->second, operands);
    Names names(function->values.size());
    for (std::size_t i = 0; i < function->params.size(); ++i) names[function->params[i].value.index] = operands[i];
    for (const ir::Op& inner : function->blocks[0].body) {
      place(inner.span.known() ? inner.span : op.span);
      Names in;
      for (ir::ValueId v : inner.operands) in.push_back(v.present() ? names[v.index] : "");
      Names out;
      if (inner.name == "const" || inner.name == "weight") {
        DYCL_ASSIGN(std::string name, constant(inner));
        out = {std::move(name)};
      } else {
        DYCL_ASSIGN(out, tensor_op(*function, inner, in));
      }
      for (std::size_t i = 0; i < inner.results.size(); ++i)
        if (inner.results[i].present()) names[inner.results[i].index] = out[i];
    }
    Names results;
    for (ir::ValueId v : std::get<ir::Return>(function->blocks[0].exit).values) results.push_back(names[v.index]);
    return results;
  }

  Result<Names> inlined(const OnnxBody& body, const Names& operands) {
    std::map<std::string, std::string> names;
    const onnx::Graph& graph = body.model.graph;
    if (graph.inputs.size() != operands.size())
      return Error{ErrorKind::InvalidPackage, "an artifact with other inputs than its sub-DNN", {}, {}, {}};
    for (std::size_t i = 0; i < operands.size(); ++i) names[graph.inputs[i].name] = operands[i];
    for (const onnx::Tensor& t : graph.initializers) {
      const auto stored = body.weights.find(t.name);
      names[t.name] = stored != body.weights.end() ? weight(stored->second)
                                                   : g_.constant(t.dtype, t.dims, t.bytes.data, t.bytes.size);
    }
    for (const auto& [domain, version] : body.model.opsets)
      if (domain != "torch" && domain != kMend) g_.model().opsets.emplace(domain, version);
    for (const onnx::Node& node : graph.nodes) {
      Names in;
      for (const std::string& name : node.inputs) in.push_back(name.empty() ? "" : names[name]);
      const std::string op = node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
      Names out;
      if (is_selection(op)) {
        DYCL_ASSIGN(out, selection(op, in, node.attributes, {}));
        for (std::size_t i = 0; i < node.outputs.size(); ++i) names[node.outputs[i]] = out[i];
        continue;
      }
      if (op.starts_with(kLinearAlgebra)) return no_linear_algebra(op, {});
      if (node.domain == kMend) {  // its results are its first operands where these are numbers
        for (std::size_t i = 0; i < node.outputs.size(); ++i) names[node.outputs[i]] = in[i];
        continue;
      }
      out = g_.node(op, in, node.outputs.size(), node.attributes);
      for (std::size_t i = 0; i < out.size(); ++i) {
        if (node.outputs[i].empty())
          g_.current().nodes.back().outputs[i] = "";
        else
          names[node.outputs[i]] = out[i];
      }
    }
    Names results;
    for (const onnx::ValueInfo& o : graph.outputs) results.push_back(names[o.name]);
    return results;
  }

  const ir::Program& program_;
  const ir::Function main_;
  const OnnxOptions& options_;
  const Structure structure_;
  const OnnxVariables vars_;
  const StepAnalysis analysis_;
  OnnxGraph g_;
  OnnxReport report_;
  std::vector<std::string> env_;  // by variable: its present name; "" where nothing was assigned yet
  std::vector<bool> real_;        // see assign
  Names wanted_;  // names of the outputs
  struct Change {
    Var var;
    std::string name;
    bool real;
  };
  std::vector<Change> log_;
  std::vector<const ir::Op*> constants_;  // by value
  std::map<std::string, std::string> weights_;
  std::set<Var> carried_;                             // by the loops around
  std::vector<std::pair<std::string, bool>> opaque_;  // conditions that hold here, and which way
};

}  // namespace

Result<OnnxReport> write_onnx(const ir::Program& program, const OnnxOptions& options,
                              const std::filesystem::path& path) {
  return Writer(program, options).run(path);
}

}  // namespace dycl::emit
