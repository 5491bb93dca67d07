// SPDX-License-Identifier: Apache-2.0
// Files as all of the source opens and writes them, with errors that say which file, why, and what to do.
//
// Reading: a name that somebody else gave may be a FIFO, a device, a socket or a folder. Opening one of those may wait
// for ever and mapping it cannot work, so only regular files are opened, and never with waiting.
//
// Writing: `write_file` writes in place, also into a device or a pipe, as people expect of what they name with -o.
// A file that must be whole or not there at all is package/temporary_file.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/result.h"

namespace dycl {

// Owns an open file.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  bool close();  // false: what was written may be lost (errno says why)

 private:
  int number_;
};

struct OpenFile {
  Descriptor descriptor;
  std::uint64_t size = 0;
};

// Of which kinds the errors of reading are; that there is no such file is always Missing.
struct ReadErrors {
  ErrorKind not_a_file = ErrorKind::Missing;
  ErrorKind unreadable = ErrorKind::Missing;
};

// Opens a regular file (or a link to one) for reading, at once.
Result<OpenFile> open_regular_file(const std::filesystem::path& path, ReadErrors errors);

// The bytes of a regular file.
Result<std::vector<std::uint8_t>> read_file(const std::filesystem::path& path, ReadErrors errors);

// "cannot <doing> <path>: <what errno `code` means>" with its remedy; `code` 0: no reason is known.
// Missing if the folder is not there, else WriteFailed.
Error write_error(const std::string& doing, const std::filesystem::path& path, int code);

// Writes all of it; false: errno says why not.
bool write_all(const Descriptor& file, std::string_view bytes);

// Makes a folder and those around it, unless it is there.
Result<void> make_folder(const std::filesystem::path& folder);

using Put = std::function<void(std::string_view bytes)>;

// Calls content(put) and writes what it puts; what was there before is lost first.
Result<void> write_file(const std::filesystem::path& path, const std::function<void(const Put&)>& content);
Result<void> write_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace dycl
