// SPDX-License-Identifier: Apache-2.0
// Sub-DNNs that are cheaper to compute than to call an engine for, as small programs
// (format.h): gates, predicates, steps of recurrences and of decoding. Only static shapes, only
// the ops that such sub-DNNs are made of, products with weights of up to kMaxRows rows, and beside them
// only up to kMaxWork: everything else is the engine's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"

namespace dycl::backends::small {

// Beside products with weights: about a quarter of a nanosecond each.
inline constexpr std::int64_t kMaxWork = 1 << 17;
inline constexpr std::int64_t kMaxRows = 16;

struct Lowered {
  std::vector<std::uint8_t> bytes;
  std::vector<std::string> weights;  // program weights, in the order the steps count them
};

// `blocked[i]`: parameter i arrives in the blocked layout. nullopt: not for us.
std::optional<Lowered> lower(const ir::Program& program, const ir::Function& sub_dnn, const std::vector<bool>& blocked,
                             int block);

}  // namespace dycl::backends::small
