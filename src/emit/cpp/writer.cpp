// SPDX-License-Identifier: Apache-2.0
#include "emit/cpp/writer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "emit/cpp/expressions.h"
#include "emit/cpp/text.h"
#include "emit/cpp/values.h"
#include "emit/cpp/variables.h"
#include "emit/structure/early_returns.h"
#include "emit/structure/structure.h"
#include "ir/edges.h"
#include "ir/user_lines.h"

namespace dycl::emit {
namespace {

using Kind = Step::Kind;

constexpr std::uint32_t kNone = 0xffffffffU;

// Loops and decisions have the numbers that package/lower_to_plan.cpp gives them.
struct Numbers {
  std::vector<std::uint32_t> loop, decision;  // by block

  explicit Numbers(const ir::Function& original, std::size_t blocks) : loop(blocks, kNone), decision(blocks, kNone) {
    std::uint32_t loops = 0, decisions = 0;
    const ir::Dominators dominators(original);
    for (std::uint32_t b : dominators.order()) {
      ir::for_each_edge(original.blocks[b].exit, [&](const ir::Edge& e) {
        const bool back = dominators.position(e.target) <= dominators.position({b});
        if (back && loop[e.target.index] == kNone) loop[e.target.index] = loops++;
      });
    }
    for (std::uint32_t b : dominators.order()) {
      const ir::Exit& exit = original.blocks[b].exit;
      if (std::holds_alternative<ir::Branch>(exit) || std::holds_alternative<ir::Switch>(exit))
        decision[b] = decisions++;
    }
  }
};

class BodyWriter {
 public:
  BodyWriter(const package::PackageProgram& package, const CppOptions& options, const std::vector<ResultField>& fields)
      : package_(package),
        options_(options),
        fields_(fields),
        values_(with_early_returns(package.program.main())),
        main_(values_.main()),
        structure_(structure_of(main_)),
        variables_(values_, structure_, fields),
        expressions_(package, values_, variables_),
        numbers_(package.program.main(), main_.blocks.size()) {}

  CppBody run() {
    CppBody body;
    for (std::uint32_t d = 0; d < structure_.dispatchers; ++d) body.text += "  std::uint32_t " + target(d) + " = 0;\n";
    body.text += expressions_.constants() + variables_.arrays() + sequence(structure_.body, 1);
    if (!ends(structure_.body)) body.text += "  std::abort();  // every way returns before\n";
    for (std::uint32_t i = 0; i < main_.params.size(); ++i) {
      const ir::ValueId v = main_.params[i].value;
      if (!values_.is_used(v)) continue;
      const std::string& name = variables_.name(v);
      const bool kept = !variables_.is_assigned(v) && body.text.find("std::move(" + name + ")") == std::string::npos;
      body.parameters.push_back({name, main_.type_of(v), i, kept});
    }
    body.sub_dnns = expressions_.sub_dnns();
    body.members = expressions_.members();
    return body;
  }

 private:
  // The Python line of a step; once where several steps in a row have it.
  std::string comment(const SourceSpan& span, int indent) {
    if (!ir::is_users(span, package_.program.sources)) return {};
    const std::string file = std::filesystem::path(package_.program.sources[span.file]).filename().string();
    const std::string place = file + ":" + std::to_string(span.line);
    if (place == last_comment_) return {};
    last_comment_ = place;
    last_indent_ = indent;
    const std::string line = comment_text(package_.line(span), 90);
    return tabs(indent) + "// " + comment_text(place, 200) + (line.empty() ? "" : "  " + line) + "\n";
  }

  static SourceSpan exit_span(const ir::Block& block) { return block.exit_span.known() ? block.exit_span : block.span; }
  // Names of our own among the user's.
  std::string flag(std::uint32_t number) { return own_name(flags_[number], "done"); }
  std::string target(std::uint32_t dispatcher) { return own_name(targets_[dispatcher], "target"); }
  std::string own_name(std::string& known, const char* name) {
    if (known.empty()) known = variables_.fresh(name, name);
    return known;
  }

  // ---- statements ------------------------------------------------------------------------------------

  std::string statement(const ir::Op& op, int indent) {
    if (op.results.empty()) return tabs(indent) + expressions_.of(op).text + ";\n";
    if (op.results.size() > 1) return several(op, indent);
    const std::string text = expressions_.of(op).text;
    const ir::ValueId result = op.results[0];
    if (!values_.is_used(result)) return tabs(indent) + "static_cast<void>(" + text + ");\n";
    return tabs(indent) + variables_.declares(result) + variables_.name(result) + " = " + text + ";\n";
  }

  // Several results: a structured binding if all of them are new here, else into what is there.
  std::string several(const ir::Op& op, int indent) {
    std::vector<ir::ValueId> targets;
    bool all_new = true, any_used = false;
    for (ir::ValueId r : op.results) {
      const std::uint32_t number = values_.folded(r);
      targets.push_back(number == kNone ? r : ir::ValueId{number});
      const bool used = values_.is_used(targets.back());
      any_used = any_used || used;
      all_new = all_new && number == kNone && (!used || variables_.is_new(r));
    }
    const std::string text = expressions_.of(op).text;
    if (!any_used) return tabs(indent) + "static_cast<void>(" + text + ");\n";
    std::vector<std::string> names;
    std::map<std::string, std::vector<std::string>> declared;  // by type
    for (ir::ValueId v : targets) {
      if (!values_.is_used(v)) {
        names.push_back(all_new ? variables_.fresh("", "unused") : "std::ignore");
        continue;
      }
      names.push_back(variables_.name(v));
      if (!variables_.declares(v).empty())
        declared[cpp_type(main_.type_of(v))].push_back(names.back() + (main_.type_of(v).is_scalar() ? "{}" : ""));
    }
    if (all_new) return tabs(indent) + "auto [" + joined(names) + "] = " + text + ";\n";
    std::string lines;
    for (const auto& [type, variables] : declared) lines += tabs(indent) + type + " " + joined(variables) + ";\n";
    return lines + tabs(indent) + (op.name == "call" ? "into(" : "std::tie(") + joined(names) + ") = " + text + ";\n";
  }

  // All moves as if at once.
  std::string edge(const ir::Block& block, std::uint32_t arm, int indent) {
    const ir::Edge& e = edge_of(block, arm);
    const ir::Block& target = main_.block(e.target);
    struct Move {
      ir::ValueId to;  // a parameter of the target
      std::string text;
      std::set<std::uint32_t> reads;
      std::uint32_t emptied;  // moved from
    };
    std::vector<Move> moves;
    for (std::size_t i = 0; i < e.args.size(); ++i) {
      const ir::ValueId from = e.args[i], to = target.params[i];
      const bool has_variable = !values_.is_inlined(from) && !values_.constant(from);
      if (!values_.is_used(to) || (has_variable && variables_.number(from) == variables_.number(to))) continue;
      const bool dies = values_.dies_before(e.target, from) && std::count(e.args.begin(), e.args.end(), from) == 1;
      moves.push_back({to, expressions_.of(from, dies).text, variables_read(from),
                       dies && has_variable ? variables_.number(from) : kNone});
    }
    std::string text;
    while (!moves.empty()) {
      const auto ready = std::find_if(moves.begin(), moves.end(), [&](const Move& m) {
        return std::none_of(moves.begin(), moves.end(), [&](const Move& other) {
          return &other != &m &&
                 (other.reads.count(variables_.number(m.to)) || (m.emptied != kNone && other.reads.count(m.emptied)));
        });
      });
      if (ready != moves.end()) {
        text +=
            tabs(indent) + variables_.declares(ready->to) + variables_.name(ready->to) + " = " + ready->text + ";\n";
        moves.erase(ready);
        continue;
      }
      Move& stuck = moves.front();  // a cycle: keep its value aside
      const std::string aside = variables_.fresh(variables_.name(stuck.to) + "_next", "next");
      text += tabs(indent) + "auto " + aside + " = " + stuck.text + ";\n";
      stuck.text = "std::move(" + aside + ")";
      if (main_.type_of(stuck.to).is_scalar()) stuck.text = aside;
      stuck.reads.clear();
      stuck.emptied = kNone;
    }
    return text;
  }

  std::set<std::uint32_t> variables_read(ir::ValueId v) const {
    std::set<std::uint32_t> values, read;
    values_.collect(v, values);
    for (const std::uint32_t r : values) read.insert(variables_.number({r}));
    return read;
  }

  std::string sequence(const Sequence& steps, int indent) {
    std::string text;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      text += variables_.declarations(steps, i, indent);
      text += step(steps[i], indent);
      if (!steps[i].parts.empty() && last_indent_ > indent) last_comment_.clear();
    }
    return text;
  }

  std::string step(const Step& s, int indent) {
    const auto block = [&]() -> const ir::Block& { return block_of(main_, s); };
    const std::string lead = tabs(indent);
    switch (s.kind) {
      case Kind::Ops: {
        std::string text;
        for (const ir::Op& op : block().body) {
          if (values_.is_silent(op)) continue;
          text += comment(op.span, indent) + statement(op, indent);
        }
        return text;
      }
      case Kind::Edge: return edge(block(), s.arm, indent);
      case Kind::If: return if_step(s, block(), indent);
      case Kind::Switch: return switch_step(s, block(), indent);
      case Kind::Loop: return loop_step(s, indent);
      case Kind::Once: return lead + "do {\n" + sequence(s.parts[0], indent + 1) + lead + "} while (false);\n";
      case Kind::Break: return lead + "break;\n";
      case Kind::Continue: return lead + "continue;\n";
      // Without a place of its own it is where several ways out meet.
      case Kind::Return: return comment(block().exit_span, indent) + return_step(block(), indent);
      case Kind::Raise: {
        const auto& failure = std::get<ir::Raise>(block().exit);
        std::string text = "raise(" + quoted(failure.type) + ", " + quoted(failure.message);
        for (ir::ValueId v : failure.args) text += ", " + expressions_.typed(v);
        return comment(exit_span(block()), indent) + lead + text + ");\n";
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
      case Kind::SetTarget: return lead + target(s.number) + " = " + std::to_string(s.arm) + ";\n";
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
    if (last.kind == Kind::Once) return !breaks(last.parts[0]) && ends(last.parts[0]);
    if (last.kind != Kind::If && last.kind != Kind::Switch) return false;
    return std::all_of(last.parts.begin(), last.parts.end(), [](const Sequence& part) { return ends(part); });
  }

  std::string return_step(const ir::Block& block, int indent) {
    const auto& given = std::get<ir::Return>(block.exit).values;
    const auto value = [&](std::size_t i) {
      return expressions_.of(given[i], values_.owns_memory(given[i]) && !expressions_.read_beside(given, i)).text;
    };
    std::string text;
    std::vector<std::string> results;
    for (const ResultField& field : fields_) {
      if (!field.is_array) {
        results.push_back(value(field.first));
        continue;
      }
      const std::string array = variables_.array(field.first);
      std::vector<std::string> items;
      for (std::size_t i = 0; i < field.count; ++i) {
        const ir::ValueId v = given[field.first + i];
        const bool has_variable = !values_.is_inlined(v) && !values_.constant(v);
        if (array.empty())
          items.push_back(value(field.first + i));
        else if (!has_variable || !variables_.is_in_array(v))
          text += tabs(indent) + array + "[" + std::to_string(i) + "] = " + value(field.first + i) + ";\n";
      }
      const bool moves = !array.empty() && !field.type.is_scalar();
      results.push_back(array.empty() ? "{" + joined(items) + "}" : moves ? "std::move(" + array + ")" : array);
    }
    return text + tabs(indent) + "return give(" + joined(results) + ");\n";
  }

  std::string if_step(const Step& s, const ir::Block& block, int indent) {
    Expression condition = expressions_.of(std::get<ir::Branch>(block.exit).condition);
    if (options_.watch)
      condition = {"taken(" + std::to_string(numbers_.decision[s.block]) + ", " + condition.text + ")"};
    const std::string note = comment(exit_span(block), indent);
    std::string yes = sequence(s.parts[0], indent + 1);
    const std::string no = sequence(s.parts[1], indent + 1);
    const std::string lead = tabs(indent);
    if (yes.empty() && no.empty()) {
      const bool plain = condition.binding == 3 && condition.text.find('(') == std::string::npos;
      return plain ? note : note + lead + "static_cast<void>(" + condition.text + ");\n";
    }
    if (!options_.watch && without_comments(yes) == without_comments(no) && cannot_fail(block)) return yes;
    if (yes.empty()) {
      // What ends a loop at its top stays as it was asked: loop_step takes it over.
      const bool plain = !options_.watch && no != tabs(indent + 1) + "break;\n";
      const Expression opposite = plain ? expressions_.negation(std::get<ir::Branch>(block.exit).condition)
                                        : Expression{"!" + inside(condition)};
      return note + lead + "if (" + opposite.text + ")" + arm(no, lead) + "\n";
    }
    const bool plain = no.empty() ? is_one_line(yes) : is_one_line(yes) && is_one_line(no);
    std::string text = note + lead + "if (" + condition.text + ")" + (plain ? "\n" + yes : " {\n" + yes + lead + "}");
    if (no.empty()) return text + (plain ? "" : "\n");
    return text + (plain ? lead + "else\n" + no : " else {\n" + no + lead + "}\n");
  }

  // Arms that do the same need no decision, if nothing goes wrong in asking.
  bool cannot_fail(const ir::Block& block) const {
    const ir::ValueId condition = std::get<ir::Branch>(block.exit).condition;
    if (!values_.is_inlined(condition)) return true;
    const ir::Op& op = values_.definition(condition);
    if (op.name != "item" || values_.is_inlined(op.operands[0])) return false;
    const ir::Type& asked = main_.type_of(op.operands[0]);
    return asked.is_tensor() && asked.shape && asked.shape->empty() && asked.dtype == DType::Bool;
  }
  static std::string without_comments(const std::string& arm) {
    std::string code;
    for (std::size_t at = 0, end = 0; at < arm.size(); at = end) {
      end = std::min(arm.find('\n', at), arm.size() - 1) + 1;
      const std::size_t first = std::min(arm.find_first_not_of(' ', at), end);
      if (arm.compare(first, 2, "//") != 0) code += arm.substr(first, end - first);
    }
    return code;
  }

  // An arm of a single line needs no braces, as long as it is no `if` of its own.
  static bool is_one_line(const std::string& arm) {
    const std::size_t begin = arm.find_first_not_of(' ');
    return arm.find('\n') + 1 == arm.size() && arm.size() <= kWidth && arm.compare(begin, 2, "//") != 0;
  }
  static std::string arm(const std::string& text, const std::string& lead) {
    return is_one_line(text) ? "\n" + text.substr(0, text.size() - 1) : " {\n" + text + lead + "}";
  }

  // A `break` in a switch would leave the switch.
  static bool breaks(const Sequence& steps) {
    return std::any_of(steps.begin(), steps.end(), [](const Step& s) {
      return s.kind == Kind::Break ||
             (s.kind != Kind::Loop && s.kind != Kind::Once &&
              std::any_of(s.parts.begin(), s.parts.end(), [](const Sequence& p) { return breaks(p); }));
    });
  }

  std::string switch_step(const Step& s, const ir::Block& block, int indent) {
    const auto& choice = std::get<ir::Switch>(block.exit);
    std::string selector = expressions_.of(choice.selector).text;
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
      selector = "arm(" + std::to_string(numbers_.decision[s.block]) + ", " + selector + ", {" + cases + "})";
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
    return cases_text(s, target(s.number), labels, parts, indent);
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
      const std::string name = variables_.fresh("choice", "choice");
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
    const std::uint32_t number = s.block == Step::kNoBlock ? kNone : numbers_.loop[s.block];
    const std::string lead = tabs(indent);
    if (number == kNone) return lead + "for (;;) {\n" + sequence(s.parts[0], indent + 1) + lead + "}\n";
    const std::string name = variables_.fresh("rounds", "rounds");
    const std::string note = comment(main_.blocks[s.block].span, indent);
    std::string body = sequence(s.parts[0], indent + 1);
    // A test at the top is the loop's own.
    std::string condition, above;
    if (body.starts_with(tabs(indent + 1) + "// ")) {
      const std::size_t line = body.find('\n') + 1;
      if (body.compare(line, tabs(indent + 1).size() + 5, tabs(indent + 1) + "if (!") == 0) {
        above = body.substr(2, line - 2);
        body.erase(0, line);
      }
    }
    const std::string pattern = tabs(indent + 1) + "if (!";
    const std::string rest = ")\n" + tabs(indent + 2) + "break;\n";
    if (body.starts_with(pattern)) {
      const std::size_t line = body.find('\n');
      if (body.compare(line - 1, rest.size(), rest) == 0) {
        condition = body.substr(pattern.size(), line - 1 - pattern.size());
        body.erase(0, line - 1 + rest.size());
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

  const package::PackageProgram& package_;
  const CppOptions& options_;
  const std::vector<ResultField>& fields_;
  const CppValues values_;
  const ir::Function& main_;
  const Structure structure_;
  CppVariables variables_;
  CppExpressions expressions_;
  const Numbers numbers_;
  std::map<std::uint32_t, std::string> flags_, targets_;
  std::string last_comment_;
  int last_indent_ = 0;
};

}  // namespace

Result<CppBody> write_cpp_body(const package::PackageProgram& package, const CppOptions& options,
                               const std::vector<ResultField>& fields) {
  return BodyWriter(package, options, fields).run();
}

}  // namespace dycl::emit
