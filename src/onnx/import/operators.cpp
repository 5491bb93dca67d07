// SPDX-License-Identifier: Apache-2.0
#include "onnx/import/operators.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dycl::onnx {
namespace {

struct Form {
  std::string_view name;  // with its domain
  std::int64_t since;
  std::string_view inputs, outputs, attributes;  // "-": the operator is gone
  std::string_view results;
};

constexpr Form kForms[] = {
#include "onnx/import/operator_table.inc"
};

using Forms = std::unordered_map<std::string_view, std::vector<const Form*>>;

const Forms& forms() {
  static const Forms made = [] {
    Forms by_name;
    for (const Form& form : kForms) by_name[form.name].push_back(&form);
    return by_name;
  }();
  return made;
}

std::string full_name(const Node& node) { return (node.domain.empty() ? "" : node.domain + ".") + node.op_type; }

std::string describe(const Node& node) { return full_name(node) + (node.name.empty() ? "" : " '" + node.name + "'"); }

Error invalid(const Node& node, const std::string& what) {
  return {ErrorKind::InvalidModel, "ONNX: " + describe(node) + " " + what, {}, {}, {}};
}

// What is wrong with these names, by the letters of the form: s single, o optional, * any number.
std::string problem_of_count(const std::vector<std::string>& names, std::string_view letters, const char* what) {
  const bool open = !letters.empty() && letters.back() == '*';
  const std::size_t most = open ? letters.size() - 1 : letters.size();
  if (!open && names.size() > most)
    return "has " + std::to_string(names.size()) + " " + what + "s, but takes at most " + std::to_string(most);
  for (std::size_t i = 0; i < most; ++i)
    if (letters[i] == 's' && (i >= names.size() || names[i].empty()))
      return "lacks " + std::string(what) + " " + std::to_string(i + 1);
  return {};
}

std::string problem_of_inputs(const std::vector<std::string>& names, std::string_view letters) {
  const std::string problem = problem_of_count(names, letters, "input");
  if (!problem.empty() || letters.empty() || letters.back() != '*') return problem;
  for (std::size_t i = letters.size() - 1; i < names.size(); ++i)  // of any number of inputs, none can be left out
    if (names[i].empty()) return "lacks input " + std::to_string(i + 1);
  return {};
}

char letter_of(Attribute::Kind kind) {
  switch (kind) {
    case Attribute::Kind::Float: return 'f';
    case Attribute::Kind::Int: return 'i';
    case Attribute::Kind::String: return 's';
    case Attribute::Kind::Tensor: return 't';
    case Attribute::Kind::Graph: return 'g';
    case Attribute::Kind::Floats: return 'F';
    case Attribute::Kind::Ints: return 'I';
    case Attribute::Kind::Strings: return 'S';
    case Attribute::Kind::Type: return 'y';
  }
  return '?';
}

// "axis:i! mode:s": calls visit(name, kind, required) for each.
template <typename Visit>
void for_each_attribute(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view one = text.substr(0, end);
    const std::size_t colon = one.rfind(':');
    visit(one.substr(0, colon), one[colon + 1], one.back() == '!');
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// Attributes that count something. Kernels divide by them after making 32 bits of them.
constexpr std::array<std::string_view, 10> kCounts = {
    "batch_dims", "blocksize", "group",       "hidden_size",     "kv_num_heads",
    "num_groups", "num_heads", "num_outputs", "num_scan_inputs", "q_num_heads"};

bool counts_wrongly(const Attribute& a) {
  return a.kind == Attribute::Kind::Int && std::ranges::find(kCounts, a.name) != kCounts.end() &&
         (a.i < 0 || a.i > std::numeric_limits<std::int32_t>::max());
}

std::string problem_of(const std::vector<Attribute>& attributes, std::string_view form) {
  std::set<std::string_view> given;
  std::string problem;
  for (const Attribute& a : attributes) {
    if (!given.insert(a.name).second) return "has attribute '" + a.name + "' twice";
    bool known = false;
    for_each_attribute(form, [&](std::string_view name, char kind, bool) {
      if (name != a.name) return;
      known = true;
      if (kind != letter_of(a.kind)) problem = "has an attribute '" + a.name + "' of another kind";
    });
    if (!known) problem = "has an attribute '" + a.name + "', which it does not take";
    if (counts_wrongly(a))
      problem = "has an attribute '" + a.name + "' of " + std::to_string(a.i) + ", which counts nothing";
    if (!problem.empty()) return problem;
  }
  for_each_attribute(form, [&](std::string_view name, char, bool required) {
    if (required && !given.count(name)) problem = "lacks the attribute '" + std::string(name) + "'";
  });
  return problem;
}

}  // namespace

std::string_view results_of(const Node& node) {
  std::string_view results;
  if (const auto found = forms().find(full_name(node)); found != forms().end())
    for (const Form* form : found->second)
      if (form->inputs != "-") results = form->results;
  return results;
}

Result<void> check_form(const Node& node, const Opsets& opsets) {
  const auto opset = opsets.find(node.domain);
  const std::int64_t version = opset != opsets.end() ? opset->second : 1;
  if (node.domain.empty() && opset == opsets.end())
    return invalid(node, "is used, but the model does not say which opset of ONNX");
  const auto found = forms().find(full_name(node));
  const Form* form = nullptr;
  if (found != forms().end())
    for (const Form* each : found->second)
      if (each->since <= version) form = each;
  if (!form || form->inputs == "-")
    return Error{ErrorKind::Unsupported,
                 "ONNX: " + describe(node) + " is no operator that DyCL knows in opset " + std::to_string(version) +
                     (node.domain.empty() ? "" : " of " + node.domain),
                 {},
                 {},
                 {}};
  for (const std::string& problem : {problem_of_inputs(node.inputs, form->inputs),
                                     problem_of_count(node.outputs, form->outputs, "output"),
                                     problem_of(node.attributes, form->attributes)})
    if (!problem.empty()) return invalid(node, problem);
  return {};
}

}  // namespace dycl::onnx
