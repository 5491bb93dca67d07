// SPDX-License-Identifier: Apache-2.0
// The program-wide choice of artifacts. Engines may exchange tensors in layouts of their
// own; registers that a move or a select connects carry the same bytes, so they form one
// group, and all that write or read a group must agree on its layout.
#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "runtime/code_view.h"
#include "runtime/container.h"
#include "runtime/plan.h"

namespace dycl::runtime {
namespace {

class Groups {
 public:
  explicit Groups(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0U); }
  std::uint32_t of(std::uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::uint32_t a, std::uint32_t b) { parent_[of(a)] = of(b); }

 private:
  std::vector<std::uint32_t> parent_;
};

std::string_view layout_at(const std::vector<std::string>& layouts, std::size_t i) {
  return layouts.empty() ? std::string_view() : layouts[i];
}

bool joins_registers(Opcode o) { return o == Opcode::MoveHandle || o == Opcode::SelectHandle; }

class LayoutCheck {
 public:
  LayoutCheck(const Plan& plan, std::string_view target)
      : plan_(plan), target_(target), groups_(plan.registers.size()) {
    for (const PlanSubDnn& function : plan.sub_dnns) artifacts_.push_back(artifact_for(function, target));
  }

  Result<void> run() {
    for (std::size_t pc = 0; pc < plan_.code.size();) {
      DYCL_ASSIGN(const Instruction in, decode(plan_, pc));
      if (joins_registers(in.opcode())) join(in);
      pc += in.words.size();
    }
    for (const PlanConstant& c : plan_.constants) DYCL_TRY(expect(c.reg, ""));
    for (const PlanInput& i : plan_.inputs) DYCL_TRY(expect(i.reg, ""));
    for (std::size_t pc = 0; pc < plan_.code.size();) {
      DYCL_ASSIGN(const Instruction in, decode(plan_, pc));
      DYCL_TRY(check(in));
      pc += in.words.size();
    }
    return {};
  }

 private:
  void join(const Instruction& in) {
    const std::size_t first = in.opcode() == Opcode::SelectHandle ? 1 : 0;
    for (std::size_t i = first; i < in.reads.size(); ++i) groups_.join(register_of(in.reads[i]), in.writes[0]);
  }

  Result<void> check(const Instruction& in) {
    if (joins_registers(in.opcode()) || in.opcode() == Opcode::Drop) return {};
    const bool call = in.opcode() == Opcode::Call;
    const PlanArtifact* artifact = call ? artifacts_[in.callee] : nullptr;
    if (call && !artifact) {
      return damaged(section::kPlan, "sub-DNN " + plan_.sub_dnns[in.callee].name + " has no artifact for " +
                                         std::string(target_) + " and no portable one");
    }
    for (std::size_t i = 0; i < in.reads.size(); ++i) {
      DYCL_TRY(expect(register_of(in.reads[i]), artifact ? layout_at(artifact->input_layouts, i) : ""));
    }
    for (std::size_t i = 0; i < in.writes.size(); ++i) {
      DYCL_TRY(expect(in.writes[i], artifact ? layout_at(artifact->output_layouts, i) : ""));
    }
    return {};
  }

  Result<void> expect(std::uint32_t reg, std::string_view layout) {
    if (plan_.type_of(reg).kind != ValueKind::Tensor) return {};
    const auto [it, fresh] = layout_of_.try_emplace(groups_.of(reg), layout);
    if (fresh || it->second == layout) return {};
    const auto shown = [](std::string_view tag) { return std::string(tag.empty() ? "plain" : tag); };
    return damaged(section::kPlan, "for target " + std::string(target_) + " register " + std::to_string(reg) +
                                       " has layout " + shown(it->second) + " in one place and " + shown(layout) +
                                       " in another");
  }

  const Plan& plan_;
  std::string_view target_;
  Groups groups_;
  std::vector<const PlanArtifact*> artifacts_;  // by sub-DNN
  std::unordered_map<std::uint32_t, std::string_view> layout_of_;
};

}  // namespace

const PlanArtifact* artifact_for(const PlanSubDnn& function, std::string_view target) {
  for (std::string_view wanted : {target, std::string_view("portable")}) {
    for (const PlanArtifact& a : function.artifacts) {
      if (a.target == wanted) return &a;
    }
  }
  return nullptr;
}

Result<void> check_layouts(const Plan& plan, std::string_view target) { return LayoutCheck(plan, target).run(); }

std::vector<std::string> targets_of(const Plan& plan) {
  std::vector<std::string> targets;
  std::unordered_map<std::string_view, bool> seen;
  for (const PlanSubDnn& function : plan.sub_dnns) {
    for (const PlanArtifact& a : function.artifacts) {
      if (a.target != "portable" && seen.emplace(a.target, true).second) targets.push_back(a.target);
    }
  }
  return targets;
}

}  // namespace dycl::runtime
