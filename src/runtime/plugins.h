// SPDX-License-Identifier: Apache-2.0
// Finds, loads and owns the engines of one program. A plug-in's library stays loaded
// until the process ends (engines leave threads behind); engines and sessions go with
// their owner here. Used by one thread while loading; afterwards immutable.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dycl/plugin.h"
#include "dycl/runtime.h"
#include "support/result.h"

namespace dycl::runtime {

// The library of a back end, by the rules of dycl/plugin.h.
Result<const dycl_plugin*> load_plugin(const std::string& backend, const LoadOptions& options);

struct DestroyEngine {
  const dycl_plugin* plugin = nullptr;
  void operator()(dycl_engine* e) const { plugin->destroy_engine(e); }
};
struct DestroySession {
  const dycl_plugin* plugin = nullptr;
  void operator()(dycl_session* s) const { plugin->destroy_session(s); }
};
struct DestroyContext {
  const dycl_plugin* plugin = nullptr;
  void operator()(dycl_context* c) const { plugin->destroy_context(c); }
};
using EnginePtr = std::unique_ptr<dycl_engine, DestroyEngine>;
using SessionPtr = std::unique_ptr<dycl_session, DestroySession>;
using ContextPtr = std::unique_ptr<dycl_context, DestroyContext>;

// Entries that older plug-ins' tables lack.
using InterruptFn = void (*)(dycl_context* context, std::int32_t on);
InterruptFn interrupt_of(const dycl_plugin* plugin);  // null: it cannot be interrupted
// Why an artifact for `target` is loaded only if the caller allows native code; null: it needs no consent.
const char* reason_for_consent(const dycl_plugin* plugin, std::string_view target);

// The error a plug-in reported, as ours.
Error plugin_error(const dycl_plugin* plugin, dycl_plugin_status status, const std::string& doing);

class Engines {
 public:
  // The engine of a back end; made on first use. Failures are remembered.
  Result<dycl_engine*> get(const std::string& backend, const LoadOptions& options);
  const dycl_plugin* plugin_of(const std::string& backend) const { return engines_.at(backend).get_deleter().plugin; }

 private:
  std::map<std::string, EnginePtr> engines_;
  std::map<std::string, Error> failures_;
};

// Tells the user something, by the options' callback or on stderr.
void notify(const LoadOptions& options, const std::string& message);

}  // namespace dycl::runtime
