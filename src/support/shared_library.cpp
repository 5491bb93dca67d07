// SPDX-License-Identifier: Apache-2.0
#include "support/shared_library.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "support/files.h"

namespace dycl {
namespace {

namespace fs = std::filesystem;

// Where `count` things of `size` bytes from `offset` on end.
std::uint64_t end_of(std::uint64_t offset, std::uint64_t count, std::uint64_t size) {
  std::uint64_t end = 0;
  if (__builtin_mul_overflow(count, size, &end) || __builtin_add_overflow(offset, end, &end)) return UINT64_MAX;
  return end;
}

bool read_at(const OpenFile& file, std::uint64_t offset, void* out, std::size_t size) {
  return ::pread(file.descriptor.number(), out, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

// How many bytes the file must have at least; nothing if it is none that dlopen would map.
std::optional<std::uint64_t> needed_bytes(const OpenFile& file) {
  Elf64_Ehdr header;
  if (!read_at(file, 0, &header, sizeof header)) return std::nullopt;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_phentsize != sizeof(Elf64_Phdr))
    return std::nullopt;
  std::uint64_t needed = std::max(end_of(header.e_shoff, header.e_shnum, header.e_shentsize),
                                  end_of(header.e_phoff, header.e_phnum, header.e_phentsize));
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  if (needed > file.size || !read_at(file, header.e_phoff, segments.data(), segments.size() * sizeof(Elf64_Phdr)))
    return needed;
  for (const Elf64_Phdr& segment : segments)
    if (segment.p_type == PT_LOAD) needed = std::max(needed, end_of(segment.p_offset, 1, segment.p_filesz));
  return needed;
}

// The file that dlopen would take, as far as that is known.
fs::path file_of(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* folders = std::getenv("LD_LIBRARY_PATH");
  for (std::string_view rest = folders ? folders : ""; !rest.empty();) {
    const std::size_t end = std::min(rest.find_first_of(":;"), rest.size());
    std::error_code ignored;
    const fs::path file = fs::path(rest.substr(0, end)) / name;
    if (end > 0 && fs::exists(file, ignored)) return file;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

}  // namespace

Result<void> check_shared_library(const std::string& name) {
  const fs::path path = file_of(name);
  std::error_code ignored;
  if (path.empty() || !fs::exists(path, ignored)) return {};
  DYCL_ASSIGN(const OpenFile file, open_regular_file(path, {ErrorKind::Missing, ErrorKind::Missing}));
  const auto needed = needed_bytes(file);
  if (!needed || *needed <= file.size) return {};
  return Error{ErrorKind::Missing,
               path.string() + " is truncated: it has " + std::to_string(file.size) + " bytes, its headers name " +
                   std::to_string(*needed),
               "copy or install the library again",
               {},
               {}};
}

}  // namespace dycl
