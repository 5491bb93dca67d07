// SPDX-License-Identifier: Apache-2.0
// The instructions of an execution plan. Code is a flat array of 32-bit words; an
// instruction is one head word (opcode in the low 16 bits, its length in words, head
// included, in the high 16) and its operands. A register operand is an index into the register file; its top bit
// (kLastUse) says that the value dies here, so that its memory is reused.
//
// Numbers are stored in packages: new opcodes go to the end of their group's range,
// none is ever renumbered.
#pragma once

#include <cstdint>
#include <optional>

#include "support/scalar_ops.h"

namespace dycl::runtime {

inline constexpr std::uint32_t kLastUse = 0x80000000U;
inline constexpr std::uint32_t register_of(std::uint32_t operand) { return operand & ~kLastUse; }
inline constexpr bool is_last_use(std::uint32_t operand) { return (operand & kLastUse) != 0; }

// Control, moves, tensors, lists, effects. The pattern gives the operands: w a register
// that is written, r one that is read, n a count and as many registers read, p a position in the code,
// d a decision, l a loop, s a string, # a number; S, C and H are as the remark says.
// clang-format off
#define DYCL_PLAN_OPCODES(X)                                                  \
  X(Jump, 1, "p") /* pc */                                                    \
  X(Branch, 2, "rdpp") /* condition, decision, pc if false, pc if true */     \
  X(Switch, 3, "S") /* r selector, d, n, (low, high)*n, pc*n, pc otherwise */ \
  X(LoopEnter, 4, "l") /* starts counting arrivals */                         \
  X(LoopBack, 5, "l") /* one more arrival */                                  \
  X(Return, 6, "n") /* the results */                                         \
  X(Raise, 7, "ssn") /* type, message, arguments */                           \
  X(MoveScalar, 8, "wr") /* to, from */                                       \
  X(MoveHandle, 9, "wr") /* to, from */                                       \
  X(Drop, 10, "n") /* forget these */                                         \
  X(Item, 16, "wr") /* to, tensor */                                          \
  X(ToTensor, 17, "wr") /* to, scalar */                                      \
  X(Dim, 18, "wr#") /* to, tensor, axis */                                    \
  X(Size, 19, "wr") /* to, tensor */                                          \
  X(SelectScalar, 20, "wrrr") /* to, condition, if true, if false */          \
  X(SelectHandle, 21, "wrrr") /* to, condition, if true, if false */          \
  X(ListNew, 32, "wn") /* to, items: also an optional, of none or one */      \
  X(ListAppend, 33, "wrr") /* to, list, item */                               \
  X(ListGet, 34, "wrr") /* to, list, index */                                 \
  X(ListSet, 35, "wrrr") /* to, list, index, item */                          \
  X(ListLen, 36, "wr") /* to, list */                                         \
  X(ListConcat, 37, "wrr") /* to, list, list */                               \
  X(ListSlice, 38, "wrrr") /* to, list, from, until */                        \
  X(ListPop, 39, "wwrr") /* list to, item to, list, index */                  \
  X(ListInsert, 40, "wrrr") /* to, list, index, item */                       \
  X(ListFromTensor, 41, "wr") /* to, tensor */                                \
  X(ListToTensor, 42, "wr") /* to, list */                                    \
  X(ListStack, 43, "wr#") /* to, list, axis (int32) */                        \
  X(ListCat, 44, "wr#") /* to, list, axis (int32) */                          \
  X(OptIsSome, 45, "wr") /* to, optional */                                   \
  X(OptGet, 46, "wr") /* to, optional */                                      \
  X(RandUniform, 64, "wn") /* to, extents: older packages */                  \
  X(RandNormal, 65, "wn") /* to, extents: older packages */                   \
  X(RandInt, 66, "wrrn") /* to, low, high, extents: older packages */         \
  X(Print, 67, "sn") /* format, arguments */                                  \
  X(Check, 68, "rss") /* condition, type, message */                          \
  X(Call, 69, "C") /* sub-DNN, inputs, outputs, r* in, w* out */              \
  X(HostCall, 70, "H") /* host function, inputs, outputs, r* in, w* out */    \
  X(Keep, 71, "sr") /* name, or "@" and a state's name; value */              \
  X(Draw, 72, "w#n") /* to, distribution, its parameters and the extents */   \
  X(RandState, 73, "w") /* to: the generator's state */                       \
  X(SetRandState, 74, "r") /* state */                                        \
  X(SetSeed, 75, "r") /* seed */                                              \
  X(LendRandom, 76, "r") /* state */                                          \
  X(GiveBackRandom, 77, "w") /* to: where the lent state is now */
// clang-format on

// Scalar ops have the numbers of scalar::OpCode (support/scalar_ops.h) from here on:
// r to, then one register per operand; kinds as scalar::signature says.
inline constexpr std::uint32_t kFirstScalarOpcode = 128;

enum class Opcode : std::uint16_t {
#define DYCL_X(name, number, pattern) name = number,
  DYCL_PLAN_OPCODES(DYCL_X)
#undef DYCL_X
#define DYCL_X(name, text, operands, result, compute) \
  name = kFirstScalarOpcode + static_cast<std::uint16_t>(scalar::OpCode::name),
      DYCL_SCALAR_OPS(DYCL_X)
#undef DYCL_X
};

constexpr std::uint32_t opcode_number(std::uint32_t head) { return head & 0xffffU; }
constexpr std::uint32_t length_in_words(std::uint32_t head) { return head >> 16; }
constexpr std::uint32_t head_word(Opcode opcode, std::size_t words) {
  return static_cast<std::uint32_t>(opcode) | static_cast<std::uint32_t>(words) << 16;
}
inline constexpr std::size_t kMaxInstructionWords = 0xffff;

// The scalar op of an opcode number, if it is one.
constexpr std::optional<scalar::OpCode> scalar_op(std::uint32_t opcode) {
  if (opcode < kFirstScalarOpcode || opcode >= kFirstScalarOpcode + scalar::kOpCount) return std::nullopt;
  return static_cast<scalar::OpCode>(opcode - kFirstScalarOpcode);
}

}  // namespace dycl::runtime
