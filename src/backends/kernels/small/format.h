// SPDX-License-Identifier: Apache-2.0
// Small programs: the artifact form of sub-DNNs that an engine's calls and nodes would cost more than their work: a
// gate, a predicate, a step of a recurrence or of decoding, where the only work of weight is products with few rows.
// The compile half lowers such a sub-DNN to a short list of steps, the plug-in runs them in place.
//
// Bytes: the magic, then little-endian 64-bit words: scratch bytes, literal bytes,
// number of steps, the literals (padded to words), the steps. A step is its opcode and
// then the words listed below; a place is two words (kind, index or byte offset).
// Elements are f32 unless said otherwise; tensors are dense and row-major.
#pragma once

#include <cstdint>

namespace dycl::backends::small {

inline constexpr char kMagic[8] = {'D', 'Y', 'C', 'L', 'S', 'M', 'L', '1'};
inline constexpr int kMaxRank = 6;
inline constexpr std::int64_t kMaxCount = 1 << 26;    // elements of a tensor, and of what a step does
inline constexpr std::int64_t kMaxProduct = 1 << 30;  // multiplications or comparisons of a step
inline constexpr std::int64_t kMaxScratch = 1 << 24;  // bytes

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
  Move = 12,        // element bytes, rank, dims, strides of in, strides of out, first of in, first of out (elements,
                    // strides of in may be 0); in, out: parts, permutations and repetitions of tensors
  Norm = 13,        // rows, columns, bits of epsilon, has scale, has bias; in, scale, bias, out
  MatMul = 14,      // batches, M, N, K, elements from one batch of A to the next, of B, B is N x K; A, B, out
  Take = 15,        // element bytes, outer, middle, inner, indices, index dtype (i64, i32); in, indices, out
  Where = 16,       // element bytes, rank, dims, strides of condition, a, b; condition, a, b, out
  TopK = 17,        // rows, columns, k, largest; in, out: values, indices (i64), best first
  Pluck = 18,   // element bytes, outer, middle, inner, indices per line; in, indices (i64), out: elements of an axis
  Select = 19,  // kind, descending, sorted, stable, flat, k, dtype, outer, extent, inner
                // (backends/kernels/selection.h); in, out: values, indices (i64)
};

// Of f32, `Not` of bool; `IsNaN` gives bool.
enum class UnaryFunction : std::int64_t { Relu, Sigmoid, Tanh, Exp, Log, Neg, Abs, Sqrt, Not, Gelu, Erf, IsNaN, Count };
enum class BinaryFunction : std::int64_t {
  Add,
  Sub,
  Mul,
  Div,
  Max,
  Min,  // f32, i64
  Greater,
  GreaterOrEqual,
  Less,
  LessOrEqual,
  Equal,  // f32, i64 -> bool
  And,
  Or,
  Xor,  // bool
  BitAnd,
  BitOr,
  BitXor,  // i64
  Count
};
enum class ReduceFunction : std::int64_t { Sum, Mean, Max, Min, Any, All, Count };  // Any, All: of bool

}  // namespace dycl::backends::small
