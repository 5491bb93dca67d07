// SPDX-License-Identifier: Apache-2.0
#include "backends/auto_sweep.h"

#include <algorithm>
#include <chrono>

namespace dycl::backends {
namespace {

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Result<std::vector<std::vector<double>>> sweep(const std::vector<std::vector<SweptSubDnn>>& programs, double seconds) {
  constexpr int kMaxSweeps = 200;
  std::vector<std::vector<std::vector<double>>> times;  // by program and sub-DNN
  for (const auto& program : programs) times.emplace_back(program.size());
  const auto start = std::chrono::steady_clock::now();
  const auto is_over = [&](int round) {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    return round > kMinSweeps && (round > kMaxSweeps || taken.count() > seconds);
  };
  for (int round = 0; !is_over(round); ++round)
    for (std::size_t turn = 0; turn < programs.size(); ++turn) {
      const std::size_t p = (turn + static_cast<std::size_t>(round)) % programs.size();
      for (std::size_t u = 0; u < programs[p].size(); ++u) {
        DYCL_ASSIGN(const double taken, programs[p][u].trial->seconds(programs[p][u].loaded, 1));
        if (round > 0) times[p][u].push_back(taken);  // the first round warms
      }
    }
  std::vector<std::vector<double>> medians;
  for (auto& program : times) {
    medians.emplace_back();
    for (auto& of_one : program) medians.back().push_back(median(of_one));
  }
  return medians;
}

}  // namespace dycl::backends
