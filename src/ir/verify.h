// SPDX-License-Identifier: Apache-2.0
// The rules that make a program valid, and their check. Passes, back ends, runtime
// and emission rely on every one of them.
//
// Program
//   P1  There is at least one function; the first is a Host function (main).
//   P2  Functions have unique, non-empty names.
//   P3  A symbol's name is a plain name, and 0 <= min <= max.
//   P4  A weight is a tensor with known dims; its bytes, if there, are as many as that.
//   P5  A state's initial value has its type: int, float and bool a scalar; a tensor
//       names a weight of its type; optional<tensor> `none` or such a weight;
//       list<int|float> a list of numbers, list<tensor> a list of weights' names.
// Types (of every value, parameter, result, weight and state)
//   T1  list and optional have exactly one element type; nothing else has one.
//   T2  Known dims are >= 0; expressions are canonical and use declared symbols only.
// Functions
//   F1  There is at least one block; the entry (the first) has no parameters and no
//       edge leads to it.
//   F2  Names of blocks are unique and non-empty.
//   F3  A SubDnn function is one block of tensor ops, `const` of tensors and `weight`,
//       ends in `return`, has tensors for parameters and results, and no states.
//   F4  A state of a parameter or result exists, has its type (a result: fits it), and
//       is read by at most one parameter and written by at most one result.
// Values
//   V1  Every value is defined once: by a parameter, a block's parameter or an op.
//   V2  Every use is dominated by its definition. (In a block that cannot be reached
//       it is enough that a definition exists.)
//   V3  Only tensor ops may leave an operand out.
// Ops
//   O1  A tensor op has tensor operands and results, at least one result.
//   O2  A host op is one of docs/ir.md, its operands and attributes are what it takes,
//       and its results have the types that follow (ir/host_ops.h: may_declare).
//   O3  `call` names a SubDnn function; `weight` a weight.
//   O4  A tensor literal has as many bytes as its shape says, at most
//       kMaxLiteralBytes; its bools are 0 or 1.
// Exits
//   E1  Every block has an exit; its edges lead to blocks of the function, with one
//       argument for each parameter, and each argument fits its parameter.
//   E2  A branch's condition is bool; a switch's selector is int, its cases differ, and
//       there is one target for each.
//   E3  `return` has a value for each result, and each fits its type.
//   E4  `raise` has a type, and as many scalar arguments as its message has `{}`.
//   E5  Loops are entered at their header only (every edge that goes back in a
//       reverse post-order goes to a block that dominates its source), and loop
//       limits are >= 0.
#pragma once

#include <vector>

#include "ir/program.h"
#include "support/result.h"

namespace dycl::ir {

// Every broken rule found, at most kMaxVerifyErrors, in program order; empty: valid.
// A message starts with the rule and the place: "V2: @main ^exit `%y = Relu %x`: ...".
// Safe on any Program, whatever its ids. Near-linear in the program's size.
std::vector<Error> verify(const Program& program);
inline constexpr std::size_t kMaxVerifyErrors = 50;

}  // namespace dycl::ir
