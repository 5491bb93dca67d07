// SPDX-License-Identifier: Apache-2.0
#include "package/temporary_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <system_error>

namespace dycl::package {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".tmp";
// Between making its file and locking it, a writer has no lock: younger files are left alone.
constexpr std::time_t kSettled = 60;

std::string hex(std::uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

// The same for all writers of one target. A hash (FNV-1a), because a name may have no room for more.
std::string prefix_of(const fs::path& target) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : target.filename().string()) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return ".dycl-" + hex(hash) + "-";
}

fs::path folder_of(const fs::path& target) {
  return target.has_parent_path() ? target.parent_path() : fs::path(".");
}

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_temporary(const std::string& name, const std::string& prefix) {
  return name.size() == prefix.size() + 16 + kSuffix.size() && name.starts_with(prefix) && name.ends_with(kSuffix) &&
         is_hex(std::string_view(name).substr(prefix.size(), 16));
}

// Whether it is a file of this user's that nobody has written lately, and whose writer is dead.
bool is_abandoned(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info {};
  if (!file.is_open() || ::fstat(file.number(), &info) != 0) return false;
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid() || info.st_nlink != 1) return false;
  return info.st_mtime + kSettled < ::time(nullptr) && ::flock(file.number(), LOCK_EX | LOCK_NB) == 0;
}

void remove_abandoned(const fs::path& target) {
  const std::string prefix = prefix_of(target);
  std::error_code failed;
  for (fs::directory_iterator it(folder_of(target), failed), end; !failed && it != end; it.increment(failed))
    if (is_temporary(it->path().filename().string(), prefix) && is_abandoned(it->path()))
      ::unlink(it->path().c_str());
}

Result<void> check_target(const fs::path& target) {
  struct stat info {};
  const fs::path name = target.filename();
  if (name.empty() || name == "." || name == "..") return write_error("write", target, EISDIR);
  if (::lstat(target.c_str(), &info) != 0 || S_ISREG(info.st_mode) || S_ISLNK(info.st_mode)) return {};
  if (S_ISDIR(info.st_mode)) return write_error("write", target, EISDIR);
  Error error = write_error("replace", target, 0);
  error.message += ": it is no file";
  error.help = "name a file";
  return error;
}

}  // namespace

Result<TemporaryFile> TemporaryFile::create(const fs::path& target) {
  DYCL_TRY(check_target(target));
  remove_abandoned(target);
  for (int attempt = 0;; ++attempt) {
    std::uint64_t random = 0;
    if (::getrandom(&random, sizeof random, 0) != sizeof random) return write_error("create", target, errno);
    fs::path path = folder_of(target) / (prefix_of(target) + hex(random) + std::string(kSuffix));
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (file.is_open()) {
      ::flock(file.number(), LOCK_EX | LOCK_NB);  // without it, a stray file stays
      return TemporaryFile(target, std::move(path), std::move(file));
    }
    constexpr int kAttempts = 8;
    if (errno != EEXIST || attempt == kAttempts) return write_error("create", target, errno);
  }
}

TemporaryFile::~TemporaryFile() {
  if (file_.is_open()) ::unlink(path_.c_str());
}

Result<void> TemporaryFile::write(std::span<const std::uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!write_all(file_, text)) return write_error("write", target_, errno);
  return {};
}

Result<void> TemporaryFile::sync() {
  if (::fsync(file_.number()) != 0) return write_error("write", target_, errno);
  return {};
}

Result<void> TemporaryFile::publish() {
  if (::rename(path_.c_str(), target_.c_str()) != 0) return write_error("replace", target_, errno);
  file_.close();  // synced before: nothing is left that could fail
  const Descriptor folder(::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.is_open()) ::fsync(folder.number());  // best effort: some file systems cannot
  return {};
}

}  // namespace dycl::package
