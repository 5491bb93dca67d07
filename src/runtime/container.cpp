// SPDX-License-Identifier: Apache-2.0
#include "runtime/container.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include <zlib.h>

#include "runtime/encryption.h"
#include "support/files.h"
#include "support/memory.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static_assert(std::endian::native == std::endian::little, "packages are little-endian");

namespace dycl::runtime {
namespace {

std::string name_of(const SectionEntry& entry) { return {entry.name, strnlen(entry.name, sizeof entry.name)}; }

bool is_known(std::string_view name) {
  for (std::string_view known : {section::kPlan, section::kWeightIndex, section::kMetadata, section::kDebug,
                                 section::kArtifacts, section::kWeights}) {
    if (name == known) return true;
  }
  return false;
}

Result<void> check_header(const FileHeader& header, std::size_t file_size) {
  if (header.magic == kEncryptedMagic) return no_key_for_encrypted();
  if (header.magic != kMagic) {
    return Error{ErrorKind::InvalidPackage,
                 "not a DyCL package: the file starts with other bytes",
                 "a package is made by `dycl compile`",
                 {},
                 {}};
  }
  if (header.format_version < kOldestFormatVersion || header.format_version > kFormatVersion) {
    return Error{ErrorKind::InvalidPackage,
                 "package format version " + std::to_string(header.format_version) + ", this runtime reads " +
                     std::to_string(kOldestFormatVersion) + " to " + std::to_string(kFormatVersion),
                 "compile the model again, or use a matching runtime",
                 {},
                 {}};
  }
  if (header.file_size != file_size) {
    return damaged("header", "the file has " + std::to_string(file_size) + " bytes and should have " +
                                 std::to_string(header.file_size) + " (truncated?)");
  }
  if (header.section_count > kMaxSections) return damaged("header", "too many sections");
  if (sizeof(FileHeader) + header.section_count * sizeof(SectionEntry) > file_size) {
    return damaged("section table", "the file ends inside it");
  }
  return {};
}

}  // namespace

Error damaged(std::string_view section, std::string what) {
  return {ErrorKind::InvalidPackage,
          "damaged package, section " + std::string(section) + ": " + std::move(what),
          "copy or compile the package again",
          {},
          {}};
}

std::uint64_t checksum_of(std::span<const std::uint8_t> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

namespace {

std::uint64_t header_checksum(std::span<const std::uint8_t> file, std::size_t table_end) {
  std::vector<std::uint8_t> covered(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(table_end));
  std::memset(covered.data() + offsetof(FileHeader, checksum), 0, sizeof(FileHeader::checksum));
  return checksum_of(covered);
}

std::size_t end_of_table(const FileHeader& header) {
  return sizeof(FileHeader) + header.section_count * sizeof(SectionEntry);
}

}  // namespace

bool has_table(std::span<const std::uint8_t> file) {
  FileHeader header;
  if (file.size() < sizeof header) return false;
  std::memcpy(&header, file.data(), sizeof header);
  return header.section_count <= kMaxSections && end_of_table(header) <= file.size();
}

void set_file_size(std::span<std::uint8_t> file) {
  FileHeader header;
  std::memcpy(&header, file.data(), sizeof header);
  header.file_size = file.size();
  std::memcpy(file.data(), &header, sizeof header);
  header.checksum = header_checksum(file, end_of_table(header));
  std::memcpy(file.data(), &header, sizeof header);
}

namespace {

Error too_short(std::size_t size) {
  return damaged("header", "the file has only " + std::to_string(size) + " bytes");
}

// What is mapped for as long as the object lives, or until its end.
struct Mapping {
  std::span<std::uint8_t> bytes;
  void end() {
    if (!bytes.empty()) ::munmap(bytes.data(), bytes.size());
    bytes = {};
  }
  ~Mapping() { end(); }
};

}  // namespace

// A file in memory that `fill` fills and that then nobody changes.
Result<MappedFile> MappedFile::filled(std::size_t size,
                                      const std::function<Result<void>(std::span<std::uint8_t>)>& fill,
                                      const Change& change) {
  if (size < sizeof(FileHeader)) return too_short(size);
  const auto no_memory = [] {
    return Error{ErrorKind::RuntimeFailure, "no memory for the package", {}, {}, "MemoryError"};
  };
  DYCL_TRY(check_fits_into_memory(size, "the package"));
  Descriptor file(::memfd_create("dycl-package", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.is_open()) return no_memory();
  // Mapped first, for a limit of the process's addresses is seen there alone.
  void* writable = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  if (writable == MAP_FAILED) return no_memory();
  const std::span all(static_cast<std::uint8_t*>(writable), size);
  Mapping mapping{all};
  // Blocks are asked for here: without them a write into the mapping would end the process.
  if (::posix_fallocate(file.number(), 0, static_cast<off_t>(size)) != 0) return no_memory();
  DYCL_TRY(fill(all));
  if (change) {
    DYCL_ASSIGN(size, change(all));
    if (size < sizeof(FileHeader)) return too_short(size);
    if (::ftruncate(file.number(), static_cast<off_t>(size)) != 0) return no_memory();
  }
  mapping.end();
  if (::fcntl(file.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
    return Error{
        ErrorKind::RuntimeFailure, std::string("cannot seal the package: ") + std::strerror(errno), {}, {}, {}};
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (data == MAP_FAILED) return no_memory();
  return MappedFile(std::move(file), static_cast<const std::uint8_t*>(data), size, true);
}

Result<MappedFile> MappedFile::read(const std::filesystem::path& path, const Change& change) {
  DYCL_ASSIGN(const OpenFile file, open_regular_file(path, {ErrorKind::InvalidPackage, ErrorKind::InvalidPackage}));
  return filled(static_cast<std::size_t>(file.size), [&](std::span<std::uint8_t> to) -> Result<void> {
    for (std::size_t done = 0; done < to.size();) {
      const ssize_t n = ::read(file.descriptor.number(), to.data() + done, to.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return damaged("header", "the file cannot be read whole");
      done += static_cast<std::size_t>(n);
    }
    return {};
  }, change);
}

Result<MappedFile> MappedFile::copy_of(std::span<const std::uint8_t> bytes, const Change& change) {
  return filled(bytes.size(), [&](std::span<std::uint8_t> to) -> Result<void> {
    std::copy(bytes.begin(), bytes.end(), to.begin());
    return {};
  }, change);
}

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  DYCL_ASSIGN(OpenFile file, open_regular_file(path, {ErrorKind::InvalidPackage, ErrorKind::InvalidPackage}));
  const auto size = static_cast<std::size_t>(file.size);
  if (size < sizeof(FileHeader)) return too_short(size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor.number(), 0);
  if (data == MAP_FAILED)
    return Error{ErrorKind::InvalidPackage, "cannot map " + path.string() + ": " + std::strerror(errno), {}, {}, {}};
  return MappedFile(std::move(file.descriptor), static_cast<const std::uint8_t*>(data), size, false);
}

std::filesystem::path MappedFile::path() const { return "/proc/self/fd/" + std::to_string(file_.number()); }

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::uint8_t*>(data_), size_);
}

void MappedFile::release_pages(std::span<const std::uint8_t> piece) const {
  if (copy_) return;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(piece.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(piece.data() + piece.size()) / page * page;
  // A read-only mapping of a file: nothing is lost. A failure costs memory only.
  if (begin < end) (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : file_(std::move(other.file_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      copy_(other.copy_) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(copy_, other.copy_);
  return *this;
}

Result<Container> Container::of(MappedFile file) {
  Container container(std::move(file));
  DYCL_TRY(container.read_table());
  return container;
}

Result<Container> Container::open(const std::filesystem::path& path) {
  DYCL_ASSIGN(MappedFile file, MappedFile::open(path));
  return of(std::move(file));
}

Result<void> Container::read_table() {
  const auto bytes = file_.bytes();
  FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  DYCL_TRY(check_header(header, bytes.size()));

  const std::size_t table_end = end_of_table(header);
  if (header_checksum(bytes, table_end) != header.checksum) return damaged("section table", "its checksum is wrong");

  std::uint64_t end = table_end;  // sections follow one another, in order
  for (std::uint32_t i = 0; i < header.section_count; ++i) {
    SectionEntry entry;
    std::memcpy(&entry, bytes.data() + sizeof(FileHeader) + i * sizeof entry, sizeof entry);
    const std::string name = name_of(entry);
    if (name.empty() || find(name)) return damaged("section table", "a section without a name of its own");
    if (entry.offset % kSectionAlignment != 0 || entry.offset < end || entry.offset > bytes.size() ||
        entry.size > bytes.size() - entry.offset) {
      return damaged(name, "it lies outside the file");
    }
    if (!is_known(name) && !(entry.flags & kOptionalSection)) {
      return Error{ErrorKind::InvalidPackage,
                   "the package needs section " + name + ", which this runtime does not know",
                   "use a newer runtime",
                   {},
                   {}};
    }
    end = entry.offset + entry.size;
    const auto stored = bytes.subspan(entry.offset, entry.size);
    sections_.push_back({name, stored, stored, entry.checksum, entry.flags, entry.inflated_size});
    if (is_known(name)) DYCL_TRY(inflate(sections_.back()));  // of others nobody here reads what they inflate to
  }
  return {};
}

Result<void> Container::inflate_all() {
  for (Section& section : sections_)
    if (!is_known(section.name)) DYCL_TRY(inflate(section));
  return {};
}

Result<void> Container::inflate(Section& section) {
  if (!(section.flags & kDeflated)) return {};
  const std::uint64_t size = section.inflated_size;
  if (checksum_of(section.stored) != section.checksum) return damaged(section.name, "its checksum is wrong");
  if (size / kMaxInflation > section.stored.size()) return damaged(section.name, "it claims an impossible size");
  std::unique_ptr<Line[]> memory(new (std::nothrow) Line[size / sizeof(Line) + 1]);
  const auto no_memory = [&] {
    return Error{
        ErrorKind::RuntimeFailure, "no memory for section " + section.name + " of the package", {}, {}, "MemoryError"};
  };
  if (!memory) return no_memory();
  uLongf made = size;
  uLong used = section.stored.size();
  const int status = ::uncompress2(memory[0].bytes, &made, section.stored.data(), &used);
  if (status == Z_MEM_ERROR) return no_memory();
  if (status != Z_OK || made != size || used != section.stored.size())
    return damaged(section.name, "it cannot be inflated");
  section.bytes = {memory[0].bytes, static_cast<std::size_t>(size)};
  inflated_.emplace(section.name, std::move(memory));
  return {};
}

void Container::forget(std::string_view name) {
  const auto it = std::find_if(sections_.begin(), sections_.end(), [&](const Section& s) { return s.name == name; });
  if (it == sections_.end()) return;
  it->bytes = {};
  if (const auto copy = inflated_.find(name); copy != inflated_.end()) inflated_.erase(copy);
}

const Section* Container::find(std::string_view name) const {
  const auto it = std::find_if(sections_.begin(), sections_.end(), [&](const Section& s) { return s.name == name; });
  return it == sections_.end() ? nullptr : &*it;
}

// Of a section as large as memory, the pages that were read are not kept.
std::uint64_t Container::checksum_of_stored(const Section& section) const {
  constexpr std::size_t kStep = std::size_t{64} << 20;
  if (section.stored.size() <= kStep) return checksum_of(section.stored);
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (std::size_t at = 0; at < section.stored.size(); at += kStep) {
    const auto piece = section.stored.subspan(at, std::min(kStep, section.stored.size() - at));
    XXH3_64bits_update(&state, piece.data(), piece.size());
    file_.release_pages(piece);
  }
  return XXH3_64bits_digest(&state);
}

Result<std::span<const std::uint8_t>> Container::checked(std::string_view name) const {
  const Section* found = find(name);
  if (!found) return damaged(name, "it is missing");
  if (checksum_of_stored(*found) != found->checksum) return damaged(name, "its checksum is wrong");
  return found->bytes;
}

}  // namespace dycl::runtime
