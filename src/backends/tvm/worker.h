// SPDX-License-Identifier: Apache-2.0
// The process that holds TVM's compiler, which is Python: `python <folder>/tvm_compiler`, started with the first
// request and kept for the next ones, because importing TVM takes seconds. It answers one request at a time; a request
// that takes too long ends it. What it prints is kept for the error message. One thread at a time.
//
// The interpreter is DYCL_TVM_PYTHON, else the one of the build, else python3.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "support/result.h"

namespace dycl::backends::tvm {

class Worker {
 public:
  Worker() = default;
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // The answer, or an Error if the process cannot be started, ends, or takes longer than `seconds`; the next request
  // then starts another one.
  Result<nlohmann::json> ask(const nlohmann::json& request, double seconds);

  // A folder of this worker for files of requests; gone with it.
  Result<std::filesystem::path> folder();

 private:
  Result<void> start();
  void stop();

  pid_t process_ = -1;
  int to_ = -1, from_ = -1;
  std::string unread_;
  std::filesystem::path folder_;
};

// Nothing, if a process that compiles can be started here; else an Error that says what is missing. Quick: TVM is
// looked for, not imported.
Result<void> compiler_is_there();

// The sources of the compiling program, one after the other: what the cache keeps was made by these. Empty if it is not
// there.
std::string compiler_sources();

}  // namespace dycl::backends::tvm
