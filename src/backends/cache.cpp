// SPDX-License-Identifier: Apache-2.0
#include "backends/cache.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dycl::backends {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[8] = {'d', 'y', 'c', 'l', 'c', 'a', 'c', '1'};
constexpr const char* kExtension = ".entry";

struct Header {
  char magic[8];
  std::uint64_t size;
  std::uint64_t low, high;  // checksum of the bytes that follow
};

Header header_of(std::span<const std::uint8_t> bytes) {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  const XXH128_hash_t sum = XXH3_128bits(bytes.data(), bytes.size());
  header.size = bytes.size();
  header.low = sum.low64;
  header.high = sum.high64;
  return header;
}

class File {
 public:
  File(const fs::path& path, int flags) : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool ok() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

  bool read(void* out, std::size_t size) const {
    auto* at = static_cast<char*>(out);
    while (size > 0) {
      const ssize_t n = ::read(descriptor_, at, size);
      if (n <= 0) return false;
      at += n;
      size -= static_cast<std::size_t>(n);
    }
    return true;
  }
  bool write(const void* data, std::size_t size) const {
    const auto* at = static_cast<const char*>(data);
    while (size > 0) {
      const ssize_t n = ::write(descriptor_, at, size);
      if (n <= 0) return false;
      at += n;
      size -= static_cast<std::size_t>(n);
    }
    return true;
  }

 private:
  int descriptor_;
};

std::optional<fs::path> user_folder() {
  if (const char* named = std::getenv("DYCL_CACHE_DIR"); named && *named) return fs::path(named);
  if (const char* base = std::getenv("XDG_CACHE_HOME"); base && *base) return fs::path(base) / "dycl";
  if (const char* home = std::getenv("HOME"); home && *home) return fs::path(home) / ".cache" / "dycl";
  return std::nullopt;
}

// The file this code is in, as a word that changes when it is built again: what is kept was made by
// the same code.
const std::string& build_stamp() {
  static const std::string stamp = [] {
    Dl_info info{};
    struct stat status {};
    const void* here = reinterpret_cast<const void*>(&user_folder);
    if (!::dladdr(here, &info) || !info.dli_fname) return std::string();
    // The name of an executable may be relative to a folder that was left since.
    if (::stat(info.dli_fname, &status) != 0 && ::stat("/proc/self/exe", &status) != 0) return std::string();
    return std::to_string(status.st_size) + "/" + std::to_string(status.st_mtim.tv_sec) + "." +
           std::to_string(status.st_mtim.tv_nsec);
  }();
  return stamp;
}

}  // namespace

CacheKey::CacheKey(std::string_view kind) : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH3_128bits_reset(static_cast<XXH3_state_t*>(state_));
  add("dycl " DYCL_VERSION);
  add(build_stamp());
  add(kind);
}

CacheKey::~CacheKey() { XXH3_freeState(static_cast<XXH3_state_t*>(state_)); }

CacheKey& CacheKey::add(const void* data, std::size_t size) {
  const std::uint64_t length = size;
  XXH3_128bits_update(static_cast<XXH3_state_t*>(state_), &length, sizeof length);
  if (size > 0) XXH3_128bits_update(static_cast<XXH3_state_t*>(state_), data, size);
  return *this;
}

std::string CacheKey::hex() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(static_cast<const XXH3_state_t*>(state_));
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text;
}

Cache::Cache(fs::path folder, std::uint64_t limit) : folder_(std::move(folder)), limit_(limit) {
  std::error_code ignored;
  fs::create_directories(folder_, ignored);
}

std::optional<Cache> Cache::of_user() {
  const auto folder = user_folder();
  if (!folder) return std::nullopt;
  std::uint64_t limit = kDefaultLimit;
  if (const char* text = std::getenv("DYCL_CACHE_MB"); text && *text) limit = std::strtoull(text, nullptr, 10) << 20;
  return Cache(*folder, limit);
}

std::optional<std::vector<std::uint8_t>> Cache::get(const CacheKey& key) const {
  const fs::path path = folder_ / (key.hex() + kExtension);
  const File file(path, O_RDONLY);
  struct stat status {};
  Header header{};
  if (!file.ok() || ::fstat(file.descriptor(), &status) != 0 || !file.read(&header, sizeof header)) return std::nullopt;
  std::error_code ignored;
  std::vector<std::uint8_t> bytes;
  const bool sized = static_cast<std::uint64_t>(status.st_size) == sizeof header + header.size;
  if (sized) bytes.resize(header.size);
  if (!sized || !file.read(bytes.data(), bytes.size())) {
    fs::remove(path, ignored);
    return std::nullopt;
  }
  const Header wanted = header_of(bytes);
  if (std::memcmp(&wanted, &header, sizeof header) != 0) {
    fs::remove(path, ignored);
    return std::nullopt;
  }
  ::futimens(file.descriptor(), nullptr);  // used now
  return bytes;
}

void Cache::put(const CacheKey& key, std::span<const std::uint8_t> bytes) const {
  if (bytes.size() > limit_ / 4) return;
  static std::atomic<unsigned> count = 0;
  const std::string name = key.hex();
  const fs::path path = folder_ / (name + kExtension);
  const fs::path part = folder_ / (name + "." + std::to_string(::getpid()) + "." + std::to_string(++count) + ".part");
  std::error_code failed;
  {
    const File file(part, O_WRONLY | O_CREAT | O_EXCL);
    if (!file.ok()) return;
    const Header header = header_of(bytes);
    if (!file.write(&header, sizeof header) || !file.write(bytes.data(), bytes.size())) {
      fs::remove(part, failed);
      return;
    }
  }
  fs::rename(part, path, failed);
  if (failed) fs::remove(part, failed);
  // Looking through the folder takes as long as it has entries: not after each one, or many sub-DNNs
  // would take quadratic time. A process looks at its first entry and whenever it has written another part of the
  // limit.
  static std::atomic<bool> looked = false;
  static std::atomic<std::uint64_t> written = 0;
  constexpr std::uint64_t kParts = 32;
  if (looked.exchange(true) && (written += bytes.size()) < limit_ / kParts) return;
  written = 0;
  evict();
}

void Cache::evict() const {
  struct Entry {
    fs::path path;
    fs::file_time_type used;
    std::uint64_t size = 0;
  };
  constexpr auto kAbandoned = std::chrono::hours(1);
  std::vector<Entry> entries;
  std::uint64_t total = 0;
  std::error_code failed;
  for (fs::directory_iterator it(folder_, failed), end; !failed && it != end; it.increment(failed)) {
    std::error_code gone;  // another process may remove it meanwhile
    Entry entry{it->path(), it->last_write_time(gone), 0};
    if (!gone) entry.size = it->file_size(gone);
    if (gone) continue;
    const bool part = entry.path.extension() == ".part";
    if (part && fs::file_time_type::clock::now() - entry.used > kAbandoned) fs::remove(entry.path, gone);
    if (entry.path.extension() != kExtension) continue;
    total += entry.size;
    entries.push_back(std::move(entry));
  }
  if (total <= limit_) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= limit_ / 4 * 3) return;
    std::error_code ignored;
    fs::remove(entry.path, ignored);
    total -= entry.size;
  }
}

}  // namespace dycl::backends
