// SPDX-License-Identifier: Apache-2.0
// Appends instructions to a plan's code and remembers where their source is.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "runtime/opcodes.h"
#include "runtime/plan.h"
#include "support/result.h"

namespace dycl::package {

class CodeBuilder {
 public:
  CodeBuilder(std::vector<std::uint32_t>& code, std::vector<runtime::PlanSpan>& spans) : code_(code), spans_(spans) {}

  std::uint32_t position() const { return static_cast<std::uint32_t>(code_.size()); }

  // Where the instructions that follow come from.
  void at(const SourceSpan& span) { span_ = span; }

  // An instruction whose operands are these lists, one after the other.
  Result<void> emit(runtime::Opcode opcode, std::initializer_list<std::span<const std::uint32_t>> parts) {
    std::size_t words = 1;
    for (const auto& part : parts) words += part.size();
    if (words > runtime::kMaxInstructionWords || code_.size() + words > INT32_MAX) {
      return Error{ErrorKind::Unsupported, "an op with more operands than an instruction can hold", {}, span_, {}};
    }
    if (spans_.empty() ? span_.known() : spans_.back().span != span_) spans_.push_back({position(), span_});
    code_.push_back(runtime::head_word(opcode, words));
    for (const auto& part : parts) code_.insert(code_.end(), part.begin(), part.end());
    return {};
  }

  using Words = std::vector<std::uint32_t>;
  Result<void> emit(runtime::Opcode o, const Words& a) { return emit(o, {std::span(a)}); }
  Result<void> emit(runtime::Opcode o, const Words& a, const Words& b) { return emit(o, {std::span(a), std::span(b)}); }
  Result<void> emit(runtime::Opcode o, const Words& a, const Words& b, const Words& c) {
    return emit(o, {std::span(a), std::span(b), std::span(c)});
  }
  Result<void> emit(runtime::Opcode o, const Words& a, const Words& b, const Words& c, const Words& d) {
    return emit(o, {std::span(a), std::span(b), std::span(c), std::span(d)});
  }

 private:
  std::vector<std::uint32_t>& code_;
  std::vector<runtime::PlanSpan>& spans_;
  SourceSpan span_;
};

}  // namespace dycl::package
