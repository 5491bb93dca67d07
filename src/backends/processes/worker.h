// SPDX-License-Identifier: Apache-2.0
// A process that compiles for this one: started with the first request and kept for the next ones, because engines take
// long to load. Requests and answers are lines of JSON on its standard input and output; it answers one at a time, and
// a request that takes too long ends it. What it prints is kept for the error message. It ends when its input does, so
// it does not outlive this process. One thread at a time.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/result.h"

namespace dycl::backends {

class Worker {
 public:
  using Command = std::function<Result<std::vector<std::string>>()>;

  // `who` begins the sentences of errors: "TVM's compiler".
  Worker(std::string who, Command command) : who_(std::move(who)), command_(std::move(command)) {}
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // What became of a request: the process answered (its own {"error": ...} included), or it ended or took too long and
  // is gone; the next request then starts another one.
  enum class End { Answered, Died, TooLong };

  // The answer, or an Error. `how` says which kind of failure it was.
  Result<nlohmann::json> ask(const nlohmann::json& request, double seconds, End* how = nullptr);

  // A folder of this worker for files of requests; gone with it.
  Result<std::filesystem::path> folder();

  pid_t process() const { return process_; }  // -1: none is running

 private:
  Result<void> start();
  void stop();
  std::string cause_of_death();
  std::string last_words() const;

  std::string who_;
  Command command_;
  pid_t process_ = -1;
  int to_ = -1, from_ = -1;
  std::string unread_;
  std::filesystem::path folder_;
};

// A file or folder that is installed with DyCL: beside this code's library or executable, in lib/dycl near it, or where
// the build has it. Empty if it is nowhere.
std::filesystem::path find_installed(const std::string& name, const std::filesystem::path& of_build);

// Bytes to and from files of a worker's folder.
Result<std::vector<std::uint8_t>> read_file(const std::filesystem::path& path);
bool write_file(const std::filesystem::path& path, const void* data, std::size_t size);

}  // namespace dycl::backends
