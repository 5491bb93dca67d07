// SPDX-License-Identifier: Apache-2.0
#include "backends/ort/weight_layouts.h"

namespace dycl::backends::ort {
namespace {

std::int64_t block_of(WeightLayout layout) {
  return layout == WeightLayout::InOut8 || layout == WeightLayout::Out8 ? 8 : 16;
}

bool blocks_inputs(WeightLayout layout) { return layout == WeightLayout::InOut8 || layout == WeightLayout::InOut16; }

// Calls f(place in the plain tensor, place in the blocked one) for every element.
template <typename F>
void for_each_place(WeightLayout layout, const std::vector<std::int64_t>& shape, F f) {
  const std::int64_t outputs = shape[0], inputs = shape[1], area = shape[2] * shape[3], block = block_of(layout);
  const std::int64_t in_block = blocks_inputs(layout) ? block : 1;
  std::int64_t blocked = 0;
  for (std::int64_t o = 0; o < outputs; o += block)
    for (std::int64_t i = 0; i < inputs; i += in_block)
      for (std::int64_t a = 0; a < area; ++a)
        for (std::int64_t bi = 0; bi < in_block; ++bi)
          for (std::int64_t bo = 0; bo < block; ++bo) f(((o + bo) * inputs + i + bi) * area + a, blocked++);
}

}  // namespace

bool can_block(WeightLayout layout, const std::vector<std::int64_t>& shape) {
  if (layout == WeightLayout::Plain || shape.size() != 4) return false;
  for (const std::int64_t dim : shape)
    if (dim <= 0) return false;
  const std::int64_t block = block_of(layout);
  return shape[0] % block == 0 && (!blocks_inputs(layout) || shape[1] % block == 0);
}

void block_weight(WeightLayout layout, const std::vector<std::int64_t>& shape, const float* plain, float* blocked) {
  for_each_place(layout, shape, [&](std::int64_t p, std::int64_t b) { blocked[b] = plain[p]; });
}

void unblock_weight(WeightLayout layout, const std::vector<std::int64_t>& shape, const float* blocked, float* plain) {
  for_each_place(layout, shape, [&](std::int64_t p, std::int64_t b) { plain[p] = blocked[b]; });
}

}  // namespace dycl::backends::ort
