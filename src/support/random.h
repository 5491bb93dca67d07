// SPDX-License-Identifier: Apache-2.0
// The generator behind rand.* ops: small, fast, and the same everywhere, so that a seed
// gives the same tensors in interpreter and runtime. xoshiro256** (Blackman and Vigna),
// seeded by splitmix64. Not for secrets. One owner, one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/dtype.h"

namespace dycl {

class Random {
 public:
  explicit Random(std::uint64_t seed = 0) { reseed(seed); }

  void reseed(std::uint64_t seed);
  std::uint64_t next();

  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // [0, 1)
  double normal();                                                          // Box-Muller, one number per two draws
  std::int64_t integer(std::int64_t low, std::int64_t high);                // [low, high); needs low < high

 private:
  std::uint64_t state_[4];
};

// Fill `count` elements, in order. Floating dtypes; uniform draws as many bits as the
// dtype's significand has, so that 1 is never reached by rounding.
void fill_uniform(Random& random, DType dtype, void* data, std::size_t count);
void fill_normal(Random& random, DType dtype, void* data, std::size_t count);
// Any integer, floating or bool dtype; false if a number in [low, high) does not fit the dtype, or low >= high.
bool fill_integers(Random& random, DType dtype, std::int64_t low, std::int64_t high, void* data, std::size_t count);

}  // namespace dycl
