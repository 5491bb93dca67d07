// SPDX-License-Identifier: Apache-2.0
#include "backends/kernels/selection.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

namespace dycl::backends::selection {
namespace {

constexpr std::int64_t kPartialSortRatio = 64;        // torch: k * 64 <= n is sorted partially
constexpr std::int64_t kRadixSortedLength = 1 << 15;  // torch: from here on lines of integers are radix sorted

struct Half {
  std::uint16_t bits;
};
struct BFloat {
  std::uint16_t bits;
};

float as_float(BFloat x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

float as_float(Half x) {
  const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000) << 16;
  const std::uint32_t exponent = (x.bits >> 10) & 0x1f, fraction = x.bits & 0x3ff;
  if (exponent == 0)
    return std::copysign(std::ldexp(static_cast<float>(fraction), -24), std::bit_cast<float>(sign | 0x3f800000));
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

// What elements are compared as.
template <typename Stored>
auto key_of(Stored x) {
  if constexpr (std::is_same_v<Stored, Half> || std::is_same_v<Stored, BFloat>)
    return as_float(x);
  else
    return x;
}

template <typename T>
bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return x != x;
  else
    return false;
}

template <typename Key, typename Place>
struct Element {
  Key key;
  Place at;
};

// The orders; those that know of NaN are needed only where there is one.
template <bool with_nan>
struct Greater {
  template <typename E>
  bool operator()(const E& a, const E& b) const {
    return a.key > b.key || (with_nan && is_nan(a.key) && !is_nan(b.key));
  }
};

template <bool with_nan>
struct Less {
  template <typename E>
  bool operator()(const E& a, const E& b) const {
    return a.key < b.key || (with_nan && !is_nan(a.key) && is_nan(b.key));
  }
};

// Equal elements by their places: the order of a stable sort, without its memory.
template <typename Before>
struct ThenByPlace {
  template <typename E>
  bool operator()(const E& a, const E& b) const {
    if (Before()(a, b)) return true;
    return a.at < b.at && !Before()(b, a);
  }
};

// Puts `value` in the place of a heap's top and mends the heap, from the hole down to a leaf and up again.
template <typename E, typename Before>
void replace_top(E* heap, std::int64_t k, E value, Before before) {
  std::int64_t hole = 0, child = 0;
  while (child < (k - 1) / 2) {
    child = 2 * child + 2;
    if (before(heap[child], heap[child - 1])) --child;
    heap[hole] = heap[child];
    hole = child;
  }
  if (k % 2 == 0 && child == (k - 2) / 2) {
    child = 2 * child + 1;
    heap[hole] = heap[child];
    hole = child;
  }
  for (std::int64_t parent = (hole - 1) / 2; hole > 0 && before(heap[parent], value); parent = (hole - 1) / 2) {
    heap[hole] = heap[parent];
    hole = parent;
  }
  heap[hole] = value;
}

// Whether one of a few neighbours may come before the heap's top.
template <typename Before, typename Key>
bool any_before(const Key* x, std::int64_t count, Key top) {
  bool any = false;
  for (std::int64_t j = 0; j < count; ++j) any |= Before::largest ? !(x[j] <= top) : !(x[j] >= top);
  return any;
}

// std::partial_sort(line, line + k, line + n) where nobody reads the rest, which therefore is never written: of `x`,
// only those that come before the k-th best so far are touched.
template <typename Order, typename E, typename Stored>
void partial_sort(E* heap, std::int64_t k, const Stored* x, std::int64_t n, std::int64_t stride) {
  const typename Order::template Of<true> before;
  using Key = decltype(heap->key);
  constexpr std::int64_t kBlock = 32;
  std::make_heap(heap, heap + k, before);
  for (std::int64_t j = k; j < n;) {
    if constexpr (std::is_same_v<Key, Stored>)
      if (stride == 1 && j + kBlock <= n && !any_before<Order>(x + j, kBlock, heap[0].key)) {
        j += kBlock;
        continue;
      }
    for (const std::int64_t end = std::min(n, j + kBlock); j < end; ++j) {
      const E element{key_of(x[j * stride]), static_cast<decltype(heap->at)>(j)};
      if (before(element, heap[0])) replace_top(heap, k, element, before);
    }
  }
  std::sort_heap(heap, heap + k, before);
}

template <typename E, typename Before>
void top_k(E* line, std::int64_t n, std::int64_t k, bool sorted, Before before) {
  std::nth_element(line, line + k - 1, line + n, before);
  if (sorted) std::sort(line, line + k - 1, before);
}

template <typename E, typename Before>
void sort(E* line, std::int64_t n, bool stable, Before before) {
  if (stable) return std::sort(line, line + n, ThenByPlace<Before>());
  std::sort(line, line + n, before);
}

// Puts the middle of three first, the greatest last and the least after the first.
template <typename E>
void order_three(E* line, std::int64_t low, std::int64_t high) {
  const Greater<true> greater;
  std::swap(line[low + (high - low) / 2], line[low + 1]);
  if (greater(line[low + 1], line[high])) std::swap(line[low + 1], line[high]);
  if (greater(line[low], line[high])) std::swap(line[low], line[high]);
  if (greater(line[low + 1], line[low])) std::swap(line[low + 1], line[low]);
}

// Hoare's selection with the median of three as pivot: afterwards line[k] is the one a sort would put there.
template <typename E>
void quick_select(E* line, std::int64_t n, std::int64_t k) {
  const Greater<true> greater;
  std::int64_t low = 0, high = n - 1;
  while (high > low + 1) {
    order_three(line, low, high);
    const E pivot = line[low];
    std::int64_t up = low + 1, down = high;
    for (;;) {
      while (greater(pivot, line[++up])) {
      }
      while (greater(line[--down], pivot)) {
      }
      if (down < up) break;
      std::swap(line[up], line[down]);
    }
    std::swap(line[low], line[down]);
    if (down <= k) low = up;
    if (down >= k) high = down - 1;
  }
  if (high == low + 1 && greater(line[low], line[high])) std::swap(line[low], line[high]);
}

// The last of the first of the longest runs in sorted order, to the front. Compares with < alone, NaN or not.
template <typename E>
void mode(E* line, std::int64_t n) {
  std::sort(line, line + n, [](const E& a, const E& b) { return a.key < b.key; });
  std::int64_t longest = 0, run = 0;
  E best{};
  for (std::int64_t i = 0; i < n; ++i) {
    ++run;
    if (i + 1 < n && line[i].key == line[i + 1].key) continue;
    if (run > longest) {
      longest = run;
      best = line[i];
    }
    run = 0;
  }
  line[0] = best;
}

struct Largest {
  template <bool with_nan>
  using Of = Greater<with_nan>;
  static constexpr bool largest = true;
};
struct Smallest {
  template <bool with_nan>
  using Of = Less<with_nan>;
  static constexpr bool largest = false;
};

template <typename Before, typename E>
void order(const Selection& how, E* line, std::int64_t n, bool is_integer) {
  switch (how.kind) {
    case Kind::TopK: return top_k(line, n, how.k, how.sorted, Before());
    case Kind::Sort: {
      const bool radix = is_integer && how.flat && !how.descending && n >= kRadixSortedLength;
      return sort(line, n, how.stable || radix, Before());
    }
    case Kind::KthValue:
      if (how.stable)
        std::nth_element(line, line + how.k - 1, line + n, ThenByPlace<Before>());
      else
        quick_select(line, n, how.k - 1);
      line[0] = line[how.k - 1];
      return;
    case Kind::Mode: return mode(line, n);
  }
}

// Reads the first `count` elements of a line; whether one is NaN.
template <typename E, typename Stored>
bool read(const Stored* x, std::int64_t count, std::int64_t stride, E* line) {
  bool nan = false;
  for (std::int64_t j = 0; j < count; ++j) {
    line[j] = {key_of(x[j * stride]), static_cast<decltype(line->at)>(j)};
    nan |= is_nan(line[j].key);
  }
  return nan;
}

// The chosen ones of a line in front, in order. KthValue goes by the smallest.
template <typename Order, typename E, typename Stored>
void choose(const Selection& how, const Stored* x, std::int64_t n, std::int64_t stride, bool is_integer, E* line) {
  if (how.kind == Kind::TopK && how.k * kPartialSortRatio <= n) {
    read(x, how.k, stride, line);
    return partial_sort<Order>(line, how.k, x, n, stride);
  }
  if (read(x, n, stride, line))
    order<typename Order::template Of<true>>(how, line, n, is_integer);
  else
    order<typename Order::template Of<false>>(how, line, n, is_integer);
}

template <typename E>
E* scratch(std::int64_t n) {
  thread_local std::vector<E> memory;
  if (memory.size() < static_cast<std::size_t>(n)) memory.resize(static_cast<std::size_t>(n));
  return memory.data();
}

template <typename Stored, typename Place>
void select_lines(const Selection& how, const Lines& lines, std::int64_t first, std::int64_t last, bool is_integer) {
  using E = Element<decltype(key_of(Stored())), Place>;
  const std::int64_t n = lines.extent, chosen = count_of(how, n);
  if (n == 0 || chosen == 0) return;
  E* line = scratch<E>(n);
  const auto* in = static_cast<const Stored*>(lines.in);
  auto* values = static_cast<Stored*>(lines.values);
  for (std::int64_t at = first; at < last; ++at) {
    const std::int64_t outer = at / lines.inner, inner = at % lines.inner;
    const Stored* x = in + outer * n * lines.inner + inner;
    if (how.descending && how.kind != Kind::KthValue)
      choose<Largest>(how, x, n, lines.inner, is_integer, line);
    else
      choose<Smallest>(how, x, n, lines.inner, is_integer, line);
    const std::int64_t to = outer * chosen * lines.inner + inner;
    if (values)
      for (std::int64_t j = 0; j < chosen; ++j)
        values[to + j * lines.inner] = x[static_cast<std::int64_t>(line[j].at) * lines.inner];
    if (lines.indices)
      for (std::int64_t j = 0; j < chosen; ++j) lines.indices[to + j * lines.inner] = line[j].at;
  }
}

template <typename Stored>
void select_as(const Selection& how, const Lines& lines, std::int64_t first, std::int64_t last, bool is_integer) {
  if (lines.extent <= std::numeric_limits<std::int32_t>::max())
    return select_lines<Stored, std::int32_t>(how, lines, first, last, is_integer);
  select_lines<Stored, std::int64_t>(how, lines, first, last, is_integer);
}

}  // namespace

bool takes(DType dtype) {
  switch (dtype) {
    case DType::F32:
    case DType::F64:
    case DType::F16:
    case DType::BF16:
    case DType::I8:
    case DType::I16:
    case DType::I32:
    case DType::I64:
    case DType::U8:
    case DType::Bool: return true;
    default: return false;
  }
}

std::int64_t count_of(const Selection& how, std::int64_t extent) {
  if (how.kind == Kind::TopK) return how.k;
  return how.kind == Kind::Sort ? extent : 1;
}

const char* refuses(const Selection& how, std::int64_t extent) {
  if (how.kind == Kind::TopK && (how.k < 0 || how.k > extent)) return "selected index k out of range";
  if (how.kind == Kind::KthValue && (how.k < 1 || how.k > extent)) return "selected index k out of range";
  if (how.kind == Kind::Mode && extent == 0) return "the most frequent element of nothing";
  return nullptr;
}

void select(const Selection& how, DType dtype, const Lines& lines, std::int64_t first, std::int64_t last) {
  switch (dtype) {
    case DType::F32: return select_as<float>(how, lines, first, last, false);
    case DType::F64: return select_as<double>(how, lines, first, last, false);
    case DType::F16: return select_as<Half>(how, lines, first, last, false);
    case DType::BF16: return select_as<BFloat>(how, lines, first, last, false);
    case DType::I8: return select_as<std::int8_t>(how, lines, first, last, true);
    case DType::I16: return select_as<std::int16_t>(how, lines, first, last, true);
    case DType::I32: return select_as<std::int32_t>(how, lines, first, last, true);
    case DType::I64: return select_as<std::int64_t>(how, lines, first, last, true);
    case DType::U8: return select_as<std::uint8_t>(how, lines, first, last, true);
    case DType::Bool: return select_as<std::uint8_t>(how, lines, first, last, false);
    default: return;
  }
}

}  // namespace dycl::backends::selection
