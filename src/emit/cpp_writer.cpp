// SPDX-License-Identifier: Apache-2.0
#include "emit/cpp_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "emit/liveness.h"
#include "emit/structure.h"
#include "ir/edges.h"
#include "ir/host_ops.h"

namespace dycl::emit {
namespace {

using Kind = Step::Kind;

constexpr std::uint32_t kNone = 0xffffffffU;

const std::set<std::string>& reserved_words() {
  static const std::set<std::string> words = {
      "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
      "class", "compl", "concept", "const", "const_cast", "consteval", "constexpr", "constinit", "continue", "co_await",
      "co_return", "co_yield", "decltype", "default", "delete", "do", "double", "dynamic_cast", "else", "enum",
      "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if", "inline", "int", "long",
      "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private",
      "protected", "public", "register", "reinterpret_cast", "requires", "return", "short", "signed", "sizeof",
      "static", "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local", "throw", "true",
      "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "wchar_t",
      "while", "xor", "xor_eq",
      // names that emitted code uses itself
      "append", "arm", "call", "call_many", "cat", "check", "concat", "constant", "dim", "finish", "frame", "get",
      "give", "input", "insert", "integers", "is_some", "item", "len", "limited", "list", "list_to_tensor", "normal",
      "pop", "print", "program", "raise", "result", "run", "set", "size", "slice", "stack", "std", "dycl", "host",
      "taken", "to_list", "to_tensor", "type", "uniform", "value_of", "loop", "main", "errno", "stdin", "stdout",
      "stderr", "NULL", "INT64_MIN", "INFINITY", "NAN", "Tensor", "List", "Optional", "Value", "View", "Loop", "Frame",
      "Outputs"};
  return words;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 32 || byte >= 127) {
      char octal[8];
      std::snprintf(octal, sizeof octal, "\\%03o", byte);
      out += octal;
    } else if (c == '?') {
      out += "\\?";  // no trigraphs
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string literal(double v) {
  if (std::isnan(v)) {
    char text[64];
    std::snprintf(text, sizeof text, "std::bit_cast<double>(std::uint64_t{0x%llx})",
                  static_cast<unsigned long long>(std::bit_cast<std::uint64_t>(v)));
    return text;
  }
  if (std::isinf(v))
    return v < 0 ? "-std::numeric_limits<double>::infinity()" : "std::numeric_limits<double>::infinity()";
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, v).ptr;
  std::string out(text, end);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

std::string literal(std::int64_t v) { return v == INT64_MIN ? "INT64_MIN" : std::to_string(v); }

// An expression and how tightly it binds: 3 a name, call or literal, 2 unary, 1 binary.
struct Expression {
  std::string text;
  int binding = 3;
};
std::string inside(const Expression& e, int at_least = 3) {
  return e.binding >= at_least ? e.text : "(" + e.text + ")";
}

const ir::Edge& edge_of(const ir::Block& block, std::uint32_t arm) {
  const ir::Edge* found = nullptr;
  std::uint32_t i = 0;
  ir::for_each_edge(block.exit, [&](const ir::Edge& e) {
    if (i++ == arm) found = &e;
  });
  return *found;
}

// Early returns as the user wrote them: an edge to a block that does nothing but return becomes that return.
ir::Function with_early_returns(ir::Function f) {
  const auto returns_only = [&](ir::BlockId b) {
    const ir::Block& block = f.block(b);
    return b.index != 0 && std::holds_alternative<ir::Return>(block.exit) &&
           std::all_of(block.body.begin(), block.body.end(), is_constant_op);
  };
  const auto return_along = [&](const ir::Edge& e) {
    const ir::Block& target = f.block(e.target);
    ir::Return made = std::get<ir::Return>(target.exit);
    for (ir::ValueId& v : made.values) {
      const auto place = std::find(target.params.begin(), target.params.end(), v);
      if (place != target.params.end()) v = e.args[static_cast<std::size_t>(place - target.params.begin())];
    }
    return made;
  };
  for (std::size_t b = 0, count = f.blocks.size(); b < count; ++b) {
    if (const auto* jump = std::get_if<ir::Goto>(&f.blocks[b].exit)) {
      if (!returns_only(jump->edge.target)) continue;
      const ir::BlockId target = jump->edge.target;
      ir::Return made = return_along(jump->edge);
      f.blocks[b].exit = std::move(made);
      f.blocks[b].exit_span = f.block(target).exit_span;
      continue;
    }
    ir::Exit exit = f.blocks[b].exit;
    ir::for_each_edge(exit, [&](ir::Edge& e) {
      if (!returns_only(e.target) || e.args.empty()) return;
      ir::Block made;
      made.name = f.block(e.target).name;
      made.exit = return_along(e);
      made.span = f.block(e.target).span;
      made.exit_span = f.block(e.target).exit_span;
      e = {{static_cast<std::uint32_t>(f.blocks.size())}, {}};
      f.blocks.push_back(std::move(made));
    });
    f.blocks[b].exit = std::move(exit);
  }
  return f;
}

class BodyWriter {
 public:
  BodyWriter(const PackageProgram& package, const CppOptions& options)
      : package_(package),
        original_(package.program.main()),
        main_(with_early_returns(original_)),
        options_(options),
        structure_(structure_of(main_)),
        dominators_(main_),
        liveness_(main_, dominators_),
        uses_(main_.values.size(), 0),
        host_(main_.values.size()),
        inlined_(main_.values.size(), false),
        constants_(main_.values.size(), nullptr),
        constant_index_(main_.values.size(), kNone),
        variable_(main_.values.size(), kNone),
        loop_number_(main_.blocks.size(), kNone),
        decision_number_(main_.blocks.size(), kNone) {}

  Result<CppBody> run() {
    number_things();
    DYCL_TRY(check_supported());
    count_uses();
    for (std::uint32_t b : dominators_.order()) {
      choose_inlined(b);
      find_deaths(b);
    }
    make_variables();
    std::string text;
    for (std::uint32_t d = 0; d < structure_.dispatchers; ++d)
      text += "  std::uint32_t target_" + std::to_string(d) + " = 0;\n";
    text += inputs();
    scan(structure_.body);
    text += sequence(structure_.body, 1);
    if (!ends(structure_.body)) text += "  std::abort();  // every way returns before\n";
    CppBody body;
    body.text = std::move(text);
    for (std::size_t i = 0; i < package_.plan.sub_dnns.size(); ++i)
      body.constants += "  static constexpr std::uint32_t " + sub_dnn(static_cast<std::uint32_t>(i)) + " = " +
                        std::to_string(i) + ";\n";
    for (const auto& [name, type] : types_)
      body.types += "  std::uint32_t " + name + " = type(" + quoted(type) + ");\n";
    return body;
  }

 private:
  // ---- numbers as emit/lower.cpp gives them --------------------------------------------------

  void number_things() {
    std::uint32_t loops = 0, decisions = 0, constants = 0;
    const ir::Dominators dominators(original_);
    for (std::uint32_t b : dominators.order()) {
      ir::for_each_edge(original_.blocks[b].exit, [&](const ir::Edge& e) {
        const bool back = dominators.position(e.target) <= dominators.position({b});
        if (back && loop_number_[e.target.index] == kNone) loop_number_[e.target.index] = loops++;
      });
    }
    for (std::uint32_t b : dominators.order()) {
      for (const ir::Op& op : original_.blocks[b].body) {
        if (!is_constant_op(op)) continue;
        constants_[op.results[0].index] = &op;
        constant_index_[op.results[0].index] = constants++;
      }
      const ir::Exit& exit = original_.blocks[b].exit;
      if (std::holds_alternative<ir::Branch>(exit) || std::holds_alternative<ir::Switch>(exit))
        decision_number_[b] = decisions++;
    }
    for (std::size_t i = 0; i < package_.plan.sub_dnns.size(); ++i)
      sub_dnn_index_[package_.plan.sub_dnns[i].name] = static_cast<std::uint32_t>(i);
  }

  Result<void> check_supported() const {
    for (const ir::Block& block : main_.blocks) {
      for (const ir::Op& op : block.body) {
        if (op.name == "host_call") {
          return Error{ErrorKind::Unsupported,
                       "emitted source cannot call functions of the host yet",
                       "run the package with the runtime, which can",
                       op.span,
                       {}};
        }
      }
    }
    return {};
  }

  // ---- which values need no variable -------------------------------------------------------------

  struct Place {
    std::uint32_t block = kNone;
    std::size_t index = 0;  // of the op; body.size() for the exit
  };

  void count_uses() {
    const std::vector<bool> needed = needed_params();
    for (std::uint32_t b : dominators_.order()) {
      const ir::Block& block = main_.blocks[b];
      for (std::size_t i = 0; i < block.body.size(); ++i)
        for (ir::ValueId v : block.body[i].operands) note_use(v, b, i);
      const auto at_exit = [&](ir::ValueId v) { note_use(v, b, block.body.size()); };
      for_each_operand(block.exit, at_exit);
      ir::for_each_edge(block.exit, [&](const ir::Edge& e) {
        for (std::size_t i = 0; i < e.args.size(); ++i)
          if (needed[main_.block(e.target).params[i].index]) at_exit(e.args[i]);
      });
    }
  }

  template <typename Visit>
  static void for_each_operand(const ir::Exit& exit, Visit&& visit) {
    if (const auto* branch = std::get_if<ir::Branch>(&exit)) visit(branch->condition);
    if (const auto* choice = std::get_if<ir::Switch>(&exit)) visit(choice->selector);
    if (const auto* result = std::get_if<ir::Return>(&exit))
      for (ir::ValueId v : result->values) visit(v);
    if (const auto* failure = std::get_if<ir::Raise>(&exit))
      for (ir::ValueId v : failure->args) visit(v);
  }

  // Values that something reads but edges to parameters that nothing reads.
  std::vector<bool> needed_params() const {
    std::vector<bool> needed(main_.values.size(), false);
    std::vector<std::vector<ir::ValueId>> arguments(main_.values.size());  // by parameter
    std::vector<std::uint32_t> work;
    const auto need = [&](ir::ValueId v) {
      if (!v.present() || needed[v.index]) return;
      needed[v.index] = true;
      work.push_back(v.index);
    };
    for (std::uint32_t b : dominators_.order()) {
      const ir::Block& block = main_.blocks[b];
      ir::for_each_edge(block.exit, [&](const ir::Edge& e) {
        for (std::size_t i = 0; i < e.args.size(); ++i)
          arguments[main_.block(e.target).params[i].index].push_back(e.args[i]);
      });
    }
    for (std::uint32_t b : dominators_.order()) {
      for (const ir::Op& op : main_.blocks[b].body)
        for (ir::ValueId v : op.operands) need(v);
      for_each_operand(main_.blocks[b].exit, need);
    }
    while (!work.empty()) {
      const std::uint32_t v = work.back();
      work.pop_back();
      for (ir::ValueId a : arguments[v]) need(a);
    }
    return needed;
  }
  void note_use(ir::ValueId v, std::uint32_t block, std::size_t index) {
    if (!v.present()) return;
    ++uses_[v.index];
    host_[v.index] = {block, index};
  }

  // Must be computed where it stands: it may fail, has an effect, or reads something that moves.
  bool is_tied(const ir::Op& op) const {
    if (is_constant_op(op)) return false;
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

  void choose_inlined(std::uint32_t b) {
    const ir::Block& block = main_.blocks[b];
    for (std::size_t i = 0; i < block.body.size(); ++i) {
      const ir::Op& op = block.body[i];
      if (op.results.size() != 1 || is_constant_op(op)) continue;
      const std::uint32_t v = op.results[0].index;
      if (uses_[v] != 1 || !main_.values[v].hint.empty() || !main_.values[v].type.is_scalar()) continue;
      if (host_[v].block != b || host_[v].index <= i) continue;
      const bool tied = is_tied(op);
      if (op.name == "check" || op.name == "print") continue;
      if (tied && !nothing_between(block, i, host_[v].index)) continue;
      inlined_[v] = true;
      if (tied) tied_inside_.insert(v);
    }
  }

  // Between two places only constants and what is computed elsewhere without consequence.
  bool nothing_between(const ir::Block& block, std::size_t from, std::size_t until) const {
    for (std::size_t i = from + 1; i < until; ++i)
      if (is_tied(block.body[i])) return false;
    return true;
  }

  // ---- last uses ----------------------------------------------------------------------------------

  void find_deaths(std::uint32_t b) {
    const ir::Block& block = main_.blocks[b];
    std::set<std::uint32_t> live;
    ir::for_each_edge(block.exit, [&](const ir::Edge& e) {
      live.insert(liveness_.live_in[e.target.index].begin(), liveness_.live_in[e.target.index].end());
    });
    ir::for_each_exit_use(block.exit, [&](ir::ValueId v) {
      if (liveness_.tracked[v.index]) live.insert(v.index);
    });
    for (std::size_t i = block.body.size(); i-- > 0;) {
      const ir::Op& op = block.body[i];
      for (ir::ValueId v : op.results)
        if (v.present()) live.erase(v.index);
      for (ir::ValueId v : op.operands) {
        if (!v.present() || !liveness_.tracked[v.index]) continue;
        const auto same = std::count(op.operands.begin(), op.operands.end(), v);
        if (!live.count(v.index) && same == 1) dies_.insert({&op, v.index});
      }
      for (ir::ValueId v : op.operands)
        if (v.present() && liveness_.tracked[v.index]) live.insert(v.index);
    }
  }

  // ---- variables ----------------------------------------------------------------------------------

  struct Variable {
    std::string name;
    ir::Type type;
    std::uint32_t defs = 0;  // steps that assign it
    bool by_edges = false;
    // Where it is declared: before a step of a sequence, or (index kNone) where it is assigned.
    const Sequence* sequence = nullptr;
    std::size_t index = kNone;
    bool at_definition = false;
    bool at_edge = false;  // declared by the edge that assigns it first
  };

  std::string fresh(const std::string& hint, const char* fallback) {
    std::string base = hint.empty() ? fallback : identifier(hint);
    if (reserved_words().count(base)) base += "_";
    if (taken_.insert(base).second) return base;
    for (int n = 1;; ++n) {
      std::string name = base + "_" + std::to_string(n);
      if (taken_.insert(name).second) return name;
    }
  }

  std::uint32_t new_variable(std::uint32_t value, const char* fallback) {
    variables_.push_back(
        {fresh(main_.values[value].hint, fallback), main_.values[value].type, 0, false, nullptr, kNone, false, false});
    return static_cast<std::uint32_t>(variables_.size() - 1);
  }

  static const char* fallback_name(const ir::Type& type) {
    switch (type.kind) {
      case ir::Type::Kind::Bool: return "yes";
      case ir::Type::Kind::Int: return "n";
      case ir::Type::Kind::Float: return "number";
      case ir::Type::Kind::Tensor: return "t";
      default: return "items";
    }
  }

  void make_variables() {
    for (const ir::Param& p : main_.params) {
      const std::string name = identifier(main_.values[p.value.index].hint);
      taken_.insert({argument_name(p), name, name + "_", "input", "input_1", "input_2"});
    }
    for (std::uint32_t v = 0; v < constants_.size(); ++v)
      if (constants_[v] && !main_.values[v].type.is_scalar()) variable_[v] = new_variable(v, "weight");
    for (std::uint32_t b : dominators_.order())
      for (ir::ValueId v : main_.blocks[b].params)
        variable_[v.index] = new_variable(v.index, fallback_name(main_.type_of(v)));
    for (std::uint32_t b : dominators_.order()) {
      for (std::size_t i = 0; i < main_.blocks[b].body.size(); ++i) {
        const ir::Op& op = main_.blocks[b].body[i];
        for (ir::ValueId v : op.results) {
          if (!v.present() || inlined_[v.index]) continue;
          if (constants_[v.index]) continue;
          const std::uint32_t param = target_of(b, i, v);
          variable_[v.index] =
              param != kNone ? variable_[param] : new_variable(v.index, fallback_name(main_.type_of(v)));
        }
      }
    }
    for (const ir::Param& p : main_.params) {
      variables_.push_back({argument_name(p), main_.type_of(p.value), 0, false, nullptr, kNone, false, false});
      variable_[p.value.index] = static_cast<std::uint32_t>(variables_.size() - 1);
    }
  }

  // The block parameter that op `i` of `b` can write directly, because its result does nothing but go there.
  std::uint32_t target_of(std::uint32_t b, std::size_t i, ir::ValueId v) const {
    const ir::Block& block = main_.blocks[b];
    const auto* jump = std::get_if<ir::Goto>(&block.exit);
    if (!jump || uses_[v.index] != 1) return kNone;
    const auto& args = jump->edge.args;
    const auto place = std::find(args.begin(), args.end(), v);
    if (place == args.end()) return kNone;
    const ir::ValueId param = main_.block(jump->edge.target).params[static_cast<std::size_t>(place - args.begin())];
    if (main_.type_of(param).kind != main_.type_of(v).kind) return kNone;
    if (std::find(args.begin(), args.end(), param) != args.end()) return kNone;
    for (std::size_t j = 0; j < block.body.size(); ++j) {
      const ir::Op& op = block.body[j];
      if (std::find(op.operands.begin(), op.operands.end(), param) == op.operands.end()) continue;
      std::size_t at = j;  // where it is really read
      while (at < block.body.size() && block.body[at].results.size() == 1 && inlined_[block.body[at].results[0].index])
        at = host_[block.body[at].results[0].index].index;
      if (at > i) return kNone;
    }
    return param.index;
  }

  std::string argument_name(const ir::Param& p) const {
    std::string name = identifier(p.state.empty() ? main_.values[p.value.index].hint : p.state);
    if (name == "_") name = "input";
    if (reserved_words().count(name)) name += "_";
    std::size_t same = 0;
    for (const ir::Param& q : main_.params) {
      if (&q == &p) break;
      same += identifier(q.state.empty() ? main_.values[q.value.index].hint : q.state) ==
              identifier(p.state.empty() ? main_.values[p.value.index].hint : p.state);
    }
    return (same ? name + std::to_string(same + 1) : name) + "_in";
  }

  std::string inputs() {
    std::string text;
    for (std::uint32_t i = 0; i < main_.params.size(); ++i) {
      const ir::Type& type = main_.type_of(main_.params[i].value);
      if (uses_[main_.params[i].value.index] == 0) continue;
      const std::string name = variables_[variable_[main_.params[i].value.index]].name;
      text += "  " + std::string(type.is_scalar() ? "const " : "") + cpp_type(type) + " " + name + " = input<" +
              cpp_type(type) + ">(" + std::to_string(i) + ");\n";
    }
    for (const ir::Block& block : original_.blocks) {
      for (const ir::Op& op : block.body) {
        if (!is_constant_op(op) || main_.type_of(op.results[0]).is_scalar() || uses_[op.results[0].index] == 0)
          continue;
        const std::uint32_t v = op.results[0].index;
        text += "  const Tensor " + variables_[variable_[v]].name + " = constant<Tensor>(" +
                std::to_string(constant_index_[v]) + ");\n";
      }
    }
    return text;
  }

  // ---- scopes: where each variable is declared -----------------------------------------------------

  // Visits the tree and remembers, for each variable, the innermost sequence that holds all its mentions.
  void scan(const Sequence& steps) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      path_.emplace_back(&steps, i);
      mention(steps[i]);
      for (const Sequence& part : steps[i].parts) scan(part);
      path_.pop_back();
    }
  }

  void touch(std::uint32_t value, bool assigns, bool by_edge) {
    const std::uint32_t var = variable_[value];
    if (var == kNone) return;
    Variable& v = variables_[var];
    if (assigns) {
      ++v.defs;
      v.by_edges = v.by_edges || by_edge;
    }
    auto& common = common_[var];
    if (common.empty()) {
      common = path_;
      return;
    }
    std::size_t same = 0;
    while (same < common.size() && same < path_.size() && common[same].first == path_[same].first &&
           common[same].second == path_[same].second)
      ++same;
    // Where they part they are in one sequence; the declaration goes before the first of both.
    if (same < common.size() && same < path_.size() && common[same].first == path_[same].first)
      common[same].second = std::min(common[same].second, path_[same].second), ++same;
    common.resize(same);
  }

  void read(ir::ValueId v) {
    if (!v.present()) return;
    if (inlined_[v.index]) return read_all(*definition(v));
    touch(v.index, false, false);
  }
  void read_all(const ir::Op& op) {
    for (ir::ValueId v : op.operands) read(v);
  }
  const ir::Op* definition(ir::ValueId v) const {
    const ir::Block& block = main_.blocks[host_[v.index].block];
    for (const ir::Op& op : block.body)
      if (op.results.size() == 1 && op.results[0] == v) return &op;
    throw InternalError("an inlined value has its op in the block of its use");
  }

  void mention(const Step& s) {
    const ir::Block* block = s.block == Step::kNoBlock ? nullptr : &main_.blocks[s.block];
    switch (s.kind) {
      case Kind::Ops:
        for (const ir::Op& op : block->body) {
          if (is_constant_op(op) || is_inlined(op)) continue;
          read_all(op);
          for (ir::ValueId v : op.results)
            if (v.present() && uses_[v.index] > 0) touch(v.index, true, false);
        }
        break;
      case Kind::Edge: {
        const ir::Edge& e = edge_of(*block, s.arm);
        const auto& params = main_.block(e.target).params;
        for (std::size_t i = 0; i < params.size(); ++i) {
          if (uses_[params[i].index] == 0) continue;
          read(e.args[i]);
          touch(params[i].index, true, true);
        }
        break;
      }
      case Kind::If: read(std::get<ir::Branch>(block->exit).condition); break;
      case Kind::Switch: read(std::get<ir::Switch>(block->exit).selector); break;
      case Kind::Return:
        for (ir::ValueId v : std::get<ir::Return>(block->exit).values) read(v);
        break;
      case Kind::Raise:
        for (ir::ValueId v : std::get<ir::Raise>(block->exit).args) read(v);
        break;
      default: break;
    }
  }

  bool is_inlined(const ir::Op& op) const { return op.results.size() == 1 && inlined_[op.results[0].index]; }

  bool is_argument(std::uint32_t var) const {
    return std::any_of(main_.params.begin(), main_.params.end(),
                       [&](const ir::Param& p) { return variable_[p.value.index] == var; });
  }

  // Declarations that belong before step `index` of `steps`.
  std::string declarations(const Sequence& steps, std::size_t index, int indent) {
    std::string text;
    for (auto& [var, common] : common_) {
      Variable& v = variables_[var];
      if (common.empty() || common.back().first != &steps || common.back().second != index) continue;
      if (is_argument(var) || declared_.count(var) || v.defs == 0) continue;
      if (structure_.dispatchers == 0 && v.defs == 1 && !v.by_edges && assigned_at(var, steps, index)) {
        v.at_definition = true;
        continue;
      }
      declared_.insert(var);
      if (assigned_by_edge(var, steps[index])) {
        v.at_edge = true;
        continue;
      }
      text += tabs(indent) + cpp_type(v.type) + " " + v.name + (v.type.is_scalar() ? "{}" : "") + ";\n";
    }
    return text;
  }

  bool assigned_by_edge(std::uint32_t var, const Step& s) const {
    if (s.kind != Kind::Edge) return false;
    const ir::Edge& e = edge_of(main_.blocks[s.block], s.arm);
    const auto& params = main_.block(e.target).params;
    for (std::size_t i = 0; i < params.size(); ++i)
      if (variable_[params[i].index] == var && (inlined_[e.args[i].index] || variable_[e.args[i].index] != var))
        return true;
    return false;
  }

  // Whether the only assignment of `var` is by an op of this very step.
  bool assigned_at(std::uint32_t var, const Sequence& steps, std::size_t index) const {
    const Step& s = steps[index];
    if (s.kind != Kind::Ops) return false;
    for (const ir::Op& op : main_.blocks[s.block].body)
      for (ir::ValueId v : op.results)
        if (v.present() && variable_[v.index] == var && !is_constant_op(op)) return true;
    return false;
  }

  // ---- text ---------------------------------------------------------------------------------------------

  static std::size_t indent_width(int indent) { return static_cast<std::size_t>(indent) * 2; }
  static std::string tabs(int indent) { return std::string(static_cast<std::size_t>(indent) * 2, ' '); }

  std::string comment(const SourceSpan& span, int indent) {
    if (!span.known() || span.file >= package_.program.sources.size()) return {};
    if (package_.program.sources[span.file].find("-packages/") != std::string::npos) return {};  // a library's line
    const std::string file = std::filesystem::path(package_.program.sources[span.file]).filename().string();
    const std::string place = file + ":" + std::to_string(span.line);
    if (place == last_comment_) return {};
    last_comment_ = place;
    std::string line = package_.line(span);
    if (line.size() > 90) line = line.substr(0, 87) + "...";
    while (!line.empty() && line.back() == '\\') line.pop_back();  // would go on in the next line
    return tabs(indent) + "// " + place + (line.empty() ? "" : "  " + line) + "\n";
  }

  std::string sub_dnn(std::uint32_t index) const {
    return "k" + class_name(identifier(package_.plan.sub_dnns[index].name));
  }

  std::string type_member(const ir::Type& type) {
    const std::string text = ir::to_string(type);
    for (const auto& [name, known] : types_)
      if (known == text) return name;
    types_.emplace_back("type_" + std::to_string(types_.size()) + "_", text);
    return types_.back().first;
  }

  Expression value(ir::ValueId v, bool move = false) {
    if (const ir::Op* c = constants_[v.index]; c && main_.type_of(v).is_scalar()) {
      if (const auto* b = ir::attr_as<bool>(*c, "value")) return {*b ? "true" : "false"};
      if (const auto* i = ir::attr_as<std::int64_t>(*c, "value")) return {literal(*i), *i < 0 ? 2 : 3};
      if (const auto* f = ir::attr_as<double>(*c, "value")) return {literal(*f), std::signbit(*f) ? 2 : 3};
    }
    if (inlined_[v.index]) return expression(*definition(v));
    const std::string& name = variables_[variable_[v.index]].name;
    return move ? Expression{"std::move(" + name + ")"} : Expression{name};
  }

  Expression operand(const ir::Op& op, std::size_t i) {
    const ir::ValueId v = op.operands[i];
    return value(v, dies_.count({&op, v.index}) != 0 && !read_beside(op.operands, i));
  }
  // Arguments are computed in any order: what another one reads must not move.
  bool read_beside(const std::vector<ir::ValueId>& values, std::size_t i) const {
    for (std::size_t j = 0; j < values.size(); ++j) {
      std::set<std::uint32_t> reads;
      if (j != i && values[j].present()) collect(values[j], reads);
      if (reads.count(variable_[values[i].index])) return true;
    }
    return false;
  }

  std::string arg(const ir::Op& op, std::size_t i) { return operand(op, i).text; }

  // With its type where that is deduced.
  std::string typed(ir::ValueId v) {
    const bool number = constants_[v.index] && main_.type_of(v).kind == ir::Type::Kind::Int;
    const std::string text = value(v).text;
    return number ? "std::int64_t{" + text + "}" : text;
  }

  std::string args(const ir::Op& op, std::size_t from = 0) {
    std::string text;
    for (std::size_t i = from; i < op.operands.size(); ++i) text += (i > from ? ", " : "") + arg(op, i);
    return text;
  }

  Expression expression(const ir::Op& op) {
    static const std::map<std::string, std::pair<const char*, bool>> infix = {
        {"int.eq", {"==", false}},   {"int.ne", {"!=", false}},   {"int.lt", {"<", false}},
        {"int.le", {"<=", false}},   {"int.gt", {">", false}},    {"int.ge", {">=", false}},
        {"float.eq", {"==", false}}, {"float.ne", {"!=", false}}, {"float.lt", {"<", false}},
        {"float.le", {"<=", false}}, {"float.gt", {">", false}},  {"float.ge", {">=", false}},
        {"float.add", {"+", false}}, {"float.sub", {"-", false}}, {"float.mul", {"*", false}},
        {"bool.and", {"&&", false}}, {"bool.or", {"||", false}},  {"bool.xor", {"!=", false}},
        {"bool.eq", {"==", false}},  {"int.and", {"&", false}},   {"int.or", {"|", false}},
        {"int.xor", {"^", false}}};
    if (const auto it = infix.find(op.name); it != infix.end()) {
      const std::string left = inside(operand(op, 0), 2), right = inside(operand(op, 1), 2), sign = it->second.first;
      // Compilers suspect a mistake in `x <= x`; it asks for a NaN.
      static const std::map<std::string, std::string> functions = {
          {"==", "std::equal_to<>"},   {"!=", "std::not_equal_to<>"}, {"<", "std::less<>"},
          {"<=", "std::less_equal<>"}, {">", "std::greater<>"},       {">=", "std::greater_equal<>"}};
      if (const auto f = functions.find(sign); left == right && f != functions.end())
        return {f->second + "()(" + left + ", " + right + ")"};
      return {left + " " + sign + " " + right, 1};
    }
    if (op.name == "bool.not") return {"!" + inside(operand(op, 0)), 2};
    if (op.name == "int.not") return {"~" + inside(operand(op, 0)), 2};
    if (op.name == "float.neg") return {"-" + inside(operand(op, 0)), 2};
    if (scalar::op_named(op.name)) {
      std::string name = op.name;
      std::replace(name.begin(), name.end(), '.', '_');
      return {"dycl::host::" + name + "(" + args(op) + ")"};
    }
    return {host_expression(op)};
  }

  std::string host_expression(const ir::Op& op) {
    const auto result = [&]() -> const ir::Type& { return main_.type_of(op.results[0]); };
    const auto element = [&](const ir::Type& list) { return cpp_type(list.element.at(0)); };
    const auto axis = [&] { return std::to_string(*ir::attr_as<std::int64_t>(op, "axis")); };
    const auto type = [&] { return type_member(result()); };
    if (op.name == "item") return "item<" + cpp_type(result()) + ">(" + arg(op, 0) + ")";
    if (op.name == "to_tensor") return "to_tensor(" + typed(op.operands[0]) + ", " + type() + ")";
    if (op.name == "dim") return "dim(" + arg(op, 0) + ", " + axis() + ")";
    if (op.name == "size") return "size(" + arg(op, 0) + ")";
    if (op.name == "select") return "(" + operand(op, 0).text + " ? " + plain(op, 1) + " : " + plain(op, 2) + ")";
    if (op.name == "list.new" || op.name == "opt.none" || op.name == "opt.some")
      return "list<" + element(result()) + ">(" + args(op) + ")";
    if (op.name == "list.append") return "append(" + args(op) + ")";
    if (op.name == "list.get") return "get(" + args(op) + ")";
    if (op.name == "list.set") return "set(" + args(op) + ")";
    if (op.name == "list.len") return "len(" + arg(op, 0) + ")";
    if (op.name == "list.concat") return "concat(" + args(op) + ")";
    if (op.name == "list.slice") return "slice(" + args(op) + ")";
    if (op.name == "list.pop") return "pop(" + args(op) + ")";
    if (op.name == "list.insert") return "insert(" + args(op) + ")";
    if (op.name == "list.from_tensor") return "to_list<" + element(result()) + ">(" + arg(op, 0) + ")";
    if (op.name == "list.to_tensor") return "list_to_tensor(" + arg(op, 0) + ", " + type() + ")";
    if (op.name == "list.stack") return "stack(" + arg(op, 0) + ", " + axis() + ", " + type() + ")";
    if (op.name == "list.cat") return "cat(" + arg(op, 0) + ", " + axis() + ", " + type() + ")";
    if (op.name == "opt.is_some") return "is_some(" + arg(op, 0) + ")";
    if (op.name == "opt.get") return "value_of(" + arg(op, 0) + ")";
    if (op.name == "rand.uniform") return "uniform(" + type() + ", {" + args(op) + "})";
    if (op.name == "rand.normal") return "normal(" + type() + ", {" + args(op) + "})";
    if (op.name == "rand.int")
      return "integers(" + type() + ", " + arg(op, 0) + ", " + arg(op, 1) + ", {" + args(op, 2) + "})";
    if (op.name == "call") {
      const std::string callee = sub_dnn(sub_dnn_index_.at(*ir::attr_as<std::string>(op, "callee")));
      const std::string rest = op.operands.empty() ? "" : ", " + args(op);
      if (op.results.size() == 1) return "call(" + callee + rest + ")";
      return "call_many<" + std::to_string(op.results.size()) + ">(" + callee + rest + ")";
    }
    throw InternalError("no source for host op " + op.name);
  }

  // Arms of ?: must have one type: no moves.
  std::string plain(const ir::Op& op, std::size_t i) { return inside(value(op.operands[i]), 2); }

  std::string statement(const ir::Op& op, int indent) {
    if (op.name == "print") {
      std::string text = "print(" + quoted(*ir::attr_as<std::string>(op, "format"));
      for (ir::ValueId v : op.operands) text += ", " + typed(v);
      return tabs(indent) + text + ");\n";
    }
    if (op.name == "check") {
      return tabs(indent) + "check(" + arg(op, 0) + ", " + quoted(*ir::attr_as<std::string>(op, "type")) + ", " +
             quoted(*ir::attr_as<std::string>(op, "message")) + ");\n";
    }
    if (op.results.size() == 1) return assignment(op.results[0], expression(op).text, indent);
    if (op.results.empty()) return tabs(indent) + expression(op).text + ";\n";
    return several(op, indent);
  }

  std::string assignment(ir::ValueId result, const std::string& text, int indent) {
    Variable& v = variables_[variable_[result.index]];
    if (uses_[result.index] == 0) return tabs(indent) + "static_cast<void>(" + text + ");\n";
    if (!v.at_definition) return tabs(indent) + v.name + " = " + text + ";\n";
    return tabs(indent) + (v.type.is_scalar() ? "const " : "") + cpp_type(v.type) + " " + v.name + " = " + text + ";\n";
  }

  // Several results: one structured binding, then moves to those that have their variable already.
  std::string several(const ir::Op& op, int indent) {
    std::string names, moves;
    bool any_used = false;
    for (ir::ValueId r : op.results) {
      const Variable* v = r.present() ? &variables_[variable_[r.index]] : nullptr;
      const bool used = v && uses_[r.index] > 0;
      std::string name;
      if (used && v->at_definition) {
        name = v->name;
      } else {
        name = fresh("", "unused");
        if (used) moves += tabs(indent) + v->name + " = std::move(" + name + ");\n";
      }
      any_used = any_used || used;
      names += (names.empty() ? "" : ", ") + name;
    }
    return tabs(indent) + (any_used ? "" : "[[maybe_unused]] ") + "auto [" + names + "] = " + expression(op).text +
           ";\n" + moves;
  }

  // All moves as if at once.
  std::string edge(const ir::Block& block, std::uint32_t arm, int indent) {
    const ir::Edge& e = edge_of(block, arm);
    const ir::Block& target = main_.block(e.target);
    struct Move {
      std::uint32_t to;
      std::string text;
      std::set<std::uint32_t> reads;
      std::uint32_t emptied;  // moved from
    };
    const auto& live = liveness_.live_in[e.target.index];
    std::vector<Move> moves;
    for (std::size_t i = 0; i < e.args.size(); ++i) {
      const ir::ValueId from = e.args[i], to = target.params[i];
      if (uses_[to.index] == 0) continue;
      if (!inlined_[from.index] && variable_[from.index] == variable_[to.index] && variable_[from.index] != kNone)
        continue;
      const bool dies = liveness_.tracked[from.index] &&
                        std::find(live.begin(), live.end(), from.index) == live.end() &&
                        std::count(e.args.begin(), e.args.end(), from) == 1;
      Move m{variable_[to.index],
             value(from, dies).text,
             {},
             dies && !inlined_[from.index] ? variable_[from.index] : kNone};
      collect(from, m.reads);
      moves.push_back(std::move(m));
    }
    std::string text;
    while (!moves.empty()) {
      const auto ready = std::find_if(moves.begin(), moves.end(), [&](const Move& m) {
        return std::none_of(moves.begin(), moves.end(), [&](const Move& other) {
          return &other != &m && (other.reads.count(m.to) || (m.emptied != kNone && other.reads.count(m.emptied)));
        });
      });
      if (ready != moves.end()) {
        Variable& to = variables_[ready->to];
        text += tabs(indent) + (to.at_edge ? cpp_type(to.type) + " " : "") + to.name + " = " + ready->text + ";\n";
        to.at_edge = false;
        moves.erase(ready);
        continue;
      }
      Move& stuck = moves.front();  // a cycle: keep its value aside
      const std::string aside = fresh(variables_[stuck.to].name + "_next", "next");
      text += tabs(indent) + "auto " + aside + " = " + stuck.text + ";\n";
      stuck.text = "std::move(" + aside + ")";
      if (variables_[stuck.to].type.is_scalar()) stuck.text = aside;
      stuck.reads.clear();
      stuck.emptied = kNone;
    }
    return text;
  }

  void collect(ir::ValueId v, std::set<std::uint32_t>& reads) const {
    if (inlined_[v.index]) {
      for (ir::ValueId o : definition(v)->operands) collect(o, reads);
    } else if (variable_[v.index] != kNone) {
      reads.insert(variable_[v.index]);
    }
  }

  std::string sequence(const Sequence& steps, int indent) {
    std::string text;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      text += declarations(steps, i, indent);
      text += step(steps[i], indent);
    }
    return text;
  }

  std::string step(const Step& s, int indent) {
    const ir::Block* block = s.block == Step::kNoBlock ? nullptr : &main_.blocks[s.block];
    const std::string lead = tabs(indent);
    switch (s.kind) {
      case Kind::Ops: {
        std::string text;
        for (const ir::Op& op : block->body) {
          if (is_constant_op(op) || is_inlined(op)) continue;
          text += comment(op.span, indent) + statement(op, indent);
        }
        return text;
      }
      case Kind::Edge: return edge(*block, s.arm, indent);
      case Kind::If: return if_step(s, *block, indent);
      case Kind::Switch: return switch_step(s, *block, indent);
      case Kind::Loop: return loop_step(s, indent);
      case Kind::Break: return lead + "break;\n";
      case Kind::Continue: return lead + "continue;\n";
      case Kind::Return: return comment(exit_span(*block), indent) + lead + "return give(" + results(*block) + ");\n";
      case Kind::Raise: {
        const auto& failure = std::get<ir::Raise>(block->exit);
        std::string text = "raise(" + quoted(failure.type) + ", " + quoted(failure.message);
        for (ir::ValueId v : failure.args) text += ", " + typed(v);
        return comment(exit_span(*block), indent) + lead + text + ");\n";
      }
      case Kind::Flag: return lead + "bool " + flag(s.number) + " = false;\n";
      case Kind::SetFlag: return lead + flag(s.number) + " = true;\n";
      case Kind::When:
        return lead + "if (" + flag(s.number) + ") {\n" + sequence(s.parts[0], indent + 1) + lead + "}\n";
      case Kind::Unless: {
        std::string none;
        for (std::uint32_t f : s.flags) none += (none.empty() ? "!" : " && !") + flag(f);
        return lead + "if (" + none + ") {\n" + sequence(s.parts[0], indent + 1) + lead + "}\n";
      }
      case Kind::SetTarget: return lead + "target_" + std::to_string(s.number) + " = " + std::to_string(s.arm) + ";\n";
      case Kind::Dispatch: return dispatch(s, indent);
    }
    return {};
  }

  // Whether control never falls off the end.
  static bool ends(const Sequence& steps) {
    if (steps.empty()) return false;
    const Step& last = steps.back();
    if (last.kind == Kind::Return || last.kind == Kind::Raise) return true;
    if (last.kind == Kind::Loop) return !breaks(last.parts[0]);
    if (last.kind != Kind::If && last.kind != Kind::Switch) return false;
    return std::all_of(last.parts.begin(), last.parts.end(), [](const Sequence& part) { return ends(part); });
  }

  static SourceSpan exit_span(const ir::Block& block) { return block.exit_span.known() ? block.exit_span : block.span; }
  static std::string flag(std::uint32_t number) { return "done_" + std::to_string(number); }

  std::string results(const ir::Block& block) {
    const auto& values = std::get<ir::Return>(block.exit).values;
    std::string text;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool dies = liveness_.tracked[values[i].index] && !read_beside(values, i);
      text += (text.empty() ? "" : ", ") + value(values[i], dies).text;
    }
    return text;
  }

  std::string if_step(const Step& s, const ir::Block& block, int indent) {
    Expression condition = value(std::get<ir::Branch>(block.exit).condition);
    if (options_.watch)
      condition = {"taken(" + std::to_string(decision_number_[s.block]) + ", " + condition.text + ")"};
    const std::string note = comment(exit_span(block), indent);
    const std::string yes = sequence(s.parts[0], indent + 1);
    const std::string no = sequence(s.parts[1], indent + 1);
    const std::string lead = tabs(indent);
    if (yes.empty() && no.empty()) {
      const bool plain = condition.binding == 3 && condition.text.find('(') == std::string::npos;
      return plain ? note : note + lead + "static_cast<void>(" + condition.text + ");\n";
    }
    if (yes.empty()) return note + lead + "if (!" + inside(condition) + ") {\n" + no + lead + "}\n";
    std::string text = note + lead + "if (" + condition.text + ") {\n" + yes + lead + "}";
    if (!no.empty()) text += " else {\n" + no + lead + "}";
    return text + "\n";
  }

  // A `break` in a switch would leave the switch.
  static bool breaks(const Sequence& steps) {
    return std::any_of(steps.begin(), steps.end(), [](const Step& s) {
      return s.kind == Kind::Break ||
             (s.kind != Kind::Loop &&
              std::any_of(s.parts.begin(), s.parts.end(), [](const Sequence& p) { return breaks(p); }));
    });
  }

  std::string switch_step(const Step& s, const ir::Block& block, int indent) {
    const auto& choice = std::get<ir::Switch>(block.exit);
    std::string selector = value(choice.selector).text;
    const std::string note = comment(exit_span(block), indent);
    std::vector<std::string> labels;
    std::set<std::int64_t> known;
    std::vector<std::size_t> parts;
    for (std::size_t i = 0; i < choice.cases.size(); ++i) {
      if (!options_.watch && !known.insert(choice.cases[i]).second) continue;  // the first one counts
      labels.push_back(options_.watch ? std::to_string(i) : literal(choice.cases[i]));
      parts.push_back(i);
    }
    if (options_.watch) {
      std::string cases;
      for (std::int64_t c : choice.cases) cases += (cases.empty() ? "" : ", ") + literal(c);
      selector = "arm(" + std::to_string(decision_number_[s.block]) + ", " + selector + ", {" + cases + "})";
    }
    return note + cases_text(s, selector, labels, parts, indent);
  }

  std::string dispatch(const Step& s, int indent) {
    std::vector<std::string> labels;
    std::vector<std::size_t> parts;
    for (std::size_t i = 0; i + 1 < s.parts.size(); ++i) {
      labels.push_back(std::to_string(i));
      parts.push_back(i);
    }
    return cases_text(s, "target_" + std::to_string(s.number), labels, parts, indent);
  }

  // The last part is the default.
  std::string cases_text(const Step& s, const std::string& selector, const std::vector<std::string>& labels,
                         const std::vector<std::size_t>& parts, int indent) {
    const std::string lead = tabs(indent);
    if (labels.empty()) {
      const bool plain = selector.find('(') == std::string::npos;
      return (plain ? "" : lead + "static_cast<void>(" + selector + ");\n") + lead + "{\n" +
             sequence(s.parts.back(), indent + 1) + lead + "}\n";
    }
    const bool chain = std::any_of(s.parts.begin(), s.parts.end(), [](const Sequence& p) { return breaks(p); });
    if (chain) {
      const std::string name = fresh("choice", "choice");
      std::string text = lead + "const auto " + name + " = " + selector + ";\n" + lead;
      for (std::size_t i = 0; i < labels.size(); ++i)
        text +=
            "if (" + name + " == " + labels[i] + ") {\n" + sequence(s.parts[parts[i]], indent + 1) + lead + "} else ";
      return text + "{\n" + sequence(s.parts.back(), indent + 1) + lead + "}\n";
    }
    std::string text = lead + "switch (" + selector + ") {\n";
    for (std::size_t i = 0; i < labels.size(); ++i)
      text += lead + "  case " + labels[i] + ": {\n" + sequence(s.parts[parts[i]], indent + 2) + lead + "    break;\n" +
              lead + "  }\n";
    return text + lead + "  default: {\n" + sequence(s.parts.back(), indent + 2) + lead + "    break;\n" + lead +
           "  }\n" + lead + "}\n";
  }

  std::string loop_step(const Step& s, int indent) {
    const std::uint32_t number = s.block == Step::kNoBlock ? kNone : loop_number_[s.block];
    const std::string lead = tabs(indent);
    if (number == kNone) return lead + "for (;;) {\n" + sequence(s.parts[0], indent + 1) + lead + "}\n";
    const std::string name = fresh("rounds", "rounds");
    const std::string note = comment(main_.blocks[s.block].span, indent);
    std::string body = sequence(s.parts[0], indent + 1);
    // A test at the top is the loop's own.
    std::string condition, above;
    if (body.starts_with(tabs(indent + 1) + "// ")) {
      const std::size_t line = body.find('\n') + 1;
      if (body.compare(line, indent_width(indent + 1) + 5, tabs(indent + 1) + "if (!") == 0) {
        above = body.substr(2, line - 2);
        body.erase(0, line);
      }
    }
    const std::string pattern = tabs(indent + 1) + "if (!";
    const std::string rest = ") {\n" + tabs(indent + 2) + "break;\n" + tabs(indent + 1) + "}\n";
    if (body.starts_with(pattern)) {
      const std::size_t line = body.find('\n');
      if (body.compare(line - 3, rest.size(), rest) == 0) {
        condition = body.substr(pattern.size(), line - 3 - pattern.size());
        body.erase(0, line - 3 + rest.size());
        if (condition.starts_with("(") && closes_at_end(condition))
          condition = condition.substr(1, condition.size() - 2);
      }
    }
    return note + above + lead + "for (Loop " + name + " = limited(" + std::to_string(number) + ");" +
           (condition.empty() ? "" : " ") + condition + "; " + name + ".next()) {\n" + body + lead + "}\n";
  }

  static bool closes_at_end(const std::string& text) {
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
      if (depth == 0) return i + 1 == text.size();
    }
    return false;
  }

  const PackageProgram& package_;
  const ir::Function& original_;
  const ir::Function main_;
  const CppOptions& options_;
  const Structure structure_;
  const ir::Dominators dominators_;
  const Liveness liveness_;
  std::vector<std::uint32_t> uses_;                           // by value
  std::vector<Place> host_;                                   // by value: its last use
  std::vector<bool> inlined_;                                 // by value: written where it is used
  std::set<std::uint32_t> tied_inside_;                       // inlined values that must be computed at their place
  std::vector<const ir::Op*> constants_;                      // by value
  std::vector<std::uint32_t> constant_index_;                 // by value: in the plan
  std::vector<std::uint32_t> variable_;                       // by value
  std::vector<std::uint32_t> loop_number_, decision_number_;  // by block
  std::map<std::string, std::uint32_t> sub_dnn_index_;
  std::set<std::pair<const ir::Op*, std::uint32_t>> dies_;
  std::vector<Variable> variables_;
  std::set<std::string> taken_;
  std::map<std::uint32_t, std::vector<std::pair<const Sequence*, std::size_t>>> common_;
  std::vector<std::pair<const Sequence*, std::size_t>> path_;
  std::set<std::uint32_t> declared_;
  std::vector<std::pair<std::string, std::string>> types_;
  std::string last_comment_;
};

}  // namespace

std::string identifier(const std::string& text) {
  std::string out;
  for (const char c : text) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  while (out.find("__") != std::string::npos) out.erase(out.find("__"), 1);
  while (!out.empty() && out.front() == '_') out.erase(0, 1);
  while (!out.empty() && out.back() == '_') out.pop_back();
  if (out.empty()) return "x";
  if (std::isdigit(static_cast<unsigned char>(out.front()))) out = "x" + out;
  return out;
}

std::string class_name(const std::string& name) {
  std::string out;
  bool upper = true;
  for (const char c : name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return out;
}

std::string cpp_type(const ir::Type& type) {
  switch (type.kind) {
    case ir::Type::Kind::Bool: return "bool";
    case ir::Type::Kind::Int: return "std::int64_t";
    case ir::Type::Kind::Float: return "double";
    case ir::Type::Kind::Tensor: return "Tensor";
    case ir::Type::Kind::List: return "List<" + cpp_type(type.element.at(0)) + ">";
    case ir::Type::Kind::Optional: return "Optional<" + cpp_type(type.element.at(0)) + ">";
  }
  return "";
}

Result<CppBody> write_cpp_body(const PackageProgram& package, const CppOptions& options) {
  return BodyWriter(package, options).run();
}

}  // namespace dycl::emit
