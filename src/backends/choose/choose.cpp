// SPDX-License-Identifier: Apache-2.0
#include "backends/choose/choose.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>
#include <thread>

#include "backends/choose/call_paths.h"
#include "backends/choose/compare.h"
#include "backends/choose/race.h"
#include "backends/choose/search.h"
#include "backends/choose/trial.h"
#include "onnx/export.h"

namespace dycl::backends {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kSeed = 1;
constexpr double kShareOfCandidates = 0.75;  // of the budget

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// ---- timing --------------------------------------------------------------------------

struct Timed {
  Trial* trial = nullptr;
  std::size_t loaded = 0;
  double best = std::numeric_limits<double>::infinity();  // seconds of one call
};

// By turns, so that a disturbance meets all; the best of the rounds, because disturbances only add.
Result<void> time_by_turns(std::vector<Timed>& all, double limit) {
  constexpr double kRound = 0.0005;
  constexpr int kMinRounds = 10, kMinRoundsOfLong = 3, kMaxRounds = 100;
  constexpr double kLong = 0.002;  // seconds of a call
  std::vector<int> calls;
  int least = kMinRounds;
  for (Timed& one : all) {
    DYCL_TRY(one.trial->seconds(one.loaded, 1));
    DYCL_ASSIGN(const double once, one.trial->seconds(one.loaded, 1));
    if (once > kLong) least = kMinRoundsOfLong;
    calls.push_back(std::clamp(static_cast<int>(kRound / std::max(once, 1e-7)), 1, 500));
  }
  const auto start = Clock::now();
  for (int round = 0; round < kMaxRounds && (round < least || seconds_since(start) < limit); ++round)
    for (std::size_t i = 0; i < all.size(); ++i) {
      DYCL_ASSIGN(const double taken, all[i].trial->seconds(all[i].loaded, calls[i]));
      all[i].best = std::min(all[i].best, taken / calls[i]);
    }
  return {};
}

// Engines that are being loaded, each in a thread of its own.
class Loading {
 public:
  ~Loading() {
    for (auto& [name, thread] : threads_) thread.join();
  }
  void start(const std::string& name) {
    threads_.emplace(name, std::thread([name] { (*find_backend(name))->prepare(); }));
  }
  void wait_for(const std::string& name) {
    const auto it = threads_.find(name);
    if (it == threads_.end()) return;
    it->second.join();
    threads_.erase(it);
  }

 private:
  std::map<std::string, std::thread> threads_;
};

// ---- measuring a program -------------------------------------------------------------

class Measuring {
 public:
  Measuring(const ir::Program& program, const BackendOptions& options, const AutoOptions& limits, AutoReport& report)
      : program_(program), options_(options), limits_(limits), report_(report) {
    options_.notice = nullptr;
  }

  Result<Assignment> run();

 private:
  Result<void> find_others();
  Result<void> compile_default();
  Result<void> time_default();
  Result<void> compile_candidates(const std::string& backend, const std::vector<std::size_t>& order);
  Result<void> try_other(std::size_t place, const std::string& backend);
  void find_classes();
  void find_structures();
  void share(std::size_t place);
  // Of what may be spent on candidates; the rest of the budget is for programs.
  double left() const { return kShareOfCandidates * limits_.budget - seconds_since(start_); }
  void tell(const std::string& text) const;
  Search search() const { return Search(units_, class_count_, sharing_); }
  Result<const std::vector<ir::Tensor>*> reference_of(std::size_t place);
  const Artifact& artifact_of(std::size_t u, const Search::Choice& choice) const;
  Result<void> compile_members(const std::string& engine, const Search::Choice& choice);
  void find_paths();
  Result<RaceTimes> raced(const std::vector<Search::Choice>& choices);
  void learn(const std::vector<Search::Choice>& choices, const std::vector<std::vector<double>>& times);
  Search::Choice all_in(const std::string& engine, double plausible) const;
  std::string described(const Search::Choice& choice, bool is_uniform) const;
  Result<Assignment> assign(const Search::Choice& choice, const RaceTimes& times, std::size_t chosen);
  bool takes_any(const std::string& backend) const;
  Result<Assignment> conclude();

  ir::Program program_;  // a copy: compiling may add weights
  BackendOptions options_;
  const AutoOptions limits_;
  AutoReport& report_;
  Clock::time_point start_ = Clock::now();
  std::vector<std::string> others_;
  std::set<std::string> sharing_;  // those of them that take part in ONNX Runtime's layouts
  std::vector<std::string> missing_;
  std::map<std::string, SubDnnArtifacts> blocked_, plain_;  // ONNX Runtime's, by sub-DNN
  std::vector<const ir::Function*> functions_;
  std::vector<CostedSubDnn> units_;              // of functions_
  std::vector<std::vector<std::size_t>> alike_;  // units of one structure; the first stands for all
  std::vector<std::size_t> stands_for_;          // of each unit: the one that is measured for it
  std::map<std::string, Artifact> candidates_;   // of the engine that is tried, by sub-DNN
  std::map<std::string, std::string> dropped_;   // why that engine has none
  std::map<std::pair<std::size_t, std::string>, Artifact> artifacts_;  // of other engines
  std::map<std::size_t, Result<std::vector<ir::Tensor>>> references_;  // what structures give for the drawn operands
  std::size_t class_count_ = 0;
  std::size_t tried_ = 0, possible_ = 0;
  std::map<std::string, std::unique_ptr<Trial>> trials_;  // engines that ran programs, with what they have loaded
  std::map<const Artifact*, std::size_t> loaded_;
  std::vector<std::vector<std::size_t>> paths_;  // ways through the program: units
  std::string raced_;                            // what whole programs took
};

Result<void> Measuring::find_others() {
  for (const std::string& name : backend_names()) {
    if (name == kDefaultEngine) continue;
    DYCL_ASSIGN(const auto backend, find_backend(name));
    if (auto engine = backend->engine(); engine) {
      others_.push_back(name);
      if (backend->shares_layouts()) sharing_.insert(name);
    } else {
      missing_.push_back(engine.error().message + "; " + engine.error().help);
    }
  }
  return {};
}

PortLayouts layouts_of(const Artifact& artifact) { return {artifact.input_layouts, artifact.output_layouts}; }

void Measuring::tell(const std::string& text) const {
  if (!options_.progress) return;
  char left[48];
  std::snprintf(left, sizeof left, ", %.0f s left", std::max(limits_.budget - seconds_since(start_), 0.0));
  options_.progress("auto: " + text + left);
}

Result<void> Measuring::compile_default() {
  DYCL_ASSIGN(const auto backend, find_backend(kDefaultEngine));
  DYCL_ASSIGN(auto all, backend->compile_program(program_, options_));
  BackendOptions plain = options_;
  plain.layouts = false;
  plain.only.emplace();
  for (SubDnnArtifacts& sub_dnn : all) {
    if (layouts_of(sub_dnn.artifacts.front()).any()) plain.only->insert(sub_dnn.function);
    blocked_.insert_or_assign(sub_dnn.function, std::move(sub_dnn));
  }
  if (plain.only->empty()) return {};
  DYCL_ASSIGN(auto without, backend->compile_program(program_, plain));
  for (SubDnnArtifacts& sub_dnn : without) plain_.insert_or_assign(sub_dnn.function, std::move(sub_dnn));
  return {};
}

void Measuring::find_classes() {
  std::map<std::string, std::size_t> unit_of;
  for (std::size_t u = 0; u < units_.size(); ++u) unit_of[functions_[u]->name] = u;
  for (const LayoutClass& ports : (*find_backend(kDefaultEngine))->layout_classes(program_)) {
    bool is_blocked = true;
    for (const Port& port : ports) {
      const Artifact& artifact = blocked_.at(program_.functions[port.function].name).artifacts.front();
      const auto& layouts = port.is_result ? artifact.output_layouts : artifact.input_layouts;
      is_blocked = is_blocked && !layouts.empty() && !layouts[port.index].empty();
    }
    if (!is_blocked) continue;
    for (const Port& port : ports)
      units_[unit_of.at(program_.functions[port.function].name)].classes.push_back(class_count_);
    ++class_count_;
  }
}

// Sub-DNNs that differ in their weights alone (and cross in the same layouts) take the same time: one of them is
// measured.
void Measuring::find_structures() {
  std::map<std::string, std::size_t> known;
  for (std::size_t u = 0; u < units_.size(); ++u) {
    const auto exported = onnx::export_sub_dnn(program_, *functions_[u], "weights");
    std::string model = exported ? onnx::write_model(exported->model) : functions_[u]->name;
    const PortLayouts layouts = layouts_of(blocked_.at(functions_[u]->name).artifacts.front());
    for (const auto* tags : {&layouts.inputs, &layouts.outputs})
      for (const std::string& tag : *tags) model += "," + tag;
    const auto [it, is_new] = known.try_emplace(model, alike_.size());
    if (is_new) alike_.emplace_back();
    alike_[it->second].push_back(u);
    stands_for_.push_back(alike_[it->second].front());
  }
}

// What was found out about a sub-DNN holds for those of its structure, in proportion to what they take in ONNX Runtime.
void Measuring::share(std::size_t place) {
  for (std::size_t u = 0; u < units_.size(); ++u) {
    if (stands_for_[u] != place || u == place || units_[u].blocked <= 0) continue;
    const double scale = units_[u].plain / units_[place].plain;
    units_[u].others.clear();
    for (const auto& [name, seconds] : units_[place].others)  // integer weights may be another reason to refuse
      if ((*find_backend(name))->refuse(program_, *functions_[u]).empty()) units_[u].others[name] = seconds * scale;
    std::vector<Candidate>& own = report_.sub_dnns[u].candidates;
    own.resize(1);  // ONNX Runtime's
    const std::vector<Candidate>& measured = report_.sub_dnns[place].candidates;
    for (std::size_t c = 1; c < measured.size(); ++c) {
      own.push_back(measured[c]);
      own.back().micros *= scale;
      own.back().plain_micros *= scale;
    }
  }
}

Result<void> Measuring::time_default() {
  DYCL_ASSIGN(const auto trial, Trial::start(kDefaultEngine, limits_.threads, options_.plugin_folders));
  for (std::size_t u = 0; u < units_.size(); ++u) {
    const ir::Function& function = *functions_[u];
    if (!has_known_shapes(function)) continue;
    const auto operands = random_operands(function, kSeed);
    std::vector<Timed> timed;
    DYCL_ASSIGN(const std::size_t first,
                trial->load(program_, function, blocked_.at(function.name).artifacts.front(), operands));
    timed.push_back({trial.get(), first});
    if (const auto plain = plain_.find(function.name); plain != plain_.end()) {
      DYCL_ASSIGN(const std::size_t second, trial->load(program_, function, plain->second.artifacts.front(), operands));
      timed.push_back({trial.get(), second});
    }
    // A drawn operand may be one that the sub-DNN cannot take (an index): then it stays where it is.
    if (!time_by_turns(timed, 0.01)) continue;
    units_[u].blocked = timed.front().best;
    units_[u].plain = timed.back().best;
    report_.sub_dnns[u].candidates.push_back({kDefaultEngine, units_[u].blocked * 1e6, units_[u].plain * 1e6, {}});
  }
  return {};
}

// Compiles what another engine takes.
Result<void> Measuring::compile_candidates(const std::string& name, const std::vector<std::size_t>& order) {
  constexpr double kShare = 0.8;  // of what is left; the rest is for measuring
  candidates_.clear();
  dropped_.clear();
  DYCL_ASSIGN(const auto backend, find_backend(name));
  BackendOptions options = options_;
  options.only.emplace();
  for (const std::size_t u : order) {
    const ir::Function& function = *functions_[u];
    const auto refusals = backend->refuse(program_, function);
    if (refusals.empty()) {
      options.only->insert(function.name);
      options.first.push_back(function.name);
    } else {
      dropped_[function.name] = "refused: " + (refusals[0].op ? refusals[0].op->name + ": " : "") + refusals[0].reason;
    }
  }
  if (options.only->empty()) return {};
  if (backend->shares_layouts())
    for (const auto& [function, sub_dnn] : blocked_) options.agreed[function] = layouts_of(sub_dnn.artifacts.front());
  options.tune = backend->can_tune() ? limits_.tune : 0;
  options.failed = [&](const ir::Function& function, const Error& error) {
    dropped_[function.name] = "failed: " + error.message;
  };
  const auto begun = Clock::now();
  options.deadline = begun + std::chrono::duration_cast<Clock::duration>(
                                 std::chrono::duration<double>(options.tune + kShare * std::max(left(), 0.0)));
  auto made = backend->compile_program(program_, options);
  start_ += std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(options.tune, seconds_since(begun))));
  if (!made) {
    for (const std::string& function : options.first) dropped_[function] = "failed: " + made.error().message;
    return {};
  }
  for (SubDnnArtifacts& sub_dnn : *made) candidates_[sub_dnn.function] = std::move(sub_dnn.artifacts.front());
  return {};
}

// What the structure of a sub-DNN gives for the drawn operands, op by op; found out once.
Result<const std::vector<ir::Tensor>*> Measuring::reference_of(std::size_t place) {
  auto known = references_.find(place);
  if (known == references_.end()) {
    const ir::Function& function = *functions_[place];
    DYCL_ASSIGN(const auto evaluator, reference_evaluator());
    known =
        references_.emplace(place, reference(program_, function, random_operands(function, kSeed), *evaluator)).first;
  }
  if (!known->second) return known->second.error();
  return &*known->second;
}

// Compares and times one sub-DNN in another engine, by turns with ONNX Runtime.
Result<void> Measuring::try_other(std::size_t place, const std::string& name) {
  const ir::Function& function = *functions_[place];
  Candidate candidate{name, 0, 0, {}};
  std::vector<Candidate>& candidates = report_.sub_dnns[place].candidates;
  const auto drop = [&](const std::string& why) {
    candidate.dropped = why;
    candidates.push_back(candidate);
    return Result<void>();
  };
  const auto made = candidates_.find(function.name);
  if (made == candidates_.end()) return drop(dropped_[function.name]);
  if (left() <= 0) return drop("not tried: the budget is spent");
  const auto operands = random_operands(function, kSeed);
  const auto wanted = reference_of(place);
  if (!wanted) return drop("not tried: " + wanted.error().message);
  const std::vector<ir::Tensor>& expected = **wanted;
  DYCL_ASSIGN(const auto engine, Trial::start(name, limits_.threads, options_.plugin_folders));
  auto loaded = engine->load(program_, function, made->second, operands);
  if (!loaded) return drop("failed: " + loaded.error().message);
  auto results = engine->run(*loaded);
  if (!results) return drop("failed: " + results.error().message);
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (const std::string apart = difference((*results)[i], expected[i]); !apart.empty())
      return drop("differs from the reference: result " + std::to_string(i) + " has " + apart);
  DYCL_ASSIGN(const auto usual, Trial::start(kDefaultEngine, limits_.threads, options_.plugin_folders));
  std::vector<Timed> timed = {{engine.get(), *loaded}};
  DYCL_ASSIGN(const std::size_t own,
              usual->load(program_, function, blocked_.at(function.name).artifacts.front(), operands));
  timed.push_back({usual.get(), own});
  if (auto done = time_by_turns(timed, 0.05); !done) return drop("failed: " + done.error().message);
  artifacts_[{place, name}] = made->second;
  // What ONNX Runtime took then and now sets the two measurements in relation.
  const double drift = timed[1].best / units_[place].blocked;
  candidate.micros = candidate.plain_micros = timed[0].best / drift * 1e6;
  units_[place].others[name] = timed[0].best / drift;
  candidates.push_back(candidate);
  return {};
}

// The artifact that a sub-DNN would have, as far as it was compiled: in ONNX Runtime with blocked layouts only if all
// its neighbours have them.
const Artifact& Measuring::artifact_of(std::size_t u, const Search::Choice& choice) const {
  if (choice[u] != kDefaultEngine) return artifacts_.at({u, choice[u]});
  const std::string& name = functions_[u]->name;
  bool stays = true;
  for (std::size_t other = 0; other < units_.size(); ++other)
    for (const std::size_t c : units_[other].classes)
      if (choice[other] != kDefaultEngine && !sharing_.count(choice[other]) &&
          std::count(units_[u].classes.begin(), units_[u].classes.end(), c))
        stays = false;
  const auto plain = plain_.find(name);
  return (stays || plain == plain_.end() ? blocked_ : plain_).at(name).artifacts.front();
}

// Engines compiled one sub-DNN of each structure; a program needs them all. What then fails stays in ONNX Runtime.
Result<void> Measuring::compile_members(const std::string& engine, const Search::Choice& choice) {
  std::vector<std::size_t> places;
  for (std::size_t u = 0; u < units_.size(); ++u)
    if (choice[u] == engine && !artifacts_.count({u, engine})) places.push_back(u);
  if (places.empty()) return {};
  DYCL_TRY(compile_candidates(engine, places));
  for (const std::size_t u : places) {
    const auto made = candidates_.find(functions_[u]->name);
    if (made == candidates_.end())
      units_[u].others.erase(engine);
    else
      artifacts_[{u, engine}] = made->second;
  }
  return {};
}

// Whole programs against each other along drawn ways, of the sub-DNNs that could be timed.
// What sub-DNNs took there takes the place of what they took alone.
Result<RaceTimes> Measuring::raced(const std::vector<Search::Choice>& choices) {
  std::vector<std::vector<RacingSubDnn>> programs;
  for (const Search::Choice& choice : choices) {
    programs.emplace_back(units_.size());
    for (std::size_t u = 0; u < units_.size(); ++u) {
      if (units_[u].blocked <= 0) continue;
      auto& trial = trials_[choice[u]];
      if (!trial) {
        DYCL_ASSIGN(trial, Trial::start(choice[u], limits_.threads, options_.plugin_folders));
      }
      const Artifact& artifact = artifact_of(u, choice);
      const auto [it, is_new] = loaded_.try_emplace(&artifact, 0);
      if (is_new) {
        DYCL_ASSIGN(it->second,
                    trial->load(program_, *functions_[u], artifact, random_operands(*functions_[u], kSeed)));
      }
      programs.back()[u] = {trial.get(), it->second};
    }
  }
  constexpr double kShareOfARace = 0.4, kLeast = 0.5, kMost = 8;
  const double unspent = limits_.budget - seconds_since(start_);
  DYCL_ASSIGN(RaceTimes times, race(programs, paths_, std::clamp(kShareOfARace * unspent, kLeast, kMost)));
  learn(choices, times.medians);
  return times;
}

// Ways through the program, as numbers of units that can be timed.
void Measuring::find_paths() {
  constexpr std::size_t kWays = 24;
  std::map<std::string, std::size_t> unit_of;
  for (std::size_t u = 0; u < units_.size(); ++u)
    if (units_[u].blocked > 0) unit_of[functions_[u]->name] = u;
  for (const CallPath& path : draw_paths(program_, kWays)) {
    std::vector<std::size_t> units;
    for (const std::string& name : path)
      if (const auto it = unit_of.find(name); it != unit_of.end()) units.push_back(it->second);
    if (!units.empty()) paths_.push_back(std::move(units));
  }
}

void Measuring::learn(const std::vector<Search::Choice>& choices, const std::vector<std::vector<double>>& times) {
  for (std::size_t p = 0; p < choices.size(); ++p)
    for (std::size_t u = 0; u < units_.size(); ++u) {
      CostedSubDnn& unit = units_[u];
      const double seconds = times[p][u];
      if (seconds <= 0) continue;  // on no way
      if (choices[p][u] != kDefaultEngine) unit.others[choices[p][u]] = seconds;
      if (choices[p][u] != kDefaultEngine || p > 0) continue;  // the first is all in ONNX Runtime
      unit.plain += seconds - unit.blocked;
      unit.blocked = seconds;
    }
  for (std::size_t u = 0; u < units_.size(); ++u)
    for (Candidate& candidate : report_.sub_dnns[u].candidates) {
      const auto other = units_[u].others.find(candidate.backend);
      if (candidate.backend == kDefaultEngine)
        candidate.micros = units_[u].blocked * 1e6, candidate.plain_micros = units_[u].plain * 1e6;
      if (other != units_[u].others.end()) candidate.micros = candidate.plain_micros = other->second * 1e6;
    }
}

// One engine for all sub-DNNs in which it takes at most `plausible` of ONNX Runtime's time.
Search::Choice Measuring::all_in(const std::string& engine, double plausible) const {
  Search::Choice choice(units_.size(), kDefaultEngine);
  for (std::size_t u = 0; u < units_.size(); ++u) {
    const auto other = units_[u].others.find(engine);
    if (other != units_[u].others.end() && other->second < plausible * units_[u].blocked) choice[u] = engine;
  }
  return choice;
}

// What sub-DNNs take within programs that have one engine for all in which it may be faster; from that, a mixture; then
// the mixture, and each engine for all, against each other, by turns. A program must be faster than ONNX Runtime's
// beyond what the rounds differ, and a mixture faster, as clearly, than the best engine alone; in doubt that one is
// taken.
Result<Assignment> Measuring::conclude() {
  constexpr double kMaybeFaster = 1.3, kTooSlow = 1.25;  // alone, a sub-DNN finds its caches full
  constexpr double kMuch = 0.05;                         // of what moves, where little may be noise
  constexpr double kForAnother = 0.005;                  // what a mixture must gain over one engine
  std::vector<std::string> engines = {kDefaultEngine};
  engines.insert(engines.end(), others_.begin(), others_.end());
  const Search::Choice all_default(units_.size(), kDefaultEngine);
  const auto add = [](std::vector<Search::Choice>& to, const Search::Choice& choice) {
    if (std::find(to.begin(), to.end(), choice) == to.end()) to.push_back(choice);
  };
  std::vector<Search::Choice> choices = {all_default};
  for (const std::string& engine : others_) {
    DYCL_TRY(compile_members(engine, all_in(engine, kMaybeFaster)));
    add(choices, all_in(engine, kMaybeFaster));
  }
  find_paths();
  if (choices.size() > 1 && !paths_.empty()) {
    tell("sub-DNNs are timed within programs");
    DYCL_TRY(raced(choices));
  }
  choices = {all_default};
  for (const std::string& engine : others_) {
    constexpr double kAny = std::numeric_limits<double>::infinity();
    if (search().total(all_in(engine, kAny)) >= kTooSlow * search().total(all_default)) continue;
    DYCL_TRY(compile_members(engine, all_in(engine, kAny)));
    add(choices, all_in(engine, kAny));
  }
  const std::size_t uniform = choices.size();
  for (std::size_t u = 0; u < units_.size(); ++u)
    std::erase_if(units_[u].others, [&](const auto& other) { return !artifacts_.count({u, other.first}); });
  add(choices, search().best(engines));
  for (const std::string& engine : engines) {  // the same with few moves, of much gain each
    const Search::Choice few = search().from(engine, engines, kMuch);
    if (search().total(few) < kTooSlow * search().total(all_default)) add(choices, few);
  }
  RaceTimes times;
  if (choices.size() > 1 && !paths_.empty()) {
    tell(std::to_string(choices.size()) + " programs race");
    DYCL_ASSIGN(times, raced(choices));
  } else {
    choices.resize(1);
    times.ways = {0};
    times.totals = {{search().total(all_default)}};
  }
  const std::size_t best = times.best(uniform, limits_.threads == 1 ? kMinGain : kMinGainThreaded, kForAnother);
  for (std::size_t p = 1; p < choices.size(); ++p) {
    const auto ratio = times.ratio(p, 0);
    char text[80];
    std::snprintf(text, sizeof text, " %.3f (+-%.3f) of %s's time", ratio.median, ratio.margin, kDefaultEngine);
    raced_ += (raced_.empty() ? "" : ", ") + described(choices[p], p < uniform) + text;
  }
  return assign(choices[best], times, best);
}

// "all in tvm", or a mixture.
std::string Measuring::described(const Search::Choice& choice, bool is_uniform) const {
  std::map<std::string, int> counts;
  for (const std::string& engine : choice) ++counts[engine];
  std::string names;
  for (const auto& [name, number] : counts)
    if (!is_uniform || name != kDefaultEngine)
      names += (names.empty() ? "" : " and ") + (is_uniform ? "all in " : std::to_string(number) + " in ") + name;
  return names;
}

// Says what was found: `chosen` is the number of the choice in `times`.
Result<Assignment> Measuring::assign(const Search::Choice& choice, const RaceTimes& times, std::size_t chosen) {
  Assignment assignment;
  std::map<std::string, int> counts;
  for (std::size_t u = 0; u < units_.size(); ++u) {
    assignment[functions_[u]->name] = choice[u];
    report_.sub_dnns[u].chosen = choice[u];
    ++counts[choice[u]];
  }
  const RaceTimes::Ratio ratio = chosen == 0 ? RaceTimes::Ratio() : times.ratio(chosen, 0);
  report_.default_micros = times.mean(0) * 1e6;
  report_.chosen_micros = report_.default_micros * ratio.median;
  char text[160];
  std::snprintf(text, sizeof text, "measured %zu of %zu structures in other engines; all in %s %.0f us", tried_,
                possible_, kDefaultEngine, report_.default_micros);
  report_.summary = text + (raced_.empty() ? "" : "; " + raced_) + ": ";
  std::string names;
  for (const auto& [name, number] : counts)
    names += (names.empty() ? "" : ", ") + name + " takes " + std::to_string(number);
  report_.summary += names;
  for (const std::string& why : missing_) report_.summary += "; left out: " + why;
  return assignment;
}

bool Measuring::takes_any(const std::string& name) const {
  const auto backend = find_backend(name);
  return std::any_of(functions_.begin(), functions_.end(), [&](const ir::Function* function) {
    return has_known_shapes(*function) && (*backend)->refuse(program_, *function).empty();
  });
}

Result<Assignment> Measuring::run() {
  DYCL_TRY(find_others());
  const auto weights = call_weights(program_);
  for (const ir::Function& function : program_.functions) {
    if (function.kind != ir::FunctionKind::SubDnn) continue;
    const auto weight = weights.find(function.name);
    functions_.push_back(&function);
    units_.push_back({weight == weights.end() ? 0 : weight->second, 0, 0, {}, {}});
    report_.sub_dnns.push_back({function.name, kDefaultEngine, units_.back().weight, {}});
  }
  if (!others_.empty()) {
    // What takes long to load is loaded meanwhile.
    Loading loading;
    for (const std::string& name : others_)
      if (takes_any(name)) loading.start(name);
    DYCL_TRY(compile_default());
    start_ = Clock::now();
    find_classes();
    find_structures();
    DYCL_TRY(time_default());
    std::vector<std::size_t> order;
    for (const auto& members : alike_)
      if (units_[members.front()].blocked > 0) order.push_back(members.front());
    const auto cost = [&](std::size_t place) {
      double sum = 0;
      for (std::size_t u = 0; u < units_.size(); ++u)
        if (stands_for_[u] == place) sum += units_[u].weight * units_[u].blocked;
      return sum;
    };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return cost(a) > cost(b); });
    // The engine that compiles fastest first: it must not wait for what another one spends.
    for (const std::string& name : others_) {
      tell(name + " compiles up to " + std::to_string(order.size()) + " structures");
      loading.wait_for(name);
      DYCL_TRY(compile_candidates(name, order));
      tell(name + " made " + std::to_string(candidates_.size()) + ", which are compared and timed");
      for (const std::size_t u : order) {
        DYCL_TRY(try_other(u, name));
        const std::string& dropped = report_.sub_dnns[u].candidates.back().dropped;
        if (dropped.rfind("refused", 0) != 0) ++possible_;
        if (dropped.empty()) ++tried_;
        share(u);
      }
    }
  }
  return conclude();
}

}  // namespace

Result<Assignment> choose_backends(const ir::Program& program, const BackendOptions& options, const AutoOptions& limits,
                                   AutoReport& report) {
  return Measuring(program, options, limits, report).run();
}

}  // namespace dycl::backends
