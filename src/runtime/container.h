// SPDX-License-Identifier: Apache-2.0
// The container of a package: a 64-byte header, a table of sections, and the
// sections. docs/package_format.md specifies it byte by byte. Opening a file maps
// it and checks header and table; a section's bytes are checked against their
// checksum when asked for. Sections that are stored deflated are checked and inflated when the file is
// opened. Everything read here may be hostile.
//
// A MappedFile is immutable and may be shared by threads. Packages are replaced by
// renaming, never written in place, so a mapping stays what it was.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/files.h"
#include "support/result.h"

namespace dycl::runtime {

inline constexpr std::array<std::uint8_t, 8> kMagic = {0x89, 'D', 'Y', 'C', 'L', '\r', '\n', 0x1a};
inline constexpr std::uint32_t kFormatVersion = 2;
inline constexpr std::uint32_t kOldestFormatVersion = 1;  // that is still read
inline constexpr std::uint32_t kMaxSections = 64;
inline constexpr std::size_t kSectionAlignment = 64;
inline constexpr std::uint64_t kMaxInflation = 128;  // times its stored size, a section may become

// Little-endian, no padding. The checksum covers header (with this field zero) and section table.
struct FileHeader {
  std::array<std::uint8_t, 8> magic;
  std::uint32_t format_version;
  std::uint32_t section_count;
  std::uint64_t file_size;
  std::uint64_t checksum;
  std::uint8_t reserved[32];  // zero
};
static_assert(sizeof(FileHeader) == 64);

enum SectionFlags : std::uint32_t {
  kOptionalSection = 1,  // a reader that does not know it may ignore it
  kStrippable = 2,       // may be left out
  kLazyChecksum = 4,     // the parts have checksums of their own; checked as a whole on request
  kDeflated = 8,         // stored as a zlib stream
};

struct SectionEntry {
  char name[16];  // padded with zeros
  std::uint64_t offset;
  std::uint64_t size;      // as stored
  std::uint64_t checksum;  // of the bytes as stored
  std::uint32_t flags;
  std::uint8_t reserved_1[4];   // zero
  std::uint64_t inflated_size;  // if kDeflated, else zero
  std::uint8_t reserved_2[8];   // zero
};
static_assert(sizeof(SectionEntry) == 64);

namespace section {
inline constexpr std::string_view kPlan = "plan";
inline constexpr std::string_view kWeightIndex = "weights.index";
inline constexpr std::string_view kMetadata = "metadata";
inline constexpr std::string_view kDebug = "debug";
inline constexpr std::string_view kArtifacts = "artifacts";
inline constexpr std::string_view kWeights = "weights";
}  // namespace section

std::uint64_t checksum_of(std::span<const std::uint8_t> bytes);

// Writes the size of `file`, of which the header is right but for that, into its header, and the checksum anew.
void set_file_size(std::span<std::uint8_t> file);
bool has_table(std::span<const std::uint8_t> file);  // header and table lie inside the file

class MappedFile {
 public:
  static Result<MappedFile> open(const std::filesystem::path& path);
  // The same as a copy in memory, which nobody can change after it was checked.
  // `change` may change the copy before that, and says of how many bytes it is then.
  using Change = std::function<Result<std::size_t>(std::span<std::uint8_t>)>;
  static Result<MappedFile> read(const std::filesystem::path& path, const Change& change = nullptr);
  static Result<MappedFile> copy_of(std::span<const std::uint8_t> bytes, const Change& change = nullptr);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::uint8_t> bytes() const { return {data_, size_}; }
  // By which this process can open the very file (or copy) that is mapped, whatever happens to the name it had.
  std::filesystem::path path() const;
  // Gives back the memory of pages that were read; they come again when they are read again. Nothing if it is a copy.
  void release_pages(std::span<const std::uint8_t> piece) const;

 private:
  MappedFile(Descriptor file, const std::uint8_t* data, std::size_t size, bool copy)
      : file_(std::move(file)), data_(data), size_(size), copy_(copy) {}
  static Result<MappedFile> filled(std::size_t size, const std::function<Result<void>(std::span<std::uint8_t>)>& fill,
                                   const Change& change);
  Descriptor file_;
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
  bool copy_ = false;
};

struct Section {
  std::string name;
  std::span<const std::uint8_t> bytes;   // in the mapping, or inflated: 64-byte aligned either way (see inflate_all)
  std::span<const std::uint8_t> stored;  // in the mapping
  std::uint64_t checksum = 0;
  std::uint32_t flags = 0;
  std::uint64_t inflated_size = 0;  // as the file claims it
};

class Container {
 public:
  static Result<Container> open(const std::filesystem::path& path);
  static Result<Container> of(MappedFile file);

  const MappedFile& file() const { return file_; }
  const std::vector<Section>& sections() const { return sections_; }
  const Section* find(std::string_view name) const;  // bytes not yet checked

  // The bytes of a section after its checksum was checked; an error names the section.
  Result<std::span<const std::uint8_t>> checked(std::string_view name) const;

  // Sections that this runtime does not know stay as they are stored, until somebody wants to copy what they hold.
  Result<void> inflate_all();

  // Nobody reads the section any more (its bytes are none from now on): gives back the memory of its inflated form.
  void forget(std::string_view name);

 private:
  struct alignas(kSectionAlignment) Line {
    std::uint8_t bytes[kSectionAlignment];
  };
  explicit Container(MappedFile file) : file_(std::move(file)) {}
  Result<void> read_table();
  std::uint64_t checksum_of_stored(const Section& section) const;
  Result<void> inflate(Section& section);

  MappedFile file_;
  std::vector<Section> sections_;
  std::map<std::string, std::unique_ptr<Line[]>, std::less<>> inflated_;
};

Error damaged(std::string_view section, std::string what);

}  // namespace dycl::runtime
