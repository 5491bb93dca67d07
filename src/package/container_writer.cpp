// SPDX-License-Identifier: Apache-2.0
#include "package/container_writer.h"

#include <cstring>

#include <zlib.h>

#include "package/temporary_file.h"
#include "runtime/container.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dycl::package {
namespace {

namespace fs = std::filesystem;
using runtime::FileHeader;
using runtime::kSectionAlignment;
using runtime::SectionEntry;

constexpr std::uint8_t kZeros[kSectionAlignment] = {};

std::uint64_t aligned(std::uint64_t n) { return (n + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment; }

// Calls put(bytes) for the pieces and the padding between them.
template <typename Put>
void for_each_run(const SectionContent& section, Put put) {
  std::uint64_t written = 0;
  for (const auto& piece : section.pieces) {
    if (aligned(written) > written) put(std::span(kZeros).first(aligned(written) - written));
    written = aligned(written);
    put(piece);
    written += piece.size();
  }
}

// A section as it is stored.
struct Stored {
  SectionContent content;
  std::vector<std::uint8_t> deflated;  // the one piece, if kDeflated
  std::uint64_t inflated_size = 0;
};

// Empty if the bytes are better stored as they are.
std::vector<std::uint8_t> deflate(const std::vector<std::uint8_t>& bytes) {
  std::vector<std::uint8_t> made(::compressBound(bytes.size()));
  uLongf size = made.size();
  constexpr int kLevel = 6;
  if (::compress2(made.data(), &size, bytes.data(), bytes.size(), kLevel) != Z_OK) return {};
  if (aligned(size) >= aligned(bytes.size()) || bytes.size() / runtime::kMaxInflation > size) return {};
  made.resize(size);
  return made;
}

Stored to_stored(const SectionContent& section) {
  Stored stored{section, {}, 0};
  if (!(section.flags & runtime::kDeflated)) return stored;
  stored.content.flags &= ~std::uint32_t{runtime::kDeflated};
  std::vector<std::uint8_t> bytes;
  for_each_run(section, [&](std::span<const std::uint8_t> run) { bytes.insert(bytes.end(), run.begin(), run.end()); });
  stored.deflated = deflate(bytes);
  if (stored.deflated.empty()) return stored;
  stored.content.flags |= runtime::kDeflated;
  stored.content.pieces = {stored.deflated};
  stored.inflated_size = bytes.size();
  return stored;
}

SectionEntry entry_of(const Stored& stored, std::uint64_t offset) {
  const SectionContent& section = stored.content;
  SectionEntry entry{};
  DYCL_CHECK(section.name.size() <= sizeof entry.name, "section name too long");
  std::memcpy(entry.name, section.name.data(), section.name.size());
  entry.offset = offset;
  entry.flags = section.flags;
  entry.inflated_size = stored.inflated_size;
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for_each_run(section, [&](std::span<const std::uint8_t> bytes) {
    XXH3_64bits_update(&state, bytes.data(), bytes.size());
    entry.size += bytes.size();
  });
  entry.checksum = XXH3_64bits_digest(&state);
  return entry;
}

std::vector<std::uint8_t> header_and_table(const std::vector<Stored>& sections, std::vector<SectionEntry>& entries) {
  std::uint64_t end = sizeof(FileHeader) + sections.size() * sizeof(SectionEntry);
  for (const Stored& section : sections) {
    entries.push_back(entry_of(section, aligned(end)));
    end = entries.back().offset + entries.back().size;
  }
  FileHeader header{};
  header.magic = runtime::kMagic;
  header.format_version = runtime::kFormatVersion;
  header.section_count = static_cast<std::uint32_t>(sections.size());
  header.file_size = end;
  std::vector<std::uint8_t> bytes(sizeof header + entries.size() * sizeof(SectionEntry));
  std::memcpy(bytes.data(), &header, sizeof header);
  if (!entries.empty())
    std::memcpy(bytes.data() + sizeof header, entries.data(), entries.size() * sizeof(SectionEntry));
  header.checksum = runtime::checksum_of(bytes);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

}  // namespace

Result<void> write_container(const std::vector<SectionContent>& sections, const fs::path& path,
                             const std::function<Result<void>(const fs::path&)>& check) {
  std::vector<Stored> stored;
  for (const SectionContent& section : sections) stored.push_back(to_stored(section));
  std::vector<SectionEntry> entries;
  const auto head = header_and_table(stored, entries);

  DYCL_ASSIGN(TemporaryFile file, TemporaryFile::create(path));
  DYCL_TRY(file.write(head));
  std::uint64_t position = head.size();
  for (std::size_t i = 0; i < stored.size(); ++i) {
    DYCL_TRY(file.write(std::span(kZeros).first(entries[i].offset - position)));
    Result<void> written;
    for_each_run(stored[i].content, [&](std::span<const std::uint8_t> bytes) {
      if (written) written = file.write(bytes);
    });
    DYCL_TRY(written);
    position = entries[i].offset + entries[i].size;
  }
  DYCL_TRY(file.sync());
  DYCL_TRY(check(file.path()));
  return file.publish();
}

}  // namespace dycl::package
