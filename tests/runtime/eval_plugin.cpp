// SPDX-License-Identifier: Apache-2.0
// An engine for tests whose artifacts are IR text: a program whose second function is the
// sub-DNN, weights inline. It runs through the reference interpreter and built-in evaluator,
// so a package can be compared with the interpreter bit for bit.
#include <cstring>
#include <memory>
#include <string>

#include "dycl/plugin.h"
#include "ir/interpret.h"
#include "ir/parse.h"

using namespace dycl;

struct dycl_engine {
  const dycl_plugin_host* host;
};

struct dycl_session {
  dycl_engine* engine;
  ir::Program program;
};

struct dycl_context {
  std::unique_ptr<ir::TensorEvaluator> evaluator = ir::make_builtin_evaluator();
  std::unique_ptr<ir::Interpreter> interpreter;
};

namespace {

thread_local std::string message;

dycl_plugin_status fail(dycl_plugin_status status, std::string why) {
  message = std::move(why);
  return status;
}

dycl_plugin_status create_engine(const dycl_plugin_host* host, const dycl_engine_options*, dycl_engine** engine) {
  *engine = new dycl_engine{host};
  return DYCL_PLUGIN_OK;
}
void destroy_engine(dycl_engine* engine) { delete engine; }
std::int32_t accepts_target(dycl_engine*, const char*) { return 0; }

dycl_plugin_status load(dycl_engine* engine, const dycl_plugin_artifact* a, dycl_session** session) {
  auto program = ir::parse({static_cast<const char*>(a->bytes), a->size});
  if (!program || program->functions.size() != 2)
    return fail(DYCL_PLUGIN_BAD_ARTIFACT, program ? "no sub-DNN" : program.error().message);
  *session = new dycl_session{engine, std::move(program).value()};
  return DYCL_PLUGIN_OK;
}
void destroy_session(dycl_session* session) { delete session; }

dycl_plugin_status create_context(dycl_session* session, dycl_context** context) {
  auto made = std::make_unique<dycl_context>();
  auto interpreter = ir::Interpreter::create(session->program, *made->evaluator);
  if (!interpreter) return fail(DYCL_PLUGIN_BAD_ARTIFACT, interpreter.error().message);
  made->interpreter = std::make_unique<ir::Interpreter>(std::move(interpreter).value());
  *context = made.release();
  return DYCL_PLUGIN_OK;
}
void destroy_context(dycl_context* context) { delete context; }

dycl_plugin_status run(dycl_session* session, dycl_context* context, dycl_plugin_tensor* const* inputs,
                       dycl_plugin_tensor* const* outputs) {
  const ir::Function& function = session->program.functions[1];
  std::vector<ir::HostValue> arguments;
  for (std::size_t i = 0; i < function.params.size(); ++i) {
    const dycl_plugin_tensor& in = *inputs[i];
    ir::Tensor t{static_cast<DType>(in.dtype), {in.shape, in.shape + in.rank}, {}};
    const auto* bytes = static_cast<const std::uint8_t*>(in.data);
    t.bytes.assign(bytes, bytes + in.bytes);
    arguments.push_back(ir::HostValue::of(std::move(t)));
  }
  auto outcome = context->interpreter->run(function, arguments);
  if (!outcome) return fail(DYCL_PLUGIN_FAILED, outcome.error().message);
  for (std::size_t i = 0; i < outcome->results.size(); ++i) {
    const ir::Tensor& result = outcome->results[i].tensor();
    dycl_plugin_tensor* out = outputs[i];
    const auto rank = static_cast<std::int32_t>(result.shape.size());
    if (out->rank < 0 && session->engine->host->allocate(out, rank, result.shape.data()) != 0)
      return fail(DYCL_PLUGIN_FAILED, "no memory");
    if (out->rank != rank || !std::equal(result.shape.begin(), result.shape.end(), out->shape) ||
        out->bytes != result.bytes.size())
      return fail(DYCL_PLUGIN_FAILED, "the result has another shape than the program says");
    if (!result.bytes.empty()) std::memcpy(out->data, result.bytes.data(), result.bytes.size());
  }
  return DYCL_PLUGIN_OK;
}

const char* last_error() { return message.c_str(); }

constexpr dycl_plugin kPlugin = {sizeof(dycl_plugin),
                                 DYCL_PLUGIN_ABI,
                                 "eval",
                                 "eval 1",
                                 create_engine,
                                 destroy_engine,
                                 accepts_target,
                                 load,
                                 destroy_session,
                                 create_context,
                                 destroy_context,
                                 run,
                                 last_error,
                                 nullptr,
                                 0};

}  // namespace

extern "C" DYCL_PLUGIN_EXPORT const dycl_plugin* dycl_plugin_entry(uint32_t host_abi) {
  return host_abi == DYCL_PLUGIN_ABI ? &kPlugin : nullptr;
}
