// SPDX-License-Identifier: Apache-2.0
#include "emit/cpp/results.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "emit/cpp/text.h"
#include "emit/structure/early_returns.h"
#include "ir/host_ops.h"
#include "package/liveness.h"
#include "support/parse_json.h"

namespace dycl::emit {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestNote = 1000;  // characters of what a `return` gives, in a comment

bool is_name(const std::string& text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

// "return a, f(b, c)" -> {"a", "f(b, c)"}; empty if it is no whole return statement.
std::vector<std::string> returned_expressions(const std::string& line) {
  if (!line.starts_with("return ")) return {};
  std::vector<std::string> parts = {""};
  int depth = 0;
  for (const char c : line.substr(7)) {
    if (c == '#' && depth == 0) break;
    depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    if (c == ',' && depth == 0)
      parts.emplace_back();
    else if (c != ' ' || !parts.back().empty())
      parts.back() += c;
  }
  if (depth != 0) return {};
  for (std::string& part : parts)
    while (part.ends_with(' ')) part.pop_back();
  return parts;
}

// Variables that every return of the program gives at the same place; "" where they differ.
std::vector<std::string> returned_names(const package::PackageProgram& package, std::size_t count) {
  std::vector<std::string> names;
  for (const ir::Block& block : package.program.main().blocks) {
    if (!std::holds_alternative<ir::Return>(block.exit)) continue;
    const auto here = returned_expressions(package.line(block.exit_span.known() ? block.exit_span : block.span));
    if (here.size() != count) return {};
    if (names.empty()) names = here;
    for (std::size_t i = 0; i < count; ++i)
      if (names[i] != here[i] || !is_name(here[i])) names[i].clear();
  }
  return names;
}

bool is_leaf(const json& node) {
  static const std::set<std::string> kinds = {"tensor", "array", "int", "float", "bool", "rows"};
  return kinds.count(node.at(0).get<std::string>()) != 0;
}
bool is_sequence(const json& node) { return node.at(0) == "tuple" || node.at(0) == "list"; }

// Templates of several `return`s: the first result is the number of one.
struct Variants {
  json templates, slots;  // by variant; where a leaf is among the other results

  static Variants of(const package::PackageProgram& package) {
    Variants found;
    const auto kept = package.program.metadata.find("python");
    if (kept == package.program.metadata.end()) return found;
    const json interface = parse_json<json>(kept->second, kInterfaceDepth);
    if (interface.at("variants").size() < 2) return found;
    found.templates = interface.at("variants");
    found.slots = interface.at("slots");
    return found;
  }
};

// Names that variables or `return` lines give to the results behind the first, by result; "" where they differ.
std::vector<std::string> names_of_variants(const package::PackageProgram& package, const Variants& variants) {
  const ir::Function main = with_early_returns(package.program.main());
  std::map<std::uint32_t, const ir::Op*> constants;
  for (const ir::Block& block : main.blocks)
    for (const ir::Op& op : block.body)
      if (package::is_constant_op(op)) constants[op.results[0].index] = &op;
  std::vector<std::set<std::string>> found(main.results.size());
  for (const ir::Block& block : main.blocks) {
    const auto* given = std::get_if<ir::Return>(&block.exit);
    if (!given) continue;
    for (std::size_t i = 1; i < given->values.size(); ++i)
      if (!constants.count(given->values[i].index)) {
        const std::string hint = python_name(main.values[given->values[i].index].hint);
        if (!hint.empty()) found[i].insert(hint);
      }
    const auto number = constants.find(given->values[0].index);
    const auto* variant = number == constants.end() ? nullptr : ir::attr_as<std::int64_t>(*number->second, "value");
    if (!variant || !block.exit_span.known()) continue;
    const json& node = variants.templates.at(static_cast<std::size_t>(*variant));
    const json& slots = variants.slots.at(static_cast<std::size_t>(*variant));
    const auto expressions = returned_expressions(package.line(block.exit_span));
    if (!is_sequence(node) || node.at(2).size() != expressions.size()) continue;
    std::size_t leaf = 0;
    for (std::size_t i = 0; i < expressions.size() && (is_leaf(node.at(2)[i]) || node.at(2)[i].at(0) == "static"); ++i)
      if (is_leaf(node.at(2)[i]) && leaf < slots.size()) {
        const std::size_t result = 1 + slots[leaf++].get<std::size_t>();
        if (is_name(expressions[i]) && result < found.size()) found[result].insert(expressions[i]);
      }
  }
  std::vector<std::string> names(main.results.size());
  for (std::size_t i = 0; i < names.size(); ++i)
    if (found[i].size() == 1) names[i] = *found[i].begin();
  return names;
}

// A template as Python would write it, with the names of fields for its leaves.
std::string python_text(const json& node, const std::vector<std::string>& leaves, std::size_t& next) {
  const std::string kind = node.at(0);
  if (is_leaf(node)) return next < leaves.size() ? leaves[next++] : "...";
  if (kind == "static") {
    const json& value = node.at(2);
    if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
    return value.is_null()                              ? "None"
           : value.is_string() && node.at(1) == "float" ? value.get<std::string>()
                                                        : value.dump();
  }
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (is_sequence(node)) {
    for (const json& item : node.at(2)) add(python_text(item, leaves, next));
    return kind == "list" ? "[" + text + "]" : "(" + text + ")";
  }
  if (kind != "dict" && kind != "object") return "...";
  for (const json& item : node.at(2)) {
    const std::string key =
        item.at(0).is_string() && kind == "object" ? item.at(0).get<std::string>() : item.at(0).dump();
    add(key + (kind == "dict" ? ": " : "=") + python_text(item.at(1), leaves, next));
  }
  return kind == "dict" ? "{" + text + "}" : "(" + text + ")";
}

class FieldBuilder {
 public:
  FieldBuilder(const std::vector<ir::Output>& results, std::vector<ResultField>& fields)
      : results_(results), fields_(fields) {}

  // A template of python/dycl/calling/templates.py. False: not a structure that has fields.
  bool top(const json& node, const package::PackageProgram& package) {
    const std::string kind = node.at(0);
    if (kind == "dict" || kind == "object") return named(node, "");
    if (kind != "tuple" && kind != "list") {
      const auto names = returned_names(package, 1);
      return place(node, names.empty() || names[0].empty() ? "out0" : names[0]);
    }
    const json& items = node.at(2);
    const auto names = returned_names(package, items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      const bool known = i < names.size() && !names[i].empty();
      if (!place(items[i], known ? names[i] : "out" + std::to_string(i))) return false;
    }
    return true;
  }

  std::size_t placed() const { return next_; }

 private:
  static bool gives_nothing(const json& node) {
    static const std::set<std::string> kinds = {"static", "ref",    "same",     "import",
                                                "lost",   "member", "constant", "written"};
    return kinds.count(node.at(0).get<std::string>()) != 0;
  }

  bool place(const json& node, const std::string& name) {
    const std::string kind = node.at(0);
    if (gives_nothing(node)) return true;
    if (is_leaf(node)) return add(name, 1, false);
    if (kind == "dict" || kind == "object") return named(node, name + "_");
    if (kind != "tuple" && kind != "list") return false;
    const json& items = node.at(2);
    if (is_uniform(items)) return add(name, items.size(), true);
    for (std::size_t i = 0; i < items.size(); ++i)
      if (!place(items[i], name + "_" + std::to_string(i))) return false;
    return true;
  }

  bool named(const json& node, const std::string& prefix) {
    for (const json& item : node.at(2)) {
      const std::string key = item.at(0).is_string() ? item.at(0).get<std::string>() : item.at(0).dump();
      if (!place(item.at(1), prefix + identifier(key))) return false;
    }
    return node.size() < 4 || node.at(3).empty();
  }

  bool is_uniform(const json& items) const {
    if (items.empty() || next_ + items.size() > results_.size()) return false;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const ir::Type& type = results_[next_ + i].type;
      if (!is_leaf(items[i]) || !(type.is_tensor() || type.is_scalar())) return false;
      if (type.kind != results_[next_].type.kind) return false;
    }
    return true;
  }

  bool add(const std::string& name, std::size_t count, bool is_array) {
    if (next_ + count > results_.size()) return false;
    for (std::size_t i = next_; i < next_ + count; ++i)
      if (!results_[i].state.empty()) return false;
    fields_.push_back({name, results_[next_].type, next_, count, is_array});
    next_ += count;
    return true;
  }

  const std::vector<ir::Output>& results_;
  std::vector<ResultField>& fields_;
  std::size_t next_ = 0;
};

// The fields of a Python function's results; how many results they take, 0 if there is no such structure.
std::size_t structured_fields(const package::PackageProgram& package, std::vector<ResultField>& fields) {
  const auto kept = package.program.metadata.find("python");
  if (kept == package.program.metadata.end()) return 0;
  try {
    const json interface = parse_json<json>(kept->second, kInterfaceDepth);
    const json& variants = interface.at("variants");
    if (variants.size() != 1) return 0;
    const auto& slots = interface.at("slots").at(0);
    for (std::size_t i = 0; i < slots.size(); ++i)
      if (slots[i] != i) return 0;
    FieldBuilder builder(package.program.main().results, fields);
    if (builder.top(variants[0], package) && builder.placed() <= slots.size()) return builder.placed();
  } catch (const json::exception&) {  // another version's: its results have their own names
  }
  fields.clear();
  return 0;
}

}  // namespace

std::vector<ResultField> result_fields(const package::PackageProgram& package) {
  const auto& results = package.program.main().results;
  std::vector<ResultField> fields;
  std::vector<std::string> names(results.size());
  try {
    if (const Variants variants = Variants::of(package); !variants.templates.empty())
      names = names_of_variants(package, variants);
  } catch (const json::exception&) {  // another version's
  }
  for (std::size_t i = structured_fields(package, fields); i < results.size(); ++i) {
    const ir::Output& o = results[i];
    const std::string& name = !o.state.empty() ? o.state : !names[i].empty() ? names[i] : o.name;
    fields.push_back({name.empty() ? "output" : name, o.type, i, 1, false, !o.state.empty()});
  }
  std::set<std::string> taken;
  for (ResultField& field : fields) {
    std::string base = identifier(field.name);
    static const std::set<std::string> own = {"out", "values", "inputs", "outputs", "made", "failure"};
    if (is_reserved(base) || own.count(base)) base += "_";
    field.name = base;
    field.is_named = !(base == "output" || base == "variant" || (base.starts_with("out") && std::isdigit(base.back())));
    for (int n = 1; !taken.insert(field.name).second; ++n) field.name = base + "_" + std::to_string(n);
  }
  return fields;
}

std::vector<std::string> python_returns(const package::PackageProgram& package,
                                        const std::vector<ResultField>& fields) {
  std::vector<std::string> texts;
  try {
    const Variants variants = Variants::of(package);
    for (std::size_t v = 0; v < variants.templates.size(); ++v) {
      std::vector<std::string> leaves;
      for (const json& slot : variants.slots.at(v)) {
        const std::size_t result = 1 + slot.get<std::size_t>();
        leaves.push_back(result < fields.size() ? fields[result].name : "...");
      }
      std::size_t next = 0;
      texts.push_back(comment_text(python_text(variants.templates[v], leaves, next), kLongestNote));
    }
  } catch (const json::exception&) {  // another version's
    texts.clear();
  }
  return texts;
}

}  // namespace dycl::emit
