// SPDX-License-Identifier: Apache-2.0
#include "backends/tvm/tuning.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "backends/tvm/compiler_processes.h"

namespace dycl::backends::tvm {
namespace {

// A kernel that can be tuned, and how much of the program's work it is.
struct Tunable {
  const Job* job = nullptr;  // one that has it
  std::string key;
  double work = 0;
};

Result<std::vector<Tunable>> tunable(Worker& compiler, const std::vector<Job>& jobs, std::vector<Structure>& structures,
                                     const StructureCache& cache) {
  std::map<std::string, Tunable> by_key;
  for (Structure& structure : structures) {
    const Job& job = jobs[structure.jobs.front()];
    CompilerClient client(compiler, {});
    if (auto done = cache.describe(client, job, structure); !done) {
      if (done.error().kind == ErrorKind::Missing) return done.error();
      continue;  // it fails once more when it is compiled
    }
    for (const auto& kernel : *structure.kernels) {
      if (!kernel.value("tunable", false)) continue;
      const std::string key = kernel.value("key", "");
      Tunable& one = by_key.try_emplace(key, Tunable{&job, key, 0}).first->second;
      one.work += kernel.value("work", 0.0) * static_cast<double>(structure.jobs.size());
    }
  }
  std::vector<Tunable> kernels;
  for (auto& [key, one] : by_key) kernels.push_back(std::move(one));
  std::stable_sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) { return a.work > b.work; });
  return kernels;
}

Result<void> tune_one(Worker& compiler, const Tunable& kernel, double seconds, StructureCache& cache) {
  const nlohmann::json before = cache.record_of(kernel.key);
  const double spent = before.value("seconds", 0.0);
  if (before.value("done", false) || spent >= seconds) return {};
  CompilerClient client(compiler, {});
  auto record = client.ask(*kernel.job, {{"do", "tune"},
                                         {"kernel", kernel.key},
                                         {"seconds", seconds},
                                         {"start", before.value("schedule", nlohmann::json::object())}});
  if (!record && record.error().kind == ErrorKind::Missing) return record.error();
  if (!record) return {};  // the default schedule stays
  (*record)["seconds"] = spent + seconds;
  cache.keep_record(kernel.key, *record);
  return {};
}

// What tuning gave, of all kernels that it knows in this program.
std::string told(const std::vector<Tunable>& kernels, const StructureCache& cache) {
  double before = 0, after = 0;
  std::size_t known = 0, better = 0, tried = 0, wrong = 0;
  for (const Tunable& kernel : kernels) {
    const nlohmann::json record = cache.record_of(kernel.key);
    if (record.empty()) continue;
    ++known;
    better += !record.value("schedule", nlohmann::json::object()).empty();
    tried += record.value("tried", std::size_t{0});
    wrong += record.value("wrong", std::size_t{0});
    before += record.value("before", 0.0);
    after += record.value("after", 0.0);
  }
  char text[240];
  std::snprintf(text, sizeof text,
                "tuned %zu of %zu kernels, %zu have better schedules: one call of each took %.0f us, now %.0f us; %zu "
                "schedules tried, %zu of them dropped because results differed",
                known, kernels.size(), better, before, after, tried, wrong);
  return text;
}

}  // namespace

Result<void> tune(const BackendOptions& options, const std::vector<Job>& jobs, std::vector<Structure>& structures,
                  StructureCache& cache) {
  constexpr double kShortest = 1;  // second
  const Lease compiler;
  DYCL_ASSIGN(const std::vector<Tunable> kernels, tunable(*compiler, jobs, structures, cache));
  double work = 0, left = options.tune;
  for (const Tunable& one : kernels) work += one.work;
  for (std::size_t k = 0; k < kernels.size() && left > 0; ++k) {
    const double share = std::max(kShortest, left * kernels[k].work / work);
    work -= kernels[k].work;
    const auto start = std::chrono::steady_clock::now();
    DYCL_TRY(tune_one(*compiler, kernels[k], std::min(share, left), cache));
    left -= std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    char text[120];
    std::snprintf(text, sizeof text, "tune kernel %zu/%zu, %.0f s left", k + 1, kernels.size(), std::max(left, 0.0));
    if (options.progress) options.progress(text);
  }
  if (options.notice) options.notice(told(kernels, cache));
  return {};
}

}  // namespace dycl::backends::tvm
