// SPDX-License-Identifier: Apache-2.0
// What engines made, kept between compilations: bytes by the hash of everything they were
// made from (model, weights, engine version, CPU, options, this build), so an entry is never stale, only unused.
//
// One file per entry. It is authentic by a keyed hash over its key and its bytes, under a secret that lies in the folder
// and that this user alone can read: what others made, or made for another key, counts as absent, as damage does. A
// folder is used only if it is this user's own, no link, and writable by nobody else. Files appear complete or not at
// all (written beside, then renamed), so several compilations and one that is killed in the
// middle do no harm. Beyond the limit the entries that were not used for longest go. The cache never fails:
// what cannot be read or written is computed again. Any number of threads and processes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dycl::backends {

// 128 bits over parts, DyCL's own build among them; where a part ends counts.
class CacheKey {
 public:
  explicit CacheKey(std::string_view kind);
  ~CacheKey();
  CacheKey(const CacheKey&) = delete;
  CacheKey& operator=(const CacheKey&) = delete;

  CacheKey& add(const void* data, std::size_t size);
  CacheKey& add(std::string_view text) { return add(text.data(), text.size()); }
  std::string hex() const;

 private:
  void* state_;
};

class Cache {
 public:
  static constexpr std::uint64_t kDefaultLimit = std::uint64_t{2} << 30;

  // Makes the folder if need be, and one for the entries in it. Entries above a quarter of the limit are not kept.
  explicit Cache(const std::filesystem::path& folder, std::uint64_t limit = kDefaultLimit);

  // DYCL_CACHE_DIR, else $XDG_CACHE_HOME/dycl, else ~/.cache/dycl; the limit is
  // DYCL_CACHE_MB, if given. nullopt: no folder to be had.
  static std::optional<Cache> of_user();

  std::optional<std::vector<std::uint8_t>> get(const CacheKey& key) const;
  void put(const CacheKey& key, std::span<const std::uint8_t> bytes) const;

  const std::filesystem::path& folder() const { return folder_; }  // of the entries

 private:
  void evict() const;

  struct Opened;  // the folder, whatever happens to its name, and the secret
  std::shared_ptr<const Opened> opened_;  // null: no folder of ours, nothing is kept
  std::filesystem::path folder_;
  std::uint64_t limit_;
};

}  // namespace dycl::backends
