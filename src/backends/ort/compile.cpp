// SPDX-License-Identifier: Apache-2.0
#include "backends/ort/compile.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "backends/kernels/small/format.h"
#include "backends/kernels/small/lower.h"
#include "backends/ort/anchors.h"
#include "backends/ort/layouts.h"
#include "backends/ort/optimize.h"
#include "backends/ort/optimized_models.h"
#include "backends/ort/recurrent_ops.h"
#include "backends/ort/target.h"
#include "backends/ort/weight_layouts.h"
#include "backends/ort/weight_store.h"
#include "onnx/export.h"

namespace dycl::backends::ort {
namespace {

constexpr std::size_t kMaxInlineBytes = 256;            // smaller tensors stay in the model
constexpr std::size_t kMaxInlineShapeBytes = 64 << 10;  // integers: sizes of a Split and the like are read at load

Result<std::vector<ir::Bytes>> bytes_of(const ir::Program& program, const std::vector<std::string>& names) {
  std::vector<ir::Bytes> bytes;
  for (const std::string& name : names) {
    const ir::Weight& weight = program.weights.at(name);
    if (!weight.bytes.data && weight.bytes.size == 0 && weight.type.shape) {
      std::size_t count = 1;
      for (const ir::Dim& dim : *weight.type.shape) count *= static_cast<std::size_t>(dim.value);
      if (count > 0)
        return Error{
            ErrorKind::Missing, "weight @" + name + " has no bytes", "give the program's weights file", {}, {}};
    }
    bytes.push_back(weight.bytes);
  }
  return bytes;
}

// Engines write results of nodes into given memory, but lose other results.
void make_outputs_by_nodes(onnx::Graph& graph) {
  std::set<std::string> made;
  for (const onnx::Node& node : graph.nodes) made.insert(node.outputs.begin(), node.outputs.end());
  for (onnx::ValueInfo& output : graph.outputs) {
    if (made.count(output.name)) continue;
    const std::string source = output.name + ".source";
    for (onnx::Tensor& t : graph.initializers)
      if (t.name == output.name) t.name = source;
    for (onnx::Node& node : graph.nodes)
      for (std::string& input : node.inputs)
        if (input == output.name) input = source;
    onnx::Node identity;
    identity.op_type = "Identity";
    identity.inputs = {source};
    identity.outputs = {output.name};
    graph.nodes.push_back(std::move(identity));
  }
}

// The first `outputs` and `inputs` channels of an [O,I,H,W] weight.
std::vector<float> cropped(const std::vector<float>& weight, const std::vector<std::int64_t>& dims,
                           std::int64_t outputs, std::int64_t inputs) {
  const std::int64_t area = dims[2] * dims[3], row = dims[1] * area;
  std::vector<float> out;
  out.reserve(static_cast<std::size_t>(outputs * inputs * area));
  for (std::int64_t o = 0; o < outputs; ++o)
    out.insert(out.end(), weight.begin() + o * row, weight.begin() + o * row + inputs * area);
  return out;
}

// How many channels a weight has at least: those after them hold nothing but (positive) zeros.
std::pair<std::int64_t, std::int64_t> used_channels(const std::vector<float>& weight,
                                                    const std::vector<std::int64_t>& dims) {
  const std::int64_t area = dims[2] * dims[3];
  std::int64_t outputs = 1, inputs = 1;
  for (std::int64_t o = 0; o < dims[0]; ++o)
    for (std::int64_t i = 0; i < dims[1]; ++i) {
      if (i < inputs && o < outputs) continue;
      const float* begin = weight.data() + (o * dims[1] + i) * area;
      if (std::all_of(begin, begin + area, [](float f) { return std::bit_cast<std::uint32_t>(f) == 0; })) continue;
      outputs = std::max(outputs, o + 1);
      inputs = std::max(inputs, i + 1);
    }
  return {outputs, inputs};
}

// A weight of the program whose blocked form, padding included, is `tensor`.
std::optional<std::string> find_unblocked(WeightLayout layout, const onnx::Tensor& tensor,
                                          const std::vector<float>& plain, const WeightStore& store) {
  const auto [outputs, inputs] = used_channels(plain, tensor.dims);
  for (std::int64_t o = outputs; o <= tensor.dims[0]; ++o)
    for (std::int64_t i = inputs; i <= tensor.dims[1]; ++i) {
      const std::vector<std::int64_t> dims = {o, i, tensor.dims[2], tensor.dims[3]};
      if (blocked_shape(layout, dims) != tensor.dims) continue;
      const std::vector<float> form = cropped(plain, tensor.dims, o, i);
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(form.data());
      if (auto name = store.find({{}, DType::F32, dims, {nullptr, bytes, form.size() * sizeof(float)}, {}}))
        return name;
    }
  return std::nullopt;
}

// A weight that the program has, and how it must be reordered to be `tensor`.
std::optional<std::pair<std::string, WeightLayout>> blocked_form_of_known(const onnx::Tensor& tensor,
                                                                          const WeightStore& store) {
  if (tensor.dtype != DType::F32) return std::nullopt;
  std::vector<float> plain(tensor.bytes.size / sizeof(float)), blocked(plain.size());
  std::memcpy(blocked.data(), tensor.bytes.data, tensor.bytes.size);
  for (const WeightLayout layout : kWeightLayouts) {
    if (!can_block(layout, tensor.dims)) continue;
    unblock_weight(layout, tensor.dims, blocked.data(), plain.data());
    if (auto name = find_unblocked(layout, tensor, plain, store)) return std::pair(*name, layout);
  }
  return std::nullopt;
}

std::string header_for(const std::vector<WeightLayout>& layouts) {
  if (std::all_of(layouts.begin(), layouts.end(), [](WeightLayout l) { return l == WeightLayout::Plain; })) return {};
  std::string header(kArtifactMagic, sizeof kArtifactMagic);
  const auto count = static_cast<std::uint32_t>(layouts.size());
  header.append(reinterpret_cast<const char*>(&count), sizeof count);
  for (const WeightLayout layout : layouts) header.push_back(static_cast<char>(layout));
  header.resize((header.size() + 15) / 16 * 16, '\0');
  return header;
}

// Moves the tensors of some size out of the model, to weights of the program.
Artifact to_artifact(onnx::Model model, WeightStore& store, std::string target) {
  std::vector<WeightLayout> layouts;
  Artifact artifact;
  artifact.backend = "ort";
  artifact.target = std::move(target);
  make_outputs_by_nodes(model.graph);
  model.graph.value_infos.clear();
  std::map<std::string, std::string> renamed;
  for (onnx::Tensor& tensor : model.graph.initializers) {
    const bool outside = tensor.bytes.size > (tensor.dtype == DType::I64 ? kMaxInlineShapeBytes : kMaxInlineBytes);
    const std::string name = (outside ? "w" + std::to_string(artifact.weights.size()) : "inline." + tensor.name);
    renamed[tensor.name] = name;
    if (outside) {
      const bool known = store.find(tensor).has_value();
      const auto reordered = known ? std::nullopt : blocked_form_of_known(tensor, store);
      artifact.weights.push_back(reordered ? reordered->first : store.intern(tensor));
      layouts.push_back(reordered ? reordered->second : WeightLayout::Plain);
      tensor.external = onnx::ExternalData{"null", 0, static_cast<std::int64_t>(tensor.bytes.size)};
    }
    tensor.name = name;
  }
  for (onnx::Node& node : model.graph.nodes)
    for (std::string& input : node.inputs)
      if (const auto it = renamed.find(input); it != renamed.end()) input = it->second;
  const std::string bytes = header_for(layouts) + onnx::write_model(model);
  artifact.bytes.assign(bytes.begin(), bytes.end());
  return artifact;
}

// One sub-DNN on its way.
struct Unit {
  std::size_t index = 0;  // in Program::functions
  const ir::Function* function = nullptr;
  onnx::Model model;  // as exported, not optimised
  std::vector<ir::Bytes> weights;
  PortFlags blocked;  // the ports that cross in blocked layout

  // What was made while layouts were tried, of use if they are what was agreed on.
  PortFlags tried;
  std::optional<Artifact> tried_artifact;
};

class Compilation {
 public:
  Compilation(ir::Program& program, const BackendOptions& options, const Optimizer& optimizer)
      : program_(program), options_(options), optimizer_(optimizer), store_(program) {
    if (!options.portable) return;
    for (const SubDnnArtifacts& sub_dnn : *options.portable)
      for (const Artifact& artifact : sub_dnn.artifacts)
        if (artifact.target == kPortableTarget && artifact.backend == "ort")
          given_.emplace(sub_dnn.function, &artifact);
  }

  Result<std::vector<SubDnnArtifacts>> run();

 private:
  Result<void> export_all();
  Result<Unit> unit_of(std::size_t index) const;
  const Artifact* given_portable(const ir::Function& function) const;
  bool has_bytes(const std::vector<std::string>& weights) const;
  Result<Artifact> portable(const Unit& unit);
  Result<void> agree_on_layouts(const Target& target);
  Result<std::optional<Artifact>> for_this_cpu(const Unit& unit, const Target& target);
  std::optional<Artifact> small(const Unit& unit, const PortFlags& blocked, const Target& target) const;
  Result<Artifact> without_anchors(onnx::Model model, const PortFlags& blocked, const Target& target);
  Result<onnx::Model> optimize(const Unit& unit, const PortFlags& anchors, Level level) const;
  SourceSpan span_of_failure(const ir::Function& function) const;

  ir::Program& program_;
  const BackendOptions& options_;
  const Optimizer& optimizer_;
  WeightStore store_;
  std::map<std::string, const Artifact*> given_;  // portable ones that the caller has, by sub-DNN
  std::vector<Unit> units_;
};

// The portable artifact that the caller has already.
const Artifact* Compilation::given_portable(const ir::Function& function) const {
  const auto found = given_.find(function.name);
  return found == given_.end() ? nullptr : found->second;
}

// Whether `node` names no activations but the ones that an op without any has.
bool has_usual_activations(const onnx::Node& node) {
  const onnx::Attribute* named = node.attribute("activations");
  if (!named) return !node.attribute("activation_alpha") && !node.attribute("activation_beta");
  const std::vector<std::string> usual = node.op_type == "LSTM" ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
                                                                : std::vector<std::string>{"Sigmoid", "Tanh"};
  for (std::size_t i = 0; i < named->strings.size(); ++i)
    if (named->strings[i] != usual[i % usual.size()]) return false;
  return named->strings.size() % usual.size() == 0;
}

// Whether backends/kernels/recurrent.h computes all that the node says.
bool can_mend(const onnx::Node& node) {
  const onnx::Attribute* layout = node.attribute("layout");
  return node.domain.empty() && (node.op_type == "LSTM" || node.op_type == "GRU") && has_usual_activations(node) &&
         !node.attribute("clip") && !(layout && layout->i != 0);
}

// The node that computes `node` anew where the engine would make a number of a NaN; `node`'s results are renamed.
onnx::Node mend_of(onnx::Node& node) {
  constexpr std::size_t kInputs = 8, kOutputs = 3;  // x w r b lengths h0 c0 p -> y h c
  const auto integer = [&](const char* name) {
    const onnx::Attribute* attribute = node.attribute(name);
    return attribute ? attribute->i : 0;
  };
  onnx::Node mend;
  mend.name = node.name + "_mend";
  mend.domain = kMendDomain, mend.op_type = "Recurrent";
  std::vector<std::string> inputs = node.inputs;
  inputs.resize(kInputs), node.outputs.resize(kOutputs);
  mend.outputs = node.outputs;
  for (std::string& output : node.outputs) {
    if (!output.empty()) output += "_engine";
    mend.inputs.push_back(output);
  }
  mend.inputs.insert(mend.inputs.end(), inputs.begin(), inputs.end());
  const onnx::Attribute* direction = node.attribute("direction");
  const std::string way = direction ? direction->s : "forward";
  const std::int64_t cell = node.op_type == "LSTM" ? 0 : integer("linear_before_reset") != 0 ? 1 : 2;
  mend.attributes.push_back(onnx::int_attribute("cell", cell));
  mend.attributes.push_back(onnx::int_attribute("direction", way == "forward" ? 0 : way == "reverse" ? 1 : 2));
  if (integer("input_forget") != 0) mend.attributes.push_back(onnx::int_attribute("coupled", 1));
  for (auto* names : {&node.inputs, &node.outputs, &mend.inputs, &mend.outputs})
    while (!names->empty() && names->back().empty()) names->pop_back();
  return mend;
}

// Whether the value may have no elements in its first two dims.
bool may_be_empty(const onnx::Graph& graph, const std::string& value) {
  for (const auto* infos : {&graph.inputs, &graph.value_infos})
    for (const onnx::ValueInfo& info : *infos)
      if (info.name == value && info.shape && info.shape->size() == 3)
        return (*info.shape)[0].value <= 0 || (*info.shape)[1].value <= 0;
  return true;
}

// Operands without elements are filled before a layer of the engine, which ends the process for some that have no steps
// or no sequences; the mend behind it has the layer's own operands.
void fill_operands(const onnx::Graph& graph, onnx::Node& node, std::vector<onnx::Node>& nodes) {
  if (!may_be_empty(graph, node.inputs[0])) return;
  for (const std::size_t i : {0, 4, 5, 6}) {  // x, lengths, h0, c0
    if (i >= node.inputs.size() || node.inputs[i].empty()) continue;
    const auto is_it = [&](const onnx::Tensor& t) { return t.name == node.inputs[i]; };
    if (std::any_of(graph.initializers.begin(), graph.initializers.end(), is_it)) continue;
    onnx::Node fill;
    fill.domain = kMendDomain, fill.op_type = "Filled";
    fill.name = node.name + "_filled" + std::to_string(i);
    fill.inputs = {node.inputs[i]}, fill.outputs = {fill.name};
    node.inputs[i] = fill.name;
    nodes.push_back(std::move(fill));
  }
}

// The engine ends the process for volumes without extent: an error before.
void check_volumes(const onnx::Graph& graph, onnx::Node& node, std::vector<onnx::Node>& nodes) {
  if (!node.domain.empty() || node.op_type != "ConvTranspose" || node.inputs.size() < 2) return;
  const auto is_of_volumes = [&](const onnx::Tensor& t) {
    return t.name == node.inputs[1] && t.dims.size() == 5 && (t.dtype == DType::F32 || t.dtype == DType::F16);
  };
  if (std::none_of(graph.initializers.begin(), graph.initializers.end(), is_of_volumes)) return;
  for (const auto* infos : {&graph.inputs, &graph.value_infos})
    for (const onnx::ValueInfo& info : *infos)
      if (info.name == node.inputs[0] && info.shape && info.shape->size() == 5 &&
          std::all_of(info.shape->begin() + 2, info.shape->end(), [](const onnx::Dimension& d) { return d.value > 0; }))
        return;
  onnx::Node check;
  check.domain = kMendDomain, check.op_type = "Filled";
  check.name = node.name + "_checked";
  check.inputs = {node.inputs[0]}, check.outputs = {check.name};
  check.attributes.push_back(onnx::int_attribute("only_whole", 1));
  node.inputs[0] = check.name;
  nodes.push_back(std::move(check));
}

// After each LSTM and GRU, its mend.
void mend_recurrent(onnx::Model& model) {
  std::vector<onnx::Node> nodes;
  for (onnx::Node& node : model.graph.nodes) {
    std::optional<onnx::Node> mend;
    if (can_mend(node)) mend = mend_of(node);
    if (mend) fill_operands(model.graph, node, nodes);
    check_volumes(model.graph, node, nodes);
    nodes.push_back(std::move(node));
    if (mend) nodes.push_back(std::move(*mend));
  }
  if (std::any_of(nodes.begin(), nodes.end(), [](const onnx::Node& node) { return node.domain == kMendDomain; }))
    model.opsets.emplace(kMendDomain, 1);
  model.graph.nodes = std::move(nodes);
}

// From the function's ops; or from the model of a portable artifact, as optimised as it is.
Result<Unit> Compilation::unit_of(std::size_t index) const {
  const ir::Function& function = program_.functions[index];
  const Artifact* given = given_portable(function);
  const auto begins_with = [&](const char(&magic)[8]) {
    return given->bytes.size() >= sizeof magic && std::memcmp(given->bytes.data(), magic, sizeof magic) == 0;
  };
  if (!given || begins_with(small::kMagic)) {
    DYCL_ASSIGN(onnx::ExportedModel exported, onnx::export_sub_dnn(program_, function, "w%"));
    DYCL_ASSIGN(std::vector<ir::Bytes> weights, bytes_of(program_, exported.weights));
    mend_recurrent(exported.model);
    const PortFlags none = PortFlags::none(exported.model.graph);
    return Unit{index, &function, std::move(exported.model), std::move(weights), none, none, {}};
  }
  DYCL_CHECK(!begins_with(kArtifactMagic), "a portable artifact with reordered weights");
  DYCL_ASSIGN(onnx::Model model, onnx::read_model(ir::Bytes::copy_of(given->bytes.data(), given->bytes.size())));
  DYCL_ASSIGN(std::vector<ir::Bytes> weights, bytes_of(program_, given->weights));
  for (onnx::Tensor& tensor : model.graph.initializers)
    if (tensor.external) tensor.external->location = tensor.name;  // the file that Optimizer writes for it
  const PortFlags none = PortFlags::none(model.graph);
  return Unit{index, &function, std::move(model), std::move(weights), none, none, {}};
}

Result<void> Compilation::export_all() {
  for (std::size_t i = 0; i < program_.functions.size(); ++i) {
    if (program_.functions[i].kind != ir::FunctionKind::SubDnn || !options_.wants(program_.functions[i])) continue;
    DYCL_ASSIGN(Unit unit, unit_of(i));
    units_.push_back(std::move(unit));
  }
  return {};
}

Result<onnx::Model> Compilation::optimize(const Unit& unit, const PortFlags& anchors, Level level) const {
  onnx::Model model = unit.model;
  add_anchors(model.graph, anchors);
  const OptimizedModels known(options_.cache, optimizer_.engine().version, level, model, unit.weights);
  if (auto found = known.get()) return std::move(*found);
  if (options_.engine_calls) ++*options_.engine_calls;
  Result<onnx::Model> optimized = optimizer_.optimize(model, unit.weights, level);
  if (optimized) known.put(*optimized);
  if (optimized) return optimized;
  Error error = std::move(optimized).error();
  error.kind = ErrorKind::Unsupported;
  error.message = "sub-DNN @" + unit.function->name + ": " + error.message;
  error.span = span_of_failure(*unit.function);
  return error;
}

// Where the user wrote the first op that the engine refuses even alone.
SourceSpan Compilation::span_of_failure(const ir::Function& function) const {
  for (const ir::Op& op : function.blocks[0].body) {
    if (!op.is_tensor_op() || !op.span.known()) continue;
    ir::Function alone;
    alone.name = function.name;
    alone.kind = ir::FunctionKind::SubDnn;
    alone.values = function.values;
    alone.blocks.emplace_back();
    alone.blocks[0].body = {op};
    std::set<ir::ValueId> seen;
    for (const ir::ValueId v : op.operands)
      if (v.present() && seen.insert(v).second) alone.params.push_back({v, {}});
    for (const ir::ValueId v : op.results)
      if (v.present()) alone.results.push_back({function.type_of(v), {}, {}});
    alone.blocks[0].exit = ir::Return{op.results};
    const auto exported = onnx::export_sub_dnn(program_, alone, "w%");
    if (!exported || !optimizer_.optimize(exported->model, {}, Level::Extended)) return op.span;
  }
  return function.span;
}

void set_layouts(Artifact& artifact, const PortFlags& blocked, const Target& target) {
  if (!blocked.any()) return;
  const std::string tag = "nchwc" + std::to_string(target.block);
  for (const bool is_blocked : blocked.inputs) artifact.input_layouts.push_back(is_blocked ? tag : "");
  for (const bool is_blocked : blocked.outputs) artifact.output_layouts.push_back(is_blocked ? tag : "");
}

// The sub-DNN as a small program, if it is one. Portable if nothing is blocked.
std::optional<Artifact> Compilation::small(const Unit& unit, const PortFlags& blocked, const Target& target) const {
  if (!options_.small_programs || std::count(blocked.outputs.begin(), blocked.outputs.end(), true) > 0)
    return std::nullopt;
  auto lowered = small::lower(program_, *unit.function, blocked.inputs, target.block);
  if (!lowered || !has_bytes(lowered->weights)) return std::nullopt;
  Artifact artifact;
  artifact.backend = "ort";
  artifact.target = blocked.any() ? to_string(target) : kPortableTarget;
  artifact.bytes = std::move(lowered->bytes);
  artifact.weights = std::move(lowered->weights);
  set_layouts(artifact, blocked, target);
  return artifact;
}

bool Compilation::has_bytes(const std::vector<std::string>& weights) const { return bytes_of(program_, weights).ok(); }

Result<Artifact> Compilation::portable(const Unit& unit) {
  if (const Artifact* given = given_portable(*unit.function)) return *given;
  const PortFlags plain = PortFlags::none(unit.model.graph);
  if (auto artifact = small(unit, plain, {})) return std::move(*artifact);
  DYCL_ASSIGN(onnx::Model model, optimize(unit, plain, Level::Extended));
  return to_artifact(std::move(model), store_, kPortableTarget);
}

// Asks the optimiser what it would make of each port in blocked form, and gives a
// class of ports that form where it saves more conversions than it costs.
Result<void> Compilation::agree_on_layouts(const Target& target) {
  std::vector<LayoutClass> classes = blockable_classes(program_, target.block);
  std::map<std::size_t, Unit*> by_function;
  for (Unit& unit : units_) by_function[unit.index] = &unit;
  std::erase_if(classes, [&](const LayoutClass& ports) {  // another back end's sub-DNN takes plain tensors
    return std::any_of(ports.begin(), ports.end(), [&](const Port& port) { return !by_function.count(port.function); });
  });
  auto flag = [](PortFlags& flags, const Port& port) {
    return port.is_result ? flags.outputs[port.index] : flags.inputs[port.index];
  };
  std::map<std::size_t, PortFlags> candidates;
  for (const LayoutClass& ports : classes)
    for (const Port& port : ports) {
      const auto [it, is_new] = candidates.try_emplace(port.function);
      if (is_new) it->second = PortFlags::none(by_function.at(port.function)->model.graph);
      flag(it->second, port) = true;
    }
  std::map<std::size_t, AnchorReport> reports;
  for (const auto& [function, anchors] : candidates) {
    Unit& unit = *by_function.at(function);
    unit.tried_artifact = small(unit, anchors, target);
    if (unit.tried_artifact) {
      unit.tried = anchors;
      reports[function] = {anchors, anchors};
      continue;
    }
    DYCL_ASSIGN(onnx::Model model, optimize(unit, anchors, Level::All));
    reports[function] = inspect_anchors(model.graph, anchors);
    if (reports[function].blocked != anchors) continue;
    DYCL_ASSIGN(unit.tried_artifact, without_anchors(std::move(model), anchors, target));
    unit.tried = anchors;
  }
  for (const LayoutClass& ports : classes) {
    bool possible = true;
    int gain = 0;
    for (const Port& port : ports) {
      possible = possible && flag(reports.at(port.function).blocked, port);
      gain += flag(reports.at(port.function).natural, port) ? 1 : -1;
    }
    if (!possible || gain <= 0) continue;
    for (const Port& port : ports) flag(by_function.at(port.function)->blocked, port) = true;
  }
  return {};
}

Result<Artifact> Compilation::without_anchors(onnx::Model model, const PortFlags& blocked, const Target& target) {
  DYCL_TRY(remove_anchors(model.graph, blocked));
  Artifact artifact = to_artifact(std::move(model), store_, to_string(target));
  set_layouts(artifact, blocked, target);
  return artifact;
}

// Nothing if the CPU makes no difference to this sub-DNN.
Result<std::optional<Artifact>> Compilation::for_this_cpu(const Unit& unit, const Target& target) {
  if (unit.tried_artifact && unit.tried == unit.blocked) return unit.tried_artifact;
  if (auto artifact = small(unit, unit.blocked, target)) {
    if (!unit.blocked.any()) artifact.reset();  // the portable one is the same
    return artifact;
  }
  if (!unit.blocked.any() && !has_seeds(unit.model.graph)) return std::optional<Artifact>();
  DYCL_ASSIGN(onnx::Model model, optimize(unit, unit.blocked, Level::All));
  if (!unit.blocked.any() && !has_blocked_ops(model.graph)) return std::optional<Artifact>();
  DYCL_ASSIGN(Artifact artifact, without_anchors(std::move(model), unit.blocked, target));
  return std::optional(std::move(artifact));
}

Result<std::vector<SubDnnArtifacts>> Compilation::run() {
  DYCL_TRY(export_all());
  const Target target = this_target(optimizer_.engine().version);
  std::vector<SubDnnArtifacts> all;
  for (const Unit& unit : units_) {
    DYCL_ASSIGN(Artifact plain, portable(unit));
    all.push_back({unit.function->name, {std::move(plain)}});
  }
  if (options_.portable_only) return all;
  // After the portable forms, whose weights these share.
  if (options_.layouts) DYCL_TRY(agree_on_layouts(target));
  for (std::size_t i = 0; i < units_.size(); ++i) {
    DYCL_ASSIGN(auto specific, for_this_cpu(units_[i], target));
    if (specific) all[i].artifacts.insert(all[i].artifacts.begin(), std::move(*specific));
  }
  return all;
}

class OrtBackend final : public Backend {
 public:
  std::string_view name() const override { return "ort"; }

  std::vector<LayoutClass> layout_classes(const ir::Program& outlined) const override {
    return blockable_classes(outlined, this_target("").block);
  }

  std::vector<Refusal> refuse(const ir::Program&, const ir::Function&) const override { return {}; }

  Result<std::string> engine() const override {
    DYCL_ASSIGN(const Library* opened, library());
    return to_string(this_target(opened->version));
  }

  Result<std::vector<SubDnnArtifacts>> compile_program(ir::Program& program,
                                                       const BackendOptions& options) const override {
    DYCL_ASSIGN(const Optimizer optimizer, Optimizer::create());
    auto made = Compilation(program, options, optimizer).run();
    if (options.engine_seconds) *options.engine_seconds += optimizer.seconds_in_engine();
    return made;
  }
};

}  // namespace

std::unique_ptr<Backend> make_backend() { return std::make_unique<OrtBackend>(); }

}  // namespace dycl::backends::ort
