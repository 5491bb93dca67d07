// SPDX-License-Identifier: Apache-2.0
#include "backends/choose/race.h"

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

Result<double> run_way(const std::vector<RacingSubDnn>& program, const std::vector<std::size_t>& way,
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
RaceTimes::Ratio RaceTimes::ratio(std::size_t program, std::size_t of) const {
  std::map<std::size_t, std::vector<double>> by_way;
  const std::size_t rounds = std::min(totals[program].size(), totals[of].size());
  for (std::size_t r = 0; r < rounds; ++r) by_way[ways[r]].push_back(totals[program][r] / totals[of][r]);
  if (by_way.empty()) return {1, 1};
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
  return {ratio, kSpread * median(deviations) / std::sqrt(static_cast<double>(rounds))};
}

double RaceTimes::mean(std::size_t program) const {
  std::map<std::size_t, std::vector<double>> by_way;
  for (std::size_t r = 0; r < totals[program].size(); ++r) by_way[ways[r]].push_back(totals[program][r]);
  double sum = 0;
  for (const auto& [way, times] : by_way) sum += median(times);
  return sum / static_cast<double>(by_way.size());
}

std::size_t RaceTimes::best(std::size_t uniform, double needed, double mixed) const {
  std::size_t found = 0;
  for (std::size_t p = 1; p < totals.size(); ++p) {
    const Ratio to_first = ratio(p, 0), to_found = ratio(p, found);
    const double gain = p < uniform ? 0 : mixed;
    if (to_first.median < 1 - std::max(needed, to_first.margin) &&
        to_found.median < 1 - std::max(gain, to_found.margin))
      found = p;
  }
  return found;
}

namespace {

// Programs that take turns, round by round.
class Race {
 public:
  Race(const std::vector<std::vector<RacingSubDnn>>& programs, const std::vector<std::vector<std::size_t>>& ways)
      : programs_(programs), ways_(ways), last_(ways.size(), 0), is_in_(programs.size(), true) {
    for (const auto& program : programs) times_.emplace_back(program.size());
    found_.totals.resize(programs.size());
  }

  Result<RaceTimes> run(double seconds) {
    constexpr std::size_t kMaxRounds = 2000;
    const auto start = std::chrono::steady_clock::now();
    std::size_t ways = ways_.size();
    for (std::size_t round = 0; round < kMaxRounds; ++round) {
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      if (round >= kMinRounds && (taken.count() > seconds || (round % ways == 0 && is_decided()))) break;
      if (round == kMinWays) {
        const double affordable = seconds / (taken.count() / static_cast<double>(kMinWays) * kRepeats);
        ways = std::clamp(static_cast<std::size_t>(affordable), std::min(kMinWays, ways), ways);
      }
      DYCL_TRY(run_round(round, round % ways));
      if (round + 1 >= 2 * ways && round + 1 >= kMinRounds) give_up();
    }
    for (const auto& program : times_) {
      found_.medians.emplace_back();
      for (const auto& of_one : program) found_.medians.back().push_back(of_one.empty() ? 0 : median(of_one));
    }
    return std::move(found_);
  }

 private:
  Result<void> run_round(std::size_t round, std::size_t way) {
    for (std::size_t turn = 0; turn < programs_.size(); ++turn) {
      const std::size_t p = (turn + round) % programs_.size();
      if (!is_in_[p]) continue;
      if (last_[way] < kShort) DYCL_TRY(run_way(programs_[p], ways_[way], nullptr));
      DYCL_ASSIGN(last_[way], run_way(programs_[p], ways_[way], &times_[p]));
      found_.totals[p].push_back(last_[way]);
    }
    found_.ways.push_back(way);
    return {};
  }

  std::size_t leader() const {
    std::size_t best = 0;
    for (std::size_t p = 1; p < programs_.size(); ++p)
      if (is_in_[p] && found_.ratio(p, 0).median < found_.ratio(best, 0).median) best = p;
    return best;
  }

  void give_up() {
    const std::size_t best = leader();
    for (std::size_t p = 1; p < programs_.size(); ++p) {
      const RaceTimes::Ratio ratio = found_.ratio(p, best);
      if (p != best && ratio.median - ratio.margin > kHopeless) is_in_[p] = false;
    }
  }

  // Nobody is left but the first program and one that is clearly apart from it, or only the first.
  bool is_decided() const {
    if (std::count(is_in_.begin() + 1, is_in_.end(), true) > 1) return false;
    const auto other = std::find(is_in_.begin() + 1, is_in_.end(), true);
    if (other == is_in_.end()) return true;
    const RaceTimes::Ratio ratio = found_.ratio(static_cast<std::size_t>(other - is_in_.begin()), 0);
    return std::abs(ratio.median - 1) > 2 * ratio.margin + kClear;
  }

  static constexpr double kHopeless = 1.02, kClear = 0.02;
  const std::vector<std::vector<RacingSubDnn>>& programs_;
  const std::vector<std::vector<std::size_t>>& ways_;
  std::vector<double> last_;  // seconds of each way
  std::vector<bool> is_in_;
  std::vector<std::vector<std::vector<double>>> times_;  // by program and sub-DNN
  RaceTimes found_;
};

}  // namespace

Result<RaceTimes> race(const std::vector<std::vector<RacingSubDnn>>& programs,
                       const std::vector<std::vector<std::size_t>>& ways, double seconds) {
  return Race(programs, ways).run(seconds);
}

}  // namespace dycl::backends
