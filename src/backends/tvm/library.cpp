// SPDX-License-Identifier: Apache-2.0
#include "backends/tvm/library.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "backends/cpu.h"
#include "backends/path_of_build.h"
#include "support/shared_library.h"

namespace dycl::backends::tvm {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInstall =
    "install it with: python -m pip install --no-deps -r requirements-engines.txt (then `make setup`), or name the "
    "folder that holds tvm and tvm_ffi in DYCL_TVM_HOME";
constexpr const char* kFfi = "libtvm_ffi.so";
constexpr const char* kRuntime = "libtvm_runtime.so";

DYCL_PATH_OF_BUILD(kHomeOfBuild, DYCL_TVM_HOME_OF_BUILD);

using Pair = std::pair<std::string, std::string>;  // of both libraries

std::vector<Pair> candidates() {
  const auto in_site = [](const fs::path& site) {
    return Pair{(site / "tvm_ffi" / "lib" / kFfi).string(), (site / "tvm" / "lib" / kRuntime).string()};
  };
  if (const char* named = std::getenv("DYCL_TVM_HOME"); named && *named) return {in_site(named)};
  std::vector<Pair> pairs;
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&library), &info) && info.dli_fname) {
    std::error_code error;
    const auto here = fs::absolute(info.dli_fname, error).parent_path();
    for (const auto& folder : {here, here / ".." / "lib", here / ".." / "lib" / "dycl"})
      if (fs::exists(folder / kRuntime, error))
        pairs.emplace_back((folder / kFfi).string(), (folder / kRuntime).string());
  }
  pairs.emplace_back(kFfi, kRuntime);
  if (const std::string home = path_of_build(kHomeOfBuild); !home.empty()) pairs.push_back(in_site(home));
  return pairs;
}

// The first function that the libraries lack, or nullptr.
const char* resolve(void* ffi, void* runtime, Library& library) {
#define DYCL_TVM_RESOLVE(name)                                                  \
  library.name = reinterpret_cast<decltype(library.name)>(::dlsym(ffi, #name)); \
  if (!library.name) return #name;
  DYCL_TVM_FUNCTIONS(DYCL_TVM_RESOLVE)
#undef DYCL_TVM_RESOLVE
  const auto find = [&](auto& place, const char* name) {
    place = reinterpret_cast<std::remove_reference_t<decltype(place)>>(::dlsym(runtime, name));
    return place != nullptr;
  };
  if (!find(library.set_max_concurrency, "_ZN3tvm7runtime9threading17SetMaxConcurrencyEi")) return "SetMaxConcurrency";
  if (!find(library.reset_thread_pool, "_ZN3tvm7runtime9threading15ResetThreadPoolEv")) return "ResetThreadPool";
  const auto global = [&](TVMFFIObjectHandle& place, const char* name) {
    const TVMFFIByteArray text{name, std::strlen(name)};
    return library.TVMFFIFunctionGetGlobal(&text, &place) == 0 && place;
  };
  if (!global(library.load_module, "ffi.Module.load_from_file.so")) return "ffi.Module.load_from_file.so";
  if (!global(library.get_function, "ffi.ModuleGetFunction")) return "ffi.ModuleGetFunction";
  return nullptr;
}

// Kernels find the calling convention among the process's global symbols.
Result<void> open_pair(const Pair& paths, Library& library) {
  const auto failure = [](std::string what) { return Error{ErrorKind::Missing, std::move(what), {}, {}, {}}; };
  const auto open = [](const std::string& path) { return ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL); };
  DYCL_TRY(check_shared_library(paths.first));
  DYCL_TRY(check_shared_library(paths.second));
  void* ffi = open(paths.first);
  void* runtime = ffi ? open(paths.second) : nullptr;
  if (!runtime) {
    const char* why = ::dlerror();
    return failure(why ? why : paths.first);
  }
  if (const char* lacking = resolve(ffi, runtime, library))
    return failure(paths.second + " has no function " + lacking);
  TVMFFIVersion version{};
  library.TVMFFIGetVersion(&version);
  library.version = std::string(DYCL_TVM_VERSION) + "-ffi" + std::to_string(version.major) + "." +
                    std::to_string(version.minor) + "." + std::to_string(version.patch);
  return {};
}

Result<Library> open() {
  // Threads stay where the system puts them; one of the caller's would be bound to a core otherwise.
  ::setenv("TVM_BIND_THREADS", "0", 0);
  std::string reasons;
  for (const Pair& paths : candidates()) {
    Library library;
    const auto opened = open_pair(paths, library);
    if (opened) return library;
    reasons += (reasons.empty() ? "" : "; ") + opened.error().message;
  }
  return Error{ErrorKind::Missing, "TVM's libraries cannot be opened (" + reasons + ")", kInstall, {}, {}};
}

// The linker takes a second library of the same path for the first one, and numbers of files are used again; so the
// path says how many there were before, in ways that the file system does not care about.
std::string unique_path(int file) {
  static std::atomic<std::uint32_t> count = 0;
  std::string path = "/proc/self/fd";
  for (std::uint32_t bits = ++count, i = 0; i < 32; ++i, bits >>= 1) path += (bits & 1) != 0 ? "/." : "/";
  return path + "/" + std::to_string(file);
}

TVMFFIAny text_of(const char* text) {
  TVMFFIAny any{};
  any.type_index = kTVMFFIRawStr;
  any.v_c_str = text;
  return any;
}

TVMFFIAny object_of(TVMFFIObjectHandle handle, std::int32_t type) {
  TVMFFIAny any{};
  any.type_index = type;
  any.v_obj = static_cast<TVMFFIObject*>(handle);
  return any;
}

}  // namespace

Result<const Library*> library() {
  static const Result<Library> opened = open();
  if (!opened) return opened.error();
  return &*opened;
}

Error last_failure(const Library& library, const std::string& doing) {
  TVMFFIObjectHandle handle = nullptr;
  library.TVMFFIErrorMoveFromRaised(&handle);
  std::string why = "no reason given";
  if (handle) {
    const TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(handle);
    why.assign(cell->message.data, cell->message.size);
    library.TVMFFIObjectDecRef(handle);
  }
  return {ErrorKind::RuntimeFailure, "TVM: " + doing + ": " + why, {}, {}, {}};
}

Result<Object> load_module(const Library& library, const void* bytes, std::size_t size) {
  const int file = ::memfd_create("dycl_tvm", MFD_CLOEXEC);
  if (file < 0) return Error{ErrorKind::RuntimeFailure, "no file in memory for kernels", {}, {}, {}};
  const auto* at = static_cast<const char*>(bytes);
  bool written = true;
  for (std::size_t left = size; left > 0 && written;) {
    const ssize_t n = ::write(file, at, left);
    written = n > 0;
    at += n;
    left -= static_cast<std::size_t>(written ? n : 0);
  }
  const std::string path = unique_path(file);
  TVMFFIAny arguments[] = {text_of(path.c_str()), text_of("so")}, result{};
  const bool loaded = written && library.TVMFFIFunctionCall(library.load_module, arguments, 2, &result) == 0;
  ::close(file);
  if (!loaded) return last_failure(library, "load");
  if (result.type_index != kTVMFFIModule) return Error{ErrorKind::InvalidPackage, "no module in it", {}, {}, {}};
  return Object(&library, result.v_obj);
}

Result<Object> kernel(const Library& library, const Object& module, const std::string& name) {
  TVMFFIAny query{};
  query.type_index = kTVMFFIBool;
  TVMFFIAny arguments[] = {object_of(module.get(), kTVMFFIModule), text_of(name.c_str()), query}, result{};
  if (library.TVMFFIFunctionCall(library.get_function, arguments, 3, &result) != 0)
    return last_failure(library, "kernel " + name);
  if (result.type_index != kTVMFFIFunction)
    return Error{ErrorKind::InvalidPackage, "it has no kernel " + name, {}, {}, {}};
  return Object(&library, result.v_obj);
}

std::string target_key(const Library& library) { return "tvm-" + library.version + "/" + cpu_features(); }

}  // namespace dycl::backends::tvm
