// SPDX-License-Identifier: Apache-2.0
// How packages come to lie where they lie: whole or not at all, whatever is at their place and whoever dies.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <iterator>
#include <set>

#include "package/container_writer.h"
#include "package/temporary_file.h"
#include "support.h"

namespace dycl::testing {
namespace {

namespace fs = std::filesystem;

const std::string kText = R"(func @main(%x: f32[2]) -> (f32[2]) {
^entry:
  return %x
}
)";

std::string read_all(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Writing : public ::testing::Test {
 protected:
  Result<void> write(const fs::path& target) { return package::write_package(parsed(kText), {}, {}, target); }

  fs::path package() {
    EXPECT_TRUE(write(scratch_ / "package.dycl"));
    return scratch_ / "package.dycl";
  }

  std::set<std::string> temporaries() {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(scratch_ / ""))
      if (entry.path().extension() == ".tmp") found.insert(entry.path().filename());
    return found;
  }

  // Writes `target` in a process of its own that calls `then` before the file gets its name.
  template <typename Then>
  pid_t writer(const fs::path& target, Then then) {
    const pid_t child = ::fork();
    if (child == 0) {
      (void)package::write_container({}, target, [&](const fs::path&) {
        then();
        return Result<void>();
      });
      ::_exit(0);
    }
    return child;
  }

  // The temporary file that a killed writer left, as old as that.
  fs::path left_behind(const fs::path& target, std::time_t seconds) {
    const auto before = temporaries();
    EXPECT_GT(::waitpid(writer(target, [] { ::raise(SIGKILL); }), nullptr, 0), 0);
    for (const std::string& name : temporaries())
      if (!before.contains(name)) return aged(scratch_ / name, seconds);
    ADD_FAILURE() << "it left nothing";
    return {};
  }

  fs::path aged(const fs::path& path, std::time_t seconds) {
    const timespec then{::time(nullptr) - seconds, 0};
    const timespec times[] = {then, then};
    EXPECT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    return path;
  }

  tests::Scratch scratch_;
};

TEST_F(Writing, IsCheckedBeforeItIsNamed) {
  package::PackageOptions options;
  options.check = [&](const fs::path& path) {
    EXPECT_TRUE(runtime::Program::load(path));
    return Result<void>(Error{ErrorKind::Unsupported, "the check says no", {}, {}, {}});
  };
  const auto written = package::write_package(parsed(kText), {}, options, scratch_ / "package.dycl");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "the check says no");
  EXPECT_FALSE(fs::exists(scratch_ / "package.dycl"));
  EXPECT_TRUE(temporaries().empty());
}

TEST_F(Writing, ALinkIsReplacedAndNotFollowed) {
  const auto other = scratch_.write("other", "precious");
  fs::create_symlink(other, scratch_ / "link.dycl");
  ASSERT_TRUE(write(scratch_ / "link.dycl"));
  EXPECT_FALSE(fs::is_symlink(scratch_ / "link.dycl"));
  EXPECT_EQ(read_all(other), "precious");
  EXPECT_TRUE(Program::load(scratch_ / "link.dycl"));
  fs::create_symlink(other, scratch_ / "copy.dycl");
  ASSERT_TRUE(package::copy_package(scratch_ / "link.dycl", scratch_ / "copy.dycl"));
  EXPECT_EQ(read_all(other), "precious");
}

TEST_F(Writing, WhatIsNoFileIsNotReplaced) {
  fs::create_directory(scratch_ / "folder");
  ASSERT_EQ(::mkfifo((scratch_ / "fifo").c_str(), 0600), 0);
  for (const fs::path& target : {scratch_ / "folder", scratch_ / "fifo", fs::path("/dev/null"), scratch_ / ""}) {
    const auto written = write(target);
    ASSERT_FALSE(written) << target;
    EXPECT_EQ(written.error().kind, ErrorKind::WriteFailed);
    EXPECT_NE(written.error().message.find(target.string()), std::string::npos) << written.error().message;
    EXPECT_FALSE(written.error().help.empty());
  }
  EXPECT_TRUE(fs::is_fifo(scratch_ / "fifo") && fs::is_character_file("/dev/null"));
}

TEST_F(Writing, WhyNothingCanBeWritten) {
  const auto nowhere = write(scratch_ / "no" / "such" / "folder.dycl");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().kind, ErrorKind::Missing);
  EXPECT_EQ(nowhere.error().help, "make its folder first");
  const auto forbidden = write("/sys/x.dycl");  // forbidden to root, too
  ASSERT_FALSE(forbidden);
  EXPECT_EQ(forbidden.error().kind, ErrorKind::WriteFailed);
  EXPECT_EQ(forbidden.error().help, "name a place that this user may write");
  EXPECT_TRUE(write(scratch_ / (std::string(250, 'n') + ".dycl"))) << "a name of the greatest length";
}

// A limit of the file's size stands for a full disk: the write fails in the middle.
TEST_F(Writing, AFailedWriteLeavesTheOldPackage) {
  const auto source = package();
  const auto target = scratch_.write("target.dycl", "old");
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{100, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto written = write(target);
  const auto copied = package::copy_package(source, target);
  ::setrlimit(RLIMIT_FSIZE, &before);
  for (const auto& failed : {written, copied}) {
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().kind, ErrorKind::WriteFailed);
    EXPECT_NE(failed.error().message.find("cannot write " + target.string() + ": File too large"), std::string::npos);
  }
  EXPECT_EQ(read_all(target), "old");
  EXPECT_TRUE(temporaries().empty());
}

TEST_F(Writing, ACopyIsTheSameBytes) {
  const auto source = package();
  ASSERT_TRUE(package::copy_package(source, scratch_ / "copy.dycl"));
  EXPECT_EQ(read_all(source), read_all(scratch_ / "copy.dycl"));
  ASSERT_TRUE(package::copy_package(source, source)) << "onto itself";
  EXPECT_TRUE(Program::load(source));
}

TEST_F(Writing, OnlyPackagesAreCopied) {
  const std::string good = read_all(package());
  const auto target = scratch_.write("target.dycl", "old");
  ASSERT_EQ(::mkfifo((scratch_ / "fifo").c_str(), 0600), 0);
  for (const fs::path& source : {scratch_.write("short.dycl", good.substr(0, good.size() - 1)), scratch_ / "fifo"}) {
    const auto copied = package::copy_package(source, target);
    ASSERT_FALSE(copied);
    EXPECT_EQ(copied.error().kind, ErrorKind::InvalidPackage);
    EXPECT_NE(copied.error().message.find(source.string()), std::string::npos) << copied.error().message;
  }
  EXPECT_EQ(package::copy_package(scratch_ / "none.dycl", target).error().kind, ErrorKind::Missing);
  EXPECT_EQ(read_all(target), "old");
  EXPECT_TRUE(temporaries().empty());
}

TEST_F(Writing, WhatAKilledWriterLeftIsRemovedByTheNext) {
  const auto target = scratch_.write("target.dycl", "old");
  const auto stray = left_behind(target, 3600);
  EXPECT_EQ(read_all(target), "old");
  ASSERT_TRUE(write(scratch_ / "another.dycl"));
  EXPECT_TRUE(fs::exists(stray)) << "of another target";
  ASSERT_TRUE(write(target));
  EXPECT_FALSE(fs::exists(stray));
}

TEST_F(Writing, OnlyWhatIsSurelyAbandonedIsRemoved) {
  const auto target = scratch_ / "target.dycl";
  const auto young = left_behind(target, 0);
  const std::string name = young.filename();
  const auto other = aged(scratch_.write(name.substr(0, name.size() - 5) + "x.tmp", ""), 3600);  // no number
  const auto linked = scratch_ / (name.substr(0, name.size() - 5) + (name[name.size() - 5] == '0' ? "1.tmp" : "0.tmp"));
  fs::create_symlink(aged(scratch_.write("precious", ""), 3600), linked);
  ASSERT_TRUE(write(target));
  EXPECT_TRUE(fs::exists(young) && fs::exists(other) && fs::is_symlink(linked) && fs::exists(scratch_ / "precious"));
}

TEST_F(Writing, AWriterThatIsAliveKeepsItsFile) {
  const auto target = scratch_ / "target.dycl";
  int ready[2], end[2];
  ASSERT_TRUE(::pipe(ready) == 0 && ::pipe(end) == 0);
  const pid_t child = writer(target, [&] {
    char byte = 0;
    (void)!::write(ready[1], &byte, 1);
    (void)!::read(end[0], &byte, 1);
  });
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ASSERT_EQ(temporaries().size(), 1U);
  const auto slow = aged(scratch_ / *temporaries().begin(), 3600);
  ASSERT_TRUE(write(target));
  EXPECT_TRUE(fs::exists(slow));
  ASSERT_EQ(::write(end[1], &byte, 1), 1);
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(fs::exists(slow)) << "renamed";
}

}  // namespace
}  // namespace dycl::testing
