// SPDX-License-Identifier: Apache-2.0
#include "backends/processes/worker.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <system_error>

namespace dycl::backends {
namespace {

namespace fs = std::filesystem;

Error failure(std::string message) { return {ErrorKind::RuntimeFailure, std::move(message), {}, {}, {}}; }

void close_both(int (&ends)[2]) {
  for (int& end : ends) {
    if (end >= 0) ::close(end);
    end = -1;
  }
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
  std::string name = (fs::temp_directory_path(error) / "dycl_worker.XXXXXX").string();
  if (error || !::mkdtemp(name.data())) return failure("no temporary folder: " + std::string(std::strerror(errno)));
  folder_ = name;
  return folder_;
}

Result<void> Worker::start() {
  DYCL_ASSIGN(std::vector<std::string> words, command_());
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
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int error = ::posix_spawnp(&process_, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(std::exchange(in[0], -1));
  ::close(std::exchange(out[1], -1));
  to_ = in[1];
  from_ = out[0];
  unread_.clear();
  if (error == 0) return {};
  process_ = -1;
  stop();
  return Error{ErrorKind::Missing, "cannot start " + words[0] + ": " + std::strerror(error), {}, {}, {}};
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

// The process has closed its output: it is ending by itself, or was ended.
std::string Worker::cause_of_death() {
  int status = 0;
  for (int wait = 0; wait < 100; ++wait) {
    if (::waitpid(process_, &status, WNOHANG) == process_) {
      process_ = -1;
      if (WIFSIGNALED(status)) return "was ended by signal " + std::to_string(WTERMSIG(status));
      return "ended with exit code " + std::to_string(WEXITSTATUS(status));
    }
    const timespec pause{0, 10'000'000};
    ::nanosleep(&pause, nullptr);
  }
  return "does not answer any more";
}

// The last line that the process printed.
std::string Worker::last_words() const {
  std::ifstream file(folder_ / "log");
  std::string line, last;
  while (std::getline(file, line))
    if (!line.empty()) last = line;
  return last.substr(0, 300);
}

Result<nlohmann::json> Worker::ask(const nlohmann::json& request, double seconds, End* how) {
  End ignored;
  End& ending = how ? *how : ignored;
  ending = End::Died;
  if (process_ < 0) DYCL_TRY(start());
  const NoPipeSignal guard;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  const auto give_up = [&](const std::string& why) {
    stop();
    const std::string words = last_words();
    return failure(who_ + " " + why + (words.empty() ? "" : " (" + words + ")"));
  };
  if (!write_all(to_, request.dump() + "\n")) return give_up(cause_of_death());
  while (true) {
    if (const std::size_t at = unread_.find('\n'); at != std::string::npos) {
      const std::string line = unread_.substr(0, at);
      unread_.erase(0, at + 1);
      auto answer = nlohmann::json::parse(line, nullptr, false);
      if (!answer.is_object()) return give_up("answers what is not understood");
      ending = End::Answered;
      if (answer.contains("error")) return failure(answer.value("error", ""));
      return answer;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd one{from_, POLLIN, 0};
    const int ready = left.count() > 0 ? ::poll(&one, 1, static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      ending = End::TooLong;
      return give_up("takes too long");
    }
    char piece[4096];
    const ssize_t n = ::read(from_, piece, sizeof piece);
    if (n <= 0) return give_up(cause_of_death());
    unread_.append(piece, static_cast<std::size_t>(n));
  }
}

fs::path find_installed(const std::string& name, const fs::path& of_build) {
  std::error_code error;
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&find_installed), &info) && info.dli_fname) {
    const auto here = fs::weakly_canonical(info.dli_fname, error).parent_path();
    for (const auto& folder : {here, here / "lib" / "dycl", here / ".." / "lib" / "dycl"})
      if (fs::exists(folder / name, error)) return folder / name;
  }
  return fs::exists(of_build, error) ? of_build : fs::path();
}

Result<std::vector<std::uint8_t>> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return failure("there is no file " + path.filename().string());
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(file.tellg()));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) return failure("cannot read " + path.filename().string());
  return bytes;
}

bool write_file(const fs::path& path, const void* data, std::size_t size) {
  std::ofstream file(path, std::ios::binary);
  file.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
  file.close();
  return file.good();
}

}  // namespace dycl::backends
