// SPDX-License-Identifier: Apache-2.0
// The run-time half of the OpenVINO back end, behind include/dycl/plugin.h.
//
// One core per engine, one compiled model per session, one request per context. Operands
// and results of known shape are bound to the runtime's memory: a wrapper is made once
// per buffer and kept in the tensor's slot, and bound again only when the buffer
// changes. A result whose shape OpenVINO finds out is copied once.
//
// Requests of one model take turns (it has one stream); those of different models do not.
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backends/openvino/model.h"
#include "backends/openvino/target.h"
#include "backends/plugin_entry.h"
#include "dycl/plugin.h"
#include "support/dtype.h"

namespace openvino = dycl::backends::openvino;
using dycl::Error;
using dycl::ErrorKind;
using dycl::Result;
using dycl::backends::accepts_only;
using dycl::backends::guarded;
using dycl::backends::refuse_options;
using openvino::Library;

namespace {

Error failure(std::string message) { return {ErrorKind::RuntimeFailure, std::move(message), {}, {}, {}}; }

// OpenVINO's view of one buffer. Numbered, because an address may be used again.
struct Wrapped {
  openvino::TensorHandle tensor;
  std::uint64_t number = 0;
};

}  // namespace

struct dycl_engine {
  openvino::Core core;
  const dycl_plugin_host* host = nullptr;
};

struct dycl_session {
  dycl_engine* engine = nullptr;
  std::string function;
  openvino::CompiledHandle model;
  std::vector<openvino::PortHandle> inputs, outputs;
  std::vector<bool> is_static;  // per output: the artifact states its whole shape
};

struct dycl_context {
  openvino::RequestHandle request;
  std::vector<std::uint64_t> inputs, outputs;  // numbers of what is bound; 0: nothing of ours
};

namespace {

const Library& library_of(const dycl_session& session) { return *session.engine->core.library; }

// ---- engine ----------------------------------------------------------------------

dycl_plugin_status create_engine(const dycl_plugin_host* host, const dycl_engine_options* options,
                                 dycl_engine** out) noexcept {
  return guarded([&]() -> Result<void> {
    DYCL_TRY(refuse_options("openvino", *options));
    auto engine = std::make_unique<dycl_engine>();
    engine->host = host;
    DYCL_ASSIGN(engine->core, openvino::make_core(options->threads));
    *out = engine.release();
    return {};
  });
}

void destroy_engine(dycl_engine* engine) noexcept { delete engine; }

int32_t accepts_target(dycl_engine* engine, const char* target) noexcept {
  return accepts_only(target, [&] { return openvino::target_key(engine->core.library->version); });
}

// ---- load ------------------------------------------------------------------------

Result<void> check_types(const dycl_session& session, const std::vector<openvino::PortHandle>& ports,
                         const dycl_plugin_port* stated, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto dtype = dycl::dtype_of_code(stated[i].dtype);
    if (!dtype) return failure("a port has no dtype");
    DYCL_ASSIGN(const ov_element_type_e wanted, openvino::element_type(*dtype));
    ov_element_type_e found{};
    DYCL_TRY(check(library_of(session), library_of(session).ov_port_get_element_type(ports[i].get(), &found), "port"));
    if (found != wanted) return failure("a port has another dtype than the program says");
  }
  return {};
}

bool states_shape(const dycl_plugin_port& port) {
  for (std::int32_t i = 0; i < port.rank; ++i)
    if (port.shape[i] < 0) return false;
  return port.rank >= 0;
}

Result<void> fill_session(dycl_session& session, const dycl_plugin_artifact& artifact) {
  const openvino::Core& core = session.engine->core;
  std::vector<openvino::GivenWeight> weights;
  for (std::uint32_t i = 0; i < artifact.weight_count; ++i) {
    const dycl_plugin_weight& w = artifact.weights[i];
    weights.push_back({w.data, w.bytes, w.dtype, {w.shape, w.shape + w.rank}});
  }
  const auto* bytes = static_cast<const std::uint8_t*>(artifact.bytes);
  if (artifact.target == std::string_view("portable") && openvino::is_blob({bytes, artifact.size}))
    return failure("a compiled form that states to be portable");
  DYCL_ASSIGN(session.model, openvino::load_artifact(core, {bytes, artifact.size}, weights));
  DYCL_ASSIGN(session.inputs, openvino::ports_of(core, session.model, false, artifact.input_count));
  DYCL_ASSIGN(session.outputs, openvino::ports_of(core, session.model, true, artifact.output_count));
  DYCL_TRY(check_types(session, session.inputs, artifact.inputs, artifact.input_count));
  DYCL_TRY(check_types(session, session.outputs, artifact.outputs, artifact.output_count));
  for (std::uint32_t i = 0; i < artifact.output_count; ++i)
    session.is_static.push_back(states_shape(artifact.outputs[i]));
  return {};
}

dycl_plugin_status load(dycl_engine* engine, const dycl_plugin_artifact* artifact, dycl_session** out) noexcept {
  return guarded([&]() -> Result<void> {
    auto session = std::make_unique<dycl_session>();
    session->engine = engine;
    session->function = artifact->function;
    if (auto filled = fill_session(*session, *artifact); !filled)
      return Error{ErrorKind::InvalidPackage,
                   "the artifact of @" + session->function + ": " + filled.error().message,
                   {},
                   {},
                   {}};
    *out = session.release();
    return {};
  });
}

void destroy_session(dycl_session* session) noexcept { delete session; }

// ---- run -------------------------------------------------------------------------

Result<void> make_request(const dycl_session& session, dycl_context& context) {
  ov_infer_request_t* raw = nullptr;
  const Library& library = library_of(session);
  DYCL_TRY(check(library, library.ov_compiled_model_create_infer_request(session.model.get(), &raw), "request"));
  context.request = openvino::RequestHandle(raw, {&library});
  context.inputs.assign(session.inputs.size(), 0);
  context.outputs.assign(session.outputs.size(), 0);
  return {};
}

dycl_plugin_status create_context(dycl_session* session, dycl_context** out) noexcept {
  return guarded([&]() -> Result<void> {
    auto context = std::make_unique<dycl_context>();
    DYCL_TRY(make_request(*session, *context));
    *out = context.release();
    return {};
  });
}

void destroy_context(dycl_context* context) noexcept { delete context; }

void drop_wrapped(void* slot) { delete static_cast<Wrapped*>(slot); }

// The wrapper of a tensor with memory, from its slot or made now.
Result<const Wrapped*> wrapped(const dycl_session& session, dycl_plugin_tensor& tensor) {
  alignas(64) static char nothing[64];  // the address of tensors without elements
  static std::atomic<std::uint64_t> last_number = 0;
  if (tensor.slot && tensor.slot_owner == session.engine) return static_cast<const Wrapped*>(tensor.slot);
  const auto dtype = dycl::dtype_of_code(tensor.dtype);
  if (!dtype) return failure("a tensor has no dtype");
  DYCL_ASSIGN(const ov_element_type_e type, openvino::element_type(*dtype));
  const ov_shape_t shape{tensor.rank, const_cast<std::int64_t*>(tensor.shape)};
  ov_tensor_t* raw = nullptr;
  const Library& library = library_of(session);
  DYCL_TRY(check(library,
                 library.ov_tensor_create_from_host_ptr(type, shape, tensor.data ? tensor.data : nothing, &raw),
                 "tensor"));
  auto made = std::make_unique<Wrapped>(Wrapped{openvino::TensorHandle(raw, {&library}), ++last_number});
  if (tensor.slot) tensor.drop_slot(tensor.slot);
  tensor.slot = made.get();
  tensor.slot_owner = session.engine;
  tensor.drop_slot = drop_wrapped;
  return made.release();
}

Result<void> bind(const dycl_session& session, const dycl_context& context, const openvino::PortHandle& port,
                  dycl_plugin_tensor& tensor, std::uint64_t& bound) {
  DYCL_ASSIGN(const Wrapped* wrapper, wrapped(session, tensor));
  if (wrapper->number == bound) return {};
  const Library& library = library_of(session);
  bound = 0;
  DYCL_TRY(
      check(library,
            library.ov_infer_request_set_tensor_by_const_port(context.request.get(), port.get(), wrapper->tensor.get()),
            session.function.c_str()));
  bound = wrapper->number;
  return {};
}

Result<openvino::TensorHandle> result_of(const dycl_session& session, const dycl_context& context, std::size_t i) {
  ov_tensor_t* raw = nullptr;
  const Library& library = library_of(session);
  DYCL_TRY(check(
      library, library.ov_infer_request_get_tensor_by_const_port(context.request.get(), session.outputs[i].get(), &raw),
      "result"));
  return openvino::TensorHandle(raw, {&library});
}

struct Shape {
  const Library& library;
  ov_shape_t raw{};
  ~Shape() { library.ov_shape_free(&raw); }
};

// A result that OpenVINO keeps: copied into memory of the runtime.
Result<void> copy_out(const dycl_session& session, const dycl_context& context, std::size_t i,
                      dycl_plugin_tensor& output) {
  const Library& library = library_of(session);
  DYCL_ASSIGN(const openvino::TensorHandle tensor, result_of(session, context, i));
  Shape shape{library};
  DYCL_TRY(check(library, library.ov_tensor_get_shape(tensor.get(), &shape.raw), "result"));
  void* data = nullptr;
  DYCL_TRY(check(library, library.ov_tensor_data(tensor.get(), &data), "result"));
  if (session.engine->host->allocate(&output, static_cast<std::int32_t>(shape.raw.rank), shape.raw.dims) != 0)
    return failure(session.function + ": a result has a shape that contradicts the program's type for it");
  if (output.bytes > 0) std::memcpy(output.data, data, output.bytes);
  return {};
}

// A bound result must have come out in the shape the program computed for it.
Result<void> check_shape(const dycl_session& session, dycl_context& context, std::size_t i,
                         const dycl_plugin_tensor& output) {
  const Library& library = library_of(session);
  DYCL_ASSIGN(const openvino::TensorHandle tensor, result_of(session, context, i));
  Shape shape{library};
  DYCL_TRY(check(library, library.ov_tensor_get_shape(tensor.get(), &shape.raw), "result"));
  bool same = shape.raw.rank == output.rank;
  for (std::int32_t d = 0; same && d < output.rank; ++d) same = shape.raw.dims[d] == output.shape[d];
  if (same) return {};
  context.outputs[i] = 0;
  return failure(session.function + ": a result has another shape than the program says");
}

Result<void> run_session(dycl_session& session, dycl_context& context, dycl_plugin_tensor* const* inputs,
                         dycl_plugin_tensor* const* outputs) {
  const Library& library = library_of(session);
  for (std::size_t i = 0; i < session.outputs.size(); ++i)
    if (outputs[i]->rank < 0 && context.outputs[i] != 0) {
      DYCL_TRY(make_request(session, context));  // forgets the memory it was given before
      break;
    }
  for (std::size_t i = 0; i < session.inputs.size(); ++i)
    DYCL_TRY(bind(session, context, session.inputs[i], *inputs[i], context.inputs[i]));
  for (std::size_t i = 0; i < session.outputs.size(); ++i)
    if (outputs[i]->rank >= 0) DYCL_TRY(bind(session, context, session.outputs[i], *outputs[i], context.outputs[i]));
  DYCL_TRY(check(library, library.ov_infer_request_infer(context.request.get()), session.function.c_str()));
  for (std::size_t i = 0; i < session.outputs.size(); ++i) {
    if (outputs[i]->rank < 0)
      DYCL_TRY(copy_out(session, context, i, *outputs[i]));
    else if (!session.is_static[i])
      DYCL_TRY(check_shape(session, context, i, *outputs[i]));
  }
  return {};
}

dycl_plugin_status run(dycl_session* session, dycl_context* context, dycl_plugin_tensor* const* inputs,
                       dycl_plugin_tensor* const* outputs) noexcept {
  return guarded([&] { return run_session(*session, *context, inputs, outputs); });
}

}  // namespace

DYCL_PLUGIN_ENTRY("openvino", dycl::backends::version_text("openvino", openvino::library()), nullptr,
                  DYCL_PLUGIN_COMPILED_FORMS)
