// SPDX-License-Identifier: Apache-2.0
// An emitted program beside the runtime's walker on the same package: results, states, prints, decisions and
// errors must be the same, bit for bit, also where decisions are forced.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dycl/host.h"
#include "emitted_seen.h"
#include "generate/generate.h"
#include "ir/parse.h"
#include "support/random.h"

struct Tally {
  int equal = 0, failed_alike = 0, decisions = 0, forced = 0;
};
inline Tally tally;

template <typename Program>
Seen emitted(Program& program, const std::vector<dycl::ir::HostValue>& a) {
  Seen seen;
  program.run().set_print([&](std::string_view text) { seen.printed += text; });
  const auto view = [](const dycl::ir::Tensor& t) { return dycl::host::View{t.bytes.data(), t.dtype, t.shape}; };
  try {
    program(view(a[0].tensor()), view(a[1].tensor()), a[2].integer());
    for (const auto& v : program.last_results()) seen.results.push_back(bits_of(v));
  } catch (const dycl::host::Failure& failure) {
    note(failure.error(), seen);
  }
  finish(program.run(), seen);
  return seen;
}

template <typename Program>
Seen walked(Program& program, const std::vector<dycl::ir::HostValue>& a) {
  Seen seen;
  program.run().set_print([&](std::string_view text) { seen.printed += text; });
  const auto value = [](const dycl::ir::Tensor& t) {
    return dycl::host::Value::of(dycl::host::View{t.bytes.data(), t.dtype, t.shape});
  };
  const auto results =
      program.run().run({value(a[0].tensor()), value(a[1].tensor()), dycl::host::Value::of(a[2].integer())});
  if (results)
    for (const auto& v : *results) seen.results.push_back(bits_of(v));
  else
    note(results.error(), seen);
  finish(program.run(), seen);
  return seen;
}

template <typename Program>
void compare(const std::filesystem::path& package, std::uint64_t seed) {
  SCOPED_TRACE(package.string());
  dycl::runtime::LoadOptions options;
  options.plugin_folders = {DYCL_TEST_PLUGINS};
  Program left(package, options), right(package, options);
  const dycl::ir::Program shape = dycl::generate::generate_program(seed, {.failures = seed % 3 == 0});
  for (auto* program : {&left, &right}) {
    program->run().set_trace(true);
    program->run().set_loop_limit(2000);
  }
  for (std::uint64_t round = 0; round < 12 && !::testing::Test::HasFailure(); ++round) {
    const auto arguments = dycl::generate::generate_arguments(shape, seed * 100 + round);
    std::vector<std::int32_t> forced;
    dycl::Random random(seed * 100 + round);
    if (round >= 4)  // drive it where the arguments would not
      for (int i = 0; i < 30; ++i) forced.push_back(static_cast<std::int32_t>(random.integer(-1, 2)));
    for (auto* program : {&left, &right}) {
      program->run().set_seed(seed + round);
      program->run().force(forced);
    }
    const Seen a = emitted(left, arguments), b = walked(right, arguments);
    EXPECT_EQ(a.results, b.results);
    EXPECT_EQ(a.error, b.error);
    EXPECT_EQ(a.printed, b.printed);
    EXPECT_EQ(a.arms, b.arms);
    EXPECT_EQ(a.states, b.states);
    EXPECT_EQ(a.kept, b.kept);
    (b.error.empty() ? tally.equal : tally.failed_alike) += 1;
    tally.decisions += static_cast<int>(b.arms.size());
    tally.forced += forced.empty() ? 0 : 1;
  }
}
