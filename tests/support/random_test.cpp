// SPDX-License-Identifier: Apache-2.0
// The generator against what torch draws (random_cases.txt, written by make_random_cases.py).
#include "support/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <span>
#include <sstream>
#include <string>
#include <vector>

namespace dycl {
namespace {

constexpr std::uint64_t kSeed = (std::uint64_t{1} << 40) + 7;

std::string sum_of(std::span<const std::uint8_t> bytes) {
  std::uint64_t value = 0xcbf29ce484222325U;
  for (const std::uint8_t byte : bytes) value = (value ^ byte) * 0x100000001b3U;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

TEST(Random, DrawsWhatTorchDraws) {
  std::ifstream file(DYCL_RANDOM_CASES);
  ASSERT_TRUE(file);
  std::string line;
  int cases = 0;
  while (std::getline(file, line)) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    std::string op, dtype_name, numbers, state;
    std::size_t count = 0;
    words >> op >> dtype_name >> count;
    const DistributionInfo* drawn = distribution_named(op);
    ASSERT_NE(drawn, nullptr) << line;
    const DType dtype = dtype_named(dtype_name).value();
    ASSERT_TRUE(can_draw(drawn->distribution, dtype)) << line;
    DrawParameters parameters;
    for (std::size_t i = 0; i < drawn->parameters.size(); ++i) {
      if (drawn->parameters[i] == 'i')
        words >> parameters.whole[i];
      else
        words >> parameters.real[i];
    }
    words >> numbers >> state;
    ASSERT_TRUE(words) << line;

    Random random(kSeed);
    random.normal();
    std::vector<std::uint8_t> out(count * size_of(dtype));
    EXPECT_EQ(fill_random(random, drawn->distribution, parameters, dtype, out.data(), count), std::nullopt) << line;
    EXPECT_EQ(sum_of(out), numbers) << line;
    EXPECT_EQ(sum_of(random.state()), state) << line;
    ++cases;
  }
  EXPECT_GT(cases, 500);
}

TEST(Random, WordsAsADraw) {
  Random random(5489);
  std::int64_t words[2];
  EXPECT_EQ(fill_random(random, Distribution::Word, {}, DType::I64, words, 2), std::nullopt);
  EXPECT_EQ(words[0], 3499211612);
  EXPECT_EQ(words[1], 581869302);
}

// The first words of torch's generator under its own default seed.
TEST(Random, WordsOfAKnownSeed) {
  Random random(5489);
  EXPECT_EQ(random.word(), 3499211612U);
  for (int i = 1; i < 9999; ++i) random.word();
  EXPECT_EQ(random.word(), 4123659995U);  // the ten thousandth, as the C++ standard states it for mt19937
}

TEST(Random, AStateIsWhereItGoesOn) {
  for (const int words : {0, 1, 2, 623, 624, 625, 1300}) {
    Random random(3);
    for (int i = 0; i < words; ++i) random.word();
    random.normal();
    const RandomState state = random.state();
    Random other(99);
    ASSERT_TRUE(other.set_state(state));
    EXPECT_EQ(other.state(), state);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(other.normal(), random.normal());
    for (int i = 0; i < 700; ++i) ASSERT_EQ(other.word(), random.word());
  }
}

TEST(Random, WhatIsNoStateIsRefusedAndChangesNothing) {
  Random random(3);
  const RandomState before = random.state();
  EXPECT_FALSE(random.set_state(std::span(before).first(100)));
  EXPECT_FALSE(random.set_state(RandomState{}));
  const auto with = [&](std::size_t at, std::uint8_t value) {
    RandomState changed = before;
    changed[at] = value;
    return changed;
  };
  constexpr std::size_t kLeft = 8, kSeeded = 12, kNext = 16;
  EXPECT_FALSE(random.set_state(with(kSeeded, 0)));
  EXPECT_FALSE(random.set_state(with(kLeft, 0)));
  EXPECT_FALSE(random.set_state(with(kLeft, 200)));  // words beyond the last one would be read
  EXPECT_FALSE(random.set_state(with(kNext + 2, 1)));
  EXPECT_EQ(random.state(), before);
}

// numpy.random.PCG64(1): random_raw(), then Generator.integers(2**32) twice and random_raw()
TEST(Random, Pcg64IsAnotherStateOfTheSameClass) {
  Random random;
  RandomState state{};
  const auto put = [&](std::size_t at, std::uint64_t value) { std::memcpy(&state[at], &value, sizeof value); };
  put(8, 1 | std::uint64_t{1} << 32);  // as if all words of mt19937 were gone, and seeded
  constexpr std::uint32_t kWords[] = {0x320fbc7eU, 0x2a6e7d6fU, 0xfedb756cU, 0x9c5b484bU,
                                          0x5740937bU, 0xa19857b9U, 0x2645f895U, 0x922af2daU,
                                          0, 0, kPcgMark};
  for (std::size_t i = 0; i < std::size(kWords); ++i) put(24 + 8 * i, kWords[i]);
  ASSERT_TRUE(random.set_state(state));
  EXPECT_EQ(random.state(), state);
  EXPECT_EQ(random.two_words(), 9441442522235856127U);
  EXPECT_EQ(random.word(), 3243419750U);
  const RandomState between = random.state();
  EXPECT_EQ(random.word(), 4082210491U);
  EXPECT_EQ(random.two_words(), 2659275481604167885U);
  Random other;
  ASSERT_TRUE(other.set_state(between));
  EXPECT_EQ(other.word(), 4082210491U);
  other.reseed(5489);
  EXPECT_EQ(other.word(), 3499211612U);
}

TEST(Random, ALentStateDrawsUntilItIsGivenBack) {
  Random random(3), lent(8);
  const RandomState own = random.state();
  EXPECT_EQ(random.give_back(), std::nullopt);
  EXPECT_FALSE(random.lend(RandomState{}));
  ASSERT_TRUE(random.lend(lent.state()));
  EXPECT_FALSE(random.lend(lent.state()));
  EXPECT_EQ(random.word(), lent.word());
  EXPECT_EQ(random.give_back(), lent.state());
  EXPECT_EQ(random.state(), own);
  ASSERT_TRUE(random.lend(lent.state()));
  random.recall();
  EXPECT_EQ(random.state(), own);
}

TEST(Random, ParametersThatAreTensorsMustFit) {
  Random random(1);
  const float rates[] = {2, -1, 3};
  float out[3] = {};
  DrawParameters parameters;
  parameters.tensor[0] = std::span(reinterpret_cast<const std::uint8_t*>(rates), sizeof rates);
  EXPECT_EQ(fill_random(random, Distribution::Poisson, parameters, DType::F32, out, 2).value_or(""),
            "rand.poisson of 2 elements, whose parameters have another number of them");
  EXPECT_EQ(fill_random(random, Distribution::Poisson, parameters, DType::F32, out, 3).value_or(""),
            "invalid Poisson rate, expected rate to be non-negative");
}

// Parameters that are tensors are data: whatever they hold, drawing ends.
template <typename T>
void draws_of_any_numbers_end(DType dtype) {
  using Numbers = std::numeric_limits<T>;
  const T nan = Numbers::quiet_NaN(), infinity = Numbers::infinity();
  const T special[] = {nan, infinity, -infinity, 0, -T(0), Numbers::denorm_min(), Numbers::min(), Numbers::max(),
                       Numbers::lowest(), Numbers::epsilon(), T(-0.7), T(1) / 3, T(0.5), 1, 10, T(1e18), T(1e19)};
  const auto bytes_of = [](const T& number) {
    return std::span(reinterpret_cast<const std::uint8_t*>(&number), sizeof number);
  };
  Random random(1);
  for (const auto distribution : {Distribution::Poisson, Distribution::Gamma, Distribution::Binomial})
    for (const T& first : special)
      for (const T& second : special)
        for (int round = 0; round < 20; ++round) {
          T out = 0;
          const DrawParameters parameters = {{}, {}, {bytes_of(first), bytes_of(second)}};
          const auto error = fill_random(random, distribution, parameters, dtype, &out, 1).value_or("");
          const bool endless = distribution == Distribution::Binomial && std::isnan(first) && second > 0 && second < 1;
          EXPECT_EQ(error == "a binomial count is NaN", endless) << first << " " << second;
        }
}

TEST(Random, DrawsOfAnyNumbersEnd) {
  draws_of_any_numbers_end<float>(DType::F32);
  draws_of_any_numbers_end<double>(DType::F64);
}

TEST(Random, WrongParametersAreRefusedInTorchsWords) {
  const auto error = [](Distribution distribution, DrawParameters parameters, DType dtype) {
    Random random(1);
    const RandomState before = random.state();
    double out[1];
    const auto text = fill_random(random, distribution, parameters, dtype, out, 1);
    EXPECT_EQ(random.state(), before);
    return text.value_or("");
  };
  using D = Distribution;
  EXPECT_EQ(error(D::Uniform, {{2, 1}, {}}, DType::F32),
            "uniform_ expects to return a [from, to) range, but found from=2 > to=1");
  EXPECT_EQ(error(D::Normal, {{0, -1}, {}}, DType::F32), "normal expects std >= 0.0, but found std -1");
  EXPECT_EQ(error(D::Integer, {{}, {5, 5}}, DType::I64),
            "random_ expects 'from' to be less than 'to', but got from=5 >= to=5");
  EXPECT_NE(error(D::Integer, {{}, {0, 300}}, DType::U8), "");
  EXPECT_NE(error(D::Integer, {{}, {-1, 3}}, DType::U8), "");
  EXPECT_EQ(error(D::Exponential, {{-1.5, 0}, {}}, DType::F32), "exponential_ expects lambda > 0.0, but found lambda=-1.5");
  EXPECT_EQ(error(D::Geometric, {{1, 0}, {}}, DType::F32), "geometric_ expects p to be in (0, 1), but got p=1");
  EXPECT_EQ(error(D::Cauchy, {{0, -1}, {}}, DType::F32), "cauchy_ expects sigma > 0.0, but found sigma=-1");
  EXPECT_EQ(error(D::LogNormal, {{0, 0}, {}}, DType::F32), "log_normal_ expects std > 0.0, but found std=0");
}

}  // namespace
}  // namespace dycl
