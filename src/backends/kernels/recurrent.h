// SPDX-License-Identifier: Apache-2.0
// LSTM and GRU layers for operands that are not tame: NaN, infinities, numbers whose products may overflow. ONNX
// Runtime's activations clamp what they are given, so that a NaN comes out as a number; these compute as the formulas
// say. Slow and plain on purpose: it is not called for other operands.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace dycl::backends::recurrent {

enum class Cell : std::int64_t { Lstm = 0, Gru = 1, GruResetFirst = 2 };  // Gru: linear before reset
inline constexpr std::int64_t kCells = 3, kDirections = 3;
enum class Direction : std::int64_t { Forward = 0, Reverse = 1, Both = 2 };

// Operands and results of ONNX's ops, in their order of gates (LSTM: i o f c, peepholes i o f; GRU: z r h).
template <typename T>
struct Layer {
  Cell cell{};
  Direction direction{};
  bool coupled = false;  // the forget gate is what the input gate leaves
  std::int64_t time = 0, batch = 0, inputs = 0, hidden = 0;
  const T *x = nullptr, *w = nullptr, *r = nullptr, *b = nullptr, *h0 = nullptr, *c0 = nullptr,
          *p = nullptr;
  const std::int32_t* lengths = nullptr;
  T *y = nullptr, *h = nullptr, *c = nullptr;  // null: nobody reads it

  std::int64_t directions() const { return direction == Direction::Both ? 2 : 1; }
  std::int64_t gates() const { return cell == Cell::Lstm ? 4 : 3; }
};

// No NaN, no infinity, nothing that gets near one by a sum of products. By the bits: those of a greater size are a
// greater integer, of a NaN too. In blocks, which the compiler turns into vectors: it is asked of each input of a layer.
template <typename T>
bool is_tame(const T* elements, std::int64_t count) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits kMost = std::bit_cast<Bits>(std::numeric_limits<T>::max() / T(1e8));
  constexpr Bits kSize = std::numeric_limits<Bits>::max() >> 1;  // all but the sign
  constexpr std::int64_t kBlock = 64;
  Bits beyond = 0;  // its sign bit
  std::int64_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    Bits block[kBlock], found[8] = {};
    std::memcpy(block, elements + i, sizeof block);
    for (std::int64_t k = 0; k < kBlock; k += 8)
      for (std::int64_t j = 0; j < 8; ++j) found[j] |= kMost - (block[k + j] & kSize);
    for (const Bits f : found) beyond |= f;
  }
  for (; i < count; ++i) beyond |= kMost - (std::bit_cast<Bits>(elements[i]) & kSize);
  return (beyond & ~kSize) == 0;
}

template <typename T>
void compute(const Layer<T>& layer);

}  // namespace dycl::backends::recurrent
