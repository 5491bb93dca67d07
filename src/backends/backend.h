// SPDX-License-Identifier: Apache-2.0
// What DyCL asks of a back end while compiling. Running the result belongs to
// include/dycl/plugin.h, so a deployed program links no compiler.
// Keeps no state between calls; safe to share between threads.
#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backends/artifact.h"
#include "backends/layout_tags.h"
#include "backends/processes/parallel_tasks.h"
#include "ir/program.h"
#include "ir/tensor_evaluator.h"
#include "support/result.h"

namespace dycl::backends {

class Cache;

struct BackendOptions {
  // Names of the sub-DNNs to compile; nullopt: all. What is left out is another back
  // end's, so that no layout of one's own may reach it.
  std::optional<std::set<std::string>> only;
  bool portable_only = false;  // no artifacts for this machine's CPU
  bool layouts = true;         // values may cross cuts in an engine's own layout
  // Layouts that were agreed on with others, by sub-DNN: what is made for this CPU must have them. For back ends that
  // share layouts alone.
  std::map<std::string, PortLayouts> agreed;
  // The portable artifacts of an existing package: kept, and the start of what is made for this CPU. The
  // program's weights are then those of that package; what folding left unused has no bytes.
  const std::vector<SubDnnArtifacts>* portable = nullptr;
  bool small_programs = true;    // sub-DNNs that are cheaper than an engine's call may be computed without it
  const Cache* cache = nullptr;  // what engines made before; nullptr: none
  int jobs = 0;                  // processes that may compile at once; 0: as many as cores and memory allow
  // What is compiled first, by name; the rest follows in the program's order. A sub-DNN that was not begun at the
  // deadline fails.
  std::vector<std::string> first;
  Deadline deadline;
  std::vector<std::filesystem::path> plugin_folders;    // looked through before the usual ones, to try code out
  double tune = 0;                                      // seconds for better code, of engines that can be tuned
  std::function<void(std::string_view text)> progress;  // told where long work stands
  std::size_t* engine_calls = nullptr;                  // if given, grows by one each time an engine compiles
  double* engine_seconds = nullptr;  // if given, grows by the time spent inside the engine's own library
  // Told once for each thing worth knowing, e.g. that an optimisation was left out.
  std::function<void(std::string_view)> notice;

  // Told of a sub-DNN that the engine failed on, which is then left out of the result;
  // if it is empty, such a failure is the whole compilation's.
  std::function<void(const ir::Function&, const Error&)> failed;

  bool wants(const ir::Function& function) const { return !only || only->count(function.name) != 0; }
};

// The failure of a sub-DNN that was not begun before BackendOptions::deadline.
Error budget_is_spent();

// Places of `pieces` in the order in which to compile them.
template <typename Pieces, typename NameOf>
std::vector<std::size_t> in_order(const BackendOptions& options, const Pieces& pieces, const NameOf& name_of) {
  std::map<std::string, std::size_t> rank;
  for (const std::string& name : options.first) rank.emplace(name, rank.size());
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto it = rank.find(name_of(pieces[i]));
    places.emplace_back(it == rank.end() ? rank.size() : it->second, i);
  }
  std::sort(places.begin(), places.end());
  std::vector<std::size_t> order;
  order.reserve(places.size());
  for (const auto& place : places) order.push_back(place.second);
  return order;
}

// An op that a back end cannot take, or would compute in another way than the reference.
struct Refusal {
  const ir::Op* op = nullptr;  // nullptr: the sub-DNN's interface
  std::string reason;          // a clause: "it has further results"
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;

  // What makes this back end refuse `sub_dnn`; empty means it takes it. An unknown op
  // is a refusal, never a failure.
  virtual std::vector<Refusal> refuse(const ir::Program& program, const ir::Function& sub_dnn) const = 0;

  // The engine and the machine it would compile for, as a key ("ort-1.31.1/x86_64/avx2...");
  // an Error with the command that installs it, if it is not there.
  virtual Result<std::string> engine() const = 0;

  // Loads what takes long to load and will be needed; any thread.
  virtual void prepare() const {}

  // Whether BackendOptions::tune makes a difference.
  virtual bool can_tune() const { return false; }

  // Whether it can make and take values in the blocked layout (layout_tags.h) that BackendOptions::agreed says.
  virtual bool shares_layouts() const { return false; }

  // The values of an outlined program that may cross cuts in a blocked layout that this back end decides on.
  virtual std::vector<LayoutClass> layout_classes(const ir::Program&) const { return {}; }

  // Compiles the sub-DNNs of an outlined program, in the program's order. All at
  // once, because layouts of values that cross cuts are agreed between them. May add
  // weights to the program (folded or reordered ones that artifacts name); changes
  // nothing else. The vendor library's errors come back as an Error.
  virtual Result<std::vector<SubDnnArtifacts>> compile_program(ir::Program& outlined,
                                                               const BackendOptions& options) const = 0;
};

// The back end of that name ("ort"), or an Error that lists those there are. Whether its engine is
// installed is a question to engine().
Result<std::unique_ptr<Backend>> find_backend(std::string_view name);

// Every back end that this build has.
std::vector<std::string> backend_names();

// What engines are compared with, op by op: the default engine's evaluator. One thread at a time.
Result<std::unique_ptr<ir::TensorEvaluator>> reference_evaluator();

}  // namespace dycl::backends
