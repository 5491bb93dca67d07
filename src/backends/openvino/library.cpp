// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "backends/path_of_build.h"
#include "support/shared_library.h"

namespace dycl::backends::openvino {
namespace {

constexpr const char* kInstall = "install it with: python -m pip install --no-deps openvino==" DYCL_OPENVINO_VERSION
                                 " (then `make setup`), or name its libopenvino_c.so in DYCL_OPENVINO_LIBRARY";

DYCL_PATH_OF_BUILD(kLibraryOfBuild, DYCL_OPENVINO_LIBRARY_OF_BUILD);

std::vector<std::string> candidates() {
  if (const char* named = std::getenv("DYCL_OPENVINO_LIBRARY"); named && *named) return {named};
  const std::filesystem::path name = DYCL_OPENVINO_LIBRARY_NAME;
  std::vector<std::string> paths;
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&library), &info) && info.dli_fname) {
    std::error_code error;
    const auto here = std::filesystem::absolute(info.dli_fname, error).parent_path();
    for (const auto& folder : {here, here / ".." / "lib", here / ".." / "lib" / "dycl"})
      if (std::filesystem::exists(folder / name, error)) paths.push_back((folder / name).string());
  }
  paths.push_back(name.string());
  if (std::string path = path_of_build(kLibraryOfBuild); !path.empty()) paths.push_back(std::move(path));
  return paths;
}

// "2026.4.1-22982-e213a147257-releases/2026/4" -> "2026.4.1"
std::string version_of(const Library& library) {
  ov_version_t version{};
  if (library.ov_get_openvino_version(&version) != OK) return "unknown";
  std::string text = version.buildNumber ? version.buildNumber : "unknown";
  library.ov_version_free(&version);
  return text.substr(0, text.find('-'));
}

// The first function that the library lacks, or nullptr.
const char* resolve(void* handle, Library& library) {
#define DYCL_OPENVINO_RESOLVE(name)                                                \
  library.name = reinterpret_cast<decltype(library.name)>(::dlsym(handle, #name)); \
  if (!library.name) return #name;
  DYCL_OPENVINO_FUNCTIONS(DYCL_OPENVINO_RESOLVE)
#undef DYCL_OPENVINO_RESOLVE
  return nullptr;
}

Result<Library> open() {
  std::string reasons;
  const auto add = [&](const std::string& reason) { reasons += (reasons.empty() ? "" : "; ") + reason; };
  for (const std::string& path : candidates()) {
    if (const auto whole = check_shared_library(path); !whole) {
      add(whole.error().message);
      continue;
    }
    void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const char* why = ::dlerror();
      add(why ? why : path);
      continue;
    }
    Library library;
    if (const char* lacking = resolve(handle, library)) {
      add(path + " has no function " + lacking);
      continue;
    }
    library.version = version_of(library);
    return library;
  }
  return Error{ErrorKind::Missing, "OpenVINO's library cannot be opened (" + reasons + ")", kInstall, {}, {}};
}

}  // namespace

Result<const Library*> library() {
  static const Result<Library> opened = open();
  if (!opened) return opened.error();
  return &*opened;
}

Result<void> check(const Library& library, ov_status_e status, const char* what) {
  if (status == OK) return {};
  const char* text = library.ov_get_last_err_msg();
  std::string why = text ? text : "";
  if (text) library.ov_free(text);
  while (!why.empty() && (why.back() == '\n' || why.back() == ' ')) why.pop_back();
  if (why.empty()) why = library.ov_get_error_info(status);
  return Error{ErrorKind::RuntimeFailure, std::string("OpenVINO: ") + what + ": " + why, {}, {}, {}};
}

}  // namespace dycl::backends::openvino
