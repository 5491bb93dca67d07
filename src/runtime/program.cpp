// SPDX-License-Identifier: Apache-2.0
// Loading: map, check, choose artifacts, start engines, make sessions.
#include <algorithm>
#include <cstring>
#include <set>
#include <unordered_map>
#include <utility>

#include "runtime/code_view.h"
#include "runtime/loaded_program.h"
#include "runtime/package_file.h"
#include "support/threads.h"

namespace dycl::runtime {
namespace {

using Parts = Program::Parts;

ByteSpan bytes_in(const Section& section, std::uint64_t offset, std::uint64_t size) {
  return section.bytes.subspan(offset, size);
}

const Section* required(const Container& container, std::string_view name) { return container.find(name); }

Result<void> read_sections(Parts& p) {
  const Section* weights = required(p.container, section::kWeights);
  const Section* artifacts = required(p.container, section::kArtifacts);
  if (!weights) return damaged(section::kWeights, "it is missing");
  if (!artifacts) return damaged(section::kArtifacts, "it is missing");

  DYCL_ASSIGN(const ByteSpan index, p.container.checked(section::kWeightIndex));
  DYCL_ASSIGN(p.weight_index, read_weight_index(index));
  DYCL_TRY(check_weight_index(p.weight_index, weights->bytes.size()));

  DYCL_ASSIGN(const ByteSpan plan, p.container.checked(section::kPlan));
  DYCL_ASSIGN(p.plan, read_plan(plan));
  DYCL_TRY(check_plan(p.plan, p.weight_index, artifacts->bytes.size()));

  DYCL_ASSIGN(const ByteSpan metadata, p.container.checked(section::kMetadata));
  p.metadata.assign(metadata.begin(), metadata.end());
  if (p.container.find(section::kDebug)) {
    DYCL_ASSIGN(const ByteSpan debug, p.container.checked(section::kDebug));
    DYCL_ASSIGN(p.debug, read_debug_info(debug));
    p.has_debug = true;
  }
  // All of these were copied; only artifacts and weights are read in place.
  for (const auto name : {section::kWeightIndex, section::kPlan, section::kMetadata, section::kDebug})
    p.container.forget(name);
  return {};
}

Result<void> verify_everything(const Parts& p) {
  const Section& weights = *p.container.find(section::kWeights);
  for (const PlanWeight& w : p.weight_index) {
    if (checksum_of(bytes_in(weights, w.offset, w.size)) != w.checksum) {
      return damaged(section::kWeights, "the checksum of weight " + w.name + " is wrong");
    }
  }
  for (const Section& s : p.container.sections()) DYCL_TRY(p.container.checked(s.name));
  return {};
}

void index_registers(Parts& p) {
  std::vector<bool> constant(p.plan.registers.size(), false);
  for (const PlanConstant& c : p.plan.constants) constant[c.reg] = true;
  for (std::uint32_t r = 0; r < p.plan.registers.size(); ++r) {
    const PlanType& t = p.plan.type_of(r);
    const SlotKind slot = p.slot_of(p.plan.registers[r]);
    p.kind_of_register.push_back(t.kind);
    p.slot_of_register.push_back(slot);
    p.elements_of_register.push_back(slot == SlotKind::List ? p.slot_of(t.element) : SlotKind::Scalar);
    if (slot != SlotKind::Scalar && !constant[r]) p.handles.push_back(r);
  }
}

void copy_literals(Parts& p) {
  for (const PlanConstant& c : p.plan.constants) {
    // One cache line more than needed, so that the first aligned byte has room for all.
    std::vector<std::uint64_t> words((c.literal.size() + 7) / 8 + kAlignment / 8, 0);
    auto* start = reinterpret_cast<std::uint8_t*>(words.data());
    start += (kAlignment - reinterpret_cast<std::uintptr_t>(start) % kAlignment) % kAlignment;
    std::copy(c.literal.begin(), c.literal.end(), start);
    p.literals.push_back(std::move(words));
  }
}

std::vector<std::int64_t> cases_of(const Instruction& choice) {
  std::vector<std::int64_t> cases(choice.words[3]);
  for (std::size_t i = 0; i < cases.size(); ++i)
    cases[i] = static_cast<std::int64_t>(std::uint64_t{choice.words[5 + 2 * i]} << 32 | choice.words[4 + 2 * i]);
  return cases;
}

// What only the instructions say: who is called where, and what selects the arms of a switch.
void read_code(Parts& p) {
  for (std::size_t pc = 0; pc < p.plan.code.size();) {
    const Instruction in = std::move(decode(p.plan, pc)).value();
    if (in.opcode() == Opcode::Call) {
      ++p.infos[in.callee].call_sites;
      const std::size_t site = p.call_sites.size();
      p.call_sites.push_back({in.callee, site < p.debug.call_blocks.size() ? p.debug.call_blocks[site] : std::string(),
                              p.debug.span_of(static_cast<std::uint32_t>(pc))});
      p.call_positions.push_back(static_cast<std::uint32_t>(pc));
    }
    if (in.opcode() == Opcode::Switch) p.decisions[in.decision].cases = cases_of(in);
    if (in.opcode() == Opcode::Call || in.opcode() == Opcode::HostCall) {
      p.max_inputs = std::max(p.max_inputs, in.reads.size());
      p.max_outputs = std::max(p.max_outputs, in.writes.size());
    }
    pc += in.words.size();
  }
}

void describe_interface(Parts& p) {
  for (const PlanInput& in : p.plan.inputs) {
    p.argument_of_input.push_back(static_cast<std::uint32_t>(p.inputs.size()));
    if (in.state < 0) p.inputs.push_back({in.name, public_type(p.plan, p.plan.registers[in.reg])});
  }
  for (const PlanOutput& out : p.plan.outputs) {
    if (out.state < 0) p.outputs.push_back({out.name, public_type(p.plan, out.type)});
  }
  for (const PlanState& s : p.plan.states) {
    p.state_of_name.emplace(s.name, p.states.size());
    p.states.push_back({s.name, public_type(p.plan, s.type)});
  }
  for (const PlanSymbol& s : p.plan.symbols) p.symbols.push_back({s.name, s.min, s.max});
  for (std::size_t i = 0; i < p.plan.decisions.size(); ++i) {
    Decision d;
    d.arms = p.plan.decisions[i];
    if (i < p.debug.decision_blocks.size()) d.block = p.debug.decision_blocks[i];
    if (i < p.debug.decision_spans.size()) d.span = p.debug.decision_spans[i];
    if (i < p.debug.decision_origins.size()) d.origin = p.debug.decision_origins[i];
    p.decisions.push_back(std::move(d));
  }
  const Section& weights = *p.container.find(section::kWeights);
  for (const PlanWeight& w : p.weight_index) {
    p.weights.push_back({w.name, w.dtype, w.shape, bytes_in(weights, w.offset, w.size)});
  }
}

Result<void> find_host_functions(Parts& p) {
  for (const std::string& name : p.plan.host_functions) {
    const auto it = p.options.host_functions.find(name);
    if (it == p.options.host_functions.end() || !it->second) {
      return Error{ErrorKind::Missing,
                   "the program calls host function " + name + ", which is not registered",
                   "pass it in LoadOptions::host_functions",
                   {},
                   {}};
    }
    p.host_functions.push_back(&it->second);
  }
  return {};
}

// A program of several engines has targets that join a key of each, "a-1/x & b-2/y": the one
// that begins with the back end's name.
std::string key_of(const std::string& target, const std::string& backend) {
  constexpr std::string_view kAnd = " & ";
  for (std::size_t begin = 0; begin <= target.size();) {
    const std::size_t end = std::min(target.find(kAnd, begin), target.size());
    if (target.compare(begin, backend.size() + 1, backend + "-") == 0) return target.substr(begin, end - begin);
    begin = end + kAnd.size();
  }
  return target;
}

constexpr const char* kNeedsConsent = ", and native code is not allowed";
constexpr const char* kHowToConsent =
    "if you trust who made the package, allow it: allow_native_code, or --allow-native-code";

// What an artifact holds that needs consent which the caller does not give; empty if nothing.
std::string lacks_consent(const Parts& p, const dycl_plugin* plugin, const std::string& target) {
  const char* what = p.options.allow_native_code ? nullptr : reason_for_consent(plugin, target);
  return what ? std::string(" holds ") + what + kNeedsConsent : std::string();
}

using Backends = std::set<std::string_view>;

// By target: the back ends that made its artifacts.
std::unordered_map<std::string_view, Backends> backends_of_targets(const Plan& plan) {
  std::unordered_map<std::string_view, Backends> found;
  for (const PlanSubDnn& function : plan.sub_dnns)
    for (const PlanArtifact& a : function.artifacts) found[a.target].insert(a.backend);
  return found;
}

// Why a target cannot be used here; empty if it can.
std::string obstacle(Parts& p, const std::string& target, const Backends& backends) {
  for (const std::string_view name : backends) {
    const std::string backend(name);
    auto engine = p.engines.get(backend, p.options);
    if (!engine) return engine.error().message;
    const dycl_plugin* plugin = p.engines.plugin_of(backend);
    if (const std::string what = lacks_consent(p, plugin, target); !what.empty()) return "it" + what;
    if (!plugin->accepts_target(*engine, key_of(target, backend).c_str())) return plugin->last_error();
  }
  return {};
}

// What obstacles there were, for a notice or an error that people read: the first few.
class Reasons {
 public:
  void add(const std::string& target, const std::string& why) {
    constexpr int kShown = 8;
    if (++count_ <= kShown) text_ += (text_.empty() ? "" : "; ") + target + ": " + why;
    if (count_ == kShown + 1) text_ += "; and more";
    lack_of_consent_ |= why.find(kNeedsConsent) != std::string::npos;
  }
  bool lack_of_consent() const { return lack_of_consent_; }
  const std::string& text() const { return text_; }

 private:
  int count_ = 0;
  bool lack_of_consent_ = false;
  std::string text_;
};

// Two engines have two pools of threads: where the caller did not say, neither may spin on
// a core that the other needs.
void settle_spinning(Parts& p) {
  std::set<std::string> backends;
  for (const PlanSubDnn& function : p.plan.sub_dnns)
    for (const PlanArtifact& a : function.artifacts) backends.insert(a.backend);
  if (backends.size() > 1 && p.options.spinning < 0) p.options.spinning = 0;
}

Result<void> choose_target(Parts& p) {
  const auto targets = targets_of(p.plan);
  const auto backends = backends_of_targets(p.plan);
  Reasons reasons;
  for (const std::string& target : targets) {
    if (p.options.portable_only) break;
    const std::string why = obstacle(p, target, backends.at(target));
    if (why.empty()) {
      p.target = target;
      break;
    }
    reasons.add(target, why);
  }
  if (p.target == "portable" && !reasons.text().empty()) {
    // An engine that is missing altogether is told once, as the error.
    for (const PlanSubDnn& function : p.plan.sub_dnns)
      if (const PlanArtifact* a = artifact_for(function, p.target)) DYCL_TRY(p.engines.get(a->backend, p.options));
    notify(p.options,
           "running the portable form (slower); artifacts made for another machine or engine are left alone (" +
               reasons.text() + ")");
  }
  for (const PlanSubDnn& function : p.plan.sub_dnns) {
    if (!artifact_for(function, p.target)) {
      return Error{
          ErrorKind::Unsupported,
          "sub-DNN " + function.name + " has no artifact for this machine and no portable one" +
              (reasons.text().empty() ? "" : " (" + reasons.text() + ")"),
          reasons.lack_of_consent() ? kHowToConsent : "compile the model again for this machine",
          {},
          {}};
    }
  }
  return check_layouts(p.plan, p.target);
}

void describe_ports(const Plan& plan, const std::vector<std::uint32_t>& types, const std::vector<std::string>& layouts,
                    std::vector<LoadedPort>& ports, std::vector<dycl_plugin_port>& views) {
  for (std::uint32_t type : types) {
    const PlanType& t = plan.types[type];
    LoadedPort port;
    port.type = type;
    port.preallocated = t.static_shape || t.computable_shape;
    for (const PlanDim& d : t.dims) port.shape.push_back(d.value);
    ports.push_back(std::move(port));
  }
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const PlanType& t = plan.types[ports[i].type];
    views.push_back({layouts.empty() ? "" : layouts[i].c_str(), t.rank_known ? ports[i].shape.data() : nullptr,
                     t.rank_known ? static_cast<std::int32_t>(t.dims.size()) : -1, static_cast<std::int32_t>(t.dtype)});
  }
}

Result<void> load_sub_dnn(Parts& p, const PlanSubDnn& function, const PlanArtifact& a, LoadedSubDnn& out) {
  DYCL_ASSIGN(dycl_engine * engine, p.engines.get(a.backend, p.options));
  out.plugin = p.engines.plugin_of(a.backend);
  if (const std::string what = lacks_consent(p, out.plugin, a.target); !what.empty())
    return Error{ErrorKind::Unsupported, "sub-DNN " + function.name + what, kHowToConsent, {}, {}};
  out.interrupt = interrupt_of(out.plugin);
  p.interruptible |= out.interrupt != nullptr;
  const ByteSpan bytes = bytes_in(*p.container.find(section::kArtifacts), a.offset, a.size);
  if (checksum_of(bytes) != a.checksum) {
    return damaged(section::kArtifacts, "the checksum of the artifact of " + function.name + " is wrong");
  }
  describe_ports(p.plan, function.inputs, a.input_layouts, out.inputs, out.input_ports);
  describe_ports(p.plan, function.outputs, a.output_layouts, out.outputs, out.output_ports);
  for (std::uint32_t index : a.weights) {
    const WeightInfo& w = p.weights[index];
    out.weights.push_back({w.name.c_str(), w.bytes.data(), w.shape.data(), w.bytes.size(),
                           static_cast<std::int32_t>(w.shape.size()), static_cast<std::int32_t>(w.dtype)});
  }
  const dycl_plugin_artifact artifact = {sizeof(dycl_plugin_artifact),
                                         static_cast<std::uint32_t>(out.weights.size()),
                                         function.name.c_str(),
                                         a.target.c_str(),
                                         bytes.data(),
                                         bytes.size(),
                                         out.weights.data(),
                                         out.input_ports.data(),
                                         out.output_ports.data(),
                                         static_cast<std::uint32_t>(out.inputs.size()),
                                         static_cast<std::uint32_t>(out.outputs.size())};
  dycl_session* session = nullptr;
  const auto status = out.plugin->load(engine, &artifact, &session);
  if (status != DYCL_PLUGIN_OK || !session)
    return plugin_error(out.plugin, status, "cannot load sub-DNN " + function.name);
  out.session = SessionPtr(session, {out.plugin});
  return {};
}

Result<void> load_sub_dnns(Parts& p) {
  p.sub_dnns.resize(p.plan.sub_dnns.size());
  for (std::size_t i = 0; i < p.plan.sub_dnns.size(); ++i) {
    const PlanSubDnn& function = p.plan.sub_dnns[i];
    const PlanArtifact& a = *artifact_for(function, p.target);
    const bool named = i < p.debug.sub_dnn_names.size();
    p.infos.push_back(
        {function.name, a.backend, a.target, a.size, 0, named ? p.debug.sub_dnn_names[i] : function.name});
    DYCL_TRY(load_sub_dnn(p, function, a, p.sub_dnns[i]));
  }
  return {};
}

// `package`: a path, or the bytes.
template <typename Package>
Result<Container> open_container(LoadOptions& options, const Package& package) {
  // Who gave the key may hold secrets in the function: it is not kept with the program.
  const PackageKeys keys = {options.require_signature, std::exchange(options.decryption_key, nullptr)};
  DYCL_ASSIGN(MappedFile file, open_package_file(package, keys));
  // A signature by a trusted key is consent to machine code, too. A key to decrypt is not: others have it as well.
  options.allow_native_code |= keys.signers.has_value();
  return Container::of(std::move(file));
}

Result<void> prepare(Parts& p) {
  DYCL_TRY(read_sections(p));
  if (p.options.verify_weights) DYCL_TRY(verify_everything(p));
  index_registers(p);
  copy_literals(p);
  p.bindings = symbol_bindings(p.plan);
  describe_interface(p);
  DYCL_TRY(find_host_functions(p));
  settle_spinning(p);
  DYCL_TRY(choose_target(p));
  DYCL_TRY(load_sub_dnns(p));
  // Engines have made of models and weights what they need; what they still read in place comes back.
  for (const auto name : {section::kArtifacts, section::kWeights})
    if (const Section* s = p.container.find(name)) p.container.file().release_pages(s->stored);
  read_code(p);
  return {};
}

Error named(Error error, const std::string& package) {
  if (error.kind == ErrorKind::InvalidPackage) error.message = package + ": " + error.message;
  return error;
}

}  // namespace

SlotKind Program::Parts::slot_of(std::uint32_t type) const {
  const ValueKind kind = plan.types[type].kind;
  if (kind == ValueKind::Tensor) return SlotKind::Tensor;
  return is_scalar(kind) ? SlotKind::Scalar : SlotKind::List;
}

Type public_type(const Plan& plan, std::uint32_t type) {
  const PlanType& t = plan.types[type];
  Type out;
  out.kind = static_cast<Type::Kind>(t.kind);
  out.dtype = t.dtype;
  out.rank_known = t.rank_known;
  for (const PlanDim& d : t.dims) out.dims.push_back({d.value, d.code.empty() ? std::string() : d.text});
  if (t.kind == ValueKind::List || t.kind == ValueKind::Optional) out.element.push_back(public_type(plan, t.element));
  return out;
}

std::string Type::text() const {
  switch (kind) {
    case Kind::Bool: return "bool";
    case Kind::Int: return "int";
    case Kind::Float: return "float";
    case Kind::List: return "list<" + element.at(0).text() + ">";
    case Kind::Optional: return "optional<" + element.at(0).text() + ">";
    case Kind::Tensor: break;
  }
  std::string text = std::string(name_of(dtype)) + "[";
  if (!rank_known) return text + "*]";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ",";
    text += dims[i].value >= 0 ? std::to_string(dims[i].value) : dims[i].expr.empty() ? "?" : dims[i].expr;
  }
  return text + "]";
}

std::uint64_t Tensor::element_count() const {
  std::uint64_t count = 1;
  for (std::int64_t n : shape) count *= static_cast<std::uint64_t>(n);
  return count;
}

std::uint64_t Tensor::byte_size() const { return element_count() * size_of(dtype); }

Program::Program(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Program::~Program() = default;

Result<std::shared_ptr<const Program>> Program::load(const std::filesystem::path& path, LoadOptions options) {
  DYCL_TRY(check_threads(options.threads));
  const bool whole = options.require_signature || options.decryption_key;
  const bool decrypted = options.decryption_key != nullptr;
  auto container = open_container(options, path);
  if (!container) return whole ? named(std::move(container).error(), path.string()) : std::move(container).error();
  return of(std::move(options), std::move(*container), path.string(), decrypted);
}

Result<std::shared_ptr<const Program>> Program::load(std::span<const std::uint8_t> package, LoadOptions options) {
  DYCL_TRY(check_threads(options.threads));
  const bool decrypted = options.decryption_key != nullptr;
  DYCL_ASSIGN(Container container, open_container(options, package));
  return of(std::move(options), std::move(container), "the package in memory", decrypted);
}

Result<std::shared_ptr<const Program>> Program::of(LoadOptions options, Container container, const std::string& name,
                                                   bool decrypted) {
  auto parts = std::make_unique<Parts>(std::move(options), std::move(container));
  parts->decrypted = decrypted;
  if (auto done = prepare(*parts); !done) return named(std::move(done).error(), name);
  return std::shared_ptr<const Program>(new Program(std::move(parts)));
}

std::filesystem::path Program::file() const { return parts_->container.file().path(); }
bool Program::decrypted() const { return parts_->decrypted; }

const std::vector<Port>& Program::inputs() const { return parts_->inputs; }
const std::vector<Port>& Program::outputs() const { return parts_->outputs; }
const std::vector<Port>& Program::states() const { return parts_->states; }
const std::vector<Symbol>& Program::symbols() const { return parts_->symbols; }
const std::vector<Decision>& Program::decisions() const { return parts_->decisions; }
const std::vector<SubDnn>& Program::sub_dnns() const { return parts_->infos; }
const std::vector<CallSite>& Program::call_sites() const { return parts_->call_sites; }
const std::vector<WeightInfo>& Program::weights() const { return parts_->weights; }
const std::string& Program::target() const { return parts_->target; }
std::string_view Program::metadata() const { return parts_->metadata; }
std::string_view Program::ir_text() const { return parts_->debug.ir_text; }
std::string_view Program::hcfg_text() const { return parts_->debug.hcfg_text; }
const std::vector<std::string>& Program::sources() const { return parts_->debug.sources; }

std::string_view Program::source_line(std::uint32_t file, std::uint32_t line) const {
  const auto& lines = parts_->debug.lines;
  const auto it =
      std::lower_bound(lines.begin(), lines.end(), std::pair(file, line),
                       [](const PlanSourceLine& l, const auto& key) { return std::pair(l.file, l.line) < key; });
  return it != lines.end() && it->file == file && it->line == line ? std::string_view(it->text) : std::string_view();
}

std::string Program::describe(const Error& error) const {
  std::string text;
  if (error.span.known()) {
    const auto& names = sources();
    text += error.span.file < names.size() ? names[error.span.file] : "line";
    text += ":" + std::to_string(error.span.line) + ":" + std::to_string(error.span.column) + ": ";
  }
  text += error.type.empty() ? "error" : error.type;
  text += ": " + error.message;
  if (const auto line = source_line(error.span.file, error.span.line); error.span.known() && !line.empty()) {
    text += "\n  " + std::string(line);
  }
  if (!error.help.empty()) text += "\n  help: " + error.help;
  return text;
}

}  // namespace dycl::runtime
