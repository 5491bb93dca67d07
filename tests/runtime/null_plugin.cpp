// SPDX-License-Identifier: Apache-2.0
// An engine that does nothing at all: what is left of a run is the runtime's own cost.
// Its outputs must have known shapes; they are zero.
#include <cstdint>

#include "dycl/plugin.h"

struct dycl_engine {};
struct dycl_session {};
struct dycl_context {};

namespace {

dycl_engine engine;
dycl_session session;
dycl_context context;

dycl_plugin_status create_engine(const dycl_plugin_host*, const dycl_engine_options*, dycl_engine** out) {
  *out = &engine;
  return 0;
}
void destroy_engine(dycl_engine*) {}
std::int32_t accepts_target(dycl_engine*, const char*) { return 0; }
dycl_plugin_status load(dycl_engine*, const dycl_plugin_artifact*, dycl_session** out) {
  *out = &session;
  return 0;
}
void destroy_session(dycl_session*) {}
dycl_plugin_status create_context(dycl_session*, dycl_context** out) {
  *out = &context;
  return 0;
}
void destroy_context(dycl_context*) {}
dycl_plugin_status run(dycl_session*, dycl_context*, dycl_plugin_tensor* const*, dycl_plugin_tensor* const* outputs) {
  *static_cast<volatile char*>(outputs[0]->data) = 0;
  return 0;
}
const char* last_error() { return ""; }

// As a plug-in from before `interrupt` has it.
constexpr dycl_plugin kPlugin = {DYCL_PLUGIN_MIN_SIZE,
                                 DYCL_PLUGIN_ABI,
                                 "null",
                                 "null 1",
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
