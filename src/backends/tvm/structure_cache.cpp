// SPDX-License-Identifier: Apache-2.0
#include "backends/tvm/structure_cache.h"

namespace dycl::backends::tvm {
namespace {

constexpr const char* kRecord = "tvm record";
constexpr const char* kRefused = "tvm refused";
constexpr const char* kKernels = "tvm kernels";

std::span<const std::uint8_t> as_bytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

std::unique_ptr<CacheKey> StructureCache::key(const char* kind, const std::string& of) const {
  auto made = std::make_unique<CacheKey>(kind);
  made->add(target_).add(sources_).add(of);
  return made;
}

std::unique_ptr<CacheKey> StructureCache::key_of(const Structure& structure, const Job& job) const {
  auto made = key("tvm", *structure.name);
  made->add(structure.records.dump());
  for (const ir::Bytes& bytes : job.bytes) made->add(bytes.data, bytes.size);
  return made;
}

std::optional<Bytes> StructureCache::refusal(const Structure& structure) const {
  if (!options_.cache) return std::nullopt;
  return options_.cache->get(*key(kRefused, *structure.name));
}

// What TVM cannot do it need not be asked for again.
void StructureCache::refuse(const Structure& structure, const Error& error) const {
  if (options_.cache)
    options_.cache->put(*key(kRefused, *structure.name), packed({{"refused", error.message}}, {}, {}));
}

bool StructureCache::look_up_kernels(Structure& structure) const {
  if (!structure.kernels && options_.cache)
    if (const auto list = options_.cache->get(*key(kKernels, *structure.name)))
      structure.kernels = nlohmann::json::parse(*list, nullptr, false);
  if (structure.kernels) look_up_records(structure);
  return structure.kernels.has_value();
}

void StructureCache::look_up_records(Structure& structure) const {
  structure.records = nlohmann::json::object();
  for (const auto& kernel : *structure.kernels) {
    const std::string name = kernel.value("key", "");
    const auto schedule = record_of(name).value("schedule", nlohmann::json::object());
    if (!schedule.empty()) structure.records[name] = schedule;
  }
}

nlohmann::json StructureCache::record_of(const std::string& kernel) const {
  if (const auto it = tuned_.find(kernel); it != tuned_.end()) return it->second;
  const auto bytes = options_.cache ? options_.cache->get(*key(kRecord, kernel)) : std::nullopt;
  auto record = bytes ? nlohmann::json::parse(*bytes, nullptr, false) : nlohmann::json();
  return record.is_object() ? record : nlohmann::json::object();
}

void StructureCache::keep_record(const std::string& kernel, const nlohmann::json& record) {
  tuned_[kernel] = record;
  if (options_.cache) options_.cache->put(*key(kRecord, kernel), as_bytes(record.dump()));
}

Result<void> StructureCache::describe(CompilerClient& client, const Job& job, Structure& structure) const {
  if ((!options_.cache && options_.tune <= 0) || structure.kernels) return {};
  if (options_.deadline && std::chrono::steady_clock::now() > *options_.deadline) return budget_is_spent();
  DYCL_ASSIGN(const nlohmann::json answer, client.ask(job, {{"do", "describe"}}));
  structure.kernels = answer.value("kernels", nlohmann::json::array());
  if (options_.cache) options_.cache->put(*key(kKernels, *structure.name), as_bytes(structure.kernels->dump()));
  look_up_records(structure);
  return {};
}

}  // namespace dycl::backends::tvm
