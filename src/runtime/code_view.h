// SPDX-License-Identifier: Apache-2.0
// One instruction taken apart, for whoever reads code without running it: the
// checks at load and the dump of `inspect`. The walker does not use this.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/opcodes.h"
#include "runtime/plan.h"
#include "support/result.h"

namespace dycl::runtime {

struct Instruction {
  std::size_t pc = 0;
  std::uint32_t number = 0;              // of the opcode
  std::span<const std::uint32_t> words;  // head included
  std::vector<std::uint32_t> writes;     // registers
  std::vector<std::uint32_t> reads;      // operands: registers with their last-use bit
  std::vector<std::uint32_t> targets;    // positions it may jump to
  std::uint32_t decision = 0;            // Branch, Switch
  std::uint32_t callee = 0;              // Call: sub-DNN; HostCall: host function

  Opcode opcode() const { return static_cast<Opcode>(number); }
  bool ends_block() const {
    const Opcode o = opcode();
    return o == Opcode::Jump || o == Opcode::Branch || o == Opcode::Switch || o == Opcode::Return || o == Opcode::Raise;
  }
};

// Takes the instruction at `pc` apart. Indices of strings, loops, decisions and callees
// are checked; registers and targets are not.
Result<Instruction> decode(const Plan& plan, std::size_t pc);

}  // namespace dycl::runtime
