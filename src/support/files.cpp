// SPDX-License-Identifier: Apache-2.0
#include "support/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "support/memory.h"

namespace dycl {
namespace {

namespace fs = std::filesystem;

std::string kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "something else";
}

Error not_a_file(const fs::path& path, mode_t mode, ErrorKind kind) {
  const char* help = S_ISDIR(mode) ? "name a file in it" : "write what it holds into a file first";
  return {kind, path.string() + " is " + kind_of(mode) + ", not a file", help, {}, {}};
}

Error read_error(const fs::path& path, int code, ReadErrors errors) {
  const bool missing = code == ENOENT || code == ENOTDIR;
  return {missing ? ErrorKind::Missing : errors.unreadable,
          "cannot open " + path.string() + ": " + std::strerror(code),
          code == EACCES ? "allow this user to read it" : "",
          {},
          {}};
}

const char* remedy(int code) {
  switch (code) {
    case ENOSPC:
    case EDQUOT: return "make space there, or name a place with more";
    case EACCES:
    case EPERM:
    case EROFS: return "name a place that this user may write";
    case ENOENT:
    case ENOTDIR: return "make its folder first";
    case EISDIR: return "name a file in it";
    case EEXIST: return "choose another name, or move away what has it";
    case ENAMETOOLONG: return "choose a shorter name";
    case ELOOP: return "it is a symbolic link: name the file itself, or remove the link";
    case EFBIG: return "the file system or a limit (ulimit -f) does not allow files of this size";
    default: return "";
  }
}

}  // namespace

Descriptor::~Descriptor() { close(); }

bool Descriptor::close() {
  const int number = std::exchange(number_, -1);
  return number < 0 || ::close(number) == 0;
}

Result<OpenFile> open_regular_file(const fs::path& path, ReadErrors errors) {
  // Without O_NONBLOCK, opening a FIFO waits until somebody writes into it. Regular files do not know the flag.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  const int code = errno;
  struct stat info {};
  // A socket, or a device without a driver, cannot be opened; what it is says more than why.
  if (!file.is_open() && ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    return not_a_file(path, info.st_mode, errors.not_a_file);
  if (!file.is_open()) return read_error(path, code, errors);
  if (::fstat(file.number(), &info) != 0) return read_error(path, errno, errors);
  if (!S_ISREG(info.st_mode)) return not_a_file(path, info.st_mode, errors.not_a_file);
  return OpenFile{std::move(file), static_cast<std::uint64_t>(info.st_size)};
}

Result<std::vector<std::uint8_t>> read_file(const fs::path& path, ReadErrors errors) {
  DYCL_ASSIGN(const OpenFile file, open_regular_file(path, errors));
  DYCL_TRY(check_fits_into_memory(file.size, path.string()));
  // The size is a hint: files of /proc have none, and others may grow meanwhile.
  std::vector<std::uint8_t> bytes(file.size + 1);
  for (std::size_t used = 0;;) {
    const ssize_t n = ::read(file.descriptor.number(), bytes.data() + used, bytes.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return read_error(path, errno, errors);
    used += static_cast<std::size_t>(n);
    if (n == 0) {
      bytes.resize(used);
      return bytes;
    }
    if (used == bytes.size()) bytes.resize(2 * bytes.size() + 4096);
  }
}

Error write_error(const std::string& doing, const fs::path& path, int code) {
  const bool missing = code == ENOENT || code == ENOTDIR;
  return {missing ? ErrorKind::Missing : ErrorKind::WriteFailed,
          "cannot " + doing + " " + path.string() + (code ? std::string(": ") + std::strerror(code) : ""),
          remedy(code),
          {},
          {}};
}

Result<void> make_folder(const fs::path& folder) {
  std::error_code failure;
  if (fs::exists(folder, failure) && !fs::is_directory(folder, failure))
    return write_error("make the folder", folder, EEXIST);
  fs::create_directories(folder, failure);
  if (failure) return write_error("make the folder", folder, failure.value());
  return {};
}

bool write_all(const Descriptor& file, std::string_view bytes) {
  constexpr std::size_t kMost = std::size_t{1} << 30;  // the system takes less than 2 GiB at once
  while (!bytes.empty()) {
    const ssize_t n = ::write(file.number(), bytes.data(), std::min(bytes.size(), kMost));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

namespace {

// What a link leads to may be anybody's choice: a file behind one is not written. What is no file (a terminal, a pipe)
// is, and so is what this process has open already: /dev/stdout.
bool may_follow(const fs::path& path) {
  std::error_code failure;
  if (fs::read_symlink(path, failure).string().starts_with("/proc/self/fd/")) return true;
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
}

}  // namespace

Result<void> write_file(const fs::path& path, const std::function<void(const Put&)>& content) {
  constexpr int kHow = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY;
  Descriptor file(::open(path.c_str(), kHow | O_NOFOLLOW, 0666));
  int code = errno;
  if (!file.is_open() && code == ELOOP && may_follow(path)) {
    file = Descriptor(::open(path.c_str(), kHow, 0666));
    code = errno;
  }
  if (!file.is_open()) return write_error("write", path, code);
  code = 0;
  content([&](std::string_view bytes) {
    if (code == 0 && !write_all(file, bytes)) code = errno;
  });
  if (!file.close() && code == 0) code = errno;
  if (code != 0) return write_error("write", path, code);
  return {};
}

Result<void> write_file(const fs::path& path, std::string_view bytes) {
  return write_file(path, [&](const Put& put) { put(bytes); });
}

}  // namespace dycl
