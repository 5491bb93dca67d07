// SPDX-License-Identifier: Apache-2.0
// One optimised model in the cache (backends/cache.h), by everything it is made from: the model, its
// weights, the level, ONNX Runtime's version and, for Level::All, the CPU. Weights
// that the optimiser left alone are stored as their number.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/cache.h"
#include "backends/ort/optimize.h"

namespace dycl::backends::ort {

class OptimizedModels {
 public:
  // `cache` may be nullptr: then nothing is found or kept. The others must outlive this object.
  OptimizedModels(const Cache* cache, const std::string& engine_version, Level level, const onnx::Model& model,
                  const std::vector<ir::Bytes>& weights);

  std::optional<onnx::Model> get() const;
  void put(const onnx::Model& optimized) const;

 private:
  const Cache* cache_;
  const std::vector<ir::Bytes>& weights_;
  std::unique_ptr<CacheKey> key_;
};

}  // namespace dycl::backends::ort
