// SPDX-License-Identifier: Apache-2.0
// Small programs: the artifact form of sub-DNNs that do so little work (a gate, a
// predicate) that calling an engine costs more than the work itself. The compile half
// lowers such a sub-DNN to a short list of steps, the plug-in runs them in place.
//
// Bytes: the magic, then little-endian 64-bit words: scratch bytes, literal bytes,
// number of steps, the literals (padded to words), the steps. A step is its opcode and
// then the words listed below; a place is two words (kind, index or byte offset).
// Elements are f32 unless said otherwise; tensors are dense and row-major.
#pragma once

#include <cstdint>

namespace dycl::backends::ort::small {

inline constexpr char kMagic[8] = {'D', 'Y', 'C', 'L', 'S', 'M', 'L', '1'};
inline constexpr int kMaxRank = 6;

enum class Place : std::int64_t { Input = 0, Output = 1, Weight = 2, Scratch = 3, Literal = 4, None = 5 };

enum class Opcode : std::int64_t {
  Unary = 1,        // function, count; in, out
  Binary = 2,       // function, dtype, rank, dims, strides of a, strides of b; a, b, out (comparisons: bool)
  Gemm = 3,         // M, N, K, B is N x K, bias (0 none, 1 scalar, 2 per column, 3 full), alpha, beta as bits of
                    // doubles; A, B, bias, out
  Reduce = 4,       // function, outer, middle, inner: over the middle; in, out
  BlockedMean = 5,  // batch, channels, spatial extent, block: of a blocked tensor; in, out
  Softmax = 6,      // is the logarithm wanted, rows, columns; in, out
  ArgMax = 7,       // outer, middle, inner, last of equals; in, out (i64)
  Cast = 8,         // from dtype, to dtype, count; in, out
  Copy = 9,         // bytes; in, out
  Pick = 10,        // element bytes, outer, middle, inner, which of the middle; in, out
  LstmCell = 11,    // hidden extent; the four gates' sums (input, output, forget, cell), old cell, out: hidden, cell
};

enum class UnaryFunction : std::int64_t { Relu, Sigmoid, Tanh, Exp, Log, Neg, Abs, Sqrt, Not, Count };
enum class BinaryFunction : std::int64_t {
  Add, Sub, Mul, Div, Max, Min,                       // f32, i64
  Greater, GreaterOrEqual, Less, LessOrEqual, Equal,  // f32, i64 -> bool
  And, Or, Xor,                                       // bool
  Count
};
enum class ReduceFunction : std::int64_t { Sum, Mean, Max, Min, Count };

}  // namespace dycl::backends::ort::small
