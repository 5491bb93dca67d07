// SPDX-License-Identifier: Apache-2.0
// The assignment of sub-DNNs to engines with the least total, from costs that were
// measured. Not an argmin per sub-DNN: a class of values crosses cuts in ONNX Runtime's
// blocked layout only if all its sub-DNNs are in ONNX Runtime or in an engine that shares the layout, so moving one
// elsewhere makes its neighbours slower. A sub-DNN costs `blocked` with all its ports so, `plain` with none, and in
// proportion between; what conversions cost is taken to be the same in engines that share the layout. A move must gain
// kWorthAMove of what it moves, so that noise decides nothing. Plain data in, plain data out.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/default_engine.h"

namespace dycl::backends {

inline constexpr double kWorthAMove = 0.01;

// One sub-DNN and what is known about it.
struct CostedSubDnn {
  double weight = 0;                     // how often it is called
  double blocked = 0, plain = 0;         // seconds in ONNX Runtime
  std::map<std::string, double> others;  // seconds in other engines that take it
  std::vector<std::size_t> classes;      // of blocked values it touches, once per port
};

class Search {
 public:
  using Choice = std::vector<std::string>;  // an engine per sub-DNN

  Search(const std::vector<CostedSubDnn>& sub_dnns, std::size_t class_count, std::set<std::string> sharing = {});

  double total(const Choice& choice) const;
  // Whether an engine takes part in the blocked layout.
  bool shares(const std::string& engine) const { return engine == kDefaultEngine || sharing_.count(engine) != 0; }

  // From every uniform start, by flips of one sub-DNN and of neighbours together, as long as the total falls.
  Choice best(const std::vector<std::string>& engines) const;

  // From one engine for all, by moves that gain `worth` of what they move.
  Choice from(const std::string& start, const std::vector<std::string>& engines, double worth = kWorthAMove) const;

 private:
  bool try_move(Choice& choice, const std::set<std::size_t>& group, const std::string& engine, double worth) const;

  double cost(const Choice& choice, const std::vector<bool>& kept, std::size_t unit) const;

  const std::vector<CostedSubDnn>& units_;
  const std::set<std::string> sharing_;
  std::vector<std::set<std::size_t>> members_;  // of each class
};

}  // namespace dycl::backends
