// SPDX-License-Identifier: Apache-2.0
#include "backends/choose/search.h"

#include <algorithm>

namespace dycl::backends {

Search::Search(const std::vector<CostedSubDnn>& sub_dnns, std::size_t class_count, std::set<std::string> sharing)
    : units_(sub_dnns), sharing_(std::move(sharing)), members_(class_count) {
  for (std::size_t u = 0; u < units_.size(); ++u)
    for (const std::size_t c : units_[u].classes) members_[c].insert(u);
}

// `kept`: the classes that cross in blocked layout.
double Search::cost(const Choice& choice, const std::vector<bool>& kept, std::size_t u) const {
  const CostedSubDnn& unit = units_[u];
  if (!shares(choice[u])) return unit.others.at(choice[u]);
  double share = 1;  // of its blocked ports that stay so
  if (!unit.classes.empty()) {
    const auto staying = std::count_if(unit.classes.begin(), unit.classes.end(), [&](auto c) { return kept[c]; });
    share = static_cast<double>(staying) / static_cast<double>(unit.classes.size());
  }
  const double blocked = choice[u] == kDefaultEngine ? unit.blocked : unit.others.at(choice[u]);
  return blocked + (unit.plain - unit.blocked) * (1 - share);
}

double Search::total(const Choice& choice) const {
  std::vector<bool> kept(members_.size(), true);
  for (std::size_t c = 0; c < members_.size(); ++c)
    for (const std::size_t u : members_[c]) kept[c] = kept[c] && shares(choice[u]);
  double sum = 0;
  for (std::size_t u = 0; u < units_.size(); ++u) sum += units_[u].weight * cost(choice, kept, u);
  return sum;
}

Search::Choice Search::best(const std::vector<std::string>& engines) const {
  Choice winner(units_.size(), kDefaultEngine);
  for (const std::string& start : engines) {
    Choice choice = from(start, engines);
    if (total(choice) < total(winner)) winner = std::move(choice);
  }
  return winner;
}

Search::Choice Search::from(const std::string& start, const std::vector<std::string>& engines, double worth) const {
  constexpr int kMaxSweeps = 20;
  Choice choice(units_.size(), kDefaultEngine);
  for (std::size_t u = 0; u < units_.size(); ++u)
    if (units_[u].others.count(start)) choice[u] = start;
  bool moved = true;
  for (int sweep = 0; moved && sweep < kMaxSweeps; ++sweep) {
    moved = false;
    for (const std::string& engine : engines) {
      for (std::size_t u = 0; u < units_.size(); ++u) moved = try_move(choice, {u}, engine, worth) || moved;
      for (const auto& group : members_) moved = try_move(choice, group, engine, worth) || moved;
    }
  }
  return choice;
}

bool Search::try_move(Choice& choice, const std::set<std::size_t>& group, const std::string& engine,
                      double worth) const {
  Choice changed = choice;
  double moved = 0;
  for (const std::size_t u : group) {
    if (changed[u] == engine || (engine != kDefaultEngine && !units_[u].others.count(engine))) continue;
    moved += units_[u].weight * (choice[u] == kDefaultEngine ? units_[u].blocked : units_[u].others.at(choice[u]));
    changed[u] = engine;
  }
  if (changed == choice || total(changed) >= total(choice) - std::max(worth * moved, 1e-12)) return false;
  choice = std::move(changed);
  return true;
}

}  // namespace dycl::backends
