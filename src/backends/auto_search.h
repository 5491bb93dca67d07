// SPDX-License-Identifier: Apache-2.0
// The assignment of sub-DNNs to engines with the least total, from costs that were
// measured. Not an argmin per sub-DNN: a class of values crosses cuts in ONNX Runtime's
// blocked layout only if all its sub-DNNs are ONNX Runtime's, so moving one makes its neighbours slower.
// A sub-DNN there costs `blocked` with all its ports so, `plain` with none, and in proportion
// between. Plain data in, plain data out.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace dycl::backends {

inline constexpr const char* kOrt = "ort";

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

  Search(const std::vector<CostedSubDnn>& sub_dnns, std::size_t class_count);

  double total(const Choice& choice) const;

  // From every uniform start, by flips of one sub-DNN and of neighbours together, as long as the total falls.
  Choice best(const std::vector<std::string>& engines) const;

 private:
  bool try_move(Choice& choice, const std::set<std::size_t>& group, const std::string& engine) const;
  void improve(Choice& choice, const std::vector<std::string>& engines) const;

  const std::vector<CostedSubDnn>& units_;
  std::vector<std::set<std::size_t>> members_;  // of each class
};

}  // namespace dycl::backends
