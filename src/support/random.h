// SPDX-License-Identifier: Apache-2.0
// The random numbers of torch on the CPU: its generator (mt19937, seeded as torch seeds it) and its transformations,
// word for word and bit for bit as torch computes on x86-64 with AVX2. Under one seed, or from one state, the program
// draws what eager draws. Not for secrets. One owner, one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "support/dtype.h"

namespace dycl {

// What torch.get_rng_state() gives: this many bytes.
inline constexpr std::size_t kRandomStateBytes = 5056;
inline constexpr const char* kInvalidRandomState = "Invalid mt19937 state";
using RandomState = std::array<std::uint8_t, kRandomStateBytes>;

class Random {
 public:
  explicit Random(std::uint64_t seed = 0) { reseed(seed); }

  void reseed(std::uint64_t seed);  // torch.manual_seed

  RandomState state() const;
  // False, and nothing changes, if the bytes are no state.
  bool set_state(std::span<const std::uint8_t> bytes);

  std::uint32_t word();
  std::uint64_t two_words();  // the first one is the upper half

  float uniform_float();    // [0, 1), 24 bits of one word
  double uniform_double();  // [0, 1), 53 bits of two words
  double normal();          // two at a time: the second is kept for the next call
  std::int64_t integer(std::int64_t low, std::int64_t high);  // [low, high); needs low < high

 private:
  static constexpr std::size_t kWords = 624;

  void next_words();

  std::uint64_t seed_ = 0;
  std::array<std::uint32_t, kWords> words_{};
  std::uint32_t left_ = 1;  // words until the next ones are computed, and one
  std::uint32_t next_ = 0;  // the word that comes next
  std::optional<double> kept_normal_;
  std::optional<float> kept_float_normal_;  // never used on the CPU; a part of the state
};

// The ops that draw: IR name, letters of their parameters (f float, i int), which come before the extents. The order
// is stored in packages: new ones go to the end.
// clang-format off
#define DYCL_DISTRIBUTIONS(X)                                                                    \
  X(Uniform, "rand.uniform", "ff") /* from, to */                                                \
  X(Normal, "rand.normal", "ff") /* mean, deviation; from 16 elements on in blocks, as torch */  \
  X(NormalEach, "rand.normal_each", "ff") /* mean, deviation; one by one: where memory has gaps */ \
  X(Integer, "rand.int", "ii") /* low, high */                                                   \
  X(AnyInteger, "rand.any_int", "") /* random_() without bounds: by the dtype */                 \
  X(Exponential, "rand.exponential", "f") /* rate */                                             \
  X(Geometric, "rand.geometric", "f") /* probability */                                          \
  X(Cauchy, "rand.cauchy", "ff") /* median, sigma */                                             \
  X(LogNormal, "rand.log_normal", "ff") /* mean, deviation */                                    \
  X(Permutation, "rand.permutation", "") /* of 0 to the number of elements */                    \
  X(Word, "rand.word", "") /* 32 bits */
// clang-format on

enum class Distribution : std::uint8_t {
#define DYCL_X(name, text, parameters) name,
  DYCL_DISTRIBUTIONS(DYCL_X)
#undef DYCL_X
};

struct DistributionInfo {
  Distribution distribution;
  std::string_view name;
  std::string_view parameters;
};
inline constexpr DistributionInfo kDistributions[] = {
#define DYCL_X(name, text, parameters) {Distribution::name, text, parameters},
    DYCL_DISTRIBUTIONS(DYCL_X)
#undef DYCL_X
};

const DistributionInfo* distribution_named(std::string_view op);
bool can_draw(Distribution distribution, DType dtype);

struct DrawParameters {
  double real[2] = {0, 0};
  std::int64_t whole[2] = {0, 0};
};

// Fills `count` elements, in order. What is wrong with the parameters, in torch's words, if anything is: then nothing
// is drawn. can_draw(distribution, dtype) must hold.
std::optional<std::string> fill_random(Random& random, Distribution distribution, const DrawParameters& parameters,
                                       DType dtype, void* data, std::size_t count);

}  // namespace dycl
