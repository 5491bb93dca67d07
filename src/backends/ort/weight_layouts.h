// SPDX-License-Identifier: Apache-2.0
// Blocked forms of convolution weights. A package stores a weight once, plain; an
// artifact for one CPU that wants it blocked says how, and the plug-in reorders it when
// it loads. Such an artifact's bytes start with a header, the model follows:
//
//   8 bytes "DYCLORT1", u32 number of weights, one byte (WeightLayout) for each, zeros
//   up to a multiple of 16
//
// Channels that do not fill the last block are padded with zeros. All is for f32 [O,I,H,W].
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dycl::backends::ort {

inline constexpr char kArtifactMagic[8] = {'D', 'Y', 'C', 'L', 'O', 'R', 'T', '1'};

enum class WeightLayout : std::uint8_t {
  Plain = 0,
  InOut8 = 1,  // OIHW in blocks of both channels, output channel innermost
  InOut16 = 2,
  Out8 = 3,  // in blocks of output channels only
  Out16 = 4,
};
inline constexpr WeightLayout kWeightLayouts[] = {WeightLayout::InOut8, WeightLayout::InOut16, WeightLayout::Out8,
                                                  WeightLayout::Out16};

// The extents of a plain weight's blocked form, padding included; none if it has no such form.
std::vector<std::int64_t> blocked_shape(WeightLayout layout, const std::vector<std::int64_t>& shape);

// Whether a weight of this shape has that form with no padding.
bool can_block(WeightLayout layout, const std::vector<std::int64_t>& shape);

// `shape` is that of the plain weight; `blocked` has room for blocked_shape.
void block_weight(WeightLayout layout, const std::vector<std::int64_t>& shape, const float* plain, float* blocked);

// The inverse for shapes that need no padding.
void unblock_weight(WeightLayout layout, const std::vector<std::int64_t>& shape, const float* blocked, float* plain);

}  // namespace dycl::backends::ort
