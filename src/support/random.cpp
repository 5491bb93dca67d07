// SPDX-License-Identifier: Apache-2.0
#include "support/random.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <sstream>
#include <utility>

#include "support/elements.h"
#include "support/float_bits.h"
#include "support/random_libraries.h"
#include "support/random_samplers.h"

namespace dycl {
namespace {

// Where torch keeps what in the bytes of a state.
constexpr std::size_t kSeedAt = 0, kLeftAt = 8, kSeededAt = 12, kNextAt = 16, kWordsAt = 24;
constexpr std::size_t kNormalAt = 5024, kHasNormalAt = 5040, kFloatNormalAt = 5048, kHasFloatNormalAt = 5052;

template <typename T>
void put(RandomState& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

template <typename T>
T take(std::span<const std::uint8_t> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

// ---- the generator ----------------------------------------------------------------------------

void Random::reseed(std::uint64_t seed) {
  seed_ = seed;
  words_[0] = static_cast<std::uint32_t>(seed);
  for (std::uint32_t i = 1; i < kWords; ++i) {
    const std::uint32_t last = words_[i - 1];
    words_[i] = 1812433253U * (last ^ (last >> 30)) + i;
  }
  left_ = 1;
  next_ = 0;
  kept_normal_.reset();
  kept_float_normal_.reset();
  pcg_.reset();
}

// state and increment, 4 words each, whether a half is kept, it, the mark
void Random::put_pcg(RandomState& bytes) const {
  const auto put_word = [&](std::size_t i, std::uint32_t word) {
    put(bytes, kWordsAt + 8 * i, static_cast<std::uint64_t>(word));
  };
  for (std::size_t i = 0; i < 4; ++i) {
    put_word(i, static_cast<std::uint32_t>(pcg_->state >> (32 * i)));
    put_word(4 + i, static_cast<std::uint32_t>(pcg_->increment >> (32 * i)));
  }
  put_word(8, pcg_->kept.has_value() ? 1 : 0);
  put_word(9, pcg_->kept.value_or(0));
  put_word(10, kPcgMark);
}

void Random::take_pcg() {
  pcg_.reset();
  constexpr std::size_t kUsed = 11;
  if (words_[kUsed - 1] != kPcgMark) return;
  for (std::size_t i = kUsed; i < kWords; ++i)
    if (words_[i] != 0) return;
  pcg_.emplace();
  for (std::size_t i = 0; i < 4; ++i) {
    pcg_->state |= static_cast<Word128>(words_[i]) << (32 * i);
    pcg_->increment |= static_cast<Word128>(words_[4 + i]) << (32 * i);
  }
  if (words_[8] != 0) pcg_->kept = words_[9];
}

RandomState Random::state() const {
  RandomState bytes{};
  put(bytes, kSeedAt, seed_);
  put(bytes, kLeftAt, left_);
  put(bytes, kSeededAt, std::uint32_t{1});
  put(bytes, kNextAt, static_cast<std::uint64_t>(next_));
  for (std::size_t i = 0; i < kWords; ++i) put(bytes, kWordsAt + 8 * i, static_cast<std::uint64_t>(words_[i]));
  if (pcg_) put_pcg(bytes);
  put(bytes, kNormalAt, kept_normal_.value_or(0.0));
  put(bytes, kHasNormalAt, static_cast<std::uint32_t>(kept_normal_.has_value()));
  put(bytes, kFloatNormalAt, kept_float_normal_.value_or(0.0F));
  put(bytes, kHasFloatNormalAt, static_cast<std::uint8_t>(kept_float_normal_.has_value()));
  return bytes;
}

bool Random::set_state(std::span<const std::uint8_t> bytes) {
  if (bytes.size() != kRandomStateBytes) return false;
  const auto left = take<std::uint32_t>(bytes, kLeftAt);
  const auto next = take<std::uint64_t>(bytes, kNextAt);
  if (take<std::uint32_t>(bytes, kSeededAt) != 1 || left < 1 || left > kWords || next > kWords) return false;
  if (left != 1 && left + next != kWords + 1) return false;  // words beyond the last one would be read
  seed_ = take<std::uint64_t>(bytes, kSeedAt);
  left_ = left;
  next_ = static_cast<std::uint32_t>(next);
  for (std::size_t i = 0; i < kWords; ++i)
    words_[i] = static_cast<std::uint32_t>(take<std::uint64_t>(bytes, kWordsAt + 8 * i));
  take_pcg();
  kept_normal_.reset();
  if (take<std::uint32_t>(bytes, kHasNormalAt) != 0) kept_normal_ = take<double>(bytes, kNormalAt);
  kept_float_normal_.reset();
  if (take<std::uint8_t>(bytes, kHasFloatNormalAt) != 0) kept_float_normal_ = take<float>(bytes, kFloatNormalAt);
  return true;
}

bool Random::lend(std::span<const std::uint8_t> bytes) {
  if (own_) return false;
  auto own = std::make_shared<const Random>(*this);
  if (!set_state(bytes)) return false;
  own_ = std::move(own);
  return true;
}

std::optional<RandomState> Random::give_back() {
  if (!own_) return std::nullopt;
  const RandomState drawn_from = state();
  const std::shared_ptr<const Random> own = std::move(own_);
  *this = *own;
  return drawn_from;
}

void Random::next_words() {
  constexpr std::size_t kDistance = 397;
  for (std::size_t i = 0; i < kWords; ++i) {
    const std::uint32_t mixed = (words_[i] & 0x80000000U) | (words_[(i + 1) % kWords] & 0x7fffffffU);
    words_[i] = words_[(i + kDistance) % kWords] ^ (mixed >> 1) ^ ((mixed & 1U) != 0 ? 0x9908b0dfU : 0U);
  }
  left_ = kWords;
  next_ = 0;
}

std::uint64_t Pcg64::next() {
  constexpr Word128 kMultiplier = static_cast<Word128>(0x2360ed051fc65da4U) << 64 | 0x4385df649fccf645U;
  state = state * kMultiplier + increment;
  const auto mixed = static_cast<std::uint64_t>(state >> 64) ^ static_cast<std::uint64_t>(state);
  return std::rotr(mixed, static_cast<int>(state >> 122));
}

std::uint32_t Random::word() {
  if (pcg_) {
    if (pcg_->kept) return *std::exchange(pcg_->kept, std::nullopt);
    const std::uint64_t both = pcg_->next();
    pcg_->kept = static_cast<std::uint32_t>(both >> 32);
    return static_cast<std::uint32_t>(both);
  }
  if (--left_ == 0) next_words();
  std::uint32_t y = words_[next_++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680U;
  y ^= (y << 15) & 0xefc60000U;
  return y ^ (y >> 18);
}

std::uint64_t Random::two_words() {
  if (pcg_) return pcg_->next();
  const std::uint64_t high = word();
  return high << 32 | word();
}

float Random::uniform_float() { return static_cast<float>(word() & 0xffffffU) * 0x1p-24F; }

double Random::uniform_double() {
  return static_cast<double>(two_words() & ((std::uint64_t{1} << 53) - 1)) * 0x1p-53;
}

double Random::normal() {
  if (kept_normal_) return *std::exchange(kept_normal_, std::nullopt);
  const double angle = 2.0 * std::numbers::pi * uniform_double();
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform_double()));
  kept_normal_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

std::int64_t Random::integer(std::int64_t low, std::int64_t high) {
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  const std::uint64_t drawn = range >= std::uint64_t{1} << 28 ? two_words() : word();
  return static_cast<std::int64_t>(drawn % range + static_cast<std::uint64_t>(low));
}

// ---- blocks of normal numbers -----------------------------------------------------------------

namespace {

// In blocks torch computes float logarithm, sine and cosine by the polynomials of the Cephes library, each product and
// sum that follow one another rounded once. So does this, or the bits would differ.

float block_log(float x) {
  constexpr float kCoefficients[] = {7.0376836292e-2F,  -1.1514610310e-1F, 1.1676998740e-1F,
                                     -1.2420140846e-1F, 1.4249322787e-1F,  -1.6668057665e-1F,
                                     2.0000714765e-1F,  -2.4999993993e-1F, 3.3333331174e-1F};
  const auto bits = std::bit_cast<std::uint32_t>(x);
  auto exponent = static_cast<float>(static_cast<int>(bits >> 23) - 126);
  float m = std::bit_cast<float>((bits & 0x007fffffU) | 0x3f000000U);  // in [0.5, 1)
  if (m < 0.707106781186547524F) {
    exponent -= 1.0F;
    m = (m - 1.0F) + m;
  } else {
    m -= 1.0F;
  }
  const float square = m * m;
  float y = kCoefficients[0];
  for (std::size_t i = 1; i < std::size(kCoefficients); ++i) y = std::fma(y, m, kCoefficients[i]);
  y = std::fma(y * m, square, exponent * -2.12194440e-4F);
  y = std::fma(-square, 0.5F, y);
  return std::fma(exponent, 0.693359375F, m + y);
}

struct SineAndCosine {
  float sine, cosine;
};

SineAndCosine block_sine_and_cosine(float x) {
  const int octant = (static_cast<int>(x * 1.27323954473516F) + 1) & ~1;
  const auto y = static_cast<float>(octant);
  x = std::fma(y, -0.78515625F, x);
  x = std::fma(y, -2.4187564849853515625e-4F, x);
  x = std::fma(y, -3.77489497744594108e-8F, x);
  const float z = x * x;
  float c = std::fma(2.443315711809948e-5F, z, -1.388731625493765e-3F);
  c = std::fma(c, z, 4.166664568298827e-2F) * z;
  c = std::fma(c, z, -(z * 0.5F)) + 1.0F;
  float s = std::fma(-1.9515295891e-4F, z, 8.3321608736e-3F);
  s = std::fma(s, z, -1.6666654611e-1F) * z;
  s = std::fma(s, x, x);
  switch ((octant >> 1) & 3) {
    case 0: return {s, c};
    case 1: return {c, -s};
    case 2: return {-s, -c};
    default: return {-c, s};
  }
}

constexpr std::size_t kBlock = 16;

// 16 uniform numbers become 16 normal ones.
void normal_block(float* data, float mean, float deviation) {
  for (std::size_t j = 0; j < kBlock / 2; ++j) {
    const float radius = std::sqrt(-2.0F * block_log(1.0F - data[j]));
    const auto [sine, cosine] = block_sine_and_cosine(static_cast<float>(2.0 * std::numbers::pi) * data[j + 8]);
    data[j] = std::fma(radius * cosine, deviation, mean);
    data[j + 8] = std::fma(radius * sine, deviation, mean);
  }
}

void normal_block(double* data, double mean, double deviation) {
  for (std::size_t j = 0; j < kBlock / 2; ++j) {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - data[j]));
    const double angle = 2.0 * std::numbers::pi * data[j + 8];
    data[j] = std::fma(radius * std::cos(angle), deviation, mean);
    data[j + 8] = std::fma(radius * std::sin(angle), deviation, mean);
  }
}

template <typename T>
T uniform(Random& random) {
  if constexpr (std::is_same_v<T, float>)
    return random.uniform_float();
  else
    return random.uniform_double();
}

// All numbers are drawn first; what is left over after whole blocks is drawn anew, with those before it, as a block.
template <typename T>
void normal_blocks(Random& random, T mean, T deviation, T* data, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) data[i] = uniform<T>(random);
  for (std::size_t i = 0; i + kBlock <= count; i += kBlock) normal_block(data + i, mean, deviation);
  if (count % kBlock == 0) return;
  T* last = data + (count - kBlock);
  for (std::size_t i = 0; i < kBlock; ++i) last[i] = uniform<T>(random);
  normal_block(last, mean, deviation);
}

std::uint16_t reduced(DType dtype, float value) {
  return dtype == DType::F16 ? float_to_f16(value) : float_to_bf16(value);
}

// Block by block in float; what is left over comes from a block of its own, which overwrites the last 16.
void reduced_normal_blocks(Random& random, float mean, float deviation, DType dtype, std::uint16_t* data,
                           std::size_t count) {
  const auto block_to = [&](std::uint16_t* to) {
    float block[kBlock];
    for (float& x : block) x = random.uniform_float();
    normal_block(block, mean, deviation);
    for (std::size_t i = 0; i < kBlock; ++i) to[i] = reduced(dtype, block[i]);
  };
  for (std::size_t i = 0; i + kBlock <= count; i += kBlock) block_to(data + i);
  if (count % kBlock != 0) block_to(data + (count - kBlock));
}

// ---- distributions ----------------------------------------------------------------------------

template <typename Draw>
void each(DType dtype, void* data, std::size_t count, Draw&& draw) {
  auto* to = static_cast<std::uint8_t*>(data);
  for (std::size_t i = 0; i < count; ++i, to += size_of(dtype)) {
    if (dtype == DType::F32) {
      const auto value = static_cast<float>(draw());
      std::memcpy(to, &value, sizeof value);
    } else {
      store_element(dtype, scalar::Scalar::of(draw()), to);
    }
  }
}

void fill_uniform(Random& random, double from, double to, DType dtype, void* data, std::size_t count) {
  if (dtype == DType::F64)
    return each(dtype, data, count, [&] {
      const double x = std::fma(random.uniform_double(), to - from, from);
      return x == to ? from : x;  // rounding may reach the end, which is not to be drawn
    });
  const auto low = static_cast<float>(from), high = static_cast<float>(to), range = high - low;
  const auto rounded = [&](float x) {
    if (dtype == DType::F32) return x;
    return dtype == DType::F16 ? f16_to_float(float_to_f16(x)) : bf16_to_float(float_to_bf16(x));
  };
  const float end = rounded(high);
  each(dtype, data, count, [&] {
    const float x = std::fma(random.uniform_float(), range, low);
    return static_cast<double>(rounded(x) == end ? low : x);
  });
}

void fill_normal(Random& random, double mean, double deviation, DType dtype, void* data, std::size_t count,
                 bool in_blocks) {
  if (count < kBlock || !in_blocks)
    return each(dtype, data, count, [&] { return std::fma(random.normal(), deviation, mean); });
  const auto m = static_cast<float>(mean), d = static_cast<float>(deviation);
  if (dtype == DType::F64) return normal_blocks(random, mean, deviation, static_cast<double*>(data), count);
  if (dtype == DType::F32) return normal_blocks(random, m, d, static_cast<float*>(data), count);
  reduced_normal_blocks(random, m, d, dtype, static_cast<std::uint16_t*>(data), count);
}

// The largest integer up to which a dtype holds all of them; 0: no such dtype.
std::uint64_t last_integer(DType dtype) {
  switch (dtype) {
    case DType::Bool: return 1;
    case DType::U8: return 0xff;
    case DType::I8: return 0x7f;
    case DType::I16: return 0x7fff;
    case DType::I32: return 0x7fffffff;
    case DType::I64: return 0x7fffffffffffffff;
    case DType::BF16: return std::uint64_t{1} << 8;
    case DType::F16: return std::uint64_t{1} << 11;
    case DType::F32: return std::uint64_t{1} << 24;
    case DType::F64: return std::uint64_t{1} << 53;
    default: return 0;
  }
}

void fill_any_integers(Random& random, DType dtype, void* data, std::size_t count) {
  const std::uint64_t range = last_integer(dtype) + 1;
  const bool wide = dtype == DType::I64 || dtype == DType::F64;
  each(dtype, data, count, [&] {
    return static_cast<std::int64_t>((wide ? random.two_words() : random.word()) % range);
  });
}

// Swaps each element with one of those from it on.
void fill_permutation(Random& random, DType dtype, void* data, std::size_t count) {
  std::int64_t number = 0;
  each(dtype, data, count, [&] { return number++; });
  const std::size_t size = size_of(dtype);
  auto* bytes = static_cast<std::uint8_t*>(data);
  std::uint8_t held[sizeof(std::uint64_t)];
  for (std::size_t i = 0; i + 1 < count; ++i) {
    std::uint8_t *a = bytes + i * size, *b = a + random.word() % (count - i) * size;
    std::memcpy(held, a, size);
    std::memmove(a, b, size);
    std::memcpy(b, held, size);
  }
}

// ---- what torch refuses -----------------------------------------------------------------------

template <typename... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

std::optional<std::string> wrong_bounds(std::int64_t low, std::int64_t high, DType dtype) {
  if (low >= high)
    return text("random_ expects 'from' to be less than 'to', but got from=", low, " >= to=", high);
  const auto last = static_cast<std::int64_t>(last_integer(dtype));
  const bool is_signed = dtype != DType::Bool && dtype != DType::U8;
  const std::int64_t first = !is_signed ? 0 : is_floating(dtype) ? -last : -last - 1;
  if (low < first) return text("from is out of bounds for ", name_of(dtype));
  if (high - 1 > last) return text("to - 1 is out of bounds for ", name_of(dtype));
  return std::nullopt;
}

double largest(DType dtype) {
  switch (dtype) {
    case DType::F16: return 65504;
    case DType::BF16: return 0x1.fep127;
    case DType::F32: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

std::optional<std::string> wrong_range(double from, double to, DType dtype) {
  const double most = largest(dtype);
  if (!(from >= -most && from <= most)) return text("from is out of bounds for ", name_of(dtype));
  if (!(to >= -most && to <= most)) return text("to is out of bounds for ", name_of(dtype));
  if (from > to) return text("uniform_ expects to return a [from, to) range, but found from=", from, " > to=", to);
  if (!(to - from <= most))
    return text("uniform_ expects to-from <= std::numeric_limits<", name_of(dtype), ">::max(), but found to=", to,
                " and from=", from, " which result in to-from to exceed the limit");
  return std::nullopt;
}

std::optional<std::string> wrong(Distribution distribution, const DrawParameters& p, DType dtype, std::size_t count) {
  const double first = p.real[0], second = p.real[1];
  switch (distribution) {
    case Distribution::Uniform: return wrong_range(first, second, dtype);
    case Distribution::Normal:
    case Distribution::NormalEach:
      if (!(second >= 0)) return text("normal expects std >= 0.0, but found std ", second);
      break;
    case Distribution::Integer: return wrong_bounds(p.whole[0], p.whole[1], dtype);
    case Distribution::Exponential:
      if (!(first > 0)) return text("exponential_ expects lambda > 0.0, but found lambda=", first);
      break;
    case Distribution::Geometric:
      if (!(first > 0 && first < 1)) return text("geometric_ expects p to be in (0, 1), but got p=", first);
      break;
    case Distribution::Cauchy:
      if (!(second > 0)) return text("cauchy_ expects sigma > 0.0, but found sigma=", second);
      break;
    case Distribution::LogNormal:
      if (!(second > 0)) return text("log_normal_ expects std > 0.0, but found std=", second);
      break;
    case Distribution::Permutation:
      if (count > 0 && count - 1 > last_integer(dtype)) return text("n is too large for ", name_of(dtype));
      if (count >= UINT32_MAX / 20) return text("a permutation of ", count, " numbers, which torch draws otherwise");
      break;
    case Distribution::NumpyInteger:
      if (p.whole[0] > p.whole[1]) return text("low >= high");
      break;
    case Distribution::NumpyChoice:
      if (p.whole[0] < 0 || static_cast<std::uint64_t>(p.whole[0]) < count)
        return text("Cannot take a larger sample than population when replace is False");
      if (p.whole[0] > std::int64_t{1} << 32) return text("a choice of more than 2**32 elements");
      break;
    case Distribution::PythonBelow:
      if (p.whole[0] <= 0) return text("empty range");
      break;
    default: break;
  }
  return std::nullopt;
}

std::optional<std::string> wrong_tensors(const DistributionInfo& info, const DrawParameters& p, DType dtype,
                                         std::size_t count) {
  for (std::size_t i = 0; i < info.parameters.size(); ++i)
    if (info.parameters[i] == 't' && p.tensor[i].size() != count * size_of(dtype))
      return text(info.name, " of ", count, " elements, whose parameters have another number of them");
  return std::nullopt;
}

// Those whose parameters are tensors; the element that torch refuses ends them.
template <typename T>
std::optional<std::string> fill_samples(Random& random, Distribution distribution, const DrawParameters& p, void* data,
                                        std::size_t count) {
  const auto at = [&](std::size_t operand, std::size_t i) {
    T value;
    std::memcpy(&value, p.tensor[operand].data() + i * sizeof(T), sizeof value);
    return value;
  };
  auto* to = static_cast<T*>(data);
  for (std::size_t i = 0; i < count; ++i) {
    if (distribution == Distribution::Poisson) {
      const double rate = at(0, i);
      if (!(rate >= 0)) return "invalid Poisson rate, expected rate to be non-negative";
      to[i] = static_cast<T>(sample_poisson(random, rate));
    } else if (distribution == Distribution::Binomial && std::isnan(at(0, i)) && at(1, i) > 0 && at(1, i) < 1) {
      return "a binomial count is NaN";  // torch waits for as many, for ever
    } else {
      to[i] = distribution == Distribution::Gamma ? sample_gamma(random, at(0, i))
                                                  : sample_binomial(random, at(0, i), at(1, i));
    }
  }
  return std::nullopt;
}

void fill(Random& random, Distribution distribution, const DrawParameters& p, DType dtype, void* data,
          std::size_t count) {
  const double first = p.real[0], second = p.real[1];
  switch (distribution) {
    case Distribution::Poisson:
    case Distribution::Gamma:
    case Distribution::Binomial: return;  // fill_samples
    case Distribution::LibraryDouble: return each(dtype, data, count, [&] { return library_double(random); });
    case Distribution::NumpyInteger:
      return each(dtype, data, count, [&] { return numpy_integer(random, p.whole[0], p.whole[1]); });
    case Distribution::NumpyNormal: return each(dtype, data, count, [&] { return numpy_normal(random); });
    case Distribution::NumpyPermutation: return numpy_permutation(random, static_cast<std::int64_t*>(data), count);
    case Distribution::NumpyChoice: return numpy_choice(random, p.whole[0], static_cast<std::int64_t*>(data), count);
    case Distribution::PythonBelow: return each(dtype, data, count, [&] { return python_below(random, p.whole[0]); });
    case Distribution::PythonNormal: return each(dtype, data, count, [&] { return python_normal(random); });
    case Distribution::PythonPermutation: return python_permutation(random, static_cast<std::int64_t*>(data), count);
    case Distribution::Uniform: return fill_uniform(random, first, second, dtype, data, count);
    case Distribution::Normal: return fill_normal(random, first, second, dtype, data, count, true);
    case Distribution::NormalEach: return fill_normal(random, first, second, dtype, data, count, false);
    case Distribution::Integer: return each(dtype, data, count, [&] { return random.integer(p.whole[0], p.whole[1]); });
    case Distribution::AnyInteger: return fill_any_integers(random, dtype, data, count);
    case Distribution::Permutation: return fill_permutation(random, dtype, data, count);
    case Distribution::Word:
      return each(dtype, data, count, [&] { return static_cast<std::int64_t>(random.word()); });
    case Distribution::Exponential:
      return each(dtype, data, count, [&] { return -1.0 / first * std::log1p(-random.uniform_double()); });
    case Distribution::Geometric: {
      const double scale = std::log1p(-first);
      return each(dtype, data, count, [&] { return std::ceil(std::log(random.uniform_double()) / scale); });
    }
    case Distribution::Cauchy:
      return each(dtype, data, count, [&] {
        return std::fma(second, std::tan(std::numbers::pi * (random.uniform_double() - 0.5)), first);
      });
    case Distribution::LogNormal:
      return each(dtype, data, count, [&] { return std::exp(std::fma(random.normal(), second, first)); });
  }
}

}  // namespace

const DistributionInfo* distribution_named(std::string_view op) {
  for (const DistributionInfo& info : kDistributions)
    if (info.name == op) return &info;
  return nullptr;
}

bool can_draw(Distribution distribution, DType dtype) {
  if (!has_scalars(dtype)) return false;
  switch (distribution) {
    case Distribution::Integer:
    case Distribution::AnyInteger: return last_integer(dtype) != 0;
    case Distribution::Permutation: return last_integer(dtype) > 1;
    case Distribution::Word:
    case Distribution::NumpyInteger:
    case Distribution::NumpyPermutation:
    case Distribution::NumpyChoice:
    case Distribution::PythonBelow:
    case Distribution::PythonPermutation: return dtype == DType::I64;
    case Distribution::Poisson:
    case Distribution::Gamma:
    case Distribution::Binomial: return dtype == DType::F32 || dtype == DType::F64;
    case Distribution::LibraryDouble:
    case Distribution::NumpyNormal:
    case Distribution::PythonNormal: return dtype == DType::F64;
    case Distribution::Geometric: return is_floating(dtype) || dtype == DType::I64;
    default: return is_floating(dtype);
  }
}

std::uint64_t bytes_to_fill_random(Distribution distribution, const DrawParameters& parameters, std::size_t count) {
  return distribution == Distribution::NumpyChoice ? numpy_choice_bytes(parameters.whole[0], count) : 0;
}

std::optional<std::string> fill_random(Random& random, Distribution distribution, const DrawParameters& parameters,
                                       DType dtype, void* data, std::size_t count) {
  const DistributionInfo& info = kDistributions[static_cast<std::size_t>(distribution)];
  if (auto error = wrong(distribution, parameters, dtype, count)) return error;
  if (auto error = wrong_tensors(info, parameters, dtype, count)) return error;
  if (info.parameters.find('t') != std::string_view::npos)
    return dtype == DType::F64 ? fill_samples<double>(random, distribution, parameters, data, count)
                               : fill_samples<float>(random, distribution, parameters, data, count);
  fill(random, distribution, parameters, dtype, data, count);
  return std::nullopt;
}

}  // namespace dycl
