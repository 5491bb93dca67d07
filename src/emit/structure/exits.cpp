// SPDX-License-Identifier: Apache-2.0
#include "emit/structure/exits.h"

#include <algorithm>
#include <utility>

namespace dycl::emit::recovery {
namespace {

using Kind = Step::Kind;

bool ends_in_decision(const Sequence& steps) { return !steps.empty() && steps.back().kind == Kind::If; }

// Leaps out of these steps to a loop around them.
bool leaps_out(const Sequence& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const Step& s) {
    if (s.kind == Kind::Break || s.kind == Kind::Continue) return true;
    return s.kind != Kind::Loop && std::any_of(s.parts.begin(), s.parts.end(), leaps_out);
  });
}

// The arm in which a chain goes on, and how many decisions it has from this one on.
struct Chain {
  int length = 1;
  std::size_t arm = 1;
};

Chain chain_at(const Step& decision) {
  Chain found;
  for (const std::size_t arm : {std::size_t{1}, std::size_t{0}}) {
    if (!ends_in_decision(decision.parts[arm])) continue;
    const int length = 1 + chain_at(decision.parts[arm].back()).length;
    if (length > found.length) found = {length, arm};
  }
  return found;
}

void unfold(Step decision, Sequence& out) {
  const Chain chain = chain_at(decision);
  if (chain.length == 1) {
    out.push_back(std::move(decision));
    return;
  }
  Sequence rest = std::exchange(decision.parts[chain.arm], {});
  Sequence& exit = decision.parts[1 - chain.arm];
  if (exit.empty() || (exit.back().kind != Kind::Return && exit.back().kind != Kind::Raise)) {
    exit.emplace_back();
    exit.back().kind = Kind::Break;
  }
  Step next = std::move(rest.back());
  rest.pop_back();
  out.push_back(std::move(decision));
  std::move(rest.begin(), rest.end(), std::back_inserter(out));
  unfold(std::move(next), out);
}

bool is_left_by_break(const Sequence& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const Step& s) {
    return s.kind == Kind::Break ||
           (s.kind != Kind::Loop && std::any_of(s.parts.begin(), s.parts.end(), is_left_by_break));
  });
}

bool falls_through(const Sequence& steps) {
  if (steps.empty()) return true;
  const Step& last = steps.back();
  switch (last.kind) {
    case Kind::Return:
    case Kind::Raise:
    case Kind::Break:
    case Kind::Continue: return false;
    case Kind::Loop: return is_left_by_break(last.parts[0]);
    case Kind::If: return falls_through(last.parts[0]) || falls_through(last.parts[1]);
    default: return true;
  }
}

// No `else` behind an arm that never falls through.
void drop_else(Sequence& body) {
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i].kind != Kind::If || body[i].parts[0].empty() || body[i].parts[1].empty()) continue;
    const std::size_t leaves = !falls_through(body[i].parts[0]) ? 0 : !falls_through(body[i].parts[1]) ? 1 : 2;
    if (leaves == 2) continue;
    Sequence rest = std::exchange(body[i].parts[1 - leaves], {});
    body.insert(body.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move_iterator(rest.begin()),
                std::move_iterator(rest.end()));
  }
}

}  // namespace

void leave_early(Sequence& body) {
  drop_else(body);
  for (Step& step : body) {
    if (step.kind == Kind::If && chain_at(step).length >= kShortestChain &&
        std::none_of(step.parts.begin(), step.parts.end(), leaps_out)) {
      Step once;
      once.kind = Kind::Once;
      once.parts.emplace_back();
      unfold(std::move(step), once.parts[0]);
      step = std::move(once);
    }
    for (Sequence& part : step.parts) leave_early(part);
  }
}

}  // namespace dycl::emit::recovery
