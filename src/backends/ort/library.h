// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's shared library, opened at run time: neither the compiler nor the
// plug-in links it. Looked for at DYCL_ORT_LIBRARY, beside this code's own
// library or executable, in ../lib of it, where the dynamic linker looks, and where the build
// found it. Opened once per process and never closed (its threads and static
// objects do not survive that).
#pragma once

#include <onnxruntime_c_api.h>

#include <memory>
#include <string>

#include "support/result.h"

namespace dycl::backends::ort {

struct Library {
  const OrtApi* api = nullptr;
  std::string version;  // "1.31.1"
};

// The same library on every call; thread-safe.
Result<const Library*> library();

// An OrtStatus as an Error (and released), or success.
Result<void> check(const OrtApi& api, OrtStatus* status, const char* what);

// Owning handles of ONNX Runtime's objects.
template <typename T>
struct Release {
  void (*release)(T*) = nullptr;
  void operator()(T* object) const { release(object); }
};
template <typename T>
using Handle = std::unique_ptr<T, Release<T>>;

template <typename T>
Handle<T> own(T* object, void (*release)(T*)) {
  return Handle<T>(object, Release<T>{release});
}

// An environment (the process has one, whoever asks first makes it) with a pool
// of one thread and no logging, for compiling and evaluating.
Result<Handle<OrtEnv>> quiet_environment(const Library& library);

}  // namespace dycl::backends::ort
