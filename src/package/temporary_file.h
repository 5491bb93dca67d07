// SPDX-License-Identifier: Apache-2.0
// A file under construction beside the one it will replace. At any moment the target is either what it was before or
// complete: written under a name that nobody can guess, synced, then renamed over the target. A target that is a
// symbolic link is replaced, not followed; what it led to stays as it was.
//
// A writer that is killed leaves its temporary file behind. The next writer of the same target removes it: names say
// whose they are (".dycl-<hash of the target's name>-<random>.tmp"), and a writer holds a lock (flock) that the system
// takes back when it dies. Where the file system has no locks, nothing is removed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "support/files.h"
#include "support/result.h"

namespace dycl::package {

class TemporaryFile {
 public:
  // Refuses a target that is neither a file nor a link nor free.
  static Result<TemporaryFile> create(const std::filesystem::path& target);
  ~TemporaryFile();  // removes it unless it was published
  TemporaryFile(TemporaryFile&&) = default;
  TemporaryFile& operator=(TemporaryFile&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  Result<void> write(std::span<const std::uint8_t> bytes);
  Result<void> sync();
  Result<void> publish();

 private:
  TemporaryFile(std::filesystem::path target, std::filesystem::path path, Descriptor file)
      : target_(std::move(target)), path_(std::move(path)), file_(std::move(file)) {}

  std::filesystem::path target_, path_;
  Descriptor file_;  // open until it is published; a moved-from one is closed
};

}  // namespace dycl::package
