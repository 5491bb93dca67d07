// SPDX-License-Identifier: Apache-2.0
// What runs kernels that TVM made: libtvm_ffi (the calling convention) and libtvm_runtime (threads), opened at run
// time. Neither TVM's compiler nor Python is needed. Looked for at DYCL_TVM_HOME (the site-packages folder that holds
// tvm and tvm_ffi), beside this code's own library or executable, in ../lib of it, where the dynamic linker looks, and
// where the build found them. Opened once per process and never closed.
#pragma once

#include <tvm/ffi/c_api.h>

#include <string>
#include <vector>

#include "support/result.h"

namespace dycl::backends::tvm {

// The C functions in use, by their own names.
#define DYCL_TVM_FUNCTIONS(X) \
  X(TVMFFIGetVersion)         \
  X(TVMFFIObjectDecRef)       \
  X(TVMFFIFunctionGetGlobal)  \
  X(TVMFFIFunctionCall)       \
  X(TVMFFIErrorMoveFromRaised)

struct Library {
#define DYCL_TVM_MEMBER(name) decltype(&::name) name = nullptr;
  DYCL_TVM_FUNCTIONS(DYCL_TVM_MEMBER)
#undef DYCL_TVM_MEMBER
  void (*set_max_concurrency)(int) = nullptr;  // of the calling thread
  void (*reset_thread_pool)() = nullptr;       // of the calling thread
  TVMFFIObjectHandle load_module = nullptr, get_function = nullptr;
  std::string version;  // "0.27.0.post1-ffi0.1.14": that of this build, and of the calling convention found
};

// The same library on every call; thread-safe.
Result<const Library*> library();

// An object of TVM that is let go with its owner.
class Object {
 public:
  Object() = default;
  Object(const Library* library, TVMFFIObjectHandle handle) : library_(library), handle_(handle) {}
  Object(Object&& other) noexcept : library_(other.library_), handle_(other.handle_) { other.handle_ = nullptr; }
  Object& operator=(Object&& other) noexcept {
    std::swap(library_, other.library_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Object() {
    if (handle_) library_->TVMFFIObjectDecRef(handle_);
  }
  TVMFFIObjectHandle get() const { return handle_; }

 private:
  const Library* library_ = nullptr;
  TVMFFIObjectHandle handle_ = nullptr;
};

// The failure that TVM just reported on this thread.
Error last_failure(const Library& library, const std::string& doing);

// The shared library in `bytes`, loaded from memory.
Result<Object> load_module(const Library& library, const void* bytes, std::size_t size);
Result<Object> kernel(const Library& library, const Object& module, const std::string& name);

// The key of kernels: engine version and the CPU's features, both equal to this machine's.
//
//   tvm-0.27.0.post1-ffi0.1.14/x86_64/avx+fma+avx2
std::string target_key(const Library& library);

}  // namespace dycl::backends::tvm
