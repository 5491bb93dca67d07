// SPDX-License-Identifier: Apache-2.0
#include "runtime/code_view.h"

#include <string_view>

#include "runtime/container.h"

namespace dycl::runtime {
namespace {

std::string_view pattern_of(std::uint32_t number) {
  if (const auto op = scalar_op(number)) return scalar::signature(*op).operands.size() == 1 ? "wr" : "wrr";
  switch (static_cast<Opcode>(number)) {  // NOLINT(bugprone-branch-clone): a table
#define DYCL_X(name, value, pattern) \
  case Opcode::name: return pattern;
    DYCL_PLAN_OPCODES(DYCL_X)
#undef DYCL_X
    default: return "";
  }
}

// Reads operands one by one; every read beyond the end fails and leaves ok() false.
class OperandReader {
 public:
  explicit OperandReader(std::span<const std::uint32_t> words) : words_(words) {}

  bool ok() const { return ok_; }
  bool at_end() const { return position_ == words_.size(); }
  std::uint32_t next() {
    if (position_ < words_.size()) return words_[position_++];
    ok_ = false;
    return 0;
  }
  // An index that must be below `count`.
  std::uint32_t index(std::size_t count) {
    const std::uint32_t i = next();
    if (i >= count) ok_ = false;
    return i;
  }
  void many(std::uint32_t count, std::vector<std::uint32_t>& out) {
    if (count > words_.size() - position_) {
      ok_ = false;
      return;
    }
    for (std::uint32_t i = 0; i < count; ++i) out.push_back(next());
  }
  void skip(std::uint64_t count) {
    if (count > words_.size() - position_)
      ok_ = false;
    else
      position_ += count;
  }

 private:
  std::span<const std::uint32_t> words_;
  std::size_t position_ = 1;
  bool ok_ = true;
};

void read_switch(const Plan& plan, OperandReader& in, Instruction& out) {
  out.reads.push_back(in.next());
  out.decision = in.index(plan.decisions.size());
  const std::uint32_t cases = in.next();
  in.skip(std::uint64_t{cases} * 2);
  in.many(cases, out.targets);
  out.targets.push_back(in.next());
}

void read_call(OperandReader& in, std::size_t callees, Instruction& out) {
  out.callee = in.index(callees);
  const std::uint32_t inputs = in.next(), outputs = in.next();
  in.many(inputs, out.reads);
  in.many(outputs, out.writes);
}

void read_operand(const Plan& plan, char letter, OperandReader& in, Instruction& out) {
  switch (letter) {
    case 'w': out.writes.push_back(in.next()); break;
    case 'r': out.reads.push_back(in.next()); break;
    case 'n': in.many(in.next(), out.reads); break;
    case 'p': out.targets.push_back(in.next()); break;
    case 'd': out.decision = in.index(plan.decisions.size()); break;
    case 'l': in.index(plan.loops.size()); break;
    case 's': in.index(plan.strings.size()); break;
    case 'S': read_switch(plan, in, out); break;
    case 'C': read_call(in, plan.sub_dnns.size(), out); break;
    case 'H': read_call(in, plan.host_functions.size(), out); break;
    default: in.next(); break;
  }
}

}  // namespace

Result<Instruction> decode(const Plan& plan, std::size_t pc) {
  const auto bad = [&] { return damaged(section::kPlan, "a malformed instruction at word " + std::to_string(pc)); };
  const std::uint32_t head = plan.code[pc];
  const std::size_t length = length_in_words(head);
  if (length == 0 || length > plan.code.size() - pc) return bad();

  Instruction out;
  out.pc = pc;
  out.number = opcode_number(head);
  out.words = std::span(plan.code).subspan(pc, length);
  const std::string_view pattern = pattern_of(out.number);
  if (pattern.empty()) return bad();
  OperandReader in(out.words);
  for (char letter : pattern) read_operand(plan, letter, in, out);
  if (!in.ok() || !in.at_end()) return bad();
  return out;
}

}  // namespace dycl::runtime
