// SPDX-License-Identifier: Apache-2.0
#include "backends/auto_sweep.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

namespace dycl::backends {
namespace {

constexpr double kShort = 0.02;  // seconds of a way that is run once more before it is measured

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Result<double> run_way(const std::vector<SweptSubDnn>& program, const std::vector<std::size_t>& way,
                       std::vector<std::vector<double>>* times) {
  double total = 0;
  for (const std::size_t u : way) {
    if (!program[u].trial) continue;
    DYCL_ASSIGN(const double taken, program[u].trial->seconds(program[u].loaded, 1));
    total += taken;
    if (times) (*times)[u].push_back(taken);
  }
  return total;
}

}  // namespace

// The margin is that of a median whose spread is estimated by the median deviation, which single disturbances do not
// move.
SweepTimes::Ratio SweepTimes::ratio(std::size_t program, std::size_t of) const {
  std::map<std::size_t, std::vector<double>> by_way;
  for (std::size_t r = 0; r < ways.size(); ++r) by_way[ways[r]].push_back(totals[program][r] / totals[of][r]);
  double logs = 0;
  std::vector<double> deviations;
  for (const auto& [way, ratios] : by_way) {
    const double middle = median(ratios);
    logs += std::log(middle);
    if (ratios.size() > 1)
      for (const double one : ratios) deviations.push_back(std::abs(one / middle - 1));
  }
  constexpr double kSpread = 1.4826 * 1.2533 * 1.96;  // to a standard deviation, of a median, at 95 %
  const double ratio = std::exp(logs / static_cast<double>(by_way.size()));
  if (deviations.empty()) return {ratio, 1};  // each way once: nothing is known
  return {ratio, kSpread * median(deviations) / std::sqrt(static_cast<double>(ways.size()))};
}

double SweepTimes::mean(std::size_t program) const {
  std::map<std::size_t, std::vector<double>> by_way;
  for (std::size_t r = 0; r < ways.size(); ++r) by_way[ways[r]].push_back(totals[program][r]);
  double sum = 0;
  for (const auto& [way, times] : by_way) sum += median(times);
  return sum / static_cast<double>(by_way.size());
}

Result<SweepTimes> sweep(const std::vector<std::vector<SweptSubDnn>>& programs,
                         const std::vector<std::vector<std::size_t>>& ways, double seconds) {
  constexpr std::size_t kMaxRounds = 2000;
  std::vector<std::vector<std::vector<double>>> times;  // by program and sub-DNN
  times.reserve(programs.size());
  for (const auto& program : programs) times.emplace_back(program.size());
  SweepTimes found;
  found.totals.resize(programs.size());
  const auto start = std::chrono::steady_clock::now();
  const auto is_over = [&](std::size_t round) {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (round >= kMaxRounds || taken.count() > 2 * seconds) return round >= kMinSweeps;
    return round >= std::max<std::size_t>(kMinSweeps, 2 * ways.size()) && taken.count() > seconds;
  };
  std::vector<double> last(ways.size(), 0);
  for (std::size_t round = 0; !is_over(round); ++round) {
    const std::size_t way = round % ways.size();
    for (std::size_t turn = 0; turn < programs.size(); ++turn) {
      const std::size_t p = (turn + round) % programs.size();
      if (last[way] < kShort) DYCL_TRY(run_way(programs[p], ways[way], nullptr));
      DYCL_ASSIGN(last[way], run_way(programs[p], ways[way], &times[p]));
      found.totals[p].push_back(last[way]);
    }
    found.ways.push_back(way);
  }
  for (const auto& program : times) {
    found.medians.emplace_back();
    for (const auto& of_one : program) found.medians.back().push_back(of_one.empty() ? 0 : median(of_one));
  }
  return found;
}

}  // namespace dycl::backends
