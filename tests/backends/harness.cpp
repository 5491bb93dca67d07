// SPDX-License-Identifier: Apache-2.0
#include "harness.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <random>

namespace dycl::test {

struct PluginRun::Buffer {  // a dycl_plugin_tensor with its memory
  dycl_plugin_tensor tensor{};
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> own;
  void* owner = nullptr;
  void (*release)(void*) = nullptr;

  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { clear(); }
  void clear() {
    if (tensor.slot) tensor.drop_slot(tensor.slot);
    tensor.slot = nullptr;
    if (owner) release(owner);
    owner = nullptr;
  }
};

namespace {

using Buffer = PluginRun::Buffer;

Buffer* buffer_of(dycl_plugin_tensor* tensor) { return reinterpret_cast<Buffer*>(tensor); }

std::uint64_t count_of(const std::int64_t* shape, std::int32_t rank) {
  std::uint64_t count = 1;
  for (std::int32_t i = 0; i < rank; ++i) count *= static_cast<std::uint64_t>(shape[i]);
  return count;
}

std::int32_t host_adopt(dycl_plugin_tensor* output, std::int32_t rank, const std::int64_t* shape, void* data,
                        void* owner, void (*release)(void*)) {
  Buffer* buffer = buffer_of(output);
  buffer->shape.assign(shape, shape + rank);
  buffer->owner = owner;
  buffer->release = release;
  output->shape = buffer->shape.data();
  output->rank = rank;
  output->data = data;
  output->bytes = count_of(shape, rank) * size_of(*dtype_of_code(output->dtype));
  return 0;
}

std::int32_t host_allocate(dycl_plugin_tensor* output, std::int32_t rank, const std::int64_t* shape) {
  Buffer* buffer = buffer_of(output);
  buffer->shape.assign(shape, shape + rank);
  buffer->own.resize(count_of(shape, rank) * size_of(*dtype_of_code(output->dtype)));
  output->shape = buffer->shape.data();
  output->rank = rank;
  output->data = buffer->own.data();
  output->bytes = buffer->own.size();
  return 0;
}

const dycl_plugin_host kHost = {sizeof(dycl_plugin_host), DYCL_PLUGIN_ABI, host_allocate, host_adopt,
                                [](const char*) {}};

Error failure(const dycl_plugin* plugin, dycl_plugin_status status) {
  const ErrorKind kind = status == DYCL_PLUGIN_MISSING        ? ErrorKind::Missing
                         : status == DYCL_PLUGIN_BAD_ARTIFACT ? ErrorKind::InvalidPackage
                         : status == DYCL_PLUGIN_UNSUPPORTED  ? ErrorKind::Unsupported
                                                              : ErrorKind::RuntimeFailure;
  return {kind, plugin->last_error(), {}, {}, {}};
}

std::vector<std::int64_t> dims_of(const ir::Type& type) {
  std::vector<std::int64_t> dims;
  if (type.shape)
    for (const ir::Dim& dim : *type.shape) dims.push_back(dim.value);
  return dims;
}

bool all_known(const ir::Type& type) {
  if (!type.shape) return false;
  for (const ir::Dim& dim : *type.shape)
    if (!dim.is_known()) return false;
  return true;
}

}  // namespace

// ---- building ----------------------------------------------------------------------

Tensor f32(std::vector<std::int64_t> shape, std::vector<float> elements) {
  return tensor(DType::F32, std::move(shape), elements);
}
Tensor i64(std::vector<std::int64_t> shape, std::vector<std::int64_t> elements) {
  return tensor(DType::I64, std::move(shape), elements);
}
Tensor boolean(std::vector<std::int64_t> shape, std::vector<std::uint8_t> elements) {
  return tensor(DType::Bool, std::move(shape), elements);
}

Tensor random_f32(std::vector<std::int64_t> shape, unsigned seed, float scale) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-scale, scale);
  std::size_t count = 1;
  for (const std::int64_t dim : shape) count *= static_cast<std::size_t>(dim);
  std::vector<float> elements(count);
  for (float& e : elements) e = uniform(generator);
  return f32(std::move(shape), std::move(elements));
}

std::vector<float> floats(const Tensor& t) {
  std::vector<float> out(t.bytes.size() / sizeof(float));
  if (!out.empty()) std::memcpy(out.data(), t.bytes.data(), t.bytes.size());
  return out;
}

ir::Type shaped(DType dtype, std::vector<std::int64_t> dims) {
  std::vector<ir::Dim> shape;
  for (const std::int64_t dim : dims) shape.push_back(dim < 0 ? ir::Dim::opaque() : ir::Dim::of(dim));
  return ir::Type::tensor(dtype, std::move(shape));
}

ir::Type type_of(const Tensor& t) { return shaped(t.dtype, t.shape); }

ir::Program empty_program() {
  ir::Program program;
  program.functions.emplace_back();
  program.main().name = "main";
  program.main().blocks.emplace_back();
  program.main().blocks[0].name = "entry";
  program.main().blocks[0].exit = ir::Return{};
  return program;
}

SubDnn::SubDnn(ir::Program& program, std::string name) : program_(program), index_(program.functions.size()) {
  ir::Function function;
  function.name = std::move(name);
  function.kind = ir::FunctionKind::SubDnn;
  function.blocks.emplace_back();
  function.blocks[0].name = "entry";
  program.functions.push_back(std::move(function));
}

ir::ValueId SubDnn::input(ir::Type type) {
  const ir::ValueId value = function().add_value(std::move(type));
  function().params.push_back({value, {}});
  return value;
}

ir::ValueId SubDnn::constant(const Tensor& t) { return op("const", {}, type_of(t), {{"value", t}}); }

ir::ValueId SubDnn::weight(const std::string& name, const Tensor& t) {
  if (!program_.weights.count(name))
    program_.weights[name] = {type_of(t), ir::Bytes::copy_of(t.bytes.data(), t.bytes.size())};
  return op("weight", {}, program_.weights[name].type, {{"name", name}});
}

ir::ValueId SubDnn::op(const std::string& name, std::vector<ir::ValueId> operands, ir::Type type,
                       std::map<std::string, ir::Attr> attrs) {
  return op(name, std::move(operands), std::vector<ir::Type>{std::move(type)}, std::move(attrs))[0];
}

std::vector<ir::ValueId> SubDnn::op(const std::string& name, std::vector<ir::ValueId> operands,
                                    std::vector<ir::Type> types, std::map<std::string, ir::Attr> attrs) {
  ir::Op o;
  o.name = name;
  o.operands = std::move(operands);
  o.attrs = std::move(attrs);
  for (ir::Type& type : types) o.results.push_back(function().add_value(std::move(type)));
  function().blocks[0].body.push_back(o);
  return o.results;
}

void SubDnn::returns(std::vector<ir::ValueId> values) {
  for (const ir::ValueId v : values) function().results.push_back({function().type_of(v), {}, {}});
  function().blocks[0].exit = ir::Return{std::move(values)};
}

// ---- running -----------------------------------------------------------------------

struct PluginRun::Session {
  const dycl_plugin* plugin = nullptr;
  std::string function, target;
  std::vector<std::uint8_t> bytes;
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<dycl_plugin_weight> weights;
  std::vector<std::string> names;
  std::vector<dycl_plugin_port> inputs, outputs;
  std::vector<ir::Type> output_types;
  dycl_session* session = nullptr;
  dycl_context* context = nullptr;

  ~Session() {
    if (context) plugin->destroy_context(context);
    if (session) plugin->destroy_session(session);
  }
};

const dycl_plugin* load_plugin(const std::string& backend) {
  const std::string path = DYCL_TEST_PLUGINS "/libdycl_plugin_" + backend + ".so";
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return nullptr;
  const auto entry = reinterpret_cast<dycl_plugin_entry_fn>(::dlsym(handle, "dycl_plugin_entry"));
  return entry ? entry(DYCL_PLUGIN_ABI) : nullptr;
}

namespace {

// A portable form may be another back end's.
std::string plugin_of(const std::vector<backends::SubDnnArtifacts>& artifacts, const PluginRun::Options& options) {
  for (const auto& sub_dnn : artifacts)
    for (const backends::Artifact& artifact : sub_dnn.artifacts)
      if (options.prefer_cpu_target || artifact.target == backends::kPortableTarget) return artifact.backend;
  return options.backend;
}

}  // namespace

Result<std::unique_ptr<PluginRun>> PluginRun::create(const ir::Program& program,
                                                     const std::vector<backends::SubDnnArtifacts>& artifacts,
                                                     const Options& options) {
  std::unique_ptr<PluginRun> run(new PluginRun);
  run->plugin_ = load_plugin(plugin_of(artifacts, options));
  if (!run->plugin_) return Error{ErrorKind::Missing, "no plug-in", {}, {}, {}};
  dycl_engine_options engine_options{};
  engine_options.struct_size = sizeof engine_options;
  engine_options.threads = options.threads;
  engine_options.spinning = -1;
  const auto status = run->plugin_->create_engine(&kHost, &engine_options, &run->engine_);
  if (status != DYCL_PLUGIN_OK) return failure(run->plugin_, status);
  for (const auto& each : artifacts) DYCL_TRY(run->load(program, each, options));
  return run;
}

PluginRun::~PluginRun() {
  sessions_.clear();
  if (engine_) plugin_->destroy_engine(engine_);
}

Result<void> PluginRun::load(const ir::Program& program, const backends::SubDnnArtifacts& artifacts,
                             const Options& options) {
  const backends::Artifact* chosen = nullptr;
  for (const auto& artifact : artifacts.artifacts) {
    const bool portable = artifact.target == backends::kPortableTarget;
    if (!portable && (!options.prefer_cpu_target || !plugin_->accepts_target(engine_, artifact.target.c_str())))
      continue;
    chosen = &artifact;
    break;
  }
  if (!chosen) return Error{ErrorKind::InvalidPackage, "no artifact fits", {}, {}, {}};
  const ir::Function* function = nullptr;
  for (const ir::Function& f : program.functions)
    if (f.name == artifacts.function) function = &f;
  auto session = std::make_unique<Session>();
  session->plugin = plugin_;
  session->function = artifacts.function;
  session->target = chosen->target;
  session->bytes = chosen->bytes;
  session->shapes.reserve(chosen->weights.size() + function->params.size() + function->results.size());
  for (const std::string& name : chosen->weights) {
    const ir::Weight& weight = program.weights.at(name);
    session->shapes.push_back(dims_of(weight.type));
    session->weights.push_back({name.c_str(), weight.bytes.data, session->shapes.back().data(), weight.bytes.size,
                                static_cast<std::int32_t>(session->shapes.back().size()),
                                static_cast<std::int32_t>(weight.type.dtype)});
  }
  auto port = [&](const ir::Type& type) {
    session->shapes.push_back(dims_of(type));
    const auto rank = type.shape ? static_cast<std::int32_t>(type.shape->size()) : -1;
    return dycl_plugin_port{"", session->shapes.back().data(), rank, static_cast<std::int32_t>(type.dtype)};
  };
  for (const ir::Param& p : function->params) session->inputs.push_back(port(function->type_of(p.value)));
  for (const ir::Output& o : function->results) {
    session->outputs.push_back(port(o.type));
    session->output_types.push_back(o.type);
  }
  dycl_plugin_artifact artifact{};
  artifact.struct_size = sizeof artifact;
  artifact.weight_count = static_cast<std::uint32_t>(session->weights.size());
  artifact.function = session->function.c_str();
  artifact.target = session->target.c_str();
  artifact.bytes = session->bytes.data();
  artifact.size = session->bytes.size();
  artifact.weights = session->weights.data();
  artifact.inputs = session->inputs.data();
  artifact.outputs = session->outputs.data();
  artifact.input_count = static_cast<std::uint32_t>(session->inputs.size());
  artifact.output_count = static_cast<std::uint32_t>(session->outputs.size());
  auto status = plugin_->load(engine_, &artifact, &session->session);
  if (status != DYCL_PLUGIN_OK) return failure(plugin_, status);
  status = plugin_->create_context(session->session, &session->context);
  if (status != DYCL_PLUGIN_OK) return failure(plugin_, status);
  sessions_[artifacts.function] = std::move(session);
  return {};
}

const std::string& PluginRun::target(const std::string& function) const { return sessions_.at(function)->target; }

namespace {

void fill(Buffer& b, const std::vector<std::int64_t>& shape, DType dtype) {
  b.shape = shape;
  b.tensor.shape = b.shape.data();
  b.tensor.rank = static_cast<std::int32_t>(shape.size());
  b.tensor.dtype = static_cast<std::int32_t>(dtype);
  b.tensor.device = 1;
  b.tensor.bytes = count_of(shape.data(), b.tensor.rank) * size_of(dtype);
  b.own.resize(b.tensor.bytes);
  b.tensor.data = b.own.empty() ? nullptr : b.own.data();
}

}  // namespace

std::shared_ptr<Buffer> PluginRun::buffer(const Tensor& t) const {
  auto b = std::make_shared<Buffer>();
  fill(*b, t.shape, t.dtype);
  if (!t.bytes.empty()) std::memcpy(b->own.data(), t.bytes.data(), t.bytes.size());
  return b;
}

PluginRun::Call PluginRun::prepare(const std::string& function, std::vector<std::shared_ptr<Buffer>> inputs,
                                   std::vector<std::shared_ptr<Buffer>> reuse) {
  const Session& session = *sessions_.at(function);
  Call call;
  call.function = function;
  call.inputs = std::move(inputs);
  call.session = session.session;
  call.context = session.context;
  for (const ir::Type& type : session.output_types) {
    const std::size_t i = call.outputs.size();
    if (i < reuse.size() && reuse[i]) {
      call.outputs.push_back(reuse[i]);
      call.out.push_back(&reuse[i]->tensor);
      continue;
    }
    call.outputs.push_back(std::make_shared<Buffer>());
    Buffer& b = *call.outputs.back();
    if (all_known(type)) {
      fill(b, dims_of(type), type.dtype);
    } else {
      b.tensor.rank = -1;
      b.tensor.dtype = static_cast<std::int32_t>(type.dtype);
    }
    call.out.push_back(&b.tensor);
  }
  for (const auto& b : call.inputs) call.in.push_back(&b->tensor);
  return call;
}

Result<dycl_context*> PluginRun::new_context(const std::string& function) {
  dycl_context* context = nullptr;
  const auto status = plugin_->create_context(sessions_.at(function)->session, &context);
  if (status != DYCL_PLUGIN_OK) return failure(plugin_, status);
  return context;
}

void PluginRun::drop_context(dycl_context* context) { plugin_->destroy_context(context); }

Result<void> PluginRun::call(const Call& call) {
  const auto status = plugin_->run(call.session, call.context, call.in.data(), call.out.data());
  if (status != DYCL_PLUGIN_OK) return failure(plugin_, status);
  return {};
}

std::vector<std::uint8_t> PluginRun::bytes(const std::shared_ptr<Buffer>& buffer) {
  const auto* data = static_cast<const std::uint8_t*>(buffer->tensor.data);
  return {data, data + buffer->tensor.bytes};
}

std::uint8_t PluginRun::first_byte(const Call& call) {
  return *static_cast<const std::uint8_t*>(call.out.back()->data);
}

Result<std::vector<Tensor>> PluginRun::run(const std::string& function, const std::vector<Tensor>& inputs) {
  std::vector<std::shared_ptr<Buffer>> buffers;
  for (const Tensor& t : inputs) buffers.push_back(buffer(t));
  const Call prepared = prepare(function, std::move(buffers));
  DYCL_TRY(call(prepared));
  std::vector<Tensor> results;
  for (const auto& b : prepared.outputs)
    results.push_back({*dtype_of_code(b->tensor.dtype), {b->tensor.shape, b->tensor.shape + b->tensor.rank}, bytes(b)});
  return results;
}

Result<std::vector<Tensor>> compile_and_run(ir::Program program, const std::string& function,
                                            const std::vector<Tensor>& inputs, const backends::BackendOptions& options,
                                            const std::string& name) {
  DYCL_ASSIGN(const auto backend, backends::find_backend(name));
  DYCL_ASSIGN(const auto artifacts, backend->compile_program(program, options));
  PluginRun::Options run_options;
  run_options.backend = name;
  DYCL_ASSIGN(const auto run, PluginRun::create(program, artifacts, run_options));
  return run->run(function, inputs);
}

}  // namespace dycl::test
