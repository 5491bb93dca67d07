// SPDX-License-Identifier: Apache-2.0
// Small programs of any steps, as a package may hold them: refused, or run within their tensors (which the sanitizer
// sees), within bounds of work and memory, and ended when told to.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "backends/kernels/small/run.h"

namespace dycl::backends::small {
namespace {

using Words = std::vector<std::int64_t>;

std::vector<std::uint8_t> bytes_of(std::int64_t scratch, const std::vector<Words>& steps) {
  constexpr std::int64_t kLiterals = 64;
  Words words = {scratch, kLiterals, static_cast<std::int64_t>(steps.size())};
  words.resize(words.size() + kLiterals / 8, 0x3f8000003f800000);  // ones
  for (const Words& step : steps) words.insert(words.end(), step.begin(), step.end());
  std::vector<std::uint8_t> bytes(sizeof kMagic + words.size() * sizeof(std::int64_t));
  std::memcpy(bytes.data(), kMagic, sizeof kMagic);
  std::memcpy(bytes.data() + sizeof kMagic, words.data(), words.size() * sizeof(std::int64_t));
  return bytes;
}

Result<SmallProgram> read(const std::vector<std::uint8_t>& bytes, const Sizes& sizes) {
  return SmallProgram::read(bytes.data(), bytes.size(), sizes);
}

Words op(Opcode opcode, Words rest) {
  rest.insert(rest.begin(), static_cast<std::int64_t>(opcode));
  return rest;
}

constexpr std::int64_t kInput = 0, kOutput = 1, kScratch = 3, kLiteral = 4;

// A step of these has so many numbers and places; those with a rank have lists of that length.
struct StepForm {
  int numbers, places, rank_at = -1, lists = 0, after = 0;
};
constexpr StepForm kForms[] = {{},     {2, 2}, {3, 3, 2, 3}, {7, 4}, {4, 2},          {4, 2}, {3, 2},
                               {4, 2}, {3, 2}, {1, 2},       {5, 2}, {1, 3},          {2, 2, 1, 3, 2}, {5, 4},
                               {7, 3}, {6, 3}, {2, 4, 1, 4}, {4, 3}, {5, 3},          {10, 3}};

TEST(SmallSteps, AnyStepsAreRefusedOrStayWithinTheirTensors) {
  std::mt19937 random(3);
  const auto any = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const std::int64_t odd[] = {-1, 17, 64, kMaxCount, kMaxCount + 1, std::int64_t{1} << 40, INT64_MAX};
  const auto number = [&]() -> std::int64_t { return any(40) ? any(5) : odd[any(7)]; };
  const Sizes sizes = {{64, 64}, {64, 64, 32}, {256}};
  int done = 0;
  for (int round = 0; round < 200000; ++round) {
    const int code = 1 + any(19);
    const StepForm& form = kForms[code];
    Words words;
    for (int i = 0; i < form.numbers; ++i) words.push_back(number());
    if (form.rank_at >= 0) {
      const std::int64_t rank = words[static_cast<std::size_t>(form.rank_at)];
      const std::int64_t extents = std::clamp<std::int64_t>(rank, 0, kMaxRank + 1) * form.lists;
      for (std::int64_t i = 0; i < extents; ++i) words.push_back(number());
      for (int i = 0; i < form.after; ++i) words.push_back(number());
    }
    for (int i = 0; i < form.places; ++i) {
      const int kind = any(8) ? (i + 1 == form.places ? any(2) * 2 + 1 : any(5)) : any(6);
      words.push_back(kind);
      words.push_back(kind == kScratch || kind == kLiteral ? any(3) * 8 : any(10) ? any(2) : number());
    }
    const auto program = read(bytes_of(128, {op(static_cast<Opcode>(code), words)}), sizes);
    if (!program) continue;
    std::vector<std::vector<std::uint8_t>> memory;  // each with an end of its own
    const auto pointers = [&](const std::vector<std::size_t>& of) {
      std::vector<void*> out;
      for (const std::size_t size : of) {
        memory.emplace_back(size);
        for (std::uint8_t& byte : memory.back()) byte = any(2) ? 0 : static_cast<std::uint8_t>(any(256));
        memory.back().shrink_to_fit();
        out.push_back(memory.back().data());
      }
      return out;
    };
    const auto inputs = pointers(sizes.inputs), outputs = pointers(sizes.outputs), weights = pointers(sizes.weights);
    memory.emplace_back(program->scratch_bytes());
    const std::vector<const void*> in(inputs.begin(), inputs.end()), held(weights.begin(), weights.end());
    std::atomic<bool> interrupted{false};
    (void)program->run(in.data(), outputs.data(), held.data(), memory.back().data(), nullptr, interrupted);
    ++done;
  }
  EXPECT_GT(done, 5000);
}

TEST(SmallSteps, MemoryIsWhatSmallProgramsNeed) {
  EXPECT_TRUE(read(bytes_of(kMaxScratch, {}), {}).ok());
  EXPECT_FALSE(read(bytes_of(kMaxScratch + 1, {}), {}).ok());
}

TEST(SmallSteps, AStepOfEndlessWorkIsRefused) {
  constexpr std::int64_t kExtent = 1 << 13;  // the operands would fit: 5e11 multiplications
  const Sizes sizes = {{kExtent * kExtent * 4}, {kExtent * kExtent * 4, kExtent * kExtent * 8}, {}};
  const std::int64_t none = 5;
  const Words places = {kInput, 0, kInput, 0, none, 0, kOutput, 0};
  const auto gemm = [&](std::int64_t m) {
    Words words = {m, kExtent, kExtent, 0, 0, 0, 0};
    words.insert(words.end(), places.begin(), places.end());
    return read(bytes_of(0, {op(Opcode::Gemm, words)}), sizes).ok();
  };
  EXPECT_TRUE(gemm(16));
  EXPECT_FALSE(gemm(17));
  const Words in_and_out = {kInput, 0, kInput, 0, kOutput, 0};
  Words products = {1, kExtent, kExtent, kExtent, 0, 0, 0};
  products.insert(products.end(), in_and_out.begin(), in_and_out.end());
  EXPECT_FALSE(read(bytes_of(0, {op(Opcode::MatMul, products)}), sizes).ok());
  const Words best = {1, kMaxCount, 17, 1, kInput, 0, kOutput, 0, kOutput, 1};
  EXPECT_FALSE(read(bytes_of(0, {op(Opcode::TopK, best)}), sizes).ok());
}

TEST(SmallSteps, EndWhenToldTo) {
  const Sizes sizes = {{4}, {4}, {}};
  const auto program = read(bytes_of(0, {op(Opcode::Copy, {4, kInput, 0, kOutput, 0})}), sizes);
  ASSERT_TRUE(program.ok()) << program.error().message;
  const float one = 1;
  float made = 0;
  const void* in = &one;
  void* out = &made;
  std::atomic<bool> interrupted{true};
  using Kind = SmallProgram::Ending::Kind;
  EXPECT_EQ(program->run(&in, &out, nullptr, nullptr, nullptr, interrupted).kind, Kind::Interrupted);
  EXPECT_EQ(made, 0);
  interrupted = false;
  EXPECT_EQ(program->run(&in, &out, nullptr, nullptr, nullptr, interrupted).kind, Kind::Done);
  EXPECT_EQ(made, 1);
}

}  // namespace
}  // namespace dycl::backends::small
