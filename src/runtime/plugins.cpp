// SPDX-License-Identifier: Apache-2.0
#include "runtime/plugins.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "runtime/heap.h"
#include "support/shared_library.h"
#include "support/utf8.h"

namespace dycl::runtime {
namespace {

namespace fs = std::filesystem;

// Where notices of engines go while this thread loads a program.
thread_local const LoadOptions* current_options = nullptr;

void engine_notice(const char* message) {
  static const LoadOptions defaults;
  notify(current_options ? *current_options : defaults, message ? message : "");
}

constexpr dycl_plugin_host kHost = {sizeof(dycl_plugin_host), DYCL_PLUGIN_ABI, allocate_output, adopt_output,
                                    engine_notice};

void add_neighbours(const fs::path& file, std::vector<fs::path>& folders) {
  if (file.empty()) return;
  const fs::path folder = file.parent_path();
  folders.push_back(folder);
  folders.push_back(folder / ".." / "lib" / "dycl");
}

std::vector<fs::path> folders_to_search(const LoadOptions& options) {
  std::vector<fs::path> folders = options.plugin_folders;
  if (const char* path = std::getenv("DYCL_PLUGIN_PATH")) {
    const std::string text = path;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(':', begin), text.size());
      if (end > begin) folders.emplace_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  Dl_info info{};
  std::error_code ignored;
  if (dladdr(reinterpret_cast<const void*>(&load_plugin), &info) && info.dli_fname) {
    add_neighbours(fs::absolute(info.dli_fname, ignored), folders);
  }
  add_neighbours(fs::read_symlink("/proc/self/exe", ignored), folders);
  return folders;
}

Error missing(std::string message, std::string help) {
  return {ErrorKind::Missing, std::move(message), std::move(help), {}, {}};
}

Result<fs::path> find_library(const std::string& backend, const LoadOptions& options) {
  std::error_code ignored;
  if (const auto it = options.plugins.find(backend); it != options.plugins.end()) {
    if (fs::exists(it->second, ignored)) return it->second;
    return missing("the plug-in of back end " + backend + " is not at " + it->second.string(), "");
  }
  const std::string name = "libdycl_plugin_" + backend + ".so";
  std::vector<std::string> looked;
  for (const fs::path& folder : folders_to_search(options)) {
    if (fs::exists(folder / name, ignored)) return folder / name;
    std::string normal = folder.lexically_normal().string();
    if (std::find(looked.begin(), looked.end(), normal) == looked.end()) looked.push_back(std::move(normal));
  }
  std::string folders;
  for (const std::string& folder : looked) folders += (folders.empty() ? "" : ", ") + folder;
  return missing("the package needs back end " + backend + ", but its plug-in " + name + " is not there",
                 "name the folder that holds it in DYCL_PLUGIN_PATH, or compile the model for an engine that is here "
                 "(--backend); looked in " + folders);
}

}  // namespace

Result<const dycl_plugin*> load_plugin(const std::string& backend, const LoadOptions& options) {
  DYCL_ASSIGN(const fs::path path, find_library(backend, options));
  DYCL_TRY(check_shared_library(path));
  std::error_code ignored;
  void* library = dlopen(fs::absolute(path, ignored).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = dlerror();
    return missing("cannot load the plug-in of back end " + backend + ": " + (why ? why : "unknown reason"),
                   "is the vendor's library installed?");
  }
  const auto entry = reinterpret_cast<dycl_plugin_entry_fn>(dlsym(library, "dycl_plugin_entry"));
  const dycl_plugin* plugin = entry ? entry(DYCL_PLUGIN_ABI) : nullptr;
  if (!plugin || plugin->abi != DYCL_PLUGIN_ABI || plugin->struct_size < DYCL_PLUGIN_MIN_SIZE) {
    return missing(path.string() + " is not a DyCL plug-in of ABI version " + std::to_string(DYCL_PLUGIN_ABI),
                   "use a plug-in that was built with this runtime");
  }
  return plugin;
}

InterruptFn interrupt_of(const dycl_plugin* plugin) {
  return plugin->struct_size > offsetof(dycl_plugin, interrupt) ? plugin->interrupt : nullptr;
}

const char* reason_for_consent(const dycl_plugin* plugin, std::string_view target) {
  const std::uint32_t flags = plugin->struct_size > offsetof(dycl_plugin, flags) ? plugin->flags : 0;
  if (flags & DYCL_PLUGIN_NATIVE_CODE) return "machine code";
  return flags & DYCL_PLUGIN_COMPILED_FORMS && target != "portable" ? "an engine's compiled form" : nullptr;
}

Error plugin_error(const dycl_plugin* plugin, dycl_plugin_status status, const std::string& doing) {
  ErrorKind kind = ErrorKind::RuntimeFailure;
  if (status == DYCL_PLUGIN_BAD_ARTIFACT) kind = ErrorKind::InvalidPackage;
  if (status == DYCL_PLUGIN_MISSING) kind = ErrorKind::Missing;
  if (status == DYCL_PLUGIN_UNSUPPORTED) kind = ErrorKind::Unsupported;
  const char* told = plugin->last_error();
  const std::string why = told && *told ? told : "no reason given";
  const std::size_t end = why.find(DYCL_PLUGIN_HELP);
  std::string help = end == std::string::npos ? "" : why.substr(end + std::strlen(DYCL_PLUGIN_HELP));
  return {kind, std::string(plugin->name) + ": " + doing + ": " + why.substr(0, end), std::move(help), {}, {}};
}

Result<dycl_engine*> Engines::get(const std::string& backend, const LoadOptions& options) {
  if (const auto it = engines_.find(backend); it != engines_.end()) return it->second.get();
  if (const auto it = failures_.find(backend); it != failures_.end()) return it->second;
  const auto fail = [&](Error error) -> Result<dycl_engine*> {
    failures_.emplace(backend, error);
    return error;
  };
  auto plugin = load_plugin(backend, options);
  if (!plugin) return fail(plugin.error());

  std::vector<const char*> keys, values;
  if (const auto it = options.engine_options.find(backend); it != options.engine_options.end()) {
    for (const auto& [key, value] : it->second) {
      keys.push_back(key.c_str());
      values.push_back(value.c_str());
    }
  }
  const dycl_engine_options wanted = {sizeof(dycl_engine_options),
                                      options.threads,
                                      options.spinning,
                                      static_cast<std::uint32_t>(keys.size()),
                                      keys.data(),
                                      values.data()};
  current_options = &options;
  dycl_engine* engine = nullptr;
  const auto status = (*plugin)->create_engine(&kHost, &wanted, &engine);
  current_options = nullptr;
  if (status != DYCL_PLUGIN_OK || !engine) return fail(plugin_error(*plugin, status, "cannot start the engine"));
  engines_.emplace(backend, EnginePtr(engine, {*plugin}));
  return engine;
}

void notify(const LoadOptions& options, const std::string& message) {
  if (options.notice)
    options.notice(message);
  else
    std::fprintf(stderr, "dycl: %s\n", printable(message).c_str());
}

}  // namespace dycl::runtime
