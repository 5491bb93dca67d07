// SPDX-License-Identifier: Apache-2.0
// An emitted program of any signature beside the runtime's walker on the same package and engine.
//   compare   every bit that runs show, on given inputs and where decisions are forced
//   race      the time of both in turns, and what of it is the host's
// Sources of tests/emit/zoo_sweep.py and bench/emitted.py call main_of with a call of their own.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dycl/host.h"
#include "emitted_seen.h"
#include "support/random.h"

namespace zoo {

using Arrays = std::vector<dycl::host::Array>;

template <typename T>
T number(const dycl::host::Array& array) {
  T value{};
  std::memcpy(&value, array.bytes.data(), std::min(sizeof value, array.bytes.size()));
  return value;
}

// The arguments as the walker takes them.
template <typename Program>
std::vector<dycl::host::Value> values_of(const Program& program, const Arrays& arrays) {
  using Kind = dycl::runtime::Type::Kind;
  std::vector<dycl::host::Value> values;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Kind kind = program.program().inputs()[i].type.kind;
    values.push_back(kind == Kind::Int     ? dycl::host::Value::of(number<std::int64_t>(arrays[i]))
                     : kind == Kind::Float ? dycl::host::Value::of(number<double>(arrays[i]))
                     : kind == Kind::Bool  ? dycl::host::Value::of(number<bool>(arrays[i]))
                                           : dycl::host::Value::of(arrays[i].view()));
  }
  return values;
}

// Which arms of which decisions were taken, and how to get to the others.
class Coverage {
 public:
  explicit Coverage(const std::vector<dycl::runtime::Decision>& decisions) {
    for (const auto& decision : decisions) seen_.emplace_back(decision.arms, false);
  }

  void add(std::span<const dycl::runtime::Outcome> trace) {
    for (std::size_t i = 0; i < trace.size(); ++i) {
      seen_[trace[i].decision][trace[i].arm] = true;
      auto& after = beyond_[{trace[i].decision, trace[i].arm}];
      for (std::size_t j = i + 1; j < trace.size(); ++j) after.insert(trace[j].decision);
    }
  }
  std::size_t taken() const {
    std::size_t count = 0;
    for (const auto& arms : seen_) count += static_cast<std::size_t>(std::count(arms.begin(), arms.end(), true));
    return count;
  }
  std::size_t all() const {
    std::size_t count = 0;
    for (const auto& arms : seen_) count += arms.size();
    return count;
  }

  // A decider for one run: an arm that was never taken, or one behind which such an arm was seen, once per decision and
  // arm, so that loops end; else as the program decides.
  auto decider() const {
    return [this, tried = std::set<std::pair<std::uint32_t, std::uint32_t>>()](std::uint32_t decision,
                                                                               std::uint32_t arm) mutable {
      for (const bool beyond : {false, true})
        for (std::uint32_t a = 0; a < seen_[decision].size(); ++a)
          if ((beyond ? leads_on({decision, a}) : !seen_[decision][a]) && tried.insert({decision, a}).second) return a;
      return arm;
    };
  }

 private:
  bool leads_on(const std::pair<std::uint32_t, std::uint32_t>& outcome) const {
    const auto after = beyond_.find(outcome);
    return after != beyond_.end() && std::any_of(after->second.begin(), after->second.end(), [&](std::uint32_t d) {
             return std::count(seen_[d].begin(), seen_[d].end(), false) > 0;
           });
  }
  std::vector<std::vector<bool>> seen_;                                                // by decision and arm
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint32_t>> beyond_;  // decisions after an outcome
};

template <typename Program>
void prepare(Program& program, Seen& seen, const std::vector<std::int32_t>& forced, const Coverage* steered) {
  program.run().set_trace(true);
  program.run().set_seed(1);
  program.run().force(forced);
  program.run().set_decider(nullptr);
  if (steered) program.run().set_decider(steered->decider());
  program.run().set_print([&seen](std::string_view text) { seen.printed += text; });
}

// As the inputs decide, then with random outcomes of the first decisions (`rounds` in all for each input), then on the
// first input towards arms that no run took, as long as that finds any.
template <typename Program, typename Call>
int compare(const char* package, const std::vector<Arrays>& inputs, Call call, int rounds) {
  Program left(package), right(package);
  Coverage coverage(right.program().decisions());
  int equal = 0, failed = 0, decisions = 0;
  const auto agree = [&](std::size_t k, const std::vector<std::int32_t>& forced, const Coverage* steered) {
    Seen a, b;
    prepare(left, a, forced, steered);
    prepare(right, b, forced, steered);
    try {
      call(left, inputs[k]);
      for (const auto& v : left.last_results()) a.results.push_back(bits_of(v));
    } catch (const dycl::host::Failure& failure) {
      note(failure.error(), a);
    }
    finish(left.run(), a);
    const auto values = values_of(right, inputs[k]);
    const auto results = right.run().run(values);
    if (results)
      for (const auto& v : *results) b.results.push_back(bits_of(v));
    else
      note(results.error(), b);
    finish(right.run(), b);
    coverage.add(right.run().trace());
    (b.error.empty() ? equal : failed) += 1;
    decisions += static_cast<int>(b.arms.size());
    if (a == b) return true;
    std::printf("input %zu differs: \"%s\" and \"%s\"\n", k, a.error.c_str(), b.error.c_str());
    return false;
  };
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    for (int round = 0; round < rounds; ++round) {
      std::vector<std::int32_t> forced;
      dycl::Random random(k * 1000 + static_cast<std::size_t>(round));
      for (int i = 0; round > 0 && i < 200; ++i) forced.push_back(static_cast<std::int32_t>(random.integer(-1, 2)));
      if (!agree(k, forced, nullptr)) return 1;
    }
  }
  constexpr int kMostSteered = 200;
  for (int n = 0; n < kMostSteered && coverage.taken() < coverage.all(); ++n) {
    const Coverage before = coverage;
    if (!agree(0, {}, &before)) return 1;
    if (coverage.taken() == before.taken()) break;
  }
  std::printf("{\"equal\": %d, \"failed_alike\": %d, \"decisions\": %d, \"arms\": %zu, \"arms_taken\": %zu}\n", equal,
              failed, decisions, coverage.all(), coverage.taken());
  return 0;
}

inline double seconds_of(std::span<const dycl::runtime::Profile> profile) {
  double total = 0;
  for (const auto& p : profile) total += static_cast<double>(p.nanoseconds) * 1e-9;
  return total;
}

// Seconds of this thread's processor: other work on the machine does not show.
template <typename Call>
double timed(Call call) {
  const auto now = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  };
  const double begin = now();
  call();
  return now() - begin;
}
template <typename Call>
double timed_by_the_clock(Call call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}
// What the profile itself costs: each call of a sub-DNN asks the clock twice, once outside of what it measures.
inline double clock_cost() {
  constexpr int kCount = 10000;
  return timed_by_the_clock([] {
           for (int i = 0; i < kCount; ++i) static_cast<void>(std::chrono::steady_clock::now());
         }) /
         kCount;
}

inline double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

// Emitted program, walker and a second walker as the control, in all orders in turn; a line of JSON. Plain runs for
// the times, profiled ones for the shares. So that the order of loading favours nobody, `loaded_as` 0, 1, 2 takes each
// of the three in turn for the emitted program. An input is run in all six orders, beginning with another one each time:
// the first to run a new input pays for branches and caches that expect the last one.
constexpr int kOrders[6][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {0, 2, 1}, {2, 0, 1}, {1, 0, 2}};

template <typename Program, typename Call>
int race(const char* package, const std::vector<Arrays>& inputs, Call call, double seconds, unsigned loaded_as) {
  std::array<Program, 3> loaded = {Program(package), Program(package), Program(package)};
  Program &left = loaded[loaded_as % 3], &right = loaded[(loaded_as + 1) % 3], &control = loaded[(loaded_as + 2) % 3];
  std::vector<double> emitted, walker, ratios, controls, host_emitted, host_walker;
  std::vector<std::vector<dycl::host::Value>> values;
  for (const auto& arrays : inputs) values.push_back(values_of(right, arrays));
  const auto walk_with = [&](Program& program, std::size_t k) {
    if (auto done = program.run().run(values[k]); !done) throw dycl::host::Failure(done.error());
  };
  const auto walk = [&](std::size_t k) { walk_with(right, k); };
  for (int k = 0; k < 2; ++k)
    for (std::size_t i = 0; i < inputs.size(); ++i) call(left, inputs[i]), walk(i), walk_with(control, i);
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (std::size_t n = 0; std::chrono::steady_clock::now() < until || n < 6 * inputs.size(); ++n) {
    const std::size_t k = (n / 6) % inputs.size();
    double times[3] = {};
    for (const int racer : kOrders[(n + n / 6) % 6]) {
      times[racer] = timed([&] {
        if (racer == 0) call(left, inputs[k]);
        if (racer == 1) walk(k);
        if (racer == 2) walk_with(control, k);
      });
    }
    emitted.push_back(times[0]);
    walker.push_back(times[1]);
    ratios.push_back(times[0] / times[1]);
    controls.push_back(times[2] / times[1]);
  }
  const double cost = clock_cost();
  const auto shares_until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (std::size_t n = 0; std::chrono::steady_clock::now() < shares_until || n < 4 * inputs.size(); ++n) {
    const std::size_t k = n % inputs.size();
    const auto one = [&](bool is_emitted) {
      Program& program = is_emitted ? left : right;
      program.run().set_profile(true);
      double all = timed_by_the_clock([&] { is_emitted ? call(left, inputs[k]) : walk(k); });
      for (const auto& p : program.run().profile()) all -= static_cast<double>(p.calls) * cost;
      (is_emitted ? host_emitted : host_walker).push_back(1 - seconds_of(program.run().profile()) / all);
    };
    one(n % 2 == 0);
    one(n % 2 != 0);
  }
  std::printf(
      "{\"runs\": %zu, \"emitted_us\": %.3f, \"walker_us\": %.3f, \"ratio\": %.5f, \"control\": %.5f, "
      "\"host_emitted\": %.5f, \"host_walker\": %.5f}\n",
      ratios.size(), median(emitted) * 1e6, median(walker) * 1e6, median(ratios), median(controls),
      median(host_emitted), median(host_walker));
  return 0;
}

// main PACKAGE compare ROUNDS FILES... | race SECONDS:LOADED_AS FILES...: `arity` .npy files per input.
template <typename Program, typename Call>
int main_of(int argc, char** argv, std::size_t arity, Call call) {
  try {
    std::vector<Arrays> inputs;
    for (int i = 4; i < argc; ++i) {
      if (static_cast<std::size_t>(i - 4) % arity == 0) inputs.emplace_back();
      inputs.back().push_back(dycl::host::load_npy(argv[i]));
    }
    if (std::string(argv[2]) == "race") {
      char* rest = nullptr;
      const double seconds = std::strtod(argv[3], &rest);
      return race<Program>(argv[1], inputs, call, seconds, *rest == ':' ? std::atoi(rest + 1) : 0);
    }
    return compare<Program>(argv[1], inputs, call, std::atoi(argv[3]));
  } catch (const dycl::host::Failure& failure) {
    std::printf("%s\n", failure.what());
    return 2;
  }
}

}  // namespace zoo
