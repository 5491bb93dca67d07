// SPDX-License-Identifier: Apache-2.0
// The run-time half of the TVM back end, behind include/dycl/plugin.h.
//
// A session is a library of kernels and the plan that calls them (and the one that is run where a guard does not let
// pass: a form each); a context has a frame per form, with scratch memory and the arguments of every call, made once,
// the second when it is first needed. Operands, results and weights are used in place, but for arguments of the program
// that are not aligned as kernels expect: they are copied.
//
// TVM has a pool of threads per calling thread; how many is set when a thread calls an engine of another number.
#include <dlpack/dlpack.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "backends/layout_tags.h"
#include "backends/plugin_entry.h"
#include "backends/tvm/finite_check.h"
#include "backends/tvm/library.h"
#include "backends/tvm/plan.h"
#include "dycl/plugin.h"
#include "support/dtype.h"

namespace tvm = dycl::backends::tvm;
using dycl::DType;
using dycl::Error;
using dycl::ErrorKind;
using dycl::Result;
using dycl::backends::accepts_only;
using dycl::backends::guarded;
using dycl::backends::refuse_options;

namespace {

Error failure(std::string message) { return {ErrorKind::RuntimeFailure, std::move(message), {}, {}, {}}; }

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, Free>;

Memory aligned(std::uint64_t bytes) {
  Memory memory(std::aligned_alloc(tvm::kAlignment, (bytes / tvm::kAlignment + 1) * tvm::kAlignment));
  if (!memory) throw std::bad_alloc();
  return memory;
}

bool is_aligned(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % tvm::kAlignment == 0; }

}  // namespace

struct dycl_engine {
  const tvm::Library* library = nullptr;
  const dycl_plugin_host* host = nullptr;
  int threads = 1;
};

namespace {

struct Form {
  const tvm::Plan* plan = nullptr;
  std::vector<tvm::Object> kernels;  // of its steps; none for what calls none
};

struct Frame {
  Memory scratch;
  std::vector<DLTensor> tensors;                  // of the plan
  std::vector<std::vector<TVMFFIAny>> arguments;  // of its steps
};

}  // namespace

struct dycl_session {
  dycl_engine* engine = nullptr;
  std::string function;
  tvm::Plan plan;
  tvm::Object module;
  std::vector<Form> forms;
  std::vector<const void*> weights;                        // aligned
  std::vector<Memory> copies;                              // of weights that are not
  std::vector<std::vector<std::int64_t>> inputs, outputs;  // shapes
  std::vector<std::int32_t> input_types, output_types;
};

struct dycl_context {
  std::vector<Frame> frames;  // of the forms; the second is empty until a guard asks for it
  std::vector<Memory> staged_inputs, staged_outputs;
  std::vector<void*> inputs, outputs;  // of this run
  std::atomic<bool> interrupted{false};
};

namespace {

// ---- engine ----------------------------------------------------------------------

dycl_plugin_status create_engine(const dycl_plugin_host* host, const dycl_engine_options* options,
                                 dycl_engine** out) noexcept {
  return guarded([&]() -> Result<void> {
    DYCL_TRY(refuse_options("tvm", *options));
    // Idle threads of TVM yield 300,000 times before they sleep, and before they end: on busy cores that takes minutes.
    if (options->spinning != 1) ::setenv("TVM_THREAD_POOL_SPIN_COUNT", "0", 0);
    auto engine = std::make_unique<dycl_engine>();
    engine->host = host;
    engine->threads =
        options->threads > 0 ? options->threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    DYCL_ASSIGN(engine->library, tvm::library());
    *out = engine.release();
    return {};
  });
}

void destroy_engine(dycl_engine* engine) noexcept { delete engine; }

int32_t accepts_target(dycl_engine* engine, const char* target) noexcept {
  return accepts_only(target, [&] { return tvm::target_key(*engine->library); });
}

// ---- load ------------------------------------------------------------------------

Result<void> take_weights(dycl_session& session, const dycl_plugin_artifact& artifact) {
  for (std::uint32_t i = 0; i < artifact.weight_count; ++i) {
    const dycl_plugin_weight& weight = artifact.weights[i];
    session.weights.push_back(weight.data);
    if (is_aligned(weight.data)) continue;
    session.copies.push_back(aligned(weight.bytes));
    std::memcpy(session.copies.back().get(), weight.data, weight.bytes);
    session.weights.back() = session.copies.back().get();
  }
  return {};
}

Result<void> check_weights(const tvm::Plan& plan, const dycl_plugin_artifact& artifact) {
  for (const tvm::PlanTensor& tensor : plan.tensors) {
    if (tensor.place != tvm::Place::Weight) continue;
    const dycl_plugin_weight& weight = artifact.weights[tensor.index];
    if (weight.bytes != tensor.bytes || weight.dtype != tensor.dtype)
      return failure("it wants a weight that the package does not give it");
  }
  return {};
}

Result<void> take_ports(const dycl_plugin_port* ports, std::uint32_t count,
                        std::vector<std::vector<std::int64_t>>& shapes, std::vector<std::int32_t>& types) {
  for (std::uint32_t i = 0; i < count; ++i) {
    if (ports[i].rank < 0 || std::any_of(ports[i].shape, ports[i].shape + ports[i].rank, [](auto n) { return n < 0; }))
      return failure("an operand or result has no known shape");
    shapes.emplace_back(ports[i].shape, ports[i].shape + ports[i].rank);
    const std::string tag = ports[i].layout ? ports[i].layout : "";
    if (!tag.empty() && !dycl::backends::fits_block(shapes.back(), dycl::backends::block_of(tag)))
      return failure("an operand or result has a layout that TVM's code does not take: " + tag);
    types.push_back(ports[i].dtype);
  }
  return {};
}

std::uint64_t bytes_of(const std::vector<std::int64_t>& shape, std::int32_t dtype) {
  const auto known = dycl::dtype_of_code(dtype);
  std::uint64_t bytes = known ? dycl::size_of(*known) : 0;
  for (const std::int64_t extent : shape) bytes *= static_cast<std::uint64_t>(extent);
  return bytes;
}

Result<void> check_ports(const dycl_session& session, const tvm::Plan& plan) {
  for (const tvm::PlanTensor& tensor : plan.tensors) {
    const bool is_input = tensor.place == tvm::Place::Input;
    if (!is_input && tensor.place != tvm::Place::Result) continue;
    const auto& shape = (is_input ? session.inputs : session.outputs)[tensor.index];
    const std::int32_t dtype = (is_input ? session.input_types : session.output_types)[tensor.index];
    if (tensor.dtype != dtype || tensor.bytes != bytes_of(shape, dtype))
      return failure("an operand or result has another type than the program says");
  }
  return {};
}

Result<void> add_form(dycl_session& session, const tvm::Plan& plan, const dycl_plugin_artifact& artifact) {
  DYCL_TRY(check_weights(plan, artifact));
  DYCL_TRY(check_ports(session, plan));
  Form& form = session.forms.emplace_back();
  form.plan = &plan;
  for (const tvm::PlanStep& step : plan.steps) {
    form.kernels.emplace_back();
    if (step.action != tvm::Action::Call) continue;
    if (!session.module.get()) return failure("it has no kernels");
    DYCL_ASSIGN(form.kernels.back(), tvm::kernel(*session.engine->library, session.module, step.kernel));
  }
  return {};
}

Result<void> fill_session(dycl_session& session, const dycl_plugin_artifact& artifact) {
  const auto* bytes = static_cast<const std::uint8_t*>(artifact.bytes);
  DYCL_ASSIGN(session.plan, tvm::read_plan({bytes, artifact.size}));
  const tvm::Plan& plan = session.plan;
  if (plan.inputs != artifact.input_count || plan.results != artifact.output_count ||
      plan.weights != artifact.weight_count)
    return failure("it has another number of operands, results or weights than the program says");
  DYCL_TRY(take_ports(artifact.inputs, artifact.input_count, session.inputs, session.input_types));
  DYCL_TRY(take_ports(artifact.outputs, artifact.output_count, session.outputs, session.output_types));
  DYCL_TRY(take_weights(session, artifact));
  const tvm::Library& library = *session.engine->library;
  if (!plan.library.empty()) {
    DYCL_ASSIGN(session.module, tvm::load_module(library, plan.library.data(), plan.library.size()));
  }
  DYCL_TRY(add_form(session, plan, artifact));
  for (const tvm::Plan& instead : plan.instead) DYCL_TRY(add_form(session, instead, artifact));
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

Result<DLDataType> type_of(std::int32_t code) {
  const auto dtype = dycl::dtype_of_code(code);
  if (!dtype) return failure("a tensor has no dtype");
  const auto bits = static_cast<std::uint8_t>(dycl::size_of(*dtype) * 8);
  switch (*dtype) {
    case DType::F32:
    case DType::F64:
    case DType::F16: return DLDataType{kDLFloat, bits, 1};
    case DType::I8:
    case DType::I16:
    case DType::I32:
    case DType::I64: return DLDataType{kDLInt, bits, 1};
    case DType::U8: return DLDataType{kDLUInt, bits, 1};
    case DType::Bool: return DLDataType{kDLBool, bits, 1};
    default: return failure("TVM's plug-in takes no tensors of " + std::string(dycl::name_of(*dtype)));
  }
}

Result<void> fill_frame(const dycl_session& session, const tvm::Plan& plan, Frame& frame) {
  frame.scratch = aligned(plan.scratch);
  for (const tvm::PlanTensor& tensor : plan.tensors) {
    DLTensor view{};
    view.device = {kDLCPU, 0};
    view.ndim = static_cast<std::int32_t>(tensor.shape.size());
    view.shape = const_cast<std::int64_t*>(tensor.shape.data());
    DYCL_ASSIGN(view.dtype, type_of(tensor.dtype));
    if (tensor.place == tvm::Place::Weight) view.data = const_cast<void*>(session.weights[tensor.index]);
    if (tensor.place == tvm::Place::Scratch) view.data = static_cast<char*>(frame.scratch.get()) + tensor.index;
    frame.tensors.push_back(view);
  }
  for (const tvm::PlanStep& step : plan.steps) {
    std::vector<TVMFFIAny>& arguments = frame.arguments.emplace_back();
    for (const std::uint32_t tensor : step.tensors) {
      TVMFFIAny argument{};
      argument.type_index = kTVMFFIDLTensorPtr;
      argument.v_ptr = &frame.tensors[tensor];
      arguments.push_back(argument);
    }
  }
  return {};
}

Result<void> fill_context(const dycl_session& session, dycl_context& context) {
  context.inputs.assign(session.plan.inputs, nullptr);
  context.outputs.assign(session.plan.results, nullptr);
  context.staged_inputs.resize(session.plan.inputs);
  context.staged_outputs.resize(session.plan.results);
  context.frames.resize(session.forms.size());
  return fill_frame(session, session.plan, context.frames[0]);
}

dycl_plugin_status create_context(dycl_session* session, dycl_context** out) noexcept {
  return guarded([&]() -> Result<void> {
    auto context = std::make_unique<dycl_context>();
    DYCL_TRY(fill_context(*session, *context));
    *out = context.release();
    return {};
  });
}

void destroy_context(dycl_context* context) noexcept { delete context; }

void use_threads(const dycl_engine& engine) {
  static thread_local int current = 0;
  if (current == engine.threads) return;
  engine.library->set_max_concurrency(engine.threads);
  if (engine.threads > 1) engine.library->reset_thread_pool();
  current = engine.threads;
}

bool has_shape(const dycl_plugin_tensor& tensor, const std::vector<std::int64_t>& shape, std::int32_t dtype) {
  return tensor.dtype == dtype && tensor.rank == static_cast<std::int32_t>(shape.size()) &&
         std::equal(shape.begin(), shape.end(), tensor.shape);
}

// Memory for kernels: the tensor's own, or a place to copy from or to.
void* placed(const dycl_plugin_tensor& tensor, Memory& staged) {
  if (tensor.data && is_aligned(tensor.data)) return tensor.data;
  if (!staged) staged = aligned(tensor.bytes);
  return staged.get();
}

Result<void> take_tensors(dycl_session& session, dycl_context& context, dycl_plugin_tensor* const* inputs,
                          dycl_plugin_tensor* const* outputs) {
  for (std::size_t i = 0; i < session.inputs.size(); ++i) {
    const dycl_plugin_tensor& input = *inputs[i];
    if (!has_shape(input, session.inputs[i], session.input_types[i]))
      return failure(session.function + ": operand " + std::to_string(i) + " has another shape than the program says");
    context.inputs[i] = placed(input, context.staged_inputs[i]);
    if (context.inputs[i] != input.data && input.bytes > 0) std::memcpy(context.inputs[i], input.data, input.bytes);
  }
  for (std::size_t i = 0; i < session.outputs.size(); ++i) {
    dycl_plugin_tensor& output = *outputs[i];
    const auto& shape = session.outputs[i];
    if (output.rank < 0 &&
        session.engine->host->allocate(&output, static_cast<std::int32_t>(shape.size()), shape.data()) != 0)
      return failure(session.function + ": no memory for a result");
    if (!has_shape(output, shape, session.output_types[i]))
      return failure(session.function + ": result " + std::to_string(i) + " has another shape than the program says");
    context.outputs[i] = placed(output, context.staged_outputs[i]);
  }
  return {};
}

void point(const dycl_context& context, const tvm::Plan& plan, Frame& frame) {
  for (std::size_t t = 0; t < frame.tensors.size(); ++t) {
    const tvm::PlanTensor& tensor = plan.tensors[t];
    if (tensor.place == tvm::Place::Input) frame.tensors[t].data = context.inputs[tensor.index];
    if (tensor.place == tvm::Place::Result) frame.tensors[t].data = context.outputs[tensor.index];
  }
}

// Whether every step was run; false: a guard did not let pass.
Result<bool> run_form(const dycl_session& session, const Form& form, Frame& frame,
                      const std::atomic<bool>& interrupted) {
  const tvm::Library& library = *session.engine->library;
  for (std::size_t s = 0; s < form.plan->steps.size(); ++s) {
    if (interrupted.load(std::memory_order_relaxed)) return failure(session.function + ": interrupted");
    const tvm::PlanStep& step = form.plan->steps[s];
    const std::uint64_t bytes = step.action == tvm::Action::Call ? 0 : form.plan->tensors[step.tensors[0]].bytes;
    if (step.action == tvm::Action::Copy && bytes > 0)
      std::memcpy(frame.tensors[step.tensors[1]].data, frame.tensors[step.tensors[0]].data, bytes);
    if (step.action == tvm::Action::Guard &&
        !tvm::is_moderate(static_cast<const float*>(frame.tensors[step.tensors[0]].data), bytes / sizeof(float)))
      return false;
    if (step.action != tvm::Action::Call) continue;
    TVMFFIAny result{};
    auto& arguments = frame.arguments[s];
    if (library.TVMFFIFunctionCall(form.kernels[s].get(), arguments.data(), static_cast<std::int32_t>(arguments.size()),
                                   &result) != 0)
      return tvm::last_failure(library, session.function);
  }
  return true;
}

Result<void> run_session(dycl_session& session, dycl_context& context, dycl_plugin_tensor* const* inputs,
                         dycl_plugin_tensor* const* outputs) {
  DYCL_TRY(take_tensors(session, context, inputs, outputs));
  use_threads(*session.engine);
  for (std::size_t f = 0; f < session.forms.size(); ++f) {
    const Form& form = session.forms[f];
    Frame& frame = context.frames[f];
    if (frame.tensors.empty() && !form.plan->tensors.empty()) DYCL_TRY(fill_frame(session, *form.plan, frame));
    point(context, *form.plan, frame);
    DYCL_ASSIGN(const bool done, run_form(session, form, frame, context.interrupted));
    if (done) break;
  }
  for (std::size_t i = 0; i < session.outputs.size(); ++i)
    if (context.outputs[i] != outputs[i]->data && outputs[i]->bytes > 0)
      std::memcpy(outputs[i]->data, context.outputs[i], outputs[i]->bytes);
  return {};
}

dycl_plugin_status run(dycl_session* session, dycl_context* context, dycl_plugin_tensor* const* inputs,
                       dycl_plugin_tensor* const* outputs) noexcept {
  return guarded([&] { return run_session(*session, *context, inputs, outputs); });
}

// Looked at before each kernel.
void interrupt(dycl_context* context, int32_t on) noexcept { context->interrupted = on != 0; }

}  // namespace

DYCL_PLUGIN_ENTRY("tvm", dycl::backends::version_text("tvm", tvm::library()), interrupt, DYCL_PLUGIN_NATIVE_CODE)
