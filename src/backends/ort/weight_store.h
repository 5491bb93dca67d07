// SPDX-License-Identifier: Apache-2.0
// The program's weights by content: what an optimiser left alone keeps its name,
// what it made anew (folded, reordered) becomes a weight of the program once, however
// many sub-DNNs ask for the same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "ir/program.h"
#include "onnx/format/proto.h"
#include "support/result.h"

namespace dycl::backends::ort {

class WeightStore {
 public:
  // Keeps a reference to `program`.
  explicit WeightStore(ir::Program& program);

  // The name of a weight with this tensor's dtype, dims and bytes.
  std::string intern(const onnx::Tensor& tensor);

  // The same, only if there is one.
  std::optional<std::string> find(const onnx::Tensor& tensor) const;

 private:
  void index(const std::string& name);

  ir::Program& program_;
  std::unordered_multimap<std::uint64_t, std::string> by_hash_;
  std::uint64_t made_ = 0;
};

}  // namespace dycl::backends::ort
