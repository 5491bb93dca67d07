// SPDX-License-Identifier: Apache-2.0
// Arithmetic on extents. A symbolic Dim holds the canonical text of an integer
// expression over the program's symbols, so that equal extents are equal texts:
//
//   N+1   2*N*M-3   (N+1)//2   N%4   max(0,N-2)   min(M,N)
//
// Canonical: a sum of products with integer coefficients, `//`, `%`, `max` and
// `min` kept as atoms after what can be simplified is (divisible terms leave a
// `//` or `%` by a constant; arguments of max/min that differ by a constant
// collapse). `//` and `%` round like Python's. Every operation here gives a
// canonical Dim; an opaque operand, an overflow, a division by a constant zero,
// or an expression that grows too large gives an opaque Dim. A negative
// constant (only in the middle of a computation) is a symbolic Dim, "-3".
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/type.h"
#include "support/result.h"

namespace dycl::ir {

struct Symbol;  // ir/program.h

Dim operator+(const Dim& a, const Dim& b);
Dim operator-(const Dim& a, const Dim& b);
Dim operator*(const Dim& a, const Dim& b);
Dim floordiv(const Dim& a, const Dim& b);
Dim mod(const Dim& a, const Dim& b);
Dim dim_max(const Dim& a, const Dim& b);
Dim dim_min(const Dim& a, const Dim& b);

// An integer constant, also a negative one (Dim::of is for extents, >= 0).
Dim constant_dim(std::int64_t value);

// Any expression or `?`; canonical afterwards.
Result<Dim> parse_dim(std::string_view text);

// As written in the IR's text: "8", "N+1", "?".
std::string to_string(const Dim& dim);

// The value under given symbol values; nullopt for an opaque dim, an unknown
// symbol, an overflow or a division by zero.
using SymbolValues = std::map<std::string, std::int64_t>;
std::optional<std::int64_t> evaluate(const Dim& dim, const SymbolValues& symbols);

// Bounds of the value when each symbol lies in its range (unknown symbols: any
// value >= 0). An opaque dim lies in [0, INT64_MAX]. Saturating, not always tight.
struct Interval {
  std::int64_t min = 0;
  std::int64_t max = INT64_MAX;
};
Interval bounds(const Dim& dim, const std::map<std::string, Symbol>& symbols);

// The symbols an expression mentions, sorted, each once.
std::vector<std::string> symbols_of(const Dim& dim);

}  // namespace dycl::ir
