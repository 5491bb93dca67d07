// SPDX-License-Identifier: Apache-2.0
// `run:` lines of .dyir tests: call a function in the reference interpreter and say
// what must come out.
//
//   // run: @f([1.0, -2.0], 3) == [1.0, 0.0]
//   // run: @f(x) == 1, [2, 3]                      several results
//   // run: @f(x) {@count = 3} == 1.0 {@count = 4}   states before and after
//   // run: @f(x) forcing 1,0 == 1.0                 outcomes of the first decisions
//   // run: @f(x) prints "step 1\n" == 1.0
//   // run: @f(x) raises IndexError "out of range"   a part of the message
//   // run: @f(x) raises ValueError {@count = 4}      states that the raise leaves
//
// Values are written as their types want them: tensors as nested lists (or flat with
// their type: `f32[0,3] []`), lists as lists, optionals as `none` or the value.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ir/interpret.h"

namespace dycl::filetest {

// What is wrong with the line, or with what the program did; nullopt if all is well.
std::optional<std::string> check_run_line(std::string_view line, const ir::Program& program,
                                          ir::TensorEvaluator& evaluator);

}  // namespace dycl::filetest
