// SPDX-License-Identifier: Apache-2.0
// LSTM and GRU layers for operands that are not tame: NaN, infinities, numbers whose products may overflow. ONNX
// Runtime's activations clamp what they are given, so that a NaN comes out as a number; these compute as the formulas
// say. Slow and plain on purpose: it is not called for other operands.
#pragma once

#include <cstdint>

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

// No NaN, no infinity, nothing that gets near one by a sum of products. It is asked of each input of a layer.
bool is_tame(const float* elements, std::int64_t count);
bool is_tame(const double* elements, std::int64_t count);

template <typename T>
void compute(const Layer<T>& layer);

}  // namespace dycl::backends::recurrent
