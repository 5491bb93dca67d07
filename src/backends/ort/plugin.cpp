// SPDX-License-Identifier: Apache-2.0
// The run-time half of the ONNX Runtime back end, behind include/dycl/plugin.h.
//
// Models arrive already optimised and are loaded with optimisation off: nothing is
// recomputed, and a weight handed in by pointer is used in place by every session
// that names it (what kernels pack for themselves is shared through one container).
// All sessions share one environment, thread pool and arena. An OrtValue is made
// once per buffer and kept in the tensor's slot, so a call makes no wrapper and looks up no name
// of ours.
//
// A sub-DNN that does very little comes as a small program (backends/kernels/small/format.h) and is run
// here, without the engine.
//
// ONNX Runtime has one environment per process. The first engine decides its
// number of threads; a later one that asks for another number while the first
// lives is told so by a notice.
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "backends/kernels/small/run.h"
#include "backends/ort/dense_ops.h"
#include "backends/ort/library.h"
#include "backends/ort/linear_algebra_ops.h"
#include "backends/ort/model_check.h"
#include "backends/ort/plugin_ops.h"
#include "backends/ort/pooling_ops.h"
#include "backends/ort/recurrent_ops.h"
#include "backends/ort/selection_ops.h"
#include "backends/ort/target.h"
#include "backends/ort/weight_layouts.h"
#include "backends/plugin_entry.h"
#include "dycl/plugin.h"
#include "support/dtype.h"

namespace dense = dycl::backends::dense;
namespace ort = dycl::backends::ort;
namespace small = dycl::backends::small;
using dycl::Error;
using dycl::ErrorKind;
using dycl::Result;
using dycl::backends::accepts_only;
using dycl::backends::guarded;
using dycl::backends::refuse_options;
using ort::Handle;
using ort::WeightLayout;

namespace {

Error bad_artifact(const dycl_plugin_artifact& artifact, const std::string& what) {
  return {ErrorKind::InvalidPackage, "the artifact of @" + std::string(artifact.function) + ": " + what, {}, {}, {}};
}

// ---- the process's environment ---------------------------------------------------

std::mutex g_environment_mutex;
int g_environment_users = 0;
int g_environment_threads = 0;
const OrtApi* g_api = nullptr;  // set with the first engine; the library is never closed

}  // namespace

struct Free {
  void operator()(float* memory) const { std::free(memory); }
};

struct dycl_engine {
  const OrtApi* api = nullptr;
  std::string version;
  const dycl_plugin_host* host = nullptr;
  int threads = 1;
  int spinning = -1;
  Handle<OrtEnv> environment;
  Handle<OrtMemoryInfo> memory;
  Handle<OrtPrepackedWeightsContainer> packed;
  std::unique_ptr<ort::DenseOp> dense;
  std::unique_ptr<ort::CustomOps> torch_ops;
  std::unique_ptr<ort::CustomOps> linear_algebra;
  std::unique_ptr<ort::CustomOps> recurrent;
  std::unique_ptr<ort::CustomOps> pooling;
  int block = 0;  // channels of a block in blocked layouts
  std::unique_ptr<dense::HelperThreads> helpers;        // if there is more than one thread
  std::vector<std::unique_ptr<float, Free>> reordered;  // weights in blocked form
  std::set<const void*> blocked;                        // and which they were
  std::uint64_t reordered_bytes = 0, blocked_bytes = 0;
  std::map<std::pair<const void*, std::vector<std::int64_t>>, Handle<OrtValue>> weights;
};

// A sub-DNN that runs without ONNX Runtime.
struct SmallSession {
  small::SmallProgram program;
  small::Sizes sizes;
  std::vector<const void*> weights;
  const dycl_plugin_port* outputs = nullptr;  // of the artifact
};

struct dycl_session {
  dycl_engine* engine = nullptr;
  std::string function;
  std::optional<SmallSession> small;  // if there, the rest is empty
  Handle<OrtSession> session;
  std::vector<std::string> names;  // inputs, then outputs
  std::vector<const char*> input_names, output_names;
};

struct dycl_context {
  std::vector<std::max_align_t> scratch;  // of a small program
  std::atomic<bool> interrupted{false};   // the same
  std::vector<const void*> small_inputs;
  std::vector<void*> small_outputs;
  Handle<OrtRunOptions> options;
  std::vector<const OrtValue*> inputs;
  std::vector<OrtValue*> outputs;
};

namespace {

Result<void> check(const dycl_engine& engine, OrtStatus* status, const char* what) {
  return ort::check(*engine.api, status, what);
}

// ---- engine ----------------------------------------------------------------------

Result<void> make_environment(dycl_engine& engine) {
  const OrtApi& api = *engine.api;
  OrtThreadingOptions* raw = nullptr;
  DYCL_TRY(check(engine, api.CreateThreadingOptions(&raw), "threading options"));
  const auto threading = ort::own(raw, api.ReleaseThreadingOptions);
  DYCL_TRY(check(engine, api.SetGlobalIntraOpNumThreads(raw, engine.threads), "threads"));
  DYCL_TRY(check(engine, api.SetGlobalInterOpNumThreads(raw, 1), "threads"));
  if (engine.spinning >= 0) DYCL_TRY(check(engine, api.SetGlobalSpinControl(raw, engine.spinning), "spinning"));
  OrtEnv* environment = nullptr;
  DYCL_TRY(check(engine, api.CreateEnvWithGlobalThreadPools(ORT_LOGGING_LEVEL_FATAL, "dycl", raw, &environment),
                 "environment"));
  engine.environment = ort::own(environment, api.ReleaseEnv);
  return {};
}

Result<void> register_arena(dycl_engine& engine) {
  const OrtApi& api = *engine.api;
  OrtArenaCfg* raw = nullptr;
  constexpr int kGrowByRequest = 1;
  DYCL_TRY(check(engine, api.CreateArenaCfg(0, kGrowByRequest, -1, -1, &raw), "arena"));
  const auto config = ort::own(raw, api.ReleaseArenaCfg);
  return check(engine, api.CreateAndRegisterAllocator(engine.environment.get(), engine.memory.get(), raw), "arena");
}

Result<void> fill_engine(dycl_engine& engine, const dycl_engine_options& options) {
  DYCL_ASSIGN(const ort::Library* library, ort::library());
  engine.api = library->api;
  engine.version = library->version;
  engine.threads = options.threads;
  engine.spinning = options.spinning;
  DYCL_TRY(refuse_options("ort", options));
  const OrtApi& api = *engine.api;
  const std::lock_guard lock(g_environment_mutex);
  g_api = engine.api;
  if (g_environment_users > 0 && g_environment_threads != engine.threads && engine.threads != 1) {
    if (engine.host->notice)
      engine.host->notice("ort: the process's thread pool already exists with another number of threads; it is shared");
  }
  DYCL_TRY(make_environment(engine));
  OrtMemoryInfo* memory = nullptr;
  DYCL_TRY(check(engine, api.CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory), "memory"));
  engine.memory = ort::own(memory, api.ReleaseMemoryInfo);
  if (g_environment_users == 0) {
    // An environment made elsewhere in the process may have its arena already: that one is as good.
    (void)register_arena(engine);
    g_environment_threads = engine.threads;
  }
  OrtPrepackedWeightsContainer* packed = nullptr;
  DYCL_TRY(check(engine, api.CreatePrepackedWeightsContainer(&packed), "weights container"));
  engine.packed = ort::own(packed, api.ReleasePrepackedWeightsContainer);
  const int threads = engine.threads > 0 ? engine.threads : static_cast<int>(std::thread::hardware_concurrency());
  DYCL_ASSIGN(engine.dense, ort::DenseOp::create(api, threads));
  DYCL_ASSIGN(engine.torch_ops, ort::make_selection_ops(api, threads));
  DYCL_ASSIGN(engine.linear_algebra, ort::make_linear_algebra_ops(api, threads));
  DYCL_ASSIGN(engine.recurrent, ort::make_recurrent_ops(api));
  engine.block = ort::this_target(engine.version).block;
  DYCL_ASSIGN(engine.pooling, ort::make_pooling_ops(api, threads, engine.block));
  if (threads > 1) engine.helpers = std::make_unique<dense::HelperThreads>(threads, engine.spinning != 0);
  ++g_environment_users;
  return {};
}

dycl_plugin_status create_engine(const dycl_plugin_host* host, const dycl_engine_options* options,
                                 dycl_engine** out) noexcept {
  return guarded([&]() -> Result<void> {
    auto engine = std::make_unique<dycl_engine>();
    engine->host = host;
    DYCL_TRY(fill_engine(*engine, *options));
    *out = engine.release();
    return {};
  });
}

void destroy_engine(dycl_engine* engine) noexcept {
  const std::lock_guard lock(g_environment_mutex);
  --g_environment_users;
  delete engine;
}

int32_t accepts_target(dycl_engine* engine, const char* target) noexcept {
  return accepts_only(target, [&] { return to_string(ort::this_target(engine->version)); });
}

// ---- load ------------------------------------------------------------------------

Result<OrtValue*> wrap(dycl_engine& engine, void* data, std::uint64_t bytes, const std::int64_t* shape,
                       std::int32_t rank, std::int32_t dtype) {
  alignas(64) static char nothing[64];  // the address of tensors without elements
  OrtValue* value = nullptr;
  DYCL_TRY(check(engine,
                 engine.api->CreateTensorWithDataAsOrtValue(engine.memory.get(), data ? data : nothing, bytes, shape,
                                                            static_cast<std::size_t>(rank),
                                                            static_cast<ONNXTensorElementDataType>(dtype), &value),
                 "tensor"));
  return value;
}

struct Elements {
  void* data = nullptr;
  std::uint64_t bytes = 0;
  std::vector<std::int64_t> shape;
};

// Counts a weight in blocked form. Padding makes small weights many times as large, and large ones little larger; each
// has few forms.
bool may_reorder(dycl_engine& engine, const dycl_plugin_weight& weight, std::uint64_t bytes) {
  constexpr std::uint64_t kOfSmallOnes = std::uint64_t{64} << 20, kForms = 8;
  if (engine.blocked.insert(weight.data).second) engine.blocked_bytes += weight.bytes;
  engine.reordered_bytes += bytes;
  return engine.reordered_bytes <= kOfSmallOnes + kForms * engine.blocked_bytes;
}

// The weight's elements in the form the artifact wants.
Result<Elements> elements_of(dycl_engine& engine, const dycl_plugin_artifact& artifact,
                             const dycl_plugin_weight& weight, WeightLayout layout) {
  std::vector<std::int64_t> shape(weight.shape, weight.shape + weight.rank);
  if (layout == WeightLayout::Plain) return Elements{const_cast<void*>(weight.data), weight.bytes, std::move(shape)};
  std::vector<std::int64_t> blocked = blocked_shape(layout, shape);
  if (weight.dtype != static_cast<std::int32_t>(dycl::DType::F32) || blocked.empty() ||
      weight.bytes / sizeof(float) / static_cast<std::uint64_t>(shape[0]) / static_cast<std::uint64_t>(shape[1]) !=
          static_cast<std::uint64_t>(shape[2] * shape[3]))
    return bad_artifact(artifact, "it wants a weight in a form that it does not have");
  std::uint64_t bytes = sizeof(float);  // at most 16 * 16 times as many as the file has
  for (const std::int64_t extent : blocked) bytes *= static_cast<std::uint64_t>(extent);
  if (!may_reorder(engine, weight, bytes))
    return bad_artifact(artifact, "its weights take many times their size in the forms that it wants");
  constexpr std::size_t kAlignment = 64;
  auto* memory =
      static_cast<float*>(std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment));
  if (!memory) throw std::bad_alloc();
  engine.reordered.emplace_back(memory);
  block_weight(layout, shape, static_cast<const float*>(weight.data), memory);
  return Elements{memory, bytes, std::move(blocked)};
}

// One OrtValue per weight, shape and form, for all sessions of the engine.
Result<OrtValue*> weight_value(dycl_engine& engine, const dycl_plugin_artifact& artifact,
                               const dycl_plugin_weight& weight, WeightLayout layout) {
  std::vector<std::int64_t> key(weight.shape, weight.shape + weight.rank);
  key.push_back(weight.dtype);
  key.push_back(static_cast<std::int64_t>(layout));
  auto& entry = engine.weights[{weight.data, std::move(key)}];
  if (!entry) {
    DYCL_ASSIGN(const Elements e, elements_of(engine, artifact, weight, layout));
    DYCL_ASSIGN(OrtValue * value, wrap(engine, e.data, e.bytes, e.shape.data(), weight.rank, weight.dtype));
    entry = ort::own(value, engine.api->ReleaseValue);
  }
  return entry.get();
}

// An artifact's bytes: the model, and how it wants its weights.
struct Contents {
  const std::uint8_t* model = nullptr;
  std::size_t size = 0;
  std::vector<WeightLayout> layouts;  // one per weight
};

Result<Contents> contents_of(const dycl_plugin_artifact& artifact) {
  const auto* bytes = static_cast<const std::uint8_t*>(artifact.bytes);
  const std::vector<WeightLayout> plain(artifact.weight_count, WeightLayout::Plain);
  constexpr std::size_t kFixed = sizeof ort::kArtifactMagic + sizeof(std::uint32_t);
  if (artifact.size < kFixed || std::memcmp(bytes, ort::kArtifactMagic, sizeof ort::kArtifactMagic) != 0)
    return Contents{bytes, artifact.size, plain};
  std::uint32_t count = 0;
  std::memcpy(&count, bytes + sizeof ort::kArtifactMagic, sizeof count);
  const std::size_t header = (kFixed + std::size_t{count} + 15) / 16 * 16;
  if (count != artifact.weight_count || header > artifact.size) return bad_artifact(artifact, "its header is damaged");
  Contents contents{bytes + header, artifact.size - header, plain};
  for (std::uint32_t i = 0; i < count; ++i) {
    if (bytes[kFixed + i] > static_cast<std::uint8_t>(WeightLayout::Out16))
      return bad_artifact(artifact, "its header is damaged");
    contents.layouts[i] = static_cast<WeightLayout>(bytes[kFixed + i]);
  }
  return contents;
}

Result<void> set_threads(dycl_engine& engine, OrtSessionOptions* options) {
  const OrtApi& api = *engine.api;
  if (engine.threads != 1) return check(engine, api.DisablePerSessionThreads(options), "threads");
  // One thread: a pool of one's own without workers, whatever the environment's has.
  DYCL_TRY(check(engine, api.SetIntraOpNumThreads(options, 1), "threads"));
  return check(engine, api.SetInterOpNumThreads(options, 1), "threads");
}

Result<Handle<OrtSessionOptions>> session_options(dycl_engine& engine, const dycl_plugin_artifact& artifact,
                                                  const std::vector<WeightLayout>& layouts) {
  const OrtApi& api = *engine.api;
  OrtSessionOptions* raw = nullptr;
  DYCL_TRY(check(engine, api.CreateSessionOptions(&raw), "session options"));
  auto options = ort::own(raw, api.ReleaseSessionOptions);
  DYCL_TRY(check(engine, api.SetSessionGraphOptimizationLevel(raw, ORT_DISABLE_ALL), "session options"));
  DYCL_TRY(check(engine, api.SetSessionLogSeverityLevel(raw, ORT_LOGGING_LEVEL_FATAL), "session options"));
  DYCL_TRY(check(engine, api.AddSessionConfigEntry(raw, "session.use_env_allocators", "1"), "session options"));
  DYCL_TRY(check(engine, api.AddSessionConfigEntry(raw, "session.load_model_format", "ONNX"), "session options"));
  // Weights are named by the model as external data of this file, which must exist but is
  // never read: each is given below.
  DYCL_TRY(check(engine, api.AddSessionConfigEntry(raw, "session.model_external_initializers_file_folder_path", "/dev"),
                 "session options"));
  DYCL_TRY(set_threads(engine, raw));
  for (std::uint32_t i = 0; i < artifact.weight_count; ++i) {
    DYCL_ASSIGN(OrtValue * value, weight_value(engine, artifact, artifact.weights[i], layouts[i]));
    DYCL_TRY(check(engine, api.AddInitializer(raw, ("w" + std::to_string(i)).c_str(), value), "weight"));
  }
  return options;
}

using CountPorts = OrtStatus*(ORT_API_CALL*)(const OrtSession*, std::size_t*);
using PortType = OrtStatus*(ORT_API_CALL*)(const OrtSession*, std::size_t, OrtTypeInfo**);
using PortName = OrtStatus*(ORT_API_CALL*)(const OrtSession*, std::size_t, OrtAllocator*, char**);

Result<void> check_port(dycl_session& session, const dycl_plugin_artifact& artifact, PortType type_of,
                        std::size_t index, std::int32_t dtype) {
  const OrtApi& api = *session.engine->api;
  OrtTypeInfo* raw = nullptr;
  DYCL_TRY(check(*session.engine, type_of(session.session.get(), index, &raw), "type"));
  const auto type = ort::own(raw, api.ReleaseTypeInfo);
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  DYCL_TRY(check(*session.engine, api.CastTypeInfoToTensorInfo(raw, &tensor), "type"));
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  if (tensor) DYCL_TRY(check(*session.engine, api.GetTensorElementType(tensor, &element), "type"));
  if (static_cast<std::int32_t>(element) != dtype)
    return bad_artifact(artifact, "its model has another element type than the program");
  return {};
}

Result<void> read_ports(dycl_session& session, const dycl_plugin_artifact& artifact, const dycl_plugin_port* ports,
                        std::uint32_t count, CountPorts count_of, PortType type_of, PortName name_of) {
  const dycl_engine& engine = *session.engine;
  std::size_t found = 0;
  DYCL_TRY(check(engine, count_of(session.session.get(), &found), "ports"));
  if (found != count)
    return bad_artifact(artifact, "its model has " + std::to_string(found) +
                                      " inputs or outputs where the program has " + std::to_string(count));
  OrtAllocator* allocator = nullptr;
  DYCL_TRY(check(engine, engine.api->GetAllocatorWithDefaultOptions(&allocator), "allocator"));
  for (std::size_t i = 0; i < count; ++i) {
    DYCL_TRY(check_port(session, artifact, type_of, i, ports[i].dtype));
    char* name = nullptr;
    DYCL_TRY(check(engine, name_of(session.session.get(), i, allocator, &name), "name"));
    session.names.emplace_back(name);
    (void)check(engine, engine.api->AllocatorFree(allocator, name), "name");
  }
  return {};
}

// The model with nodes of ours, and whose they are.
struct Replaced {
  std::string model;
  bool dense = false, pooling = false;
};

// Checks the model; then lets our own kernels do what they are better at: the model to load is `replaced`, if that has
// any.
Result<void> check_contents(const dycl_engine& engine, const dycl_plugin_artifact& artifact, const Contents& contents,
                            Replaced& replaced) {
  std::vector<ort::WeightShape> weights;
  for (std::uint32_t i = 0; i < artifact.weight_count; ++i) {
    const dycl_plugin_weight& weight = artifact.weights[i];
    std::vector<std::int64_t> shape(weight.shape, weight.shape + weight.rank);
    if (contents.layouts[i] != WeightLayout::Plain) shape = blocked_shape(contents.layouts[i], shape);
    weights.push_back({weight.dtype, std::move(shape)});
  }
  const Result<void> checked = ort::check_model(contents.model, contents.size, weights);
  if (!checked) return bad_artifact(artifact, checked.error().message);
  const void* bytes = contents.model;
  std::size_t size = contents.size;
  const auto take = [&](std::optional<std::string> model, bool& has) {
    has = model.has_value();
    if (!has) return;
    replaced.model = std::move(*model);
    bytes = replaced.model.data(), size = replaced.model.size();
  };
  take(ort::with_dense_ops(bytes, size, weights), replaced.dense);
  take(ort::with_pooling_ops(bytes, size, engine.block), replaced.pooling);
  return {};
}

// The sizes of ports, all of whose extents must be known.
Result<std::vector<std::size_t>> port_sizes(const dycl_plugin_artifact& artifact, const dycl_plugin_port* ports,
                                            std::uint32_t count) {
  std::vector<std::size_t> sizes;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto dtype = dycl::dtype_of_code(ports[i].dtype);
    std::size_t size = dtype ? dycl::size_of(*dtype) : 0;
    bool known = size > 0 && ports[i].rank >= 0;
    for (std::int32_t d = 0; known && d < ports[i].rank; ++d) {
      known =
          ports[i].shape[d] >= 0 && !__builtin_mul_overflow(size, static_cast<std::size_t>(ports[i].shape[d]), &size);
    }
    if (!known) return bad_artifact(artifact, "a small program needs known shapes");
    sizes.push_back(size);
  }
  return sizes;
}

Result<void> fill_small(dycl_session& session, const dycl_plugin_artifact& artifact) {
  SmallSession small;
  DYCL_ASSIGN(small.sizes.inputs, port_sizes(artifact, artifact.inputs, artifact.input_count));
  DYCL_ASSIGN(small.sizes.outputs, port_sizes(artifact, artifact.outputs, artifact.output_count));
  for (std::uint32_t i = 0; i < artifact.weight_count; ++i) {
    small.sizes.weights.push_back(artifact.weights[i].bytes);
    small.weights.push_back(artifact.weights[i].data);
  }
  auto program = small::SmallProgram::read(artifact.bytes, artifact.size, small.sizes);
  if (!program) return bad_artifact(artifact, program.error().message);
  small.program = std::move(*program);
  small.program.pack(session.engine->dense->store(), small.weights.data());
  small.outputs = artifact.outputs;
  session.small = std::move(small);
  return {};
}

Result<void> fill_session(dycl_session& session, dycl_engine& engine, const dycl_plugin_artifact& artifact) {
  const OrtApi& api = *engine.api;
  session.engine = &engine;
  session.function = artifact.function;
  if (small::SmallProgram::is_small(artifact.bytes, artifact.size)) return fill_small(session, artifact);
  DYCL_ASSIGN(Contents contents, contents_of(artifact));
  Replaced replaced;
  DYCL_TRY(check_contents(engine, artifact, contents, replaced));
  DYCL_ASSIGN(const auto options, session_options(engine, artifact, contents.layouts));
  if (ort::states_opset(contents.model, contents.size, ort::kTorchDomain))
    DYCL_TRY(engine.torch_ops->add_to(options.get()));
  if (ort::states_opset(contents.model, contents.size, ort::kLinearAlgebraDomain))
    DYCL_TRY(engine.linear_algebra->add_to(options.get()));
  if (ort::states_opset(contents.model, contents.size, ort::kMendDomain))
    DYCL_TRY(engine.recurrent->add_to(options.get()));
  if (replaced.dense)
    DYCL_TRY(engine.dense->add_to(options.get()));
  if (replaced.pooling) DYCL_TRY(engine.pooling->add_to(options.get()));
  if (!replaced.model.empty()) {
    contents.model = reinterpret_cast<const std::uint8_t*>(replaced.model.data());
    contents.size = replaced.model.size();
  }
  OrtSession* raw = nullptr;
  Result<void> created =
      check(engine,
            api.CreateSessionFromArrayWithPrepackedWeightsContainer(
                engine.environment.get(), contents.model, contents.size, options.get(), engine.packed.get(), &raw),
            "load");
  // Some kernels (products of quantised matrices) pack weights, but cannot share what they packed.
  if (!created && artifact.weight_count > 0 && created.error().message.find("pre-packed") != std::string::npos)
    created = check(
        engine,
        api.CreateSessionFromArray(engine.environment.get(), contents.model, contents.size, options.get(), &raw), "load");
  if (!created) return bad_artifact(artifact, created.error().message);
  session.session = ort::own(raw, api.ReleaseSession);
  DYCL_TRY(read_ports(session, artifact, artifact.inputs, artifact.input_count, api.SessionGetInputCount,
                      api.SessionGetInputTypeInfo, api.SessionGetInputName));
  DYCL_TRY(read_ports(session, artifact, artifact.outputs, artifact.output_count, api.SessionGetOutputCount,
                      api.SessionGetOutputTypeInfo, api.SessionGetOutputName));
  for (std::size_t i = 0; i < session.names.size(); ++i)
    (i < artifact.input_count ? session.input_names : session.output_names).push_back(session.names[i].c_str());
  return {};
}

dycl_plugin_status load(dycl_engine* engine, const dycl_plugin_artifact* artifact, dycl_session** out) noexcept {
  return guarded([&]() -> Result<void> {
    auto session = std::make_unique<dycl_session>();
    DYCL_TRY(fill_session(*session, *engine, *artifact));
    *out = session.release();
    return {};
  });
}

void destroy_session(dycl_session* session) noexcept { delete session; }

// ---- run -------------------------------------------------------------------------

dycl_plugin_status create_context(dycl_session* session, dycl_context** out) noexcept {
  return guarded([&]() -> Result<void> {
    auto context = std::make_unique<dycl_context>();
    if (session->small) {
      context->scratch.resize(session->small->program.scratch_bytes() / sizeof(std::max_align_t) + 1);
      context->small_inputs.resize(session->small->sizes.inputs.size());
      context->small_outputs.resize(session->small->sizes.outputs.size());
      *out = context.release();
      return {};
    }
    const OrtApi& api = *session->engine->api;
    OrtRunOptions* options = nullptr;
    DYCL_TRY(check(*session->engine, api.CreateRunOptions(&options), "run options"));
    context->options = ort::own(options, api.ReleaseRunOptions);
    context->inputs.resize(session->input_names.size());
    context->outputs.resize(session->output_names.size());
    *out = context.release();
    return {};
  });
}

void destroy_context(dycl_context* context) noexcept { delete context; }

void drop_value(void* value) { g_api->ReleaseValue(static_cast<OrtValue*>(value)); }

// The OrtValue of a tensor with memory, from its slot or made now.
Result<OrtValue*> value_of(dycl_engine& engine, dycl_plugin_tensor& tensor) {
  if (tensor.slot && tensor.slot_owner == &engine) return static_cast<OrtValue*>(tensor.slot);
  DYCL_ASSIGN(OrtValue * value, wrap(engine, tensor.data, tensor.bytes, tensor.shape, tensor.rank, tensor.dtype));
  if (tensor.slot) tensor.drop_slot(tensor.slot);
  tensor.slot = value;
  tensor.slot_owner = &engine;
  tensor.drop_slot = drop_value;
  return value;
}

// Hands a value that ONNX Runtime allocated to the runtime, memory and all.
Result<void> adopt(dycl_engine& engine, OrtValue* value, dycl_plugin_tensor& output) {
  const OrtApi& api = *engine.api;
  auto owned = ort::own(value, api.ReleaseValue);
  OrtTensorTypeAndShapeInfo* raw = nullptr;
  DYCL_TRY(check(engine, api.GetTensorTypeAndShape(value, &raw), "result"));
  const auto info = ort::own(raw, api.ReleaseTensorTypeAndShapeInfo);
  std::size_t rank = 0;
  DYCL_TRY(check(engine, api.GetDimensionsCount(raw, &rank), "result"));
  constexpr std::size_t kMaxRank = 16;
  std::int64_t shape[kMaxRank] = {};
  if (rank > kMaxRank) return Error{ErrorKind::RuntimeFailure, "a result has more than 16 dims", {}, {}, {}};
  DYCL_TRY(check(engine, api.GetDimensions(raw, shape, rank), "result"));
  void* data = nullptr;
  DYCL_TRY(check(engine, api.GetTensorMutableData(value, &data), "result"));
  if (engine.host->adopt(&output, static_cast<std::int32_t>(rank), shape, data, value, drop_value) != 0)
    return Error{
        ErrorKind::RuntimeFailure, "a result has a shape that contradicts the program's type for it", {}, {}, {}};
  (void)owned.release();
  return {};
}

Error wrong_size(const dycl_session& session, const char* what) {
  return {ErrorKind::RuntimeFailure,
          session.function + ": " + what + " has another size than the program says",
          {},
          {},
          {}};
}

Result<void> run_small(dycl_session& session, dycl_context& context, dycl_plugin_tensor* const* inputs,
                       dycl_plugin_tensor* const* outputs) {
  const SmallSession& small = *session.small;
  for (std::size_t i = 0; i < small.sizes.inputs.size(); ++i) {
    if (inputs[i]->bytes != small.sizes.inputs[i]) return wrong_size(session, "an operand");
    context.small_inputs[i] = inputs[i]->data;
  }
  for (std::size_t i = 0; i < small.sizes.outputs.size(); ++i) {
    dycl_plugin_tensor& output = *outputs[i];
    const dycl_plugin_port& port = small.outputs[i];
    if (output.rank < 0 && session.engine->host->allocate(&output, port.rank, port.shape) != 0)
      return Error{ErrorKind::RuntimeFailure, session.function + ": no memory for a result", {}, {}, {}};
    if (output.bytes != small.sizes.outputs[i]) return wrong_size(session, "a result");
    context.small_outputs[i] = output.data;
  }
  using Kind = small::SmallProgram::Ending::Kind;
  const auto ending =
      small.program.run(context.small_inputs.data(), context.small_outputs.data(), small.weights.data(),
                        context.scratch.data(), session.engine->helpers.get(), context.interrupted);
  if (ending.kind == Kind::Done) return {};
  const std::string what = ending.kind == Kind::Interrupted  // the other in the engine's words, which callers know
                               ? ": interrupted"
                               : std::string(": running ") + ending.op + " node. An index is out of bounds";
  return Error{ErrorKind::RuntimeFailure, session.function + what, {}, {}, {}};
}

Result<void> run_session(dycl_session& session, dycl_context& context, dycl_plugin_tensor* const* inputs,
                         dycl_plugin_tensor* const* outputs) {
  dycl_engine& engine = *session.engine;
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    DYCL_ASSIGN(context.inputs[i], value_of(engine, *inputs[i]));
  }
  for (std::size_t i = 0; i < context.outputs.size(); ++i) {
    context.outputs[i] = nullptr;
    if (outputs[i]->rank < 0) continue;
    DYCL_ASSIGN(context.outputs[i], value_of(engine, *outputs[i]));
  }
  OrtStatus* status = engine.api->Run(session.session.get(), context.options.get(), session.input_names.data(),
                                      context.inputs.data(), context.inputs.size(), session.output_names.data(),
                                      context.outputs.size(), context.outputs.data());
  Result<void> result = status ? check(engine, status, session.function.c_str()) : Result<void>();
  for (std::size_t i = 0; i < context.outputs.size(); ++i) {
    if (outputs[i]->rank >= 0 || !context.outputs[i]) continue;
    if (result)
      result = adopt(engine, context.outputs[i], *outputs[i]);
    else
      engine.api->ReleaseValue(context.outputs[i]);
  }
  return result;
}

dycl_plugin_status run(dycl_session* session, dycl_context* context, dycl_plugin_tensor* const* inputs,
                       dycl_plugin_tensor* const* outputs) noexcept {
  return guarded([&] {
    return session->small ? run_small(*session, *context, inputs, outputs)
                          : run_session(*session, *context, inputs, outputs);
  });
}

// ONNX Runtime looks at its flag before each node, a small program at its own before each step.
void interrupt(dycl_context* context, int32_t on) noexcept {
  context->interrupted = on != 0;
  if (!context->options) return;
  OrtStatus* status = on ? g_api->RunOptionsSetTerminate(context->options.get())
                         : g_api->RunOptionsUnsetTerminate(context->options.get());
  if (status) g_api->ReleaseStatus(status);
}

}  // namespace

DYCL_PLUGIN_ENTRY("ort", dycl::backends::version_text("onnxruntime", ort::library()), interrupt, 0)

namespace {

// All ops of ours that models name by their meaning, of one thread each. They live as long as the process.
OrtStatus* add_to_foreign(OrtSessionOptions* options, const OrtApi* api, bool orderings) {
  if (orderings) {
    static const auto ops = ort::make_selection_ops(*api, 1);
    if (!ops) return api->CreateStatus(ORT_FAIL, ops.error().message.c_str());
    const Result<void> added = (*ops)->add_to(options);
    if (!added) return api->CreateStatus(ORT_FAIL, added.error().message.c_str());
  }
  static const auto ops = ort::make_linear_algebra_ops(*api, 1);
  if (!ops) return api->CreateStatus(ORT_FAIL, ops.error().message.c_str());
  const Result<void> added = (*ops)->add_to(options);
  return added ? nullptr : api->CreateStatus(ORT_FAIL, added.error().message.c_str());
}

}  // namespace

// For ONNX Runtime itself, which looks for this name in a library of custom ops: models with ops of the domains "torch"
// and "linalg" run in any of its sessions that registers the plug-in.
extern "C" DYCL_PLUGIN_EXPORT OrtStatus* RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base) {
  const OrtApi* api = base->GetApi(ORT_API_VERSION);
  return api ? add_to_foreign(options, api, true) : nullptr;  // older than the ops: its sessions will not find them
}

// For the compile half (ort/plugin_ops.h), which has the orderings itself.
extern "C" DYCL_PLUGIN_EXPORT OrtStatus* dycl_add_linear_algebra(OrtSessionOptions* options, const OrtApi* api) {
  return add_to_foreign(options, api, false);
}
