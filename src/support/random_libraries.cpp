// SPDX-License-Identifier: Apache-2.0
#include "support/random_libraries.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <unordered_set>
#include <utility>
#include <vector>

#include "support/ziggurat_table.h"

namespace dycl {
namespace {

// All ones, no less than `last`.
std::uint64_t mask_of(std::uint64_t last) {
  return last == 0 ? 0 : std::numeric_limits<std::uint64_t>::max() >> std::countl_zero(last);
}

// From 0 to `last`, by trying words of as many bits.
std::uint64_t masked(Random& random, std::uint64_t last) {
  const std::uint64_t mask = mask_of(last);
  for (;;) {
    const std::uint64_t drawn = (last > 0xffffffffU ? random.two_words() : random.word()) & mask;
    if (drawn <= last) return drawn;
  }
}

// From 0 to `last`, by Lemire's multiplication: Word has twice as many bits as what next() gives.
template <typename Half, typename Word>
Half multiplied(Half last, const auto& next) {
  const Half range = static_cast<Half>(last + 1);
  const auto limit = static_cast<Half>((std::numeric_limits<Half>::max() - last) % range);
  for (;;) {
    const Word product = static_cast<Word>(next()) * range;
    if (static_cast<Half>(product) >= limit) return static_cast<Half>(product >> std::numeric_limits<Half>::digits);
  }
}

std::uint64_t offset_to(Random& random, std::uint64_t last) {
  if (last == 0) return 0;
  if (last == 0xffffffffU) return random.word();
  if (last == std::numeric_limits<std::uint64_t>::max()) return random.two_words();
  if (!random.is_pcg()) return masked(random, last);
  if (last < 0xffffffffU)
    return multiplied<std::uint32_t, std::uint64_t>(static_cast<std::uint32_t>(last), [&] { return random.word(); });
  return multiplied<std::uint64_t, Word128>(last, [&] { return random.two_words(); });
}

// ---- PCG64's normal numbers: the ziggurat of Marsaglia and Tsang ------------------------------

struct Ziggurat {
  std::array<std::uint64_t, 256> certain{};  // below, the point is in the layer's rectangle
  std::array<double, 256> density{};

  Ziggurat() {
    const auto edge = [](std::size_t i) { return kZigguratWidths[i] * 0x1p52; };
    for (std::size_t i = 1; i < 256; ++i) density[i] = std::exp(-0.5 * edge(i) * edge(i));
    density[0] = 1;
    certain[0] = static_cast<std::uint64_t>(edge(255) / edge(0) * 0x1p52);
    for (std::size_t i = 2; i < 256; ++i) certain[i] = static_cast<std::uint64_t>(edge(i - 1) / edge(i) * 0x1p52);
  }
};

double beyond_the_last_layer(Random& random, bool negative) {
  constexpr double kEdge = 3.6541528853610088, kInverse = 0.27366123732975828;
  for (;;) {
    const double x = -kInverse * std::log1p(-library_double(random));
    const double y = -std::log1p(-library_double(random));
    if (y + y > x * x) return negative ? -(kEdge + x) : kEdge + x;
  }
}

double ziggurat_normal(Random& random) {
  static const Ziggurat table;
  for (;;) {
    const std::uint64_t word = random.two_words();
    const std::size_t layer = word & 0xffU;
    const std::uint64_t place = (word >> 9) & 0xfffffffffffffU;
    const double size = static_cast<double>(place) * kZigguratWidths[layer];
    const double x = (word >> 8 & 1U) != 0 ? -size : size;
    if (place < table.certain[layer]) return x;
    if (layer == 0) return beyond_the_last_layer(random, (place >> 8 & 1U) != 0);
    const double step = table.density[layer - 1] - table.density[layer];
    if (step * library_double(random) + table.density[layer] < std::exp(-0.5 * x * x)) return x;
  }
}

// Marsaglia's polar method, which gives two at a time.
double polar_normal(Random& random) {
  if (random.kept_normal()) return *std::exchange(random.kept_normal(), std::nullopt);
  double x = 0, y = 0, square = 0;
  do {
    x = 2.0 * library_double(random) - 1.0;
    y = 2.0 * library_double(random) - 1.0;
    square = x * x + y * y;
  } while (square >= 1.0 || square == 0.0);
  const double scale = std::sqrt(-2.0 * std::log(square) / square);
  random.kept_normal() = scale * x;
  return scale * y;
}

// Swaps each element, from the last one on, with one of those up to it; those before `first` stay.
void shuffle(std::int64_t* data, std::size_t count, std::size_t first, const auto& up_to) {
  for (std::size_t i = count; i-- > first;) std::swap(data[i], data[up_to(i)]);
}

}  // namespace

double library_double(Random& random) {
  if (random.is_pcg()) return static_cast<double>(random.two_words() >> 11) * 0x1p-53;
  const double high = random.word() >> 5;
  return (high * 67108864.0 + (random.word() >> 6)) / 9007199254740992.0;
}

std::int64_t numpy_integer(Random& random, std::int64_t low, std::int64_t last) {
  const std::uint64_t range = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(low);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset_to(random, range));
}

double numpy_normal(Random& random) { return random.is_pcg() ? ziggurat_normal(random) : polar_normal(random); }

void numpy_permutation(Random& random, std::int64_t* data, std::size_t count) {
  std::iota(data, data + count, 0);
  shuffle(data, count, 1, [&](std::size_t i) { return masked(random, i); });
}

namespace {

// Chosen is the end of a permutation of all.
bool permutes_all(std::size_t population, std::size_t count) { return population > 10000 && count > population / 50; }

}  // namespace

std::uint64_t numpy_choice_bytes(std::int64_t population, std::size_t count) {
  constexpr std::uint64_t kOfSet = 40;  // a number, its node and its bucket
  if (population < 0 || population > std::int64_t{1} << 32) return 0;  // refused
  const auto size = static_cast<std::uint64_t>(population);
  return permutes_all(size, count) ? size * sizeof(std::int64_t) : count * kOfSet;
}

void numpy_choice(Random& random, std::int64_t population, std::int64_t* data, std::size_t count) {
  const auto size = static_cast<std::size_t>(population);
  const auto up_to = [&](std::size_t i) { return offset_to(random, i); };
  if (permutes_all(size, count)) {
    std::vector<std::int64_t> all(size);
    std::iota(all.begin(), all.end(), 0);
    shuffle(all.data(), size, std::max<std::size_t>(size - count, 1), up_to);
    std::copy(all.end() - static_cast<std::ptrdiff_t>(count), all.end(), data);
    return;
  }
  std::unordered_set<std::uint64_t> taken;  // Floyd's
  for (std::size_t i = size - count; i < size; ++i) {
    const std::uint64_t drawn = offset_to(random, i);
    const std::uint64_t chosen = taken.insert(drawn).second ? drawn : i;
    taken.insert(chosen);
    *data++ = static_cast<std::int64_t>(chosen);
  }
  shuffle(data - count, count, 1, up_to);
}

std::int64_t python_below(Random& random, std::int64_t end) {
  const int bits = std::numeric_limits<std::uint64_t>::digits - std::countl_zero(static_cast<std::uint64_t>(end));
  for (;;) {  // the first word has the lower bits
    std::uint64_t drawn = 0;
    if (bits <= 32) {
      drawn = random.word() >> (32 - bits);
    } else {
      drawn = random.word();
      drawn |= static_cast<std::uint64_t>(random.word() >> (64 - bits)) << 32;
    }
    if (drawn < static_cast<std::uint64_t>(end)) return static_cast<std::int64_t>(drawn);
  }
}

double python_normal(Random& random) {
  if (random.kept_normal()) return *std::exchange(random.kept_normal(), std::nullopt);
  const double angle = library_double(random) * (2.0 * std::numbers::pi);
  const double radius = std::sqrt(-2.0 * std::log(1.0 - library_double(random)));
  random.kept_normal() = std::sin(angle) * radius;
  return std::cos(angle) * radius;
}

void python_permutation(Random& random, std::int64_t* data, std::size_t count) {
  std::iota(data, data + count, 0);
  shuffle(data, count, 1, [&](std::size_t i) { return python_below(random, static_cast<std::int64_t>(i) + 1); });
}

}  // namespace dycl
