// SPDX-License-Identifier: Apache-2.0
// The variables of an emitted program: their names and where each is declared. A variable is declared by its
// first assignment if that stands in the innermost scope of everything that mentions it, and before that
// scope's first mention otherwise. What does nothing but go into a returned array is an element of it.
//
// Used in the order in which the text is written: declarations() and declares() say each thing once.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "emit/cpp/results.h"
#include "emit/cpp/values.h"
#include "emit/structure/structure.h"

namespace dycl::emit {

class CppVariables {
 public:
  CppVariables(const CppValues& values, const Structure& structure, const std::vector<ResultField>& fields);
  CppVariables(const CppVariables&) = delete;
  CppVariables& operator=(const CppVariables&) = delete;

  const std::string& name(ir::ValueId v) const { return variables_.at(number(v)).name; }
  // Equal for values with one variable.
  std::uint32_t number(ir::ValueId v) const { return values_.variable(v); }
  std::string fresh(const std::string& hint, const char* fallback);

  // The local array of a field that begins at this result, where one return gives it; "" if there is none.
  std::string array(std::size_t first) const {
    const auto it = arrays_.find(first);
    return it == arrays_.end() ? "" : it->second;
  }
  bool is_in_array(ir::ValueId v) const { return variables_.at(number(v)).in_array; }
  bool is_assigned(ir::ValueId v) const { return variables_.at(number(v)).assignments > 0; }

  // Lines that declare arrays, and the variables that belong before a step.
  std::string arrays() const;
  std::string declarations(const Sequence& steps, std::size_t index, int indent);
  // What an assignment to `v` begins with: "const double ", "Tensor " or nothing.
  std::string declares(ir::ValueId v);
  // The assignment declares it.
  bool is_new(ir::ValueId v) const { return variables_.at(number(v)).at_definition; }

 private:
  using Path = std::vector<std::pair<const Sequence*, std::size_t>>;
  struct Variable {
    std::string name;
    ir::Type type;
    std::uint32_t assignments = 0;
    bool by_edges = false, in_array = false, is_argument = false;
    bool at_definition = false;  // declared by the assignment that comes next
  };

  void find_hints();
  void make_arguments();
  void make_arrays();
  bool only_returned(std::uint32_t variable) const;
  void make_in_order(const Sequence& steps);
  void make_results(const ir::Block& block);
  void make(ir::ValueId v);
  void scan(const Sequence& steps, Path& path);
  void mention(const Step& step, const Path& path);
  void touch(ir::ValueId v, bool assigns, bool by_edge, const Path& path);
  void read(ir::ValueId v, const Path& path);
  bool assigned_by(std::uint32_t variable, const Step& step) const;

  const CppValues& values_;
  const ir::Function& main_;
  const Structure& structure_;
  const std::vector<ResultField>& fields_;
  std::map<std::uint32_t, Variable> variables_;
  std::map<std::uint32_t, std::string> hints_;  // by variable
  std::set<std::string> taken_;
  std::map<std::uint32_t, Path> common_;  // by variable: the innermost place that holds all mentions
  std::map<std::pair<const Sequence*, std::size_t>, std::vector<std::uint32_t>> declared_before_;
  std::map<std::size_t, std::string> arrays_;  // by the first result of a field
};

}  // namespace dycl::emit
