// SPDX-License-Identifier: Apache-2.0
// Weights in the layout of kernels, added to the program under names of their own ("tvm.0"); equal ones once. Refers to
// the program; one thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/cache.h"
#include "backends/tvm/compiled_entry.h"
#include "ir/program.h"

namespace dycl::backends::tvm {

class NewWeights {
 public:
  explicit NewWeights(ir::Program& program) : program_(program) {
    for (const auto& [name, weight] : program.weights)
      if (name.rfind("tvm.", 0) == 0) known_.emplace(hash(weight.bytes.data, weight.bytes.size), name);
  }

  // The weight of these elements, added to the program if it is new.
  std::string of(const KernelWeight& weight) {
    std::vector<ir::Dim> dims;
    for (const std::int64_t dim : weight.shape) dims.push_back(ir::Dim::of(dim));
    const ir::Type type = ir::Type::tensor(*dtype_of_code(weight.dtype), std::move(dims));
    const std::string key = hash(weight.bytes.data(), weight.bytes.size());
    if (const auto it = known_.find(key); it != known_.end() && program_.weights.at(it->second).type == type)
      return it->second;
    std::string name;
    do name = "tvm." + std::to_string(next_++);
    while (program_.weights.count(name));
    program_.weights[name] = {type, ir::Bytes::copy_of(weight.bytes.data(), weight.bytes.size())};
    known_[key] = name;
    added_.emplace_back(key, name);
    return name;
  }

  // Weights that were added since the last call of one of these stay, or are taken back.
  void keep() {
    added_.clear();
    kept_ = next_;
  }
  void take_back() {
    for (const auto& [key, name] : added_) {
      known_.erase(key);
      program_.weights.erase(name);
    }
    next_ = kept_;
    added_.clear();
  }

 private:
  static std::string hash(const void* data, std::size_t size) { return CacheKey("weight").add(data, size).hex(); }

  ir::Program& program_;
  std::map<std::string, std::string> known_;
  std::vector<std::pair<std::string, std::string>> added_;  // hash and name
  std::size_t next_ = 0, kept_ = 0;
};

}  // namespace dycl::backends::tvm
