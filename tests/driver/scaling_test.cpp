// SPDX-License-Identifier: Apache-2.0
// Compiling takes work in proportion to the program: a gate in a chain of 800 costs what one in
// a chain of 100 costs. Counted in allocations (which do not depend on the machine or its load) of every stage but
// the engine's; and, loosely, in the processor's time. The engine is left out: artifacts are empty.
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "../scratch.h"
#include "chains.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "package/package_writer.h"
#include "passes/pipeline.h"

namespace {
std::atomic<long> allocations{0};
std::atomic<long> allocated_bytes{0};
}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DYCL_COUNTS_ALLOCATIONS 1
extern "C" {
void* __libc_malloc(std::size_t);
__attribute__((visibility("default"))) void* malloc(std::size_t size) {
  ++allocations;
  allocated_bytes += static_cast<long>(size);
  return __libc_malloc(size);
}
}
#endif

namespace dycl::driver {
namespace {

// No two weights have the same.
void give_bytes(ir::Program& program) {
  std::uint32_t next = 0;
  for (auto& [name, weight] : program.weights) {
    std::size_t count = 4;
    for (const ir::Dim& dim : *weight.type.shape) count *= static_cast<std::size_t>(dim.value);
    std::vector<std::uint8_t> bytes(count, 0);
    std::memcpy(bytes.data(), &++next, sizeof next);
    weight.bytes = ir::Bytes::copy_of(bytes.data(), count);
  }
}

struct Cost {
  double allocations = 0, bytes = 0, seconds = 0;  // per gate
  std::size_t sub_dnns = 0;
};

double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// From text to package, without an engine.
Cost compile(const std::string& text, int gates) {
  const tests::Scratch scratch;
  const long count = allocations, bytes = allocated_bytes;
  const double start = thread_seconds();
  auto program = ir::parse(text, "chain.dyir", {.spans_from_text = true});
  EXPECT_TRUE(program.ok()) << program.error().message;
  give_bytes(*program);
  package::PackageOptions options;
  options.ir_text = ir::print(*program);
  const auto ran = passes::run_pipeline(*program);
  EXPECT_TRUE(ran.ok()) << ran.error().message;
  Cost cost;
  std::vector<backends::SubDnnArtifacts> artifacts;
  for (const ir::Function& function : program->functions) {
    if (function.kind != ir::FunctionKind::SubDnn) continue;
    artifacts.push_back({function.name, {{"stub", backends::kPortableTarget, {0}, {}, {}, {}}}});
    ++cost.sub_dnns;
  }
  const auto written = package::write_package(*program, artifacts, options, scratch / "chain.dycl");
  EXPECT_TRUE(written.ok()) << written.error().message;
  cost.seconds = (thread_seconds() - start) / gates;
  cost.allocations = static_cast<double>(allocations - count) / gates;
  cost.bytes = static_cast<double>(allocated_bytes - bytes) / gates;
  return cost;
}

struct Chain {
  const char* name;
  std::string (*text)(int gates);
};

class Scaling : public testing::TestWithParam<Chain> {};

TEST_P(Scaling, AllocationsPerGateDoNotGrow) {
#if !defined(DYCL_COUNTS_ALLOCATIONS)
  GTEST_SKIP() << "the sanitizer owns malloc";
#endif
  const Cost few = compile(GetParam().text(100), 100), many = compile(GetParam().text(800), 800);
  ASSERT_GT(few.allocations, 10);
  EXPECT_LT(many.allocations, 1.15 * few.allocations);
  EXPECT_LT(many.bytes, 1.5 * few.bytes);  // capacities double, so bytes are uneven
}

// A quadratic step that allocates nothing would show here: 16 times the size.
TEST_P(Scaling, ProcessorTimePerGateDoesNotGrow) {
#if !defined(DYCL_COUNTS_ALLOCATIONS)
  GTEST_SKIP() << "a sanitizer's time says nothing";
#endif
  double few = 1, many = 1;
  for (int i = 0; i < 3; ++i) {
    few = std::min(few, compile(GetParam().text(100), 100).seconds);
    many = std::min(many, compile(GetParam().text(1600), 1600).seconds);
  }
  EXPECT_LT(many, 4 * few);
}

// What is the same is compiled once, however often it is called.
TEST(Sharing, AThousandIdenticalStepsAreOneSubDnn) {
  EXPECT_EQ(compile(step_chain(1000), 1000).sub_dnns, 1U);
  EXPECT_EQ(compile(skip_chain(50), 50).sub_dnns, 100U);  // other weights: others
}

INSTANTIATE_TEST_SUITE_P(Chains, Scaling,
                         testing::Values(Chain{"skip", skip_chain}, Chain{"exit", exit_chain},
                                         Chain{"steps", step_chain}),
                         [](const auto& chain) { return chain.param.name; });

}  // namespace
}  // namespace dycl::driver
