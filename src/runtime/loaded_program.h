// SPDX-License-Identifier: Apache-2.0
// What a Program is made of. Immutable once load() has returned it, so every member may be
// read by any thread. Members are destroyed from the last to the first: sessions
// before engines before the mapping their weights live in.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dycl/plugin.h"
#include "dycl/runtime.h"
#include "runtime/container.h"
#include "runtime/heap.h"
#include "runtime/plan.h"
#include "runtime/plugins.h"

namespace dycl::runtime {

// One operand or result of a loaded sub-DNN.
struct LoadedPort {
  std::uint32_t type = 0;
  bool preallocated = false;        // results: the shape is known before the call
  std::vector<std::int64_t> shape;  // as dycl_plugin_port shows it
};

struct LoadedSubDnn {
  const dycl_plugin* plugin = nullptr;
  InterruptFn interrupt = nullptr;  // if the engine can be interrupted
  std::vector<LoadedPort> inputs, outputs;
  std::vector<dycl_plugin_port> input_ports, output_ports;
  std::vector<dycl_plugin_weight> weights;
  SessionPtr session{nullptr, {}};
};

struct Program::Parts {
  LoadOptions options;
  Container container;
  bool decrypted = false;
  Plan plan;
  std::vector<PlanWeight> weight_index;
  DebugInfo debug;
  bool has_debug = false;

  std::vector<SymbolBinding> bindings;
  std::unordered_map<std::string_view, std::size_t> state_of_name;
  std::vector<std::uint32_t> argument_of_input;  // position among the arguments; states: unused
  std::vector<ValueKind> kind_of_register;
  std::vector<SlotKind> slot_of_register;      // how the heap sees it
  std::vector<SlotKind> elements_of_register;  // lists and optionals: how it sees their elements
  std::vector<std::uint32_t> handles;          // registers that hold tensors or lists, constants left out
  std::vector<const HostFunction*> host_functions;
  std::vector<std::vector<std::uint64_t>> literals;  // constant tensors, by index of constant; aligned enough
  bool interruptible = false;                        // one of the engines is
  std::size_t max_inputs = 0, max_outputs = 0;       // of any call

  std::vector<Port> inputs, outputs, states;
  std::vector<Symbol> symbols;
  std::vector<Decision> decisions;
  std::vector<SubDnn> infos;
  std::vector<CallSite> call_sites;
  std::vector<std::uint32_t> call_positions;  // of their instructions, ascending
  std::vector<WeightInfo> weights;
  std::string target = "portable";
  std::string metadata;

  Engines engines;
  std::vector<LoadedSubDnn> sub_dnns;

  explicit Parts(LoadOptions o, Container c) : options(std::move(o)), container(std::move(c)) {}
  SlotKind slot_of(std::uint32_t type) const;
};

Type public_type(const Plan& plan, std::uint32_t type);

}  // namespace dycl::runtime
