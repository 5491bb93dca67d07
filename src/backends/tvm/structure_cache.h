// SPDX-License-Identifier: Apache-2.0
// Sub-DNNs of one structure, and what the cache knows about structures and their kernels: which kernels they have,
// which schedules tuning has found for them, what TVM refused. The cache may be missing. Kernels of different
// structures may be asked about from different threads; records are changed by tuning alone, before.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "backends/cache.h"
#include "backends/tvm/compiler_client.h"

namespace dycl::backends::tvm {

// Sub-DNNs of one structure: one model, compiled once, with weights of their own.
struct Structure {
  const std::string* name = nullptr;  // Job::structure
  std::vector<std::size_t> jobs;
  std::optional<nlohmann::json> kernels;              // [{"key": ..., "work": ...}]; nullopt: not known yet
  nlohmann::json records = nlohmann::json::object();  // schedules of kernels that were tuned, by key
};

class StructureCache {
 public:
  StructureCache(const BackendOptions& options, std::string target, std::string sources)
      : options_(options), target_(std::move(target)), sources_(std::move(sources)) {}

  const std::string& target() const { return target_; }

  // Of a sub-DNN with these weights and the schedules that its structure has now.
  std::unique_ptr<CacheKey> key_of(const Structure& structure, const Job& job) const;

  // Why TVM refuses the structure, as an entry; nullopt: not known to.
  std::optional<Bytes> refusal(const Structure& structure) const;
  void refuse(const Structure& structure, const Error& error) const;

  // Which kernels a structure has, from the cache or from TVM; then the schedules that are known.
  bool look_up_kernels(Structure& structure) const;
  Result<void> describe(CompilerClient& client, const Job& job, Structure& structure) const;

  // What tuning found out about a kernel; an empty object if it was not tuned.
  nlohmann::json record_of(const std::string& kernel) const;
  void keep_record(const std::string& kernel, const nlohmann::json& record);

 private:
  void look_up_records(Structure& structure) const;
  std::unique_ptr<CacheKey> key(const char* kind, const std::string& of) const;

  const BackendOptions& options_;
  const std::string target_, sources_;
  std::map<std::string, nlohmann::json> tuned_;  // records of this compilation, by kernel
};

}  // namespace dycl::backends::tvm
