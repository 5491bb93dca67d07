// SPDX-License-Identifier: Apache-2.0
// Opening and writing files that somebody else named.
#include "support/files.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "../scratch.h"
#include "support/npy.h"

namespace dycl {
namespace {

namespace fs = std::filesystem;
using tests::Scratch;

constexpr ReadErrors kErrors{ErrorKind::InvalidPackage, ErrorKind::InvalidInput};

Error open_error(const fs::path& path) {
  const auto opened = open_regular_file(path, kErrors);
  EXPECT_FALSE(opened) << path;
  return opened ? Error{} : opened.error();
}

fs::path socket_at(const fs::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const Descriptor made(::socket(AF_UNIX, SOCK_STREAM, 0));
  EXPECT_EQ(::bind(made.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return path;
}

// A test that waits for a writer of the FIFO does not end.
TEST(Files, WhatIsNoFileIsRefusedAtOnce) {
  const Scratch scratch;
  const fs::path fifo = scratch / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  fs::create_symlink(fifo, scratch / "link");
  for (const auto& [path, what] : {std::pair(fifo, "is a FIFO, not a file"),
                                   {scratch / "link", "is a FIFO, not a file"},
                                   {socket_at(scratch / "socket"), "is a socket, not a file"},
                                   {"/dev/zero", "is a device, not a file"},
                                   {fifo.parent_path(), "is a folder, not a file"}}) {
    const Error error = open_error(path);
    EXPECT_EQ(error.kind, ErrorKind::InvalidPackage) << path;
    EXPECT_EQ(error.message, path.string() + " " + what);
    EXPECT_FALSE(error.help.empty());
    EXPECT_EQ(read_file(path, kErrors).error().message, error.message);
  }
  EXPECT_EQ(read_npy(fifo).error().kind, ErrorKind::InvalidInput);
}

TEST(Files, WhatIsNotThereIsMissing) {
  const Scratch scratch;
  for (const fs::path& path : {scratch / "none", scratch.write("file", "x") / "none"}) {
    const Error error = open_error(path);
    EXPECT_EQ(error.kind, ErrorKind::Missing);
    EXPECT_NE(error.message.find(path.string()), std::string::npos) << error.message;
  }
}

TEST(Files, FilesBehindLinksAreNotWritten) {
  const Scratch scratch;
  const fs::path file = scratch.write("file", "kept");
  fs::create_symlink(file, scratch / "link");
  fs::create_symlink(scratch / "nothing", scratch / "dangling");
  fs::create_symlink("/dev/null", scratch / "device");
  for (const char* name : {"link", "dangling"}) {
    const auto written = write_file(scratch / name, "new");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().kind, ErrorKind::WriteFailed);
    EXPECT_NE(written.error().help.find("symbolic link"), std::string::npos) << written.error().help;
  }
  EXPECT_EQ(read_file(file, kErrors)->size(), 4U);
  EXPECT_FALSE(fs::exists(scratch / "nothing"));
  EXPECT_TRUE(write_file(scratch / "device", "new"));
  EXPECT_TRUE(write_file(file, "new"));
}

TEST(Files, FilesAndLinksToThemAreRead) {
  const Scratch scratch;
  const std::string text(10'000, 'a');
  fs::create_symlink(scratch.write("file", text), scratch / "link");
  for (const char* name : {"file", "link"}) {
    const auto bytes = read_file(scratch / name, kErrors);
    ASSERT_TRUE(bytes) << bytes.error().message;
    EXPECT_EQ(std::string(bytes->begin(), bytes->end()), text);
  }
  EXPECT_TRUE(read_file(scratch.write("empty", ""), kErrors)->empty());
  // Files of /proc say that they are empty.
  EXPECT_GT(read_file("/proc/self/status", kErrors)->size(), 100U);
}

TEST(Files, WritingReplacesWhatWasThere) {
  const Scratch scratch;
  const auto file = scratch.write("file", "something longer");
  ASSERT_TRUE(write_file(file, "short"));
  const auto bytes = read_file(file, kErrors);
  EXPECT_EQ(std::string(bytes->begin(), bytes->end()), "short");
  EXPECT_TRUE(write_file("/dev/null", "into a device, which somebody named on purpose"));
}

TEST(Files, WhyAFileCannotBeWritten) {
  const Scratch scratch;
  struct Case {
    fs::path path;
    ErrorKind kind;
    std::string message, help;
  };
  for (const Case& c : {Case{"/dev/full", ErrorKind::WriteFailed, "No space left on device", "make space there"},
                        {scratch / "none" / "file", ErrorKind::Missing, "No such file", "make its folder first"},
                        {scratch.write("file", "") / "in", ErrorKind::Missing, "Not a directory", "make its folder"},
                        {(scratch / "x").parent_path(), ErrorKind::WriteFailed, "Is a directory", "name a file"},
                        {scratch / std::string(300, 'n'), ErrorKind::WriteFailed, "too long", "a shorter name"}}) {
    const auto written = write_file(c.path, "text");
    ASSERT_FALSE(written) << c.path;
    EXPECT_EQ(written.error().kind, c.kind) << c.path;
    EXPECT_NE(written.error().message.find("cannot write " + c.path.string()), std::string::npos);
    EXPECT_NE(written.error().message.find(c.message), std::string::npos) << written.error().message;
    EXPECT_NE(written.error().help.find(c.help), std::string::npos) << written.error().help;
  }
  const ArrayView array{"x", DType::U8, {}, {}};
  EXPECT_EQ(write_npy("/dev/full", array).error().kind, ErrorKind::WriteFailed);
}

TEST(Files, FoldersAreMade) {
  const Scratch scratch;
  EXPECT_TRUE(make_folder(scratch / "a" / "b"));
  EXPECT_TRUE(make_folder(scratch / "a" / "b"));
  const auto failed = make_folder(scratch.write("file", ""));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::WriteFailed);
  EXPECT_NE(failed.error().message.find("cannot make the folder"), std::string::npos);
}

}  // namespace
}  // namespace dycl
