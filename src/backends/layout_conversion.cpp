// SPDX-License-Identifier: Apache-2.0
#include "backends/layout_conversion.h"

namespace dycl::backends {
namespace {

// Calls move(place in the plain tensor, place in the blocked one) for every element.
template <typename Move>
void for_each_element(const std::vector<std::int64_t>& shape, std::int64_t block, const Move& move) {
  const std::int64_t images = shape[0], channels = shape[1], points = shape[2] * shape[3];
  for (std::int64_t n = 0; n < images; ++n)
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t p = 0; p < points; ++p)
        move((n * channels + c) * points + p, ((n * (channels / block) + c / block) * points + p) * block + c % block);
}

bool converts(const ir::Tensor& tensor, const std::string& tag) {
  return tensor.dtype == DType::F32 && block_of(tag) > 0 && fits_block(tensor.shape, block_of(tag));
}

}  // namespace

ir::Tensor to_layout(const ir::Tensor& plain, const std::string& tag) {
  if (!converts(plain, tag)) return plain;
  ir::Tensor made = plain;
  for_each_element(plain.shape, block_of(tag),
                   [&](std::int64_t from, std::int64_t to) { made.data<float>()[to] = plain.data<float>()[from]; });
  return made;
}

ir::Tensor from_layout(const ir::Tensor& tensor, const std::string& tag) {
  if (!converts(tensor, tag)) return tensor;
  ir::Tensor made = tensor;
  for_each_element(tensor.shape, block_of(tag),
                   [&](std::int64_t to, std::int64_t from) { made.data<float>()[to] = tensor.data<float>()[from]; });
  return made;
}

}  // namespace dycl::backends
