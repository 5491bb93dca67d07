// SPDX-License-Identifier: Apache-2.0
#include "front_end.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace dycl::tools {
namespace {

// The interpreter that a wheel names, the one beside this program (.venv/bin), else the one on the PATH.
std::string python_interpreter() {
  if (const char* named = std::getenv("DYCL_PYTHON"); named && *named) return named;
  if (const auto* path = reinterpret_cast<const char*>(::getauxval(AT_EXECFN))) {
    const auto sibling = std::filesystem::path(path).parent_path() / "python";
    std::error_code ignored;
    if (std::filesystem::exists(sibling, ignored)) return sibling.string();
  }
  return "python3";
}

// `python -m dycl`, which says what to do where there is no such package.
constexpr const char* kFrontEnd = R"(
import importlib.util, runpy, sys
if importlib.util.find_spec("dycl") is None:
    sys.stderr.write("error: " + sys.executable + " has no package dycl, which compiles Python models\n"
                     "  help: install DyCL's wheel there, or name an interpreter that has it in DYCL_PYTHON\n")
    sys.exit(5)
try:
    runpy.run_module("dycl", run_name="__main__", alter_sys=True)
except KeyboardInterrupt:  # before the command could begin
    sys.stderr.write("\\nstopped; nothing was written\\n")
    sys.exit(130)
)";

}  // namespace

bool is_python(const std::string& source) {
  std::error_code ignored;
  if (std::filesystem::is_directory(source, ignored)) return true;
  const std::string file = source.substr(0, source.find(':'));
  if (std::filesystem::path(file).extension() == ".py") return true;
  return source.find(':') != std::string::npos && !std::filesystem::exists(source);
}

int exec_front_end(const Console& console, const std::string& command_name,
                   const std::vector<std::string>& arguments) {
  const std::string python = python_interpreter();
  std::vector<std::string> command{python, "-c", kFrontEnd, command_name};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::vector<char*> raw;
  raw.reserve(command.size() + 1);
  for (std::string& word : command) raw.push_back(word.data());
  raw.push_back(nullptr);
  ::execvp(python.c_str(), raw.data());
  return console.fail({ErrorKind::Missing,
                       "cannot start " + python + ": " + std::strerror(errno),
                       "capture of Python models needs the dycl package; run `make setup`",
                       {},
                       {}});
}

}  // namespace dycl::tools
