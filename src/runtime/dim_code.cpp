// SPDX-License-Identifier: Apache-2.0
#include "runtime/dim_code.h"

#include <algorithm>

namespace dycl::runtime {
namespace {

constexpr std::int64_t kLastDimOp = static_cast<std::int64_t>(DimOp::CeilDiv);

bool has_operand(DimOp op) { return op == DimOp::Const || op == DimOp::Symbol; }

std::optional<std::int64_t> floor_div(std::int64_t a, std::int64_t b) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
  const std::int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

std::optional<std::int64_t> apply(DimOp op, std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  switch (op) {
    case DimOp::Add: return __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional(out);
    case DimOp::Sub: return __builtin_sub_overflow(a, b, &out) ? std::nullopt : std::optional(out);
    case DimOp::Mul: return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
    case DimOp::FloorDiv: return floor_div(a, b);
    case DimOp::Mod: {
      if (!floor_div(a, b)) return std::nullopt;
      const std::int64_t rest = a % b;  // of the sign of a; q * b could be beyond 64 bits
      return rest != 0 && ((rest < 0) != (b < 0)) ? rest + b : rest;
    }
    case DimOp::CeilDiv: {
      if (a == INT64_MIN) return std::nullopt;
      const auto q = floor_div(-a, b);
      return q && *q != INT64_MIN ? std::optional(-*q) : std::nullopt;
    }
    case DimOp::Min: return std::min(a, b);
    case DimOp::Max: return std::max(a, b);
    default: return std::nullopt;
  }
}

}  // namespace

bool is_valid_dim_code(std::span<const std::int64_t> code, std::size_t symbol_count) {
  if (code.size() > kMaxDimCode) return false;
  int depth = 0;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i] < 0 || code[i] > kLastDimOp) return false;
    const auto op = static_cast<DimOp>(code[i]);
    if (has_operand(op)) {
      if (++i == code.size()) return false;
      if (op == DimOp::Symbol && (code[i] < 0 || static_cast<std::uint64_t>(code[i]) >= symbol_count)) return false;
      if (++depth > kMaxDimStack) return false;
    } else if (op == DimOp::Neg) {
      if (depth < 1) return false;
    } else if (--depth < 1) {
      return false;
    }
  }
  return depth == 1;
}

std::optional<std::int64_t> evaluate_dim(std::span<const std::int64_t> code, std::span<const std::int64_t> symbols) {
  std::int64_t stack[kMaxDimStack];
  int depth = 0;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const auto op = static_cast<DimOp>(code[i]);
    if (op == DimOp::Const) {
      stack[depth++] = code[++i];
    } else if (op == DimOp::Symbol) {
      const std::int64_t value = symbols[static_cast<std::size_t>(code[++i])];
      if (value < 0) return std::nullopt;
      stack[depth++] = value;
    } else if (op == DimOp::Neg) {
      if (stack[depth - 1] == INT64_MIN) return std::nullopt;
      stack[depth - 1] = -stack[depth - 1];
    } else {
      const auto value = apply(op, stack[depth - 2], stack[depth - 1]);
      if (!value) return std::nullopt;
      stack[--depth - 1] = *value;
    }
  }
  return stack[0];
}

std::vector<std::size_t> symbols_of(std::span<const std::int64_t> code) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const auto op = static_cast<DimOp>(code[i]);
    if (!has_operand(op)) continue;
    ++i;
    const auto symbol = static_cast<std::size_t>(code[i]);
    if (op == DimOp::Symbol) found.push_back(symbol);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::optional<std::int64_t> solve_dim(std::span<const std::int64_t> code, std::span<std::int64_t> symbols,
                                      std::size_t symbol, std::int64_t wanted) {
  const std::int64_t before = symbols[symbol];
  const auto at = [&](std::int64_t n) {
    symbols[symbol] = n;
    const auto value = evaluate_dim(code, symbols);
    symbols[symbol] = before;
    return value;
  };
  const auto at_0 = at(0), at_1 = at(1);
  if (!at_0 || !at_1) return std::nullopt;
  std::int64_t slope = 0, rest = 0;
  if (__builtin_sub_overflow(*at_1, *at_0, &slope) || slope == 0) return std::nullopt;
  if (__builtin_sub_overflow(wanted, *at_0, &rest)) return std::nullopt;
  if (slope == -1 && rest == INT64_MIN) return std::nullopt;
  if (rest % slope != 0) return std::nullopt;
  const std::int64_t answer = rest / slope;
  if (answer < 0 || at(answer) != wanted) return std::nullopt;
  return answer;
}

}  // namespace dycl::runtime
