// SPDX-License-Identifier: Apache-2.0
// How engines are chosen: the search on invented costs, ways through programs, and which program wins a race. Without
// an engine; the whole flow is tested in assign_test.cpp.
#include <gtest/gtest.h>

#include <cmath>

#include "backends/choose/call_paths.h"
#include "backends/choose/race.h"
#include "backends/choose/search.h"
#include "ir/parse.h"

namespace dycl {
namespace {

using backends::CostedSubDnn;
using backends::Search;

// ---- the search, on invented costs ---------------------------------------------------

CostedSubDnn costs(double blocked, double plain, double other, std::vector<std::size_t> classes) {
  return {1, blocked, plain, {{"other", other}}, std::move(classes)};
}

TEST(Search, TakesTheFasterWhereNothingIsShared) {
  const std::vector<CostedSubDnn> units = {costs(5, 5, 3, {}), costs(5, 5, 9, {})};
  EXPECT_EQ(Search(units, 0).best({"ort", "other"}), (Search::Choice{"other", "ort"}));
}

// The middle one is faster elsewhere, but its neighbours would have to convert.
TEST(Search, CountsWhatNeighboursPay) {
  const std::vector<CostedSubDnn> units = {costs(10, 14, 30, {0}), costs(10, 16, 8, {0, 1}), costs(10, 14, 30, {1})};
  const Search search(units, 2);
  EXPECT_EQ(search.best({"ort", "other"}), Search::Choice(3, "ort"));
  EXPECT_DOUBLE_EQ(search.total({"ort", "ort", "ort"}), 30);
  EXPECT_DOUBLE_EQ(search.total({"ort", "other", "ort"}), 36);
}

// Neither gains alone; both together do.
TEST(Search, MovesNeighboursTogether) {
  const std::vector<CostedSubDnn> units = {costs(10, 14, 8, {0}), costs(10, 14, 8, {0})};
  EXPECT_EQ(Search(units, 1).best({"ort"}), Search::Choice(2, "ort"));
  EXPECT_EQ(Search(units, 1).best({"ort", "other"}), Search::Choice(2, "other"));
}

// An engine that shares the blocked layout leaves its neighbours as they are; another one makes them and it convert.
TEST(Search, NeighboursOfAnEngineThatSharesTheLayoutDoNotPay) {
  std::vector<CostedSubDnn> units = {costs(10, 14, 30, {0}), costs(10, 16, 8, {0, 1}), costs(10, 14, 30, {1})};
  const Search search(units, 2, {"other"});
  EXPECT_EQ(search.best({"ort", "other"}), (Search::Choice{"ort", "other", "ort"}));
  EXPECT_DOUBLE_EQ(search.total({"ort", "other", "ort"}), 28);
  units[2].others["third"] = 2;
  EXPECT_DOUBLE_EQ(search.total({"ort", "other", "third"}), 10 + (8 + 3) + 2);
}

// Less than kWorthAMove is noise: it moves nothing away from where the search started.
TEST(Search, DoesNotMoveForNothing) {
  const std::vector<CostedSubDnn> units = {costs(100, 100, 99.5, {}), costs(100, 100, 98, {}),
                                           costs(100, 100, 103, {})};
  EXPECT_EQ(Search(units, 0).best({"ort"}), Search::Choice(3, "ort"));
  std::vector<CostedSubDnn> more = units;
  for (CostedSubDnn& unit : more) unit.others["third"] = unit.others["other"] - 0.5;
  EXPECT_EQ(Search(more, 0).best({"other", "third"}), (Search::Choice{"third", "third", "third"}));
}

TEST(Search, LeavesWhatAnotherEngineDoesNotTake) {
  std::vector<CostedSubDnn> units = {costs(10, 10, 1, {})};
  units[0].others.clear();
  EXPECT_EQ(Search(units, 0).best({"ort", "other"}), Search::Choice{"ort"});
}

// ---- ways through programs ------------------------------------------------------------

constexpr const char* kLoop = R"(
func @main(%x: f32[2], %go: bool) -> (f32[2]) {
^entry:
  goto ^head(%x)
^head(%h: f32[2]):
  branch %go, ^inside, ^after
^inside:
  %b = call @body(%h) : f32[2]
  goto ^head(%b)
^after:
  branch %go, ^fails, ^side
^fails:
  raise "ValueError" "no"
^side:
  branch %go, ^last, ^end(%h)
^last:
  %r = call @rare(%h) : f32[2]
  goto ^end(%r)
^end(%e: f32[2]):
  return %e
}
subdnn @body(%x: f32[2]) -> (f32[2]) {
^entry:
  %y = Relu %x : f32[2]
  return %y
}
subdnn @rare(%x: f32[2]) -> (f32[2]) {
^entry:
  %y = Relu %x : f32[2]
  return %y
}
)";

TEST(Paths, FollowBranchesAndLoopsButNoErrors) {
  const auto parsed = ir::parse(kLoop, "test");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const auto weights = backends::call_weights(*parsed);
  EXPECT_GT(weights.at("body"), 4);
  EXPECT_LT(weights.at("body"), 12);
  EXPECT_GT(weights.at("rare"), 0.3);
  EXPECT_LT(weights.at("rare"), 0.7);
  EXPECT_EQ(backends::draw_paths(*parsed, 5), backends::draw_paths(*parsed, 5));
}

// ---- races ----------------------------------------------------------------------------

// The ratio is that of each way, not of the ways together; a round that was disturbed does not count.
TEST(Race, RatiosAreMediansByWay) {
  backends::RaceTimes times;
  times.ways = {0, 1, 0, 1, 0, 1};
  times.totals = {{1, 100, 1, 100, 1, 100}, {0.5, 100, 0.5, 100, 7, 100}};
  EXPECT_NEAR(times.ratio(1, 0).median, std::sqrt(0.5), 1e-9);
  EXPECT_NEAR(times.ratio(0, 0).median, 1, 1e-9);
  EXPECT_NEAR(times.mean(0), 50.5, 1e-9);
}

// A step must be worth it and clear; in doubt the best engine alone stays, and the first one before it.
TEST(Race, WhatIsTakenIsClearlyBetter) {
  backends::RaceTimes times;
  times.ways = {0, 0, 0, 0, 0, 0, 0, 0};
  const std::vector<double> ort = {100, 101, 99, 100, 102, 98, 100, 100};
  const auto scaled = [&](double by, double noise) {
    std::vector<double> one;
    for (std::size_t i = 0; i < ort.size(); ++i) one.push_back(ort[i] * (by + (i % 2 == 0 ? noise : -noise)));
    return one;
  };
  const auto best = [&](std::vector<std::vector<double>> totals, std::size_t uniform) {
    times.totals = std::move(totals);
    return times.best(uniform, 0.01, 0.005);
  };
  EXPECT_EQ(best({ort, scaled(0.8, 0.001)}, 2), 1U);
  EXPECT_EQ(best({ort, scaled(0.995, 0.0001)}, 2), 0U);                    // little
  EXPECT_EQ(best({ort, scaled(0.95, 0.2)}, 2), 0U);                        // not clear
  EXPECT_EQ(best({ort, scaled(0.8, 0.001), scaled(0.75, 0.001)}, 2), 2U);  // a mixture
  EXPECT_EQ(best({ort, scaled(0.8, 0.001), scaled(0.79, 0.05)}, 2), 1U);   // one that may be no better
  EXPECT_EQ(best({ort, scaled(1.2, 0.001), scaled(0.9, 0.001)}, 2), 2U);   // better than all engines alone
  EXPECT_EQ(best({ort, {}, scaled(0.9, 0.001)}, 2), 2U);                   // one was never run
}

}  // namespace
}  // namespace dycl
