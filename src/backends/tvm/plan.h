// SPDX-License-Identifier: Apache-2.0
// What a compiled sub-DNN is: kernels in a shared library, and the calls that make the results, in order. Tensors are
// operands, results, weights or pieces of one scratch memory per thread. Written by compiler/plan.py.
//
//   kMagic, u64 size of the plans, the plan, perhaps another plan, the shared library
//
// The second plan is for operands on which faster kernels of the first would not be right: a guard is a step that looks
// at a tensor, and where it has NaNs, infinities or numbers beyond kModerate the whole second plan is run instead, from
// the operands on.
//
// Reading checks every number that memory depends on. Kernels themselves are native code: as trusted as a program.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/result.h"

namespace dycl::backends::tvm {

inline constexpr char kMagic[16] = "dycl.tvm.2";
inline constexpr std::size_t kAlignment = 64;  // what kernels expect of every address
inline constexpr float kModerate = 1e15F;      // the largest magnitude that passes a guard

enum class Place : std::uint32_t { Input, Result, Weight, Scratch };

struct PlanTensor {
  Place place = Place::Scratch;
  std::int32_t dtype = 0;
  std::uint64_t index = 0;  // of the operand, result or weight; in scratch memory: the offset
  std::vector<std::int64_t> shape;
  std::uint64_t bytes = 0;
};

// Call: of a kernel with all tensors. Copy: the first tensor to the second. Guard: looks at one tensor of f32.
enum class Action : std::uint32_t { Call, Copy, Guard };

struct PlanStep {
  Action action = Action::Call;
  std::string kernel;
  std::vector<std::uint32_t> tensors;
};

struct Plan {
  std::uint32_t inputs = 0, results = 0, weights = 0;
  std::uint64_t scratch = 0;  // bytes
  std::vector<PlanTensor> tensors;
  std::vector<PlanStep> steps;
  std::span<const std::uint8_t> library;  // within the bytes that were read; may be empty
  std::vector<Plan> instead;              // where a guard does not let pass; at most one, which has no guards
};

Result<Plan> read_plan(std::span<const std::uint8_t> artifact);
std::vector<std::uint8_t> write_artifact(std::span<const std::uint8_t> plan, std::span<const std::uint8_t> library);

}  // namespace dycl::backends::tvm
