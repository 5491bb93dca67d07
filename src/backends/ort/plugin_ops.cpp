// SPDX-License-Identifier: Apache-2.0
#include "backends/ort/plugin_ops.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "backends/ort/library.h"
#include "backends/path_of_build.h"
#include "support/shared_library.h"

namespace dycl::backends::ort {
namespace {

#ifdef DYCL_PLUGINS_OF_BUILD
DYCL_PATH_OF_BUILD(kPluginsOfBuild, DYCL_PLUGINS_OF_BUILD);
#endif

namespace fs = std::filesystem;

constexpr const char* kFileName = "libdycl_plugin_ort.so";

void add_neighbours(const fs::path& file, std::vector<fs::path>& folders) {
  if (file.empty()) return;
  folders.push_back(file.parent_path());
  folders.push_back(file.parent_path() / ".." / "lib" / "dycl");
  folders.push_back(file.parent_path() / "lib" / "dycl");
}

std::vector<fs::path> folders_to_search() {
  std::vector<fs::path> folders;
  if (const char* path = std::getenv("DYCL_PLUGIN_PATH")) {
    std::string_view rest = path;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(':'), rest.size());
      if (end > 0) folders.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  Dl_info info{};
  std::error_code ignored;
  if (::dladdr(reinterpret_cast<const void*>(&add_plugin_ops), &info) && info.dli_fname)
    add_neighbours(fs::absolute(info.dli_fname, ignored), folders);
  add_neighbours(fs::read_symlink("/proc/self/exe", ignored), folders);
#ifdef DYCL_PLUGINS_OF_BUILD
  if (std::string path = path_of_build(kPluginsOfBuild); !path.empty()) folders.emplace_back(std::move(path));
#endif
  return folders;
}

struct Opened {
  AddLinearAlgebra add = nullptr;
};

Result<Opened> open() {
  std::string reasons;
  for (const fs::path& folder : folders_to_search()) {
    std::error_code ignored;
    const fs::path path = folder / kFileName;
    if (!fs::exists(path, ignored)) continue;
    DYCL_TRY(check_shared_library(path.string()));
    void* handle = ::dlopen(fs::absolute(path, ignored).c_str(), RTLD_NOW | RTLD_LOCAL);
    void* found = handle ? ::dlsym(handle, kAddLinearAlgebra) : nullptr;
    if (found) return Opened{reinterpret_cast<AddLinearAlgebra>(found)};
    const char* why = ::dlerror();
    reasons += (reasons.empty() ? "" : "; ") + std::string(why ? why : path.c_str());
  }
  return Error{ErrorKind::Missing,
               "linear algebra needs the plug-in " + std::string(kFileName) + ", which cannot be opened" +
                   (reasons.empty() ? "" : " (" + reasons + ")"),
               "set DYCL_PLUGIN_PATH to the folder that holds it",
               {},
               {}};
}

}  // namespace

Result<void> add_plugin_ops(const OrtApi& api, OrtSessionOptions* options) {
  static const Result<Opened> opened = open();
  if (!opened) return opened.error();
  return check(api, opened->add(options, &api), "ops of ours");
}

}  // namespace dycl::backends::ort
