// SPDX-License-Identifier: Apache-2.0
#include "backends/kernels/dense/packed_weights.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <new>

namespace dycl::backends::dense {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kChunk = std::size_t{16} << 20;  // address space; pages count when they are written
constexpr std::size_t kLine = 64;

std::size_t rounded(std::size_t size, std::size_t to) { return (size + to - 1) / to * to; }

// Aligned to huge pages. nullptr: no memory.
char* map_pages(std::size_t size) {
  void* raw = ::mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  char* begin = static_cast<char*>(raw);
  char* aligned = begin + (kHugePage - reinterpret_cast<std::uintptr_t>(begin) % kHugePage) % kHugePage;
  if (aligned > begin) ::munmap(begin, static_cast<std::size_t>(aligned - begin));
  const std::size_t after = kHugePage - static_cast<std::size_t>(aligned - begin);
  if (after > 0) ::munmap(aligned + size, after);
#ifdef MADV_HUGEPAGE
  ::madvise(aligned, size, MADV_HUGEPAGE);
#endif
  return aligned;
}

// The pages of a weight whose packed form is used from now on. Whatever they are, their contents stay: those of a file
// are read again if somebody asks.
void give_up_pages([[maybe_unused]] const float* weight, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_PAGEOUT
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = rounded(reinterpret_cast<std::uintptr_t>(weight), page);
  const auto end = (reinterpret_cast<std::uintptr_t>(weight) + bytes) / page * page;
  if (end > begin) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_PAGEOUT);
#endif
}

}  // namespace

PackedStore::~PackedStore() {
  for (const Chunk& chunk : chunks_) ::munmap(chunk.memory, chunk.size);
}

float* PackedStore::allocate(std::size_t bytes) {
  bytes = rounded(bytes, kLine);
  if (chunks_.empty() || chunks_.back().size - chunks_.back().used < bytes) {
    const std::size_t size = rounded(std::max(bytes, kChunk), kHugePage);
    char* memory = map_pages(size);
    if (!memory) throw std::bad_alloc();
    chunks_.push_back({memory, size, 0});
  }
  Chunk& chunk = chunks_.back();
  float* out = reinterpret_cast<float*>(chunk.memory + chunk.used);
  chunk.used += bytes;
  return out;
}

LazyMatrix* PackedStore::matrix(const float* weight, std::int64_t n, std::int64_t k, bool transposed) {
  const std::lock_guard lock(mutex_);
  auto& entry = matrices_[{weight, n, k, transposed}];
  if (!entry) entry.reset(new LazyMatrix(*this, weight, n, k, transposed));
  return entry.get();
}

const float* LazyMatrix::pack() {
  const std::lock_guard lock(store_.mutex_);
  if (const float* data = data_.load(std::memory_order_acquire)) return data;  // another thread was first
  float* memory = store_.allocate(static_cast<std::size_t>(k_ * dense::padded_columns(n_)) * sizeof(float));
  dense::pack(weight_, n_, k_, transposed_, memory);
  data_.store(memory, std::memory_order_release);
  give_up_pages(weight_, static_cast<std::size_t>(n_ * k_) * sizeof(float));
  return memory;
}

}  // namespace dycl::backends::dense
