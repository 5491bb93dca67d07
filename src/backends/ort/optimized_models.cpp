// SPDX-License-Identifier: Apache-2.0
#include "backends/ort/optimized_models.h"

#include <cstring>

#include "backends/cpu.h"

namespace dycl::backends::ort {
namespace {

constexpr const char* kSame = "same";  // where a weight that was left alone is said to lie

bool equal(const ir::Bytes& a, const ir::Bytes& b) {
  return a.size == b.size && (a.data == b.data || std::memcmp(a.data, b.data, a.size) == 0);
}

}  // namespace

OptimizedModels::OptimizedModels(const Cache* cache, const std::string& engine_version, Level level,
                                 const onnx::Model& model, const std::vector<ir::Bytes>& weights)
    : cache_(cache), weights_(weights) {
  if (!cache) return;
  key_ = std::make_unique<CacheKey>("ort optimized");
  key_->add(engine_version).add(level == Level::All ? cpu_features() : "portable").add(onnx::write_model(model));
  for (const ir::Bytes& weight : weights) key_->add(weight.data, weight.size);
}

std::optional<onnx::Model> OptimizedModels::get() const {
  const auto bytes = cache_ ? cache_->get(*key_) : std::nullopt;
  if (!bytes) return std::nullopt;
  auto model = onnx::read_model(ir::Bytes::copy_of(bytes->data(), bytes->size()));
  if (!model) return std::nullopt;
  for (onnx::Tensor& tensor : model->graph.initializers) {
    if (!tensor.external) continue;
    const auto number = static_cast<std::size_t>(tensor.external->offset);
    if (tensor.external->location != kSame || number >= weights_.size()) return std::nullopt;
    tensor.bytes = weights_[number];
    tensor.external.reset();
  }
  return std::move(*model);
}

void OptimizedModels::put(const onnx::Model& optimized) const {
  if (!cache_) return;
  constexpr std::size_t kWorthwhile = 256;
  onnx::Model stored = optimized;
  for (onnx::Tensor& tensor : stored.graph.initializers) {
    if (tensor.external) return;
    for (std::size_t i = 0; i < weights_.size() && tensor.bytes.size >= kWorthwhile; ++i) {
      if (!equal(tensor.bytes, weights_[i])) continue;
      tensor.external =
          onnx::ExternalData{kSame, static_cast<std::int64_t>(i), static_cast<std::int64_t>(tensor.bytes.size)};
      break;
    }
  }
  const std::string bytes = onnx::write_model(stored);
  cache_->put(*key_, {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

}  // namespace dycl::backends::ort
