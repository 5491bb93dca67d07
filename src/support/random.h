// SPDX-License-Identifier: Apache-2.0
// The random numbers of torch on the CPU: its generator (mt19937, seeded as torch seeds it) and its transformations,
// word for word and bit for bit as torch computes on x86-64 with AVX2. Under one seed, or from one state, the program
// draws what eager draws. The generator of numpy.random.default_rng (PCG64) is another state of the same class; what
// numpy and the standard library make of words is in random_libraries.h. Not for secrets. One owner, one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "support/dtype.h"

namespace dycl {

// PCG64: a 128-bit linear congruential generator, whose upper half says how the two halves, xored, are rotated.
__extension__ using Word128 = unsigned __int128;
struct Pcg64 {
  Word128 state = 0, increment = 0;
  std::optional<std::uint32_t> kept;  // the upper half of a word of which 32 bits were asked for

  std::uint64_t next();
};

// What torch.get_rng_state() gives: this many bytes. One of PCG64 is one that mt19937 cannot reach: its numbers and a
// mark where the first words are (kPcgMark), then zeros.
inline constexpr std::size_t kRandomStateBytes = 5056;
inline constexpr const char* kInvalidRandomState = "Invalid mt19937 state";
inline constexpr const char* kNoRandomStateLent = "a generator is given back that was not lent";
using RandomState = std::array<std::uint8_t, kRandomStateBytes>;
inline constexpr std::uint32_t kPcgMark = 0x50434736U;

class Random {
 public:
  explicit Random(std::uint64_t seed = 0) { reseed(seed); }

  void reseed(std::uint64_t seed);  // torch.manual_seed

  RandomState state() const;
  // False, and nothing changes, if the bytes are no state.
  bool set_state(std::span<const std::uint8_t> bytes);

  // Draws go on from this state until give_back(), which says where they ended; then from where they were. False, and
  // nothing changes, if the bytes are no state, or one is lent already.
  bool lend(std::span<const std::uint8_t> bytes);
  std::optional<RandomState> give_back();  // nothing: none was lent
  void recall() { (void)give_back(); }     // where an execution ended meanwhile

  std::uint32_t word();
  std::uint64_t two_words();  // the first one is the upper half; of PCG64 its own word of 64 bits

  float uniform_float();    // [0, 1), 24 bits of one word
  double uniform_double();  // [0, 1), 53 bits of two words
  double normal();          // two at a time: the second is kept for the next call
  std::int64_t integer(std::int64_t low, std::int64_t high);  // [low, high); needs low < high

  bool is_pcg() const { return pcg_.has_value(); }
  std::optional<double>& kept_normal() { return kept_normal_; }

 private:
  static constexpr std::size_t kWords = 624;

  void next_words();
  void put_pcg(RandomState& bytes) const;
  void take_pcg();  // after its words were read

  std::uint64_t seed_ = 0;
  std::array<std::uint32_t, kWords> words_{};
  std::uint32_t left_ = 1;  // words until the next ones are computed, and one
  std::uint32_t next_ = 0;  // the word that comes next
  std::optional<double> kept_normal_;
  std::optional<float> kept_float_normal_;  // never used on the CPU; a part of the state
  std::optional<Pcg64> pcg_;                // then the words above are not drawn from
  std::shared_ptr<const Random> own_;       // of whose place a lent state has taken
};

// The ops that draw: IR name, letters of their parameters (f float, i int, t a tensor of the result's dtype and number
// of elements), which come before the extents. The order is stored in packages: new ones go to the end.
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
  X(Word, "rand.word", "") /* 32 bits */                                                         \
  X(Poisson, "rand.poisson", "t") /* rates */                                                    \
  X(Gamma, "rand.gamma", "t") /* shapes; of rate 1 */                                            \
  X(Binomial, "rand.binomial", "tt") /* counts, probabilities */                                 \
  X(LibraryDouble, "rand.library_double", "") /* from 0 to 1, as numpy and Python */             \
  X(NumpyInteger, "rand.numpy_int", "ii") /* low, last */                                        \
  X(NumpyNormal, "rand.numpy_normal", "") /* standard */                                         \
  X(NumpyPermutation, "rand.numpy_permutation", "") /* of 0 to the number of elements */         \
  X(NumpyChoice, "rand.numpy_choice", "i") /* different ones of 0 to this number, Generator's */ \
  X(PythonBelow, "rand.python_below", "i") /* integers below this one */                         \
  X(PythonNormal, "rand.python_normal", "") /* standard; Random.gauss */                         \
  X(PythonPermutation, "rand.python_permutation", "") /* of 0 to the number of elements */
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
  std::span<const std::uint8_t> tensor[2] = {};  // elements, contiguous
};

// Fills `count` elements, in order. What is wrong with the parameters, in torch's words, if anything is: then nothing
// is drawn, or what torch draws before it sees the wrong element. can_draw(distribution, dtype) must hold.
std::optional<std::string> fill_random(Random& random, Distribution distribution, const DrawParameters& parameters,
                                       DType dtype, void* data, std::size_t count);

// What that takes of memory meanwhile beside `data`, if the parameters are right.
std::uint64_t bytes_to_fill_random(Distribution distribution, const DrawParameters& parameters, std::size_t count);

}  // namespace dycl
