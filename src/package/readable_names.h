// SPDX-License-Identifier: Apache-2.0
// What the parts of a program are called for people. Passes call a sub-DNN s0; people know the modules of their model,
// so it is named after those whose weights it holds, or after its ops where it holds none. A decision is where its
// source line is; which of several at one line (of an unrolled loop), what its condition is computed from tells.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "ir/program.h"

namespace dycl::package {

// "layers.3"; "layers.1 to 7" of modules in a list; "stem and gate"; "stem to head"; "ReduceMean and Greater".
// "" for a function without ops.
std::string readable_name(const ir::Function& sub_dnn);

// Of these functions of `program`, in their order; those that are alike are told apart: "gate", "gate #2".
std::vector<std::string> readable_names(const ir::Program& program, const std::vector<std::string>& sub_dnns);

// What conditions are computed from. Points into `main`.
class DecisionOrigins {
 public:
  // `names`: of sub-DNNs, by the functions' own names.
  DecisionOrigins(const ir::Function& main, std::unordered_map<std::string, std::string> names);

  // The sub-DNNs and the named values that the condition or selector of this block's exit comes from by host ops:
  // "gate", "steps, decoder.head"; "" if there are none.
  std::string of(const ir::Block& block) const;

 private:
  const ir::Function& main_;
  std::unordered_map<std::string, std::string> names_;
  std::vector<const ir::Op*> definitions_;  // by value; null: a parameter
};

}  // namespace dycl::package
