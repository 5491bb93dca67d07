// SPDX-License-Identifier: Apache-2.0
// Compares what all.cpp (tests/emit/generated_cpp.cpp) holds with the walker.
#include <cstdlib>
#include <filesystem>

#include "emitted_compare.h"

void compare_all(const std::filesystem::path& folder);

TEST(Emitted, ProgramsRunLikeTheWalker) {
  compare_all(DYCL_EMITTED_FOLDER);
  // Programs that decide nothing would prove nothing.
  EXPECT_GT(tally.equal, 20);
  EXPECT_GT(tally.decisions, 50);
  std::printf("%d runs equal, %d failed alike, %d decisions, %d runs forced\n", tally.equal, tally.failed_alike,
              tally.decisions, tally.forced);
}
