// SPDX-License-Identifier: Apache-2.0
#include "emit/cpp/variables.h"

#include <algorithm>

#include "emit/cpp/text.h"

namespace dycl::emit {
namespace {

using Kind = Step::Kind;

const char* fallback_name(const ir::Type& type) {
  switch (type.kind) {
    case ir::Type::Kind::Bool: return "yes";
    case ir::Type::Kind::Int: return "n";
    case ir::Type::Kind::Float: return "number";
    case ir::Type::Kind::Tensor: return "t";
    default: return "items";
  }
}

const char* initial(const ir::Type& type) {
  switch (type.kind) {
    case ir::Type::Kind::Bool: return " = false";
    case ir::Type::Kind::Int: return " = 0";
    case ir::Type::Kind::Float: return " = 0.0";
    default: return "";
  }
}

}  // namespace

CppVariables::CppVariables(const CppValues& values, const Structure& structure, const std::vector<ResultField>& fields)
    : values_(values), main_(values.main()), structure_(structure), fields_(fields) {
  find_hints();
  make_arguments();
  make_arrays();
  // A constant may stand in a block that is no longer reached.
  for (std::uint32_t v = 0; v < main_.values.size(); ++v)
    if (values_.constant({v}) && !main_.values[v].type.is_scalar()) make({v});
  make_in_order(structure_.body);
  for (std::uint32_t b : values_.dominators().order()) {
    for (ir::ValueId v : main_.blocks[b].params) make(v);
    make_results(main_.blocks[b]);
  }
  Path path;
  scan(structure_.body, path);
  for (const auto& [variable, place] : common_)
    if (!place.empty()) declared_before_[place.back()].push_back(variable);
}

// ---- names -----------------------------------------------------------------------------------------

// The user's names, the most frequent one of a variable's values; what has none is called after the result that it
// becomes.
void CppVariables::find_hints() {
  std::map<std::uint32_t, std::map<std::string, int>> counts;  // by variable
  const auto note = [&](ir::ValueId v) {
    const std::string name = python_name(main_.values[v.index].hint);
    if (name.empty() || !values_.is_used(v)) return;
    hints_.emplace(number(v), name);
    ++counts[number(v)][name];
  };
  for (std::uint32_t b : values_.dominators().order())
    for (ir::ValueId v : main_.blocks[b].params) note(v);
  for (std::uint32_t b : values_.dominators().order())
    for (const ir::Op& op : main_.blocks[b].body)
      for (ir::ValueId v : op.results) note(v);
  for (auto& [variable, hint] : hints_)
    for (const auto& [name, count] : counts.at(variable))
      if (count > counts.at(variable).at(hint)) hint = name;
  for (std::uint32_t b : values_.dominators().order()) {
    const auto* given = std::get_if<ir::Return>(&main_.blocks[b].exit);
    if (!given) continue;
    for (const ResultField& field : fields_)
      if (!field.is_array && field.is_named) hints_.emplace(number(given->values[field.first]), field.name);
  }
}

std::string CppVariables::fresh(const std::string& hint, const char* fallback) {
  std::string base = hint.empty() ? fallback : identifier(hint);
  if (is_reserved(base)) base += "_";
  if (taken_.insert(base).second) return base;
  for (int n = 1;; ++n) {
    std::string name = base + (base.ends_with('_') ? "" : "_") + std::to_string(n);
    if (taken_.insert(name).second) return name;
  }
}

void CppVariables::make_arguments() {
  for (const ir::Param& p : main_.params) {
    if (!values_.is_used(p.value)) continue;
    const std::string hint = p.state.empty() ? python_name(main_.values[p.value.index].hint) : p.state;
    Variable made{fresh(hint, "input_"), main_.type_of(p.value)};
    made.is_argument = true;
    variables_.emplace(number(p.value), std::move(made));
  }
}

void CppVariables::make_arrays() {
  const ir::Return* only = nullptr;
  for (std::uint32_t b : values_.dominators().order()) {
    const auto* here = std::get_if<ir::Return>(&main_.blocks[b].exit);
    if (here && only) return;
    if (here) only = here;
  }
  if (!only) return;
  for (const ResultField& field : fields_) {
    if (!field.is_array) continue;
    const std::string& array = arrays_.emplace(field.first, fresh(field.name, "")).first->second;
    for (std::size_t i = 0; i < field.count; ++i) {
      const ir::ValueId v = only->values[field.first + i];
      if (values_.is_inlined(v) || values_.constant(v) || variables_.count(number(v)) || !only_returned(number(v)))
        continue;
      Variable made{array + "[" + std::to_string(i) + "]", main_.type_of(v)};
      made.in_array = true;
      variables_.emplace(number(v), std::move(made));
    }
  }
}

// Nothing reads it but one return, directly or through parameters with the same variable.
bool CppVariables::only_returned(std::uint32_t variable) const {
  int returned = 0;
  bool other = false;
  const auto is_it = [&](ir::ValueId v) {
    return v.present() && !values_.is_inlined(v) && !values_.constant(v) && number(v) == variable;
  };
  for (std::uint32_t b : values_.dominators().order()) {
    const ir::Block& block = main_.blocks[b];
    for (const ir::Op& op : block.body) other = other || std::any_of(op.operands.begin(), op.operands.end(), is_it);
    const bool is_return = std::holds_alternative<ir::Return>(block.exit);
    for_each_exit_operand(block.exit, [&](ir::ValueId v) {
      if (!is_it(v)) return;
      returned += is_return;
      other = other || !is_return;
    });
    ir::for_each_edge(block.exit, [&](const ir::Edge& e) {
      const auto& params = main_.block(e.target).params;
      for (std::size_t i = 0; i < params.size(); ++i)
        other = other || (is_it(e.args[i]) && values_.is_used(params[i]) && number(params[i]) != variable);
    });
  }
  return returned == 1 && !other;
}

// Numbers of names grow as the text does.
void CppVariables::make_in_order(const Sequence& steps) {
  for (const Step& s : steps) {
    if (s.kind == Kind::Ops) make_results(block_of(main_, s));
    if (s.kind == Kind::Edge)
      for (ir::ValueId v : main_.block(edge_of(block_of(main_, s), s.arm).target).params) make(v);
    for (const Sequence& part : s.parts) make_in_order(part);
  }
}

void CppVariables::make_results(const ir::Block& block) {
  for (const ir::Op& op : block.body) {
    for (ir::ValueId v : op.results) {
      if (!v.present() || values_.is_inlined(v) || values_.folded(v) != CppValues::kNone) continue;
      if (!values_.constant(v)) make(v);
    }
  }
}

void CppVariables::make(ir::ValueId v) {
  if (variables_.count(number(v))) return;
  const char* fallback = values_.constant(v) ? "fixed" : fallback_name(main_.type_of(v));
  const auto found = hints_.find(number(v));
  std::string hint = found == hints_.end() ? "" : found->second;
  // What capture called a tensor that the program made of nothing.
  if (values_.constant(v) && hint == "constant") hint.clear();
  variables_.emplace(number(v), Variable{fresh(hint, fallback), main_.type_of(v)});
}

// ---- scopes ----------------------------------------------------------------------------------------

// Visits the tree and remembers, for each variable, the innermost sequence that holds all its mentions.
void CppVariables::scan(const Sequence& steps, Path& path) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    path.emplace_back(&steps, i);
    mention(steps[i], path);
    for (const Sequence& part : steps[i].parts) scan(part, path);
    path.pop_back();
  }
}

void CppVariables::touch(ir::ValueId v, bool assigns, bool by_edge, const Path& path) {
  const auto it = variables_.find(number(v));
  if (it == variables_.end()) return;
  if (assigns) {
    ++it->second.assignments;
    it->second.by_edges = it->second.by_edges || by_edge;
  }
  Path& common = common_[number(v)];
  if (common.empty()) {
    common = path;
    return;
  }
  std::size_t same = 0;
  while (same < common.size() && same < path.size() && common[same] == path[same]) ++same;
  // Where they part they are in one sequence; the declaration goes before the first of both.
  if (same < common.size() && same < path.size() && common[same].first == path[same].first) {
    common[same].second = std::min(common[same].second, path[same].second);
    ++same;
  }
  common.resize(same);
}

void CppVariables::read(ir::ValueId v, const Path& path) {
  std::set<std::uint32_t> reads;
  values_.collect(v, reads);
  for (const std::uint32_t r : reads) touch({r}, false, false, path);
}

void CppVariables::mention(const Step& s, const Path& path) {
  if (s.kind == Kind::Ops) {
    for (const ir::Op& op : block_of(main_, s).body) {
      if (values_.is_silent(op)) continue;
      for (ir::ValueId v : op.operands) read(v, path);
      for (ir::ValueId v : op.results) {
        const std::uint32_t number = values_.folded(v);
        const ir::ValueId target = number == CppValues::kNone ? v : ir::ValueId{number};
        if (values_.is_used(target)) touch(target, true, false, path);
      }
    }
  } else if (s.kind == Kind::Edge) {
    const ir::Edge& e = edge_of(block_of(main_, s), s.arm);
    const auto& params = main_.block(e.target).params;
    for (std::size_t i = 0; i < params.size(); ++i) {
      if (!values_.is_used(params[i])) continue;
      read(e.args[i], path);
      const bool moves =
          values_.is_inlined(e.args[i]) || values_.constant(e.args[i]) || number(e.args[i]) != number(params[i]);
      touch(params[i], moves, moves, path);
    }
  } else if (s.kind == Kind::If || s.kind == Kind::Switch || s.kind == Kind::Return || s.kind == Kind::Raise) {
    for_each_exit_operand(block_of(main_, s).exit, [&](ir::ValueId v) { read(v, path); });
  }
}

// Whether this very step assigns the variable, and so can declare it.
bool CppVariables::assigned_by(std::uint32_t variable, const Step& s) const {
  if (s.kind == Kind::Ops) {
    for (const ir::Op& op : main_.blocks[s.block].body) {
      if (values_.is_silent(op)) continue;
      for (ir::ValueId v : op.results) {
        const std::uint32_t number_read = values_.folded(v);
        if (v.present() && number(number_read == CppValues::kNone ? v : ir::ValueId{number_read}) == variable)
          return true;
      }
    }
    return false;
  }
  if (s.kind != Kind::Edge) return false;
  const ir::Edge& e = edge_of(main_.blocks[s.block], s.arm);
  const auto& params = main_.block(e.target).params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (number(params[i]) != variable || !values_.is_used(params[i])) continue;
    const ir::ValueId from = e.args[i];
    if (values_.is_inlined(from) || values_.constant(from) || number(from) != variable) return true;
  }
  return false;
}

// ---- text ------------------------------------------------------------------------------------------

std::string CppVariables::arrays() const {
  std::string text;
  for (const ResultField& field : fields_) {
    const auto array = arrays_.find(field.first);
    if (array == arrays_.end()) continue;
    text += "  std::array<" + cpp_type(field.type) + ", " + std::to_string(field.count) + "> " + array->second +
            (field.type.is_scalar() ? "{};\n" : ";\n");
  }
  return text;
}

std::string CppVariables::declarations(const Sequence& steps, std::size_t index, int indent) {
  std::map<std::string, std::vector<std::string>> by_type;
  const auto here = declared_before_.find({&steps, index});
  if (here == declared_before_.end()) return {};
  for (const std::uint32_t number : here->second) {
    Variable& v = variables_.at(number);
    if (v.is_argument || v.in_array || v.assignments == 0) continue;
    if (structure_.dispatchers == 0 && assigned_by(number, steps[index]))
      v.at_definition = true;
    else
      by_type[cpp_type(v.type)].push_back(v.name + initial(v.type));
  }
  std::string text;
  for (const auto& [type, names] : by_type) text += tabs(indent) + type + " " + joined(names) + ";\n";
  return text;
}

std::string CppVariables::declares(ir::ValueId value) {
  Variable& v = variables_.at(number(value));
  if (!std::exchange(v.at_definition, false)) return {};
  const bool constant = v.type.is_scalar() && v.assignments == 1;
  return (constant ? "const " : "") + cpp_type(v.type) + " ";
}

}  // namespace dycl::emit
