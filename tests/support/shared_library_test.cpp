// SPDX-License-Identifier: Apache-2.0
// Libraries that end too early are found before the system maps them.
#include "support/shared_library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "../scratch.h"

namespace dycl {
namespace {

using tests::Scratch;

std::string own_bytes() {
  std::ifstream in("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(SharedLibrary, EveryTruncationIsFound) {
  const Scratch scratch;
  const std::string whole = own_bytes();
  EXPECT_TRUE(check_shared_library(scratch.write("whole.so", whole)));
  for (const std::size_t size : {std::size_t{64}, std::size_t{4096}, whole.size() / 2, whole.size() - 1}) {
    const auto checked = check_shared_library(scratch.write("short.so", whole.substr(0, size)));
    ASSERT_FALSE(checked) << size;
    EXPECT_EQ(checked.error().kind, ErrorKind::Missing);
    EXPECT_NE(checked.error().message.find("short.so is truncated: it has " + std::to_string(size) + " bytes"),
              std::string::npos)
        << checked.error().message;
    EXPECT_FALSE(checked.error().help.empty());
    std::filesystem::remove(scratch / "short.so");
  }
}

// What dlopen refuses with words of its own.
TEST(SharedLibrary, OtherFilesAreLeftToDlopen) {
  const Scratch scratch;
  EXPECT_TRUE(check_shared_library(scratch / "none.so"));
  const std::string text = "no library at all, but of more than the sixty-four bytes of a header";
  for (const std::string& bytes : {std::string(), std::string("\177ELF"), text}) {
    const auto path = scratch.write("bad.so", bytes);
    EXPECT_TRUE(check_shared_library(path));
    EXPECT_EQ(::dlopen(path.c_str(), RTLD_NOW), nullptr);
    std::filesystem::remove(path);
  }
  ASSERT_EQ(::mkfifo((scratch / "fifo.so").c_str(), 0600), 0);  // dlopen would wait
  EXPECT_NE(check_shared_library(scratch / "fifo.so").error().message.find("is a FIFO"), std::string::npos);
}

// Sizes whose sum is more than 64 bits hold.
TEST(SharedLibrary, ImpossibleHeadersAreFound) {
  const Scratch scratch;
  std::string bytes = own_bytes();
  for (int i = 0; i < 8; ++i) bytes[40 + i] = '\xff';  // e_shoff
  EXPECT_FALSE(check_shared_library(scratch.write("odd.so", bytes)));
}

TEST(SharedLibrary, NamesWithoutAFolderAreLookedForWhereTheLinkerLooksFirst) {
  const Scratch scratch;
  const char* before = std::getenv("LD_LIBRARY_PATH");
  const std::string old = before ? before : "";
  const auto file = scratch.write("libdycl_short.so", own_bytes().substr(0, 4096));
  ::setenv("LD_LIBRARY_PATH", ("/nowhere::" + file.parent_path().string()).c_str(), 1);
  EXPECT_FALSE(check_shared_library("libdycl_short.so"));
  EXPECT_TRUE(check_shared_library("libdycl_none.so"));
  before ? ::setenv("LD_LIBRARY_PATH", old.c_str(), 1) : ::unsetenv("LD_LIBRARY_PATH");
}

}  // namespace
}  // namespace dycl
