// SPDX-License-Identifier: Apache-2.0
#include "backends/choose/trial.h"

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>

#include "backends/layout_conversion.h"
#include "runtime/plugins.h"

namespace dycl::backends {
namespace {

constexpr std::size_t kAlignment = 64;

std::vector<std::int64_t> dims_of(const ir::Type& type) {
  std::vector<std::int64_t> dims;
  for (const ir::Dim& dim : *type.shape) dims.push_back(dim.value);
  return dims;
}

bool is_known(const ir::Type& type) {
  if (!type.is_tensor() || !type.shape) return false;
  for (const ir::Dim& dim : *type.shape)
    if (!dim.is_known()) return false;
  return true;
}

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

// A dycl_plugin_tensor with its memory.
struct Buffer {
  explicit Buffer(const ir::Type& type) : shape(dims_of(type)) {
    std::size_t bytes = size_of(type.dtype);
    for (const std::int64_t dim : shape) bytes *= static_cast<std::size_t>(dim);
    memory.reset(std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment));
    if (!memory) throw std::bad_alloc();
    std::memset(memory.get(), 0, bytes);
    tensor.data = bytes > 0 ? memory.get() : nullptr;
    tensor.shape = shape.data();
    tensor.bytes = bytes;
    tensor.rank = static_cast<std::int32_t>(shape.size());
    tensor.dtype = static_cast<std::int32_t>(type.dtype);
    tensor.device = 1;
  }
  ~Buffer() {
    if (tensor.slot) tensor.drop_slot(tensor.slot);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::vector<std::int64_t> shape;
  std::unique_ptr<void, Free> memory;
  dycl_plugin_tensor tensor{};
};

// All shapes are known, so no engine has to ask for memory.
std::int32_t no_memory(dycl_plugin_tensor*, std::int32_t, const std::int64_t*) { return 1; }
std::int32_t no_adoption(dycl_plugin_tensor*, std::int32_t, const std::int64_t*, void*, void*, void (*)(void*)) {
  return 1;
}
void no_notice(const char*) {}

// With one thread, processor time: what else the machine does is not in it. With more, time on the wall.
double now(int threads) {
  timespec time{};
  ::clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

constexpr dycl_plugin_host kHost = {sizeof(dycl_plugin_host), DYCL_PLUGIN_ABI, no_memory, no_adoption, no_notice};

}  // namespace

bool has_known_shapes(const ir::Function& sub_dnn) {
  for (const ir::Param& param : sub_dnn.params)
    if (!is_known(sub_dnn.type_of(param.value))) return false;
  for (const ir::Output& result : sub_dnn.results)
    if (!is_known(result.type)) return false;
  return true;
}

std::vector<ir::Tensor> random_operands(const ir::Function& sub_dnn, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<ir::Tensor> operands;
  for (const ir::Param& param : sub_dnn.params) {
    const ir::Type& type = sub_dnn.type_of(param.value);
    ir::Tensor tensor = ir::Tensor::zeros(type.dtype, dims_of(type));
    const std::int64_t count = tensor.count();
    for (std::int64_t i = 0; i < count; ++i) {
      if (type.dtype == DType::F32) tensor.data<float>()[i] = normal(generator);
      if (type.dtype == DType::Bool) tensor.data<std::uint8_t>()[i] = generator() % 2;
    }
    operands.push_back(std::move(tensor));
  }
  return operands;
}

struct Trial::Engine {
  int threads = 1;
  const dycl_plugin* plugin = nullptr;
  runtime::EnginePtr handle{nullptr, {}};
};

struct Trial::Loaded {
  Artifact artifact;
  std::string function;
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<dycl_plugin_weight> weights;
  std::vector<dycl_plugin_port> input_ports, output_ports;
  std::vector<ir::Type> types;
  std::vector<std::unique_ptr<Buffer>> inputs, outputs;
  std::vector<dycl_plugin_tensor*> in, out;
  runtime::SessionPtr session{nullptr, {}};
  runtime::ContextPtr context{nullptr, {}};
};

Trial::~Trial() { loaded_.clear(); }

Result<std::unique_ptr<Trial>> Trial::start(const std::string& backend, int threads,
                                            const std::vector<std::filesystem::path>& plugin_folders) {
  std::unique_ptr<Trial> trial(new Trial);
  trial->engine_ = std::make_unique<Engine>();
  trial->engine_->threads = threads;
  runtime::LoadOptions where;
  where.plugin_folders = plugin_folders;
  DYCL_ASSIGN(trial->engine_->plugin, runtime::load_plugin(backend, where));
  const dycl_engine_options options = {sizeof(dycl_engine_options), threads, -1, 0, nullptr, nullptr};
  dycl_engine* engine = nullptr;
  const auto status = trial->engine_->plugin->create_engine(&kHost, &options, &engine);
  if (status != DYCL_PLUGIN_OK) return runtime::plugin_error(trial->engine_->plugin, status, "cannot start the engine");
  trial->engine_->handle = runtime::EnginePtr(engine, {trial->engine_->plugin});
  return trial;
}

Result<std::size_t> Trial::load(const ir::Program& program, const ir::Function& sub_dnn, const Artifact& artifact,
                                const std::vector<ir::Tensor>& operands) {
  auto one = std::make_unique<Loaded>();
  one->artifact = artifact;
  one->function = sub_dnn.name;
  one->shapes.reserve(artifact.weights.size() + sub_dnn.params.size() + sub_dnn.results.size());
  for (const std::string& name : one->artifact.weights) {
    const ir::Weight& weight = program.weights.at(name);
    one->shapes.push_back(dims_of(weight.type));
    one->weights.push_back({name.c_str(), weight.bytes.data, one->shapes.back().data(), weight.bytes.size,
                            static_cast<std::int32_t>(one->shapes.back().size()),
                            static_cast<std::int32_t>(weight.type.dtype)});
  }
  const auto port = [&](const ir::Type& type, const std::vector<std::string>& layouts, std::size_t i) {
    one->shapes.push_back(dims_of(type));
    return dycl_plugin_port{layouts.empty() ? "" : layouts[i].c_str(), one->shapes.back().data(),
                            static_cast<std::int32_t>(one->shapes.back().size()),
                            static_cast<std::int32_t>(type.dtype)};
  };
  for (std::size_t i = 0; i < sub_dnn.params.size(); ++i) {
    const ir::Type& type = sub_dnn.type_of(sub_dnn.params[i].value);
    one->input_ports.push_back(port(type, one->artifact.input_layouts, i));
    one->inputs.push_back(std::make_unique<Buffer>(type));
    const auto& tags = one->artifact.input_layouts;
    const ir::Tensor operand = tags.empty() ? operands[i] : to_layout(operands[i], tags[i]);
    if (!operand.bytes.empty()) std::memcpy(one->inputs[i]->memory.get(), operand.bytes.data(), operand.bytes.size());
    one->in.push_back(&one->inputs[i]->tensor);
  }
  for (std::size_t i = 0; i < sub_dnn.results.size(); ++i) {
    one->types.push_back(sub_dnn.results[i].type);
    one->output_ports.push_back(port(one->types[i], one->artifact.output_layouts, i));
    one->outputs.push_back(std::make_unique<Buffer>(one->types[i]));
    one->out.push_back(&one->outputs[i]->tensor);
  }
  const dycl_plugin_artifact view = {sizeof(dycl_plugin_artifact),
                                     static_cast<std::uint32_t>(one->weights.size()),
                                     one->function.c_str(),
                                     one->artifact.target.c_str(),
                                     one->artifact.bytes.data(),
                                     one->artifact.bytes.size(),
                                     one->weights.data(),
                                     one->input_ports.data(),
                                     one->output_ports.data(),
                                     static_cast<std::uint32_t>(one->in.size()),
                                     static_cast<std::uint32_t>(one->out.size())};
  const dycl_plugin* plugin = engine_->plugin;
  dycl_session* session = nullptr;
  auto status = plugin->load(engine_->handle.get(), &view, &session);
  if (status != DYCL_PLUGIN_OK) return runtime::plugin_error(plugin, status, "cannot load sub-DNN " + one->function);
  one->session = runtime::SessionPtr(session, {plugin});
  dycl_context* context = nullptr;
  status = plugin->create_context(session, &context);
  if (status != DYCL_PLUGIN_OK) return runtime::plugin_error(plugin, status, "cannot prepare sub-DNN " + one->function);
  one->context = runtime::ContextPtr(context, {plugin});
  loaded_.push_back(std::move(one));
  return loaded_.size() - 1;
}

Result<void> Trial::call(Loaded& one) {
  const auto status = engine_->plugin->run(one.session.get(), one.context.get(), one.in.data(), one.out.data());
  if (status != DYCL_PLUGIN_OK) return runtime::plugin_error(engine_->plugin, status, one.function);
  return {};
}

Result<std::vector<ir::Tensor>> Trial::run(std::size_t loaded) {
  Loaded& one = *loaded_.at(loaded);
  DYCL_TRY(call(one));
  std::vector<ir::Tensor> results;
  for (std::size_t i = 0; i < one.types.size(); ++i) {
    results.push_back(ir::Tensor::zeros(one.types[i].dtype, one.outputs[i]->shape));
    if (!results[i].bytes.empty())
      std::memcpy(results[i].bytes.data(), one.outputs[i]->memory.get(), results[i].bytes.size());
    if (const auto& tags = one.artifact.output_layouts; !tags.empty()) results[i] = from_layout(results[i], tags[i]);
  }
  return results;
}

Result<double> Trial::seconds(std::size_t loaded, int calls) {
  Loaded& one = *loaded_.at(loaded);
  const double start = now(engine_->threads);
  for (int i = 0; i < calls; ++i) DYCL_TRY(call(one));
  return now(engine_->threads) - start;
}

}  // namespace dycl::backends
