// SPDX-License-Identifier: Apache-2.0
#include "backends/auto.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>

#include "backends/agreement.h"
#include "backends/auto_search.h"
#include "backends/ort/evaluator.h"
#include "backends/ort/layouts.h"
#include "backends/ort/target.h"
#include "backends/trial.h"

namespace dycl::backends {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kSeed = 1;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// ---- how often sub-DNNs are called ---------------------------------------------------

void targets_of(const ir::Exit& exit, std::vector<std::uint32_t>& out) {
  if (const auto* jump = std::get_if<ir::Goto>(&exit)) out = {jump->edge.target.index};
  if (const auto* branch = std::get_if<ir::Branch>(&exit))
    out = {branch->if_true.target.index, branch->if_false.target.index};
  if (const auto* choice = std::get_if<ir::Switch>(&exit)) {
    for (const ir::Edge& edge : choice->targets) out.push_back(edge.target.index);
    out.push_back(choice->otherwise.target.index);
  }
}

// Blocks stand in the order in which they run (tidy), so an edge to an earlier one closes a loop.
std::map<std::string, double> call_weights(const ir::Program& program) {
  std::map<std::string, double> weights;
  for (const ir::Function& function : program.functions) {
    if (function.kind != ir::FunctionKind::Host) continue;
    std::vector<double> depth(function.blocks.size() + 1, 0);  // differences
    for (std::size_t b = 0; b < function.blocks.size(); ++b) {
      std::vector<std::uint32_t> targets;
      targets_of(function.blocks[b].exit, targets);
      for (const std::uint32_t target : targets) {
        if (target > b) continue;
        depth[target] += 1;
        depth[b + 1] -= 1;
      }
    }
    double inside = 0;
    for (std::size_t b = 0; b < function.blocks.size(); ++b) {
      inside += depth[b];
      for (const ir::Op& op : function.blocks[b].body) {
        const ir::Attr* callee = op.name == "call" ? op.attr("callee") : nullptr;
        if (callee) weights[std::get<std::string>(*callee)] += std::pow(kLoopWeight, std::min(inside, 3.0));
      }
    }
  }
  return weights;
}

// ---- timing --------------------------------------------------------------------------

struct Timed {
  Trial* trial = nullptr;
  std::size_t loaded = 0;
  double best = std::numeric_limits<double>::infinity();  // seconds of one call
};

// By turns, so that a disturbance meets all; the best of the rounds, because disturbances only add.
Result<void> time_by_turns(std::vector<Timed>& all, double limit) {
  constexpr double kRound = 0.0005;
  constexpr int kMinRounds = 10, kMaxRounds = 100;
  std::vector<int> calls;
  for (Timed& one : all) {
    DYCL_TRY(one.trial->seconds(one.loaded, 1));
    DYCL_ASSIGN(const double once, one.trial->seconds(one.loaded, 1));
    calls.push_back(std::clamp(static_cast<int>(kRound / std::max(once, 1e-7)), 1, 500));
  }
  const auto start = Clock::now();
  for (int round = 0; round < kMaxRounds && (round < kMinRounds || seconds_since(start) < limit); ++round)
    for (std::size_t i = 0; i < all.size(); ++i) {
      DYCL_ASSIGN(const double taken, all[i].trial->seconds(all[i].loaded, calls[i]));
      all[i].best = std::min(all[i].best, taken / calls[i]);
    }
  return {};
}

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
  Result<void> compile_ort();
  Result<void> time_ort();
  Result<void> compile_candidates(const std::string& backend, const std::vector<std::size_t>& order);
  Result<void> try_other(std::size_t place, const std::string& backend);
  void find_classes();
  double left() const { return limits_.budget - seconds_since(start_); }
  Result<void> confirm(std::size_t place, const std::string& name, double seconds);
  Result<Search::Choice> choose(const std::vector<std::string>& engines);
  Result<Assignment> conclude();

  ir::Program program_;  // a copy: compiling may add weights
  BackendOptions options_;
  const AutoOptions limits_;
  AutoReport& report_;
  Clock::time_point start_ = Clock::now();
  std::vector<std::string> others_;
  std::vector<std::string> missing_;
  std::map<std::string, SubDnnArtifacts> blocked_, plain_;  // ONNX Runtime's, by sub-DNN
  std::vector<const ir::Function*> functions_;
  std::vector<CostedSubDnn> units_;                                    // of functions_
  std::map<std::string, Artifact> candidates_;                         // of the engine that is tried, by sub-DNN
  std::map<std::string, std::string> dropped_;                         // why that engine has none
  std::map<std::pair<std::size_t, std::string>, Artifact> artifacts_;  // of other engines
  std::size_t class_count_ = 0;
  std::size_t tried_ = 0, possible_ = 0;
};

Result<void> Measuring::find_others() {
  for (const std::string& name : backend_names()) {
    if (name == kOrt) continue;
    DYCL_ASSIGN(const auto backend, find_backend(name));
    if (auto engine = backend->engine(); engine)
      others_.push_back(name);
    else
      missing_.push_back(engine.error().message + "; " + engine.error().help);
  }
  return {};
}

bool has_tags(const Artifact& artifact) {
  const auto tagged = [](const std::vector<std::string>& layouts) {
    return std::any_of(layouts.begin(), layouts.end(), [](const std::string& tag) { return !tag.empty(); });
  };
  return tagged(artifact.input_layouts) || tagged(artifact.output_layouts);
}

Result<void> Measuring::compile_ort() {
  DYCL_ASSIGN(const auto backend, find_backend(kOrt));
  DYCL_ASSIGN(auto all, backend->compile_program(program_, options_));
  BackendOptions plain = options_;
  plain.layouts = false;
  plain.only.emplace();
  for (SubDnnArtifacts& sub_dnn : all) {
    if (has_tags(sub_dnn.artifacts.front())) plain.only->insert(sub_dnn.function);
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
  for (const ort::LayoutClass& ports : ort::blockable_classes(program_, ort::this_target("").block)) {
    bool is_blocked = true;
    for (const ort::Port& port : ports) {
      const Artifact& artifact = blocked_.at(program_.functions[port.function].name).artifacts.front();
      const auto& layouts = port.is_result ? artifact.output_layouts : artifact.input_layouts;
      is_blocked = is_blocked && !layouts.empty() && !layouts[port.index].empty();
    }
    if (!is_blocked) continue;
    for (const ort::Port& port : ports)
      units_[unit_of.at(program_.functions[port.function].name)].classes.push_back(class_count_);
    ++class_count_;
  }
}

Result<void> Measuring::time_ort() {
  DYCL_ASSIGN(const auto trial, Trial::start(kOrt, limits_.threads, limits_.plugin_folders));
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
    report_.sub_dnns[u].candidates.push_back({kOrt, units_[u].blocked * 1e6, units_[u].plain * 1e6, {}});
  }
  return {};
}

// Compiles what another engine takes.
Result<void> Measuring::compile_candidates(const std::string& name, const std::vector<std::size_t>& order) {
  constexpr double kShare = 0.7;  // of the budget that is left; the rest is for measuring
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
  std::vector<ir::Tensor> expected;
  {
    DYCL_ASSIGN(const auto evaluator, ort::make_evaluator());
    auto wanted = reference(program_, function, operands, *evaluator);
    if (!wanted) return drop("not tried: " + wanted.error().message);
    expected = std::move(*wanted);
  }
  DYCL_ASSIGN(const auto engine, Trial::start(name, limits_.threads, limits_.plugin_folders));
  auto loaded = engine->load(program_, function, made->second, operands);
  if (!loaded) return drop("failed: " + loaded.error().message);
  auto results = engine->run(*loaded);
  if (!results) return drop("failed: " + results.error().message);
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (const std::string apart = difference((*results)[i], expected[i]); !apart.empty())
      return drop("differs from the reference: result " + std::to_string(i) + " has " + apart);
  DYCL_ASSIGN(const auto ort, Trial::start(kOrt, limits_.threads, limits_.plugin_folders));
  std::vector<Timed> timed = {{engine.get(), *loaded}};
  DYCL_ASSIGN(const std::size_t own,
              ort->load(program_, function, blocked_.at(function.name).artifacts.front(), operands));
  timed.push_back({ort.get(), own});
  if (auto done = time_by_turns(timed, 0.05); !done) return drop("failed: " + done.error().message);
  artifacts_[{place, name}] = made->second;
  // What ONNX Runtime took then and now sets the two measurements in relation.
  const double drift = timed[1].best / units_[place].blocked;
  candidate.micros = candidate.plain_micros = timed[0].best / drift * 1e6;
  units_[place].others[name] = timed[0].best / drift;
  candidates.push_back(candidate);
  return {};
}

// Measures a sub-DNN that is about to move once more; of two measurements the smaller counts.
Result<void> Measuring::confirm(std::size_t place, const std::string& name, double seconds) {
  const ir::Function& function = *functions_[place];
  const auto operands = random_operands(function, kSeed);
  DYCL_ASSIGN(const auto engine, Trial::start(name, limits_.threads, limits_.plugin_folders));
  DYCL_ASSIGN(const auto ort, Trial::start(kOrt, limits_.threads, limits_.plugin_folders));
  DYCL_ASSIGN(const std::size_t there, engine->load(program_, function, artifacts_.at({place, name}), operands));
  DYCL_ASSIGN(const std::size_t here,
              ort->load(program_, function, blocked_.at(function.name).artifacts.front(), operands));
  std::vector<Timed> timed = {{engine.get(), there}, {ort.get(), here}};
  if (const auto plain = plain_.find(function.name); plain != plain_.end()) {
    DYCL_ASSIGN(const std::size_t third, ort->load(program_, function, plain->second.artifacts.front(), operands));
    timed.push_back({ort.get(), third});
  }
  DYCL_TRY(time_by_turns(timed, seconds));
  CostedSubDnn& unit = units_[place];
  unit.blocked = std::min(unit.blocked, timed[1].best);
  unit.plain = std::min(unit.plain, timed.back().best);
  unit.others[name] = std::max(unit.others[name], timed[0].best);
  for (Candidate& candidate : report_.sub_dnns[place].candidates) {
    if (candidate.backend == kOrt) candidate.micros = unit.blocked * 1e6, candidate.plain_micros = unit.plain * 1e6;
    if (candidate.backend == name) candidate.micros = candidate.plain_micros = unit.others[name] * 1e6;
  }
  return {};
}

// The best choice all of whose moves were measured twice.
Result<Search::Choice> Measuring::choose(const std::vector<std::string>& engines) {
  constexpr double kShare = 0.2;  // of the budget
  std::set<std::pair<std::size_t, std::string>> confirmed;
  while (true) {
    Search::Choice choice = Search(units_, class_count_).best(engines);
    std::vector<std::size_t> moving;
    for (std::size_t u = 0; u < units_.size(); ++u)
      if (choice[u] != kOrt && confirmed.emplace(u, choice[u]).second) moving.push_back(u);
    if (moving.empty()) return choice;
    const double each = std::clamp(kShare * limits_.budget / static_cast<double>(moving.size()), 0.02, 0.2);
    for (const std::size_t u : moving) DYCL_TRY(confirm(u, choice[u], each));
  }
}

Result<Assignment> Measuring::conclude() {
  std::vector<std::string> engines = {kOrt};
  engines.insert(engines.end(), others_.begin(), others_.end());
  const Search::Choice all_ort(units_.size(), kOrt);
  DYCL_ASSIGN(Search::Choice choice, choose(engines));
  const Search search(units_, class_count_);
  const double before = search.total(all_ort), after = search.total(choice);
  const double needed = limits_.threads == 1 ? kMinGain : kMinGainThreaded;
  const bool gains = after < before * (1 - needed);
  if (!gains) choice = all_ort;
  Assignment assignment;
  std::map<std::string, int> counts;
  for (std::size_t u = 0; u < units_.size(); ++u) {
    assignment[functions_[u]->name] = choice[u];
    report_.sub_dnns[u].chosen = choice[u];
    ++counts[choice[u]];
  }
  report_.ort_micros = before * 1e6;
  report_.chosen_micros = (gains ? after : before) * 1e6;
  char text[160];
  std::snprintf(text, sizeof text,
                "measured %zu of %zu sub-DNNs in other engines; all in ort %.0f us, best mixture %.0f us: ", tried_,
                possible_, before * 1e6, after * 1e6);
  report_.summary = text;
  std::string names;
  for (const auto& [name, count] : counts)
    names += (names.empty() ? "" : ", ") + name + " takes " + std::to_string(count);
  report_.summary += names + (gains || after >= before ? "" : " (the gain is too small for a second engine)");
  for (const std::string& why : missing_) report_.summary += "; left out: " + why;
  return assignment;
}

Result<Assignment> Measuring::run() {
  DYCL_TRY(find_others());
  const auto weights = call_weights(program_);
  for (const ir::Function& function : program_.functions) {
    if (function.kind != ir::FunctionKind::SubDnn) continue;
    const auto weight = weights.find(function.name);
    functions_.push_back(&function);
    units_.push_back({weight == weights.end() ? 0 : weight->second, 0, 0, {}, {}});
    report_.sub_dnns.push_back({function.name, kOrt, units_.back().weight, {}});
  }
  if (!others_.empty()) {
    DYCL_TRY(compile_ort());
    find_classes();
    start_ = Clock::now();
    DYCL_TRY(time_ort());
    std::vector<std::size_t> order;
    for (std::size_t u = 0; u < units_.size(); ++u)
      if (units_[u].blocked > 0) order.push_back(u);
    const auto cost = [&](std::size_t u) { return units_[u].weight * units_[u].blocked; };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return cost(a) > cost(b); });
    // The engine that compiles fastest first: it must not wait for what another one spends.
    for (const std::string& name : others_) {
      DYCL_TRY(compile_candidates(name, order));
      for (const std::size_t u : order) {
        DYCL_TRY(try_other(u, name));
        const std::string& dropped = report_.sub_dnns[u].candidates.back().dropped;
        if (dropped.rfind("refused", 0) != 0) ++possible_;
        if (dropped.empty()) ++tried_;
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
