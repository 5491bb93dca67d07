// SPDX-License-Identifier: Apache-2.0
#include "backends/cache.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
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

constexpr char kMagic[8] = {'d', 'y', 'c', 'l', 'c', 'a', 'c', '2'};
constexpr const char* kExtension = ".entry";

constexpr const char* kSecretName = "secret";

using Secret = std::array<std::uint8_t, crypto_generichash_KEYBYTES>;

struct Header {
  char magic[8];
  std::uint64_t size;
  std::array<std::uint8_t, crypto_generichash_BYTES> authenticator;  // of the key and the bytes that follow
};

Header header_of(const Secret& secret, const std::string& key, std::span<const std::uint8_t> bytes) {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.size = bytes.size();
  crypto_generichash_state state;
  crypto_generichash_init(&state, secret.data(), secret.size(), header.authenticator.size());
  crypto_generichash_update(&state, reinterpret_cast<const std::uint8_t*>(key.data()), key.size());
  crypto_generichash_update(&state, bytes.data(), bytes.size());
  crypto_generichash_final(&state, header.authenticator.data(), header.authenticator.size());
  return header;
}

class File {
 public:
  File(const fs::path& path, int flags) : descriptor_(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600)) {}
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

struct Cache::Opened {
  File folder;
  Secret secret{};

  explicit Opened(const fs::path& path) : folder(path, O_RDONLY | O_DIRECTORY) {}

  // By this name the folder stays the one that was opened.
  fs::path path() const { return "/proc/self/fd/" + std::to_string(folder.descriptor()); }
  bool is_ours(const File& file, mode_t forbidden) const {
    struct stat status {};
    return file.ok() && ::fstat(file.descriptor(), &status) == 0 && status.st_uid == ::geteuid() &&
           (status.st_mode & forbidden) == 0;
  }
  bool read_secret();
  void make_secret() const;
};

bool Cache::Opened::read_secret() {
  const File file(path() / kSecretName, O_RDONLY | O_NONBLOCK);
  return is_ours(file, S_IRWXG | S_IRWXO) && file.read(secret.data(), secret.size());
}

namespace {

// Entries of versions that kept them in the folder itself: nobody reads them again.
void remove_unsigned(const fs::path& folder) {
  constexpr std::size_t kDigits = 32;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    std::error_code ignored;
    if (it->path().extension() == kExtension && it->path().stem().string().size() == kDigits)
      fs::remove(it->path(), ignored);
  }
}

}  // namespace

// The first of several processes that make one wins.
void Cache::Opened::make_secret() const {
  Secret made;
  randombytes_buf(made.data(), made.size());
  const fs::path part = path() / (std::string(kSecretName) + "." + std::to_string(::getpid()) + ".part");
  const File file(part, O_WRONLY | O_CREAT | O_EXCL);
  if (file.ok() && file.write(made.data(), made.size()))
    (void)::linkat(AT_FDCWD, part.c_str(), AT_FDCWD, (path() / kSecretName).c_str(), 0);
  std::error_code ignored;
  if (file.ok()) fs::remove(part, ignored);
  sodium_memzero(made.data(), made.size());
}

Cache::Cache(const fs::path& folder, std::uint64_t limit) : folder_(folder / "entries"), limit_(limit) {
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  if (::mkdir(folder_.c_str(), 0700) == 0) remove_unsigned(folder);
  auto opened = std::make_shared<Opened>(folder_);
  if (sodium_init() < 0 || !opened->is_ours(opened->folder, S_IWGRP | S_IWOTH)) return;
  if (!opened->read_secret()) {
    opened->make_secret();
    if (!opened->read_secret()) return;
  }
  opened_ = std::move(opened);
}

std::optional<Cache> Cache::of_user() {
  const auto folder = user_folder();
  if (!folder) return std::nullopt;
  std::uint64_t limit = kDefaultLimit;
  if (const char* text = std::getenv("DYCL_CACHE_MB"); text && *text) limit = std::strtoull(text, nullptr, 10) << 20;
  return Cache(*folder, limit);
}

std::optional<std::vector<std::uint8_t>> Cache::get(const CacheKey& key) const {
  if (!opened_) return std::nullopt;
  const std::string name = key.hex();
  const fs::path path = opened_->path() / (name + kExtension);
  const File file(path, O_RDONLY | O_NONBLOCK);
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
  const Header wanted = header_of(opened_->secret, name, bytes);
  if (std::memcmp(header.magic, wanted.magic, sizeof header.magic) != 0 ||
      sodium_memcmp(header.authenticator.data(), wanted.authenticator.data(), wanted.authenticator.size()) != 0) {
    fs::remove(path, ignored);
    return std::nullopt;
  }
  ::futimens(file.descriptor(), nullptr);  // used now
  return bytes;
}

void Cache::put(const CacheKey& key, std::span<const std::uint8_t> bytes) const {
  if (!opened_ || bytes.size() > limit_ / 4) return;
  static std::atomic<unsigned> count = 0;
  const std::string name = key.hex();
  const fs::path folder = opened_->path(), path = folder / (name + kExtension);
  const fs::path part = folder / (name + "." + std::to_string(::getpid()) + "." + std::to_string(++count) + ".part");
  std::error_code failed;
  {
    const File file(part, O_WRONLY | O_CREAT | O_EXCL);
    if (!file.ok()) return;
    const Header header = header_of(opened_->secret, name, bytes);
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
  for (fs::directory_iterator it(opened_->path(), failed), end; !failed && it != end; it.increment(failed)) {
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
