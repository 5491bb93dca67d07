// SPDX-License-Identifier: Apache-2.0
// The variables of a program that is written as ONNX, where nothing is assigned twice: values, flags, dispatchers,
// results, and whether all checks held. A step that assigns gives out its new versions; StepAnalysis says which
// ones, and which of them anything outside of the step reads. A snapshot of one structure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "emit/structure/structure.h"

namespace dycl::emit {

using Var = std::uint32_t;

struct OnnxVariables {
  Var values = 0, flags = 0, dispatchers = 0, results = 0;
  Var flag(std::uint32_t f) const { return values + f; }
  Var dispatcher(std::uint32_t d) const { return values + flags + d; }
  Var result(std::size_t r) const { return values + flags + dispatchers + static_cast<Var>(r); }
  Var alive() const { return result(results); }
  Var count() const { return alive() + 1; }
};

// For each step what it assigns, and where in the tree each variable is read.
struct StepInfo {
  std::uint32_t begin = 0, end = 0;  // positions of the step and all within it
  std::vector<Var> assigned;         // sorted
};

class StepAnalysis {
 public:
  StepAnalysis(const ir::Function& function, const Structure& structure, const OnnxVariables& vars);

  const StepInfo& of(const Step& step) const { return info_.at(&step); }
  // Whether an op may fail though nobody reads what it gives.
  bool fails_unseen(const ir::Op& op) const;
  bool used_outside(Var v, const StepInfo& step) const {
    return first_[v] != UINT32_MAX && (first_[v] < step.begin || last_[v] >= step.end);
  }

 private:
  void use(Var v);
  void use(ir::ValueId v);
  std::vector<Var> visit(const Sequence& steps);
  std::vector<Var> visit(const Step& step);
  void reads_and_writes(const Step& step, std::set<Var>& set);

  const ir::Function& function_;
  const OnnxVariables& vars_;
  std::uint32_t position_ = 0;
  std::vector<std::uint32_t> first_, last_;
  std::vector<bool> used_;  // by value
  std::map<const Step*, StepInfo> info_;
};

}  // namespace dycl::emit
