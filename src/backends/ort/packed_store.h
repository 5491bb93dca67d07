// SPDX-License-Identifier: Apache-2.0
// Packed forms (dense.h) of an engine's weights: each weight is packed once per shape and order, however many sub-DNNs
// name it, into memory on huge pages where the system has them. The memory lives as long as the store; thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "backends/ort/dense.h"

namespace dycl::backends::ort {

class PackedStore {
 public:
  PackedStore() = default;
  PackedStore(const PackedStore&) = delete;
  PackedStore& operator=(const PackedStore&) = delete;
  ~PackedStore();

  // `weight` has n * k elements and stays where it is as long as the store.
  dense::Packed get(const float* weight, std::int64_t n, std::int64_t k, bool transposed);

 private:
  struct Chunk {
    char* memory = nullptr;
    std::size_t size = 0, used = 0;
  };

  float* allocate(std::size_t bytes);

  std::mutex mutex_;
  std::map<std::tuple<const float*, std::int64_t, std::int64_t, bool>, dense::Packed> packed_;
  std::vector<Chunk> chunks_;
};

}  // namespace dycl::backends::ort
