// SPDX-License-Identifier: Apache-2.0
#include "backends/ort/weight_layouts.h"

namespace dycl::backends::ort {
namespace {

std::int64_t block_of(WeightLayout layout) {
  return layout == WeightLayout::InOut8 || layout == WeightLayout::Out8 ? 8 : 16;
}

bool blocks_inputs(WeightLayout layout) { return layout == WeightLayout::InOut8 || layout == WeightLayout::InOut16; }

std::int64_t rounded(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

// Calls f(place in the plain tensor, or -1 for padding; place in the blocked one) for every element of the latter.
template <typename F>
void for_each_place(WeightLayout layout, const std::vector<std::int64_t>& shape, F f) {
  const std::int64_t outputs = shape[0], inputs = shape[1], area = shape[2] * shape[3], block = block_of(layout);
  const std::int64_t in_block = blocks_inputs(layout) ? block : 1;
  const auto place = [&](std::int64_t o, std::int64_t i, std::int64_t a) {
    return o < outputs && i < inputs ? (o * inputs + i) * area + a : -1;
  };
  std::int64_t blocked = 0;
  for (std::int64_t o = 0; o < outputs; o += block)
    for (std::int64_t i = 0; i < inputs; i += in_block)
      for (std::int64_t a = 0; a < area; ++a)
        for (std::int64_t bi = 0; bi < in_block; ++bi)
          for (std::int64_t bo = 0; bo < block; ++bo) f(place(o + bo, i + bi, a), blocked++);
}

}  // namespace

std::vector<std::int64_t> blocked_shape(WeightLayout layout, const std::vector<std::int64_t>& shape) {
  if (layout == WeightLayout::Plain || shape.size() != 4) return {};
  for (const std::int64_t dim : shape)
    if (dim <= 0) return {};
  const std::int64_t block = block_of(layout);
  return {rounded(shape[0], block), blocks_inputs(layout) ? rounded(shape[1], block) : shape[1], shape[2], shape[3]};
}

bool can_block(WeightLayout layout, const std::vector<std::int64_t>& shape) {
  return !shape.empty() && blocked_shape(layout, shape) == shape;
}

void block_weight(WeightLayout layout, const std::vector<std::int64_t>& shape, const float* plain, float* blocked) {
  for_each_place(layout, shape, [&](std::int64_t p, std::int64_t b) { blocked[b] = p < 0 ? 0.0F : plain[p]; });
}

void unblock_weight(WeightLayout layout, const std::vector<std::int64_t>& shape, const float* blocked, float* plain) {
  for_each_place(layout, shape, [&](std::int64_t p, std::int64_t b) { plain[p] = blocked[b]; });
}

}  // namespace dycl::backends::ort
