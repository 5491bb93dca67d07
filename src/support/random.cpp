// SPDX-License-Identifier: Apache-2.0
#include "support/random.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>

#include "support/elements.h"

namespace dycl {

void Random::reseed(std::uint64_t seed) {
  for (std::uint64_t& word : state_) {
    seed += 0x9e3779b97f4a7c15U;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    word = z ^ (z >> 31);
  }
}

std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::normal() {
  const double u = 1.0 - uniform();  // (0, 1]: the logarithm is finite
  const double v = uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

std::int64_t Random::integer(std::int64_t low, std::int64_t high) {
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  // The first multiple of `range` numbers are equally likely residues; draw again beyond it.
  const std::uint64_t excess = (UINT64_MAX % range + 1) % range;
  std::uint64_t draw = next();
  while (excess != 0 && draw > UINT64_MAX - excess) draw = next();
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + draw % range);
}

namespace {

int significand_bits(DType dtype) {
  switch (dtype) {
    case DType::F16: return 11;
    case DType::BF16: return 8;
    case DType::F32: return 24;
    default: return 53;
  }
}

}  // namespace

void fill_uniform(Random& random, DType dtype, void* data, std::size_t count) {
  const int bits = significand_bits(dtype);
  auto* to = static_cast<std::uint8_t*>(data);
  for (std::size_t i = 0; i < count; ++i, to += size_of(dtype)) {
    const double value = std::ldexp(static_cast<double>(random.next() >> (64 - bits)), -bits);
    store_element(dtype, scalar::Scalar::of(value), to);
  }
}

void fill_normal(Random& random, DType dtype, void* data, std::size_t count) {
  auto* to = static_cast<std::uint8_t*>(data);
  for (std::size_t i = 0; i < count; ++i, to += size_of(dtype)) {
    store_element(dtype, scalar::Scalar::of(random.normal()), to);
  }
}

bool fill_integers(Random& random, DType dtype, std::int64_t low, std::int64_t high, void* data, std::size_t count) {
  std::uint8_t scratch[16];
  const auto fits = [&](std::int64_t v) {
    return store_element(dtype, scalar::Scalar::of(v), scratch) == scalar::Fault::None;
  };
  if (low >= high || !fits(low) || !fits(high - 1)) return false;
  auto* to = static_cast<std::uint8_t*>(data);
  for (std::size_t i = 0; i < count; ++i, to += size_of(dtype)) {
    store_element(dtype, scalar::Scalar::of(random.integer(low, high)), to);
  }
  return true;
}

}  // namespace dycl
