// SPDX-License-Identifier: Apache-2.0
#include "backends/ort/library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "backends/path_of_build.h"
#include "support/shared_library.h"

namespace dycl::backends::ort {
namespace {

constexpr const char* kFileName = "libonnxruntime.so.1";
#ifdef DYCL_ORT_LIBRARY_OF_BUILD
DYCL_PATH_OF_BUILD(kLibraryOfBuild, DYCL_ORT_LIBRARY_OF_BUILD);
#endif

std::vector<std::string> candidates() {
  std::vector<std::string> paths;
  if (const char* named = std::getenv("DYCL_ORT_LIBRARY"); named && *named) return {named};
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&library), &info) && info.dli_fname) {
    std::error_code error;
    const auto here = std::filesystem::absolute(info.dli_fname, error).parent_path();
    for (const auto& folder : {here, here / ".." / "lib", here / ".." / "lib" / "dycl", here / "lib" / "dycl"})
      if (std::filesystem::exists(folder / kFileName, error)) paths.push_back((folder / kFileName).string());
  }
  paths.emplace_back(kFileName);
#ifdef DYCL_ORT_LIBRARY_OF_BUILD
  if (std::string path = path_of_build(kLibraryOfBuild); !path.empty()) paths.push_back(std::move(path));
#endif
  return paths;
}

Result<Library> open() {
  std::string reasons;
  for (const std::string& path : candidates()) {
    if (const auto whole = check_shared_library(path); !whole) {
      reasons += (reasons.empty() ? "" : "; ") + whole.error().message;
      continue;
    }
    void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const char* why = ::dlerror();
      reasons += (reasons.empty() ? "" : "; ") + std::string(why ? why : path);
      continue;
    }
    using GetApiBase = const OrtApiBase* (*)();
    const auto get = reinterpret_cast<GetApiBase>(::dlsym(handle, "OrtGetApiBase"));
    const OrtApiBase* base = get ? get() : nullptr;
    const OrtApi* api = base ? base->GetApi(ORT_API_VERSION) : nullptr;
    if (api) return Library{api, base->GetVersionString()};
    reasons += (reasons.empty() ? "" : "; ") + path + " is not ONNX Runtime, or older than API " +
               std::to_string(ORT_API_VERSION);
  }
  return Error{ErrorKind::Missing, "ONNX Runtime's library cannot be opened (" + reasons + ")",
               "put libonnxruntime.so.1 beside the plug-in, or name it in DYCL_ORT_LIBRARY", {}, {}};
}

}  // namespace

Result<const Library*> library() {
  static const Result<Library> opened = open();
  if (!opened) return opened.error();
  return &*opened;
}

Result<void> check(const OrtApi& api, OrtStatus* status, const char* what) {
  if (!status) return {};
  Error error{ErrorKind::RuntimeFailure, std::string("ONNX Runtime: ") + what + ": " + api.GetErrorMessage(status), {},
              {}, {}};
  api.ReleaseStatus(status);
  return error;
}

Result<Handle<OrtEnv>> quiet_environment(const Library& library) {
  const OrtApi& api = *library.api;
  OrtThreadingOptions* raw = nullptr;
  DYCL_TRY(check(api, api.CreateThreadingOptions(&raw), "threading options"));
  const auto threading = own(raw, api.ReleaseThreadingOptions);
  DYCL_TRY(check(api, api.SetGlobalIntraOpNumThreads(raw, 1), "threads"));
  OrtEnv* environment = nullptr;
  DYCL_TRY(check(api, api.CreateEnvWithGlobalThreadPools(ORT_LOGGING_LEVEL_FATAL, "dycl", raw, &environment),
                 "environment"));
  return own(environment, api.ReleaseEnv);
}

}  // namespace dycl::backends::ort
