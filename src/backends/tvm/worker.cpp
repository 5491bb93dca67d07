// SPDX-License-Identifier: Apache-2.0
#include "backends/tvm/worker.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <system_error>
#include <vector>

extern char** environ;

namespace dycl::backends::tvm {
namespace {

namespace fs = std::filesystem;

Error failure(std::string message) { return {ErrorKind::RuntimeFailure, std::move(message), {}, {}, {}}; }

Error missing(std::string message, std::string help) {
  return {ErrorKind::Missing, std::move(message), std::move(help), {}, {}};
}

std::string python() {
  if (const char* named = std::getenv("DYCL_TVM_PYTHON"); named && *named) return named;
  std::error_code error;
  return fs::exists(DYCL_TVM_PYTHON_OF_BUILD, error) ? DYCL_TVM_PYTHON_OF_BUILD : "python3";
}

// The folder of the compiling program: beside this code, or where the build has it.
Result<fs::path> program() {
  std::vector<fs::path> folders;
  std::error_code error;
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&compiler_is_there), &info) && info.dli_fname) {
    const auto here = fs::weakly_canonical(info.dli_fname, error).parent_path();
    for (const auto& folder : {here, here / ".." / "lib" / "dycl"}) folders.push_back(folder / "tvm_compiler");
  }
  folders.emplace_back(fs::path(DYCL_TVM_COMPILER_OF_BUILD));
  for (const fs::path& folder : folders)
    if (fs::exists(folder / "__main__.py", error)) return folder;
  return missing("the program that compiles with TVM is not there (" + folders.front().string() + ")",
                 "install DyCL again");
}

void close_both(int (&ends)[2]) {
  for (int& end : ends) {
    if (end >= 0) ::close(end);
    end = -1;
  }
}

// The last line that the process printed.
std::string last_words(const fs::path& log) {
  std::ifstream file(log);
  std::string line, last;
  while (std::getline(file, line))
    if (!line.empty()) last = line;
  return last.substr(0, 300);
}

bool write_all(int file, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(file, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += static_cast<std::size_t>(n);
  }
  return true;
}

// A process that is gone must not end this one.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    ::sigemptyset(&set_);
    ::sigaddset(&set_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~NoPipeSignal() {
    const timespec now{};
    while (::sigtimedwait(&set_, nullptr, &now) == SIGPIPE) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t set_{}, before_{};
};

}  // namespace

Worker::~Worker() {
  stop();
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

Result<fs::path> Worker::folder() {
  if (!folder_.empty()) return folder_;
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "dycl_tvm.XXXXXX").string();
  if (error || !::mkdtemp(name.data())) return failure("no temporary folder: " + std::string(std::strerror(errno)));
  folder_ = name;
  return folder_;
}

Result<void> Worker::start() {
  DYCL_ASSIGN(const fs::path source, program());
  DYCL_ASSIGN(const fs::path own, folder());
  int in[2] = {-1, -1}, out[2] = {-1, -1};
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) {
    close_both(in);
    close_both(out);
    return failure("no pipe: " + std::string(std::strerror(errno)));
  }
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  ::posix_spawn_file_actions_addopen(&actions, 2, (own / "log").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const std::string interpreter = python(), script = source.string();
  std::string words[] = {interpreter, "-B", script};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  const int error = ::posix_spawnp(&process_, interpreter.c_str(), &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(std::exchange(in[0], -1));
  ::close(std::exchange(out[1], -1));
  to_ = in[1];
  from_ = out[0];
  unread_.clear();
  if (error == 0) return {};
  process_ = -1;
  stop();
  return missing("cannot start " + interpreter + ": " + std::strerror(error), "name a Python in DYCL_TVM_PYTHON");
}

void Worker::stop() {
  for (int* end : {&to_, &from_}) {
    if (*end >= 0) ::close(*end);
    *end = -1;
  }
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
}

Result<nlohmann::json> Worker::ask(const nlohmann::json& request, double seconds) {
  if (process_ < 0) DYCL_TRY(start());
  const NoPipeSignal guard;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  const auto give_up = [&](const std::string& why) {
    stop();
    const std::string words = last_words(folder_ / "log");
    return failure("TVM's compiler " + why + (words.empty() ? "" : " (" + words + ")"));
  };
  if (!write_all(to_, request.dump() + "\n")) return give_up("is gone");
  while (true) {
    if (const std::size_t at = unread_.find('\n'); at != std::string::npos) {
      const std::string line = unread_.substr(0, at);
      unread_.erase(0, at + 1);
      auto answer = nlohmann::json::parse(line, nullptr, false);
      if (!answer.is_object()) return give_up("answers what is not understood");
      if (answer.contains("error")) return failure("TVM: " + answer.value("error", ""));
      return answer;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd one{from_, POLLIN, 0};
    const int ready = left.count() > 0 ? ::poll(&one, 1, static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return give_up("takes too long");
    char piece[4096];
    const ssize_t n = ::read(from_, piece, sizeof piece);
    if (n <= 0) return give_up("ended");
    unread_.append(piece, static_cast<std::size_t>(n));
  }
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
