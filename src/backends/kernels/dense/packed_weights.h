// SPDX-License-Identifier: Apache-2.0
// Packed forms (kernels.h) of an engine's weights: each weight is packed once per shape and order, when it is first
// used, however many sub-DNNs name it, into memory on huge pages where the system has them. The memory lives as long as
// the store; thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "backends/kernels/dense/kernels.h"

namespace dycl::backends::dense {

class PackedStore;

// A weight that is packed when it is first used: what no input's path needs costs neither time nor memory.
class LazyMatrix {
 public:
  // May throw std::bad_alloc the first time.
  dense::Packed get() {
    const float* data = data_.load(std::memory_order_acquire);
    return {n_, k_, data ? data : pack()};
  }

 private:
  friend class PackedStore;
  LazyMatrix(PackedStore& store, const float* weight, std::int64_t n, std::int64_t k, bool transposed)
      : store_(store), weight_(weight), n_(n), k_(k), transposed_(transposed) {}
  const float* pack();

  PackedStore& store_;
  const float* weight_;
  const std::int64_t n_, k_;
  const bool transposed_;
  std::atomic<const float*> data_{nullptr};
};

class PackedStore {
 public:
  PackedStore() = default;
  PackedStore(const PackedStore&) = delete;
  PackedStore& operator=(const PackedStore&) = delete;
  ~PackedStore();

  // `weight` has n * k elements and stays where it is as long as the store, as does what is returned.
  LazyMatrix* matrix(const float* weight, std::int64_t n, std::int64_t k, bool transposed);

 private:
  struct Chunk {
    char* memory = nullptr;
    std::size_t size = 0, used = 0;
  };

  friend class LazyMatrix;
  float* allocate(std::size_t bytes);

  std::mutex mutex_;
  std::map<std::tuple<const float*, std::int64_t, std::int64_t, bool>, std::unique_ptr<LazyMatrix>> matrices_;
  std::vector<Chunk> chunks_;
};

}  // namespace dycl::backends::dense
