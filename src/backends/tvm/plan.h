// SPDX-License-Identifier: Apache-2.0
// What a compiled sub-DNN is: kernels in a shared library, and the calls that make the results, in order. Tensors are
// operands, results, weights or pieces of one scratch memory per thread. Written by compiler/plan.py.
//
//   kMagic, u64 size of the plan, the plan, the shared library
//
// Reading checks every number that memory depends on. Kernels themselves are native code: as trusted as a program.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/result.h"

namespace dycl::backends::tvm {

inline constexpr char kMagic[16] = "dycl.tvm.1";
inline constexpr std::size_t kAlignment = 64;  // what kernels expect of every address

enum class Place : std::uint32_t { Input, Result, Weight, Scratch };

struct PlanTensor {
  Place place = Place::Scratch;
  std::int32_t dtype = 0;
  std::uint64_t index = 0;  // of the operand, result or weight; in scratch memory: the offset
  std::vector<std::int64_t> shape;
  std::uint64_t bytes = 0;
};

struct PlanStep {
  bool copies = false;  // the first tensor to the second; else the kernel is called with all
  std::string kernel;
  std::vector<std::uint32_t> tensors;
};

struct Plan {
  std::uint32_t inputs = 0, results = 0, weights = 0;
  std::uint64_t scratch = 0;  // bytes
  std::vector<PlanTensor> tensors;
  std::vector<PlanStep> steps;
  std::span<const std::uint8_t> library;  // within the bytes that were read; may be empty
};

Result<Plan> read_plan(std::span<const std::uint8_t> artifact);
std::vector<std::uint8_t> write_artifact(std::span<const std::uint8_t> plan, std::span<const std::uint8_t> library);

}  // namespace dycl::backends::tvm
