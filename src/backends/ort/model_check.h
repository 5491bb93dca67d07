// SPDX-License-Identifier: Apache-2.0
// What a plug-in checks of an artifact's ONNX bytes before an engine sees them: they
// may come from a hostile file. Every tensor stored outside the model must be a
// weight that the package gives, with that weight's dtype and shape; nothing may name another
// file or memory. The rest is the engine's to judge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace dycl::backends::ort {

struct WeightShape {
  std::int32_t dtype = 0;
  std::vector<std::int64_t> shape;
};

Result<void> check_model(const void* bytes, std::size_t size, const std::vector<WeightShape>& weights);

// Whether the model says that it uses ops of this domain; one that is damaged there, which the engine refuses, does not.
bool states_opset(const void* bytes, std::size_t size, std::string_view domain);

}  // namespace dycl::backends::ort
