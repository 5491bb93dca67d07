// SPDX-License-Identifier: Apache-2.0
// Extents as little postfix programs over the program's symbols: "2*N+1" is
// Const 2, Symbol 0, Mul, Const 1, Add. Arithmetic is on 64-bit integers, division and
// remainder round towards minus infinity; overflow and division by zero give no value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace dycl::runtime {

enum class DimOp : std::int64_t {
  Const = 0,   // followed by the number
  Symbol = 1,  // followed by the symbol's index
  Add = 2,
  Sub = 3,
  Mul = 4,
  FloorDiv = 5,
  Mod = 6,
  Min = 7,
  Max = 8,
  Neg = 9,
  CeilDiv = 10,
};

inline constexpr int kMaxDimStack = 32;
inline constexpr std::size_t kMaxDimCode = 4096;  // words

// Whether `code` is well formed: not longer than kMaxDimCode, known ops, operands present, symbols below
// `symbol_count`, stack never empty or deeper than kMaxDimStack, exactly one result.
bool is_valid_dim_code(std::span<const std::int64_t> code, std::size_t symbol_count);

// Value of a valid program. Symbols that are negative are unbound and give no value.
std::optional<std::int64_t> evaluate_dim(std::span<const std::int64_t> code, std::span<const std::int64_t> symbols);

// The symbols it names, ascending, each once.
std::vector<std::size_t> symbols_of(std::span<const std::int64_t> code);

// The value of `symbol` that makes the program equal `wanted`, the other symbols being
// bound: solves programs that are affine in it, checks the answer, gives nothing otherwise.
std::optional<std::int64_t> solve_dim(std::span<const std::int64_t> code, std::span<std::int64_t> symbols,
                                      std::size_t symbol, std::int64_t wanted);

}  // namespace dycl::runtime
