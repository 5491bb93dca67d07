// SPDX-License-Identifier: Apache-2.0
#include "backends/tvm/worker.h"

#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backends/path_of_build.h"
#include "backends/processes/worker.h"

extern char** environ;

namespace dycl::backends::tvm {
namespace {

namespace fs = std::filesystem;

DYCL_PATH_OF_BUILD(kPythonOfBuild, DYCL_TVM_PYTHON_OF_BUILD);
DYCL_PATH_OF_BUILD(kCompilerOfBuild, DYCL_TVM_COMPILER_OF_BUILD);

Error missing(std::string message, std::string help) {
  return {ErrorKind::Missing, std::move(message), std::move(help), {}, {}};
}

std::string python() {
  if (const char* named = std::getenv("DYCL_TVM_PYTHON"); named && *named) return named;
  std::error_code error;
  std::string of_build = path_of_build(kPythonOfBuild);
  return !of_build.empty() && fs::exists(of_build, error) ? of_build : "python3";
}

Result<fs::path> program() {
  const fs::path found = find_installed("tvm_compiler", path_of_build(kCompilerOfBuild));
  std::error_code error;
  if (!found.empty() && fs::exists(found / "__main__.py", error)) return found;
  return missing("the program that compiles with TVM is not there (tvm_compiler)", "install DyCL again");
}

}  // namespace

Result<std::vector<std::string>> compiler_command() {
  DYCL_ASSIGN(const fs::path source, program());
  return std::vector<std::string>{python(), "-B", source.string()};
}

std::string compiler_sources() {
  const auto folder = program();
  if (!folder) return {};
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(*folder, error))
    if (entry.path().extension() == ".py") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::string all;
  for (const fs::path& path : files) {
    std::ifstream file(path, std::ios::binary);
    all.append(std::istreambuf_iterator<char>(file), {});
  }
  return all;
}

Result<void> compiler_is_there() {
  static const Result<void> found = []() -> Result<void> {
    DYCL_TRY(program());
    const std::string interpreter = python();
    std::string words[] = {interpreter, "-c",
                           "import importlib.util as u, sys; "
                           "sys.exit(not all(map(u.find_spec, ('tvm', 'tvm_ffi', 'onnx', 'numpy'))))"};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    pid_t process = -1;
    int status = -1;
    if (::posix_spawnp(&process, interpreter.c_str(), nullptr, nullptr, arguments, environ) != 0)
      return missing("cannot start " + interpreter, "name a Python that has TVM in DYCL_TVM_PYTHON");
    while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    if (status == 0) return {};
    return missing("the Python at " + interpreter + " has no TVM",
                   "install it with: " + interpreter +
                       " -m pip install --no-deps apache-tvm==" DYCL_TVM_VERSION
                       " apache-tvm-ffi==" DYCL_TVM_FFI_VERSION);
  }();
  return found;
}

}  // namespace dycl::backends::tvm
