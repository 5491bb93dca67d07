// SPDX-License-Identifier: Apache-2.0
// An engine for tests whose artifacts are shared libraries: it opens them, as TVM's does, so that their constructors
// run. Its sub-DNNs compute nothing.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

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
  return DYCL_PLUGIN_OK;
}
void destroy_engine(dycl_engine*) {}
std::int32_t accepts_target(dycl_engine*, const char*) { return 1; }
dycl_plugin_status load(dycl_engine*, const dycl_plugin_artifact* artifact, dycl_session** out) {
  const int file = ::memfd_create("artifact", 0);
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  const bool written = ::write(file, artifact->bytes, artifact->size) == static_cast<ssize_t>(artifact->size);
  if (!written || !::dlopen(path.c_str(), RTLD_NOW)) return DYCL_PLUGIN_BAD_ARTIFACT;
  ::close(file);
  *out = &session;
  return DYCL_PLUGIN_OK;
}
void destroy_session(dycl_session*) {}
dycl_plugin_status create_context(dycl_session*, dycl_context** out) {
  *out = &context;
  return DYCL_PLUGIN_OK;
}
void destroy_context(dycl_context*) {}
dycl_plugin_status run(dycl_session*, dycl_context*, dycl_plugin_tensor* const*, dycl_plugin_tensor* const* outputs) {
  static_cast<volatile float*>(outputs[0]->data)[0] = 0;
  return DYCL_PLUGIN_OK;
}
const char* last_error() { return "no shared library"; }

constexpr dycl_plugin kPlugin = {sizeof(dycl_plugin), DYCL_PLUGIN_ABI, "native",        "native 1",
                                 create_engine,       destroy_engine,  accepts_target,  load,
                                 destroy_session,     create_context,  destroy_context, run,
                                 last_error,          nullptr,         DYCL_PLUGIN_NATIVE_CODE};

}  // namespace

extern "C" DYCL_PLUGIN_EXPORT const dycl_plugin* dycl_plugin_entry(uint32_t host_abi) {
  return host_abi == DYCL_PLUGIN_ABI ? &kPlugin : nullptr;
}
